package lab

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"tandem/app/bench"
	"tandem/app/drafters"
	"tandem/app/figures"
	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/tokenizer"
	"tandem/models"
)

const starterModel = "starter"

// subjectOptions are what evaluations of a model read.
type subjectOptions struct {
	starter   string // path of the starter model, or ""
	retrieval Retrieval

	model   string // folder or name; empty = the starter
	drafter string // folder; empty = what comes with the model
	quick   bool
	reports string // file for the reports, or ""
}

// Flags declares the flags of all evaluations of a model.
func (o *subjectOptions) Flags(f *pflag.FlagSet) {
	f.StringVar(&o.model, "model", "",
		"`DIR` of the model, or pocket, retrieval or starter (default: starter)")
	bench.QuickFlag(f, &o.quick)
	reportsFlag(f, &o.reports)
}

// drafterFlag declares --drafter, which may be given once.
func (o *subjectOptions) drafterFlag(f *pflag.FlagSet) {
	f.Func("drafter", "`DIR` of a drafter for the model", func(dir string) error {
		if o.drafter != "" {
			return errors.New("give one drafter")
		}
		o.drafter = dir
		return nil
	})
}

// samplesFlag declares --samples.
func samplesFlag(f *pflag.FlagSet, samples *int) {
	f.Func("samples", "`N` prompts (default 5)", bench.Positive(samples))
}

// A subject is the model of an evaluation, with what restores its keys and values.
type subject struct {
	thread  *mlx.Thread
	bundle  *models.Bundle
	name    string
	place   string          // distinguishes it from others of its name; "" for bundled models
	terse   bool            // it knows short lines, see needles
	drafter *models.Drafter // or nil
	ftheta  *models.FTheta  // or nil
}

// subjectFolder returns the folder of the model that the options name. It returns "" for pocket.
func subjectFolder(o subjectOptions) (string, error) {
	switch o.model {
	case models.PocketID:
		return "", nil
	case "", starterModel:
		if o.starter == "" {
			return "", errors.New("the starter model is not beside this program: run `go run ./build " +
				"setup`, or give --model DIR")
		}
		return o.starter, nil
	}
	return o.retrieval.folder(o.model)
}

// openSubject loads the model that the options name, or the starter. A drafter and an f_theta come
// with it, if any: from --drafter, or in the model's folder. The caller closes it.
func openSubject(ctx context.Context, o subjectOptions) (*subject, error) {
	dir, err := subjectFolder(o)
	if err != nil {
		return nil, err
	}
	t, b, err := bench.OpenModel(ctx, dir, models.Options{})
	if err != nil {
		return nil, err
	}
	e := &subject{thread: t, bundle: b, name: bench.ModelName(dir)}
	if dir != "" && dir == o.starter {
		e.name = starterModel
	}
	e.terse = o.model == RetrievalModel
	if err := e.loadRestoration(ctx, dir, o.drafter); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e.place = e.placeOf(dir, o)
	return e, nil
}

// placeOf returns what distinguishes the subject from others of its name. A drafter counts if rows
// are restored from its layers.
func (e *subject) placeOf(dir string, o subjectOptions) string {
	folders := []string{dir}
	if e.ftheta != nil && o.drafter != "" {
		folders = append(folders, o.drafter)
	}
	ours := e.terse || dir == "" || dir == o.starter
	if ours && len(folders) == 1 {
		return ""
	}
	return folderKey(folders)
}

// openDrafted opens a subject with the drafters that it is measured with. The caller closes both.
func openDrafted(ctx context.Context, o subjectOptions) (*subject, *bench.Drafters, error) {
	dir, err := subjectFolder(o)
	if err != nil {
		return nil, nil, err
	}
	e, err := openSubject(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	var given []string
	if o.drafter != "" {
		given = []string{o.drafter}
	}
	drafts, err := bench.LoadDrafters(ctx, e.bundle, dir, given, models.Options{})
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

// loadRestoration loads the f_theta of a model and the drafter that it reads, if both exist.
func (e *subject) loadRestoration(ctx context.Context, dir, drafter string) error {
	if drafter == "" && dir != "" {
		drafter = drafters.Beside(dir)
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

func (e *subject) Header() figures.Header {
	return bench.NewHeader(e.bundle.Model.Config().Dtype.String())
}

// conditions says what was measured with what, for the reader of a table.
func (e *subject) conditions() string {
	h := e.Header()
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

// directPrompt returns the tokens of a prompt that asks for a direct answer.
func (e *subject) directPrompt(ctx context.Context, text string) ([]int32, error) {
	return bench.AskDirectly(ctx, e.bundle, text)
}

// plainTokens returns the tokens of a text, without BOS and EOS.
func (e *subject) plainTokens(text string) ([]int32, error) {
	return e.bundle.Tokenizer.Encode(text, tokenizer.EncodeOptions{NoSpecial: true})
}

// exactCaches returns the caches that keep every row in S5: the full attention layers' if the model
// has sliding layers too, else every second one. It returns nil if that leaves no layer to bound.
func (e *subject) exactCaches() []int {
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
