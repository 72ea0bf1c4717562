package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tandem/app/figures"
	"tandem/app/pool"
	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/tokenizer"
	"tandem/models"
)

// Names in Options.Model beside folders.
const (
	starterModel   = "starter"          // of an evaluation: the model in Options.Starter
	retrievalModel = models.RetrievalID // it finds codes and little else
)

// A subject is the model of an evaluation, with what restores its keys and values.
type subject struct {
	thread  *mlx.Thread
	bundle  *models.Bundle
	name    string
	place   string          // tells it from others of its name; empty for what Tandem brings
	terse   bool            // it knows short lines, see needles
	drafter *models.Drafter // nil if there is none
	ftheta  *models.FTheta  // nil if there is none
}

// subjectFolder returns the folder of the model that the options name. It is empty for pocket, and
// retrievalModel for that one.
func subjectFolder(o Options) (string, error) {
	switch o.Model {
	case models.PocketID:
		return "", nil
	case "", starterModel:
		if o.Starter == "" {
			return "", errors.New("the starter model is not beside this program: run `go run ./build " +
				"setup`, or give --model DIR")
		}
		return o.Starter, nil
	}
	return o.Model, nil
}

// openSubject loads the model that the options name, the starter if they name none. A drafter and
// an f_theta come with it if there are any: of --drafter, or in the model's folder. The caller
// closes it.
func openSubject(ctx context.Context, o Options) (*subject, error) {
	dir, err := subjectFolder(o)
	if err != nil {
		return nil, err
	}
	t, b, err := benchModel(ctx, dir, models.Options{})
	if err != nil {
		return nil, err
	}
	e := &subject{thread: t, bundle: b, name: benchModelName(dir)}
	if dir != "" && dir == o.Starter {
		e.name = starterModel
	}
	e.terse = dir == retrievalModel
	if err := e.loadRestoration(ctx, dir, o.Drafters); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e.place = e.placeOf(dir, o)
	return e, nil
}

// placeOf returns what tells the subject from others of its name. A drafter counts if rows are restored
// from its layers.
func (e *subject) placeOf(dir string, o Options) string {
	folders := []string{dir}
	if e.ftheta != nil {
		folders = append(folders, o.Drafters...)
	}
	if own := []string{"", retrievalModel, o.Starter}; slices.Contains(own, dir) && len(folders) == 1 {
		return ""
	}
	return folderKey(folders)
}

// openDrafted opens a subject with the drafters that it is measured with. The caller closes both.
func openDrafted(ctx context.Context, o Options) (*subject, *benchDrafters, error) {
	dir, err := subjectFolder(o)
	if err != nil {
		return nil, nil, err
	}
	e, err := openSubject(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	drafts, err := loadBenchDrafters(ctx, e.bundle, dir, o.Drafters, models.Options{})
	if err != nil {
		return nil, nil, errors.Join(err, e.Close())
	}
	return e, drafts, nil
}

// folderKey returns a short name for folders, which others do not have.
func folderKey(folders []string) string {
	all := sha256.New()
	for _, dir := range folders {
		if path, err := filepath.Abs(dir); err == nil {
			dir = path
		}
		fmt.Fprintln(all, dir)
	}
	return hex.EncodeToString(all.Sum(nil)[:4])
}

// loadRestoration loads the f_theta of a model and the drafter that it reads, if there are both.
func (e *subject) loadRestoration(ctx context.Context, dir string, drafters []string) error {
	var drafter string
	switch {
	case len(drafters) > 0:
		drafter = drafters[0]
	case dir == retrievalModel:
		return e.loadRetrieval(ctx)
	case dir != "":
		drafter = pool.DrafterBeside(dir)
	}
	if dir == retrievalModel {
		dir = "" // no folder of that name below the working folder
	}
	found := models.FindFTheta(drafter, dir)
	if found == "" || drafter == "" {
		return nil
	}
	var err error
	if e.drafter, err = models.LoadDrafter(ctx, e.bundle, drafter, models.DrafterSettings{},
		models.Options{}); err != nil {
		return err
	}
	e.ftheta, err = models.LoadFTheta(ctx, e.bundle, e.drafter, found, models.Options{})
	return err
}

// loadRetrieval loads the drafter and the f_theta of the retrieval model.
func (e *subject) loadRetrieval(ctx context.Context) (err error) {
	if e.drafter, err = models.LoadDrafter(ctx, e.bundle, models.RetrievalDrafter,
		models.DrafterSettings{}, models.Options{}); err != nil {
		return err
	}
	e.ftheta, err = models.LoadRetrievalFTheta(ctx, e.bundle, e.drafter, models.Options{})
	return err
}

func (e *subject) header() figures.Header {
	h := newHeader()
	h.DType = e.bundle.Model.Config().Dtype.String()
	return h
}

// conditions says what was measured with what, for the reader of a table.
func (e *subject) conditions() string {
	h := e.header()
	return fmt.Sprintf("conditions: %s, %s, %d threads, MLX %s, %s", e.name, h.DType, h.Threads,
		h.Versions["mlx"], filepath.Base(h.BLAS))
}

func (e *subject) Close() error {
	var errs []error
	if e.ftheta != nil {
		errs = append(errs, e.ftheta.Close())
	}
	if e.drafter != nil {
		errs = append(errs, e.drafter.Close())
	}
	return errors.Join(append(errs, e.bundle.Close(), e.thread.Close())...)
}

// open opens an engine for a model of the subject's tokens. It keeps no checkpoints, so that each
// answer is measured whole.
func (e *subject) open(m lm.Model, o engine.Options) *engine.Engine {
	return engine.New(e.thread, m, e.bundle.Tokenizer, o)
}

// contentChannel is what the template of Gemma 4 leaves to the model: an empty thought. A direct
// answer begins after it, so that its tokens go into the answer.
const contentChannel = "<|channel>thought\n<channel|>"

// direct returns the tokens of a prompt that asks for an answer at once: a turn of a chat if the
// model has a template.
func (e *subject) direct(ctx context.Context, text string) ([]int32, error) {
	special := true
	template, err := e.bundle.Chat.Template(false)
	switch {
	case errors.Is(err, models.ErrNoTemplate):
		text += "\nAnswer: "
	case err != nil:
		return nil, err
	default:
		vars, err := json.Marshal(map[string]any{
			"messages":              []map[string]string{{"role": "user", "content": text}},
			"add_generation_prompt": true, "enable_thinking": false,
			"bos_token": e.bos(), "eos_token": "",
		})
		if err != nil {
			return nil, err
		}
		if text, err = template.Render(ctx, vars); err != nil {
			return nil, err
		}
		special = false
		if strings.Contains(e.bundle.Chat.Source, "<|channel>thought") &&
			!strings.HasSuffix(text, contentChannel) {
			text += contentChannel
		}
	}
	return e.bundle.Tokenizer.Encode(text, tokenizer.EncodeOptions{AddSpecial: special})
}

// plain returns the tokens of a text, with none that begins or ends one.
func (e *subject) plain(text string) ([]int32, error) {
	return e.bundle.Tokenizer.Encode(text, tokenizer.EncodeOptions{NoSpecial: true})
}

// bos returns the token that a text begins with, empty if there is none.
func (e *subject) bos() string {
	if id, ok := e.bundle.Tokenizer.BOS(); ok {
		return e.bundle.Tokenizer.Token(id)
	}
	return ""
}

// exact returns the caches that keep every row in S5: those of full attention if the model has
// sliding layers too, else every second one. It returns none if that leaves no layer to bound.
func (e *subject) exact() []int {
	exact := e.exactByKind()
	_, window := e.bounds()
	for i, shape := range e.shapes() {
		if shape != (lm.KVShape{}) && !slices.Contains(exact, i) &&
			(shape.Window == 0 || shape.Window > window) {
			return exact
		}
	}
	return nil
}

func (e *subject) exactByKind() []int {
	var full, all []int
	for i, shape := range e.shapes() {
		if shape == (lm.KVShape{}) {
			continue
		}
		if all = append(all, i); shape.Window == 0 {
			full = append(full, i)
		}
	}
	if e.ftheta != nil && len(e.ftheta.Config.ExactLayers) > 0 {
		return e.ftheta.Config.ExactLayers
	}
	if len(full) < len(all) {
		return full
	}
	var second []int
	for i := 1; i < len(all); i += 2 {
		second = append(second, all[i])
	}
	return second
}

// shapes returns what the model's caches hold.
func (e *subject) shapes() []lm.KVShape {
	if r, ok := e.bundle.Model.(lm.Restorable); ok {
		return r.KVShapes()
	}
	return nil
}

// bounds returns how many own rows bounded layers keep. The f_theta was trained with as many.
func (e *subject) bounds() (sink, window int) {
	sink, window = cache.DefaultSink, cache.DefaultWindow
	if e.ftheta != nil {
		sink, window = *e.ftheta.Config.SinkSize, *e.ftheta.Config.WindowSize
	}
	return sink, window
}
