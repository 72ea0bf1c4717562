package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/engine"
	"tandem/engine/draft"
	"tandem/engine/mlx"
	"tandem/models"
	"tandem/models/hub"
	"tandem/storage"
)

// embedded stands for the folder of the drafter that is built in, and is served with
// the pocket model.
const embedded = models.PocketDrafter

// A drafter is in memory beside the model it guesses for.
type drafter struct {
	draft.Drafter
	source string // its folder, or what one that is built in goes by
	files  *models.Drafter
	flash  *draft.DFlash // nil if it is a model of its own

	settings models.DrafterSettings
	trials   []control.Trial
	open     bool // its reading is still to be measured
}

// loadDrafter loads the drafter in a folder, or one that is built in, for a model.
func loadDrafter(ctx context.Context, bundle *models.Bundle, source string, set models.DrafterSettings, o models.Options) (*drafter, error) {
	d := &drafter{source: source, settings: set}
	var err error
	if source == embedded || source == models.PocketSlidingDrafter {
		d.files, err = models.LoadPocketDrafter(ctx, bundle, source, o)
	} else {
		d.files, err = models.LoadDrafter(ctx, bundle, source, set, o)
	}
	if err != nil {
		return nil, err
	}
	if d.files.Block == nil {
		d.Drafter = draft.NewModel(d.files.Model, bundle.Model)
		return d, nil
	}
	if err := d.files.Thread().Do(ctx, func(s *mlx.Scope) error {
		d.flash = draft.NewDFlash(s, d.files.Block, bundle.Model)
		return s.Err()
	}); err != nil {
		return nil, errors.Join(err, d.close())
	}
	d.Drafter = d.flash
	return d, nil
}

// close frees a drafter that no engine has any more. It does nothing to nil.
func (d *drafter) close() error {
	if d == nil {
		return nil
	}
	return errors.Join(d.files.Thread().Do(context.Background(), func(*mlx.Scope) error {
		if d.flash != nil {
			d.flash.Free()
		}
		return nil
	}), d.files.Close())
}

// drafterChoice returns what drafts for a model: control.DrafterAuto,
// control.DrafterNone or a folder. What `tandem serve` was told comes first.
func (a *App) drafterChoice(ctx context.Context, row storage.Model) (string, error) {
	a.mu.Lock()
	served := a.opts.Drafter != "" && row.ID == a.drafterFor
	a.mu.Unlock()
	if served {
		return a.opts.Drafter, nil
	}
	choice, err := a.db.Drafter(ctx, row.ID)
	if storage.IsNotFound(err) {
		return control.DrafterAuto, nil
	}
	return choice, err
}

// drafterSource returns the folder a choice comes to, embedded for the one that
// is built in, or "" for none.
func (a *App) drafterSource(row storage.Model, choice string) (string, error) {
	switch choice {
	case control.DrafterNone:
		return "", nil
	case control.DrafterAuto:
		return a.pairedDrafter(row)
	}
	return choice, nil
}

// pairedDrafter looks for the drafter that belongs to a model by where it lies
// (see the package comment).
func (a *App) pairedDrafter(row storage.Model) (string, error) {
	if row.Source == storage.SourcePocket {
		if !models.HasPocketDrafter() {
			return "", nil
		}
		return embedded, nil
	}
	if dir := drafterBeside(row.Path); dir != "" {
		return dir, nil
	}
	if a.settings.Current().HubCache == "" {
		return "", nil
	}
	ids, err := hub.List(a.settings.Current().HubCache)
	if err != nil {
		return "", err
	}
	name := row.ID
	if _, id, _, err := hub.ParseDir(row.Path); err == nil {
		name = id
	}
	for _, id := range drafterNames(name, ids) {
		if dir, err := hub.Resolve(a.settings.Current().HubCache, id); err == nil {
			return dir, nil
		}
	}
	return "", nil
}

// drafterBeside returns the folder of the drafter that lies in a model's, or "".
func drafterBeside(model string) string {
	dir := filepath.Join(model, "drafter")
	if _, err := os.Stat(filepath.Join(dir, "config.json")); err != nil {
		return ""
	}
	return dir
}

// drafterNames returns those of the hub's ids that name a drafter for a model,
// the best first: NAME-DFlash, or NAME-DFlash-MORE, for a model NAME or
// NAME-MORE, whoever published it. The longest NAME is the best.
func drafterNames(model string, ids []string) []string {
	last := func(id string) string { return strings.ToLower(id[strings.LastIndexByte(id, '/')+1:]) }
	model = last(model)
	length := map[string]int{}
	var names []string
	for _, id := range ids {
		name, more, ok := strings.Cut(last(id), "-dflash")
		if ok && name != "" && (more == "" || more[0] == '-') && (model == name || strings.HasPrefix(model, name+"-")) {
			names = append(names, id)
			length[id] = len(name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := length[b] - length[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}

// openDrafter loads what drafts for a model. None is no error.
func (a *App) openDrafter(ctx context.Context, row storage.Model, bundle *models.Bundle, source string) (*drafter, error) {
	if source == "" {
		return nil, nil
	}
	set, trials, err := a.reading(ctx, row, source)
	if err != nil {
		return nil, err
	}
	d, err := loadDrafter(ctx, bundle, source, set, models.Options{Dtype: models.DtypePolicy(a.opts.Dtype)})
	if err != nil {
		return nil, err
	}
	d.trials = trials
	// The one that is built in is read as it was trained.
	d.open = trials == nil && source != embedded && d.files.Block != nil && len(d.files.Block.Variants()) > 1
	return d, nil
}

// draftFor is openDrafter for a model that is served whatever comes of it: why
// there is no drafter is told with each answer.
func (a *App) draftFor(ctx context.Context, row storage.Model, bundle *models.Bundle) (d *drafter, reason string, err error) {
	choice, err := a.drafterChoice(ctx, row)
	if err != nil {
		return nil, "", err
	}
	source, err := a.drafterSource(row, choice)
	if err == nil {
		d, err = a.openDrafter(ctx, row, bundle, source)
	}
	if ctx.Err() != nil {
		return nil, "", errors.Join(ctx.Err(), d.close())
	}
	if err != nil {
		a.log.Warn("a model is served without its drafter", "model", row.ID, "drafter", source, "error", err)
	}
	return d, whyNone(err), nil
}

// whyNone says in an answer why a model has no drafter, if there is an error.
func whyNone(err error) string {
	if err == nil {
		return ""
	}
	return "the drafter cannot be used: " + err.Error()
}

// newEngine starts the engine of a model with its drafter, which may be nil.
// What a client predicts goes before it, for it costs nothing, as does looking up
// what the text has said before, which stands behind it.
func (m *loaded) newEngine(d *drafter, reason string) *engine.Engine {
	a := m.app
	o := engine.Options{
		ContextLength: m.context, Logger: a.log,
		Name: m.row.ID, Policies: policies{db: a.db}, NoDrafter: reason,
		Drafters: []draft.Drafter{draft.Prediction{}}, Neighbours: &a.engines,
	}
	if d != nil {
		o.Drafters = append(o.Drafters, d.Drafter)
		o.Policies = policies{a.db, map[string]string{d.Name(): weightsKey(d.source)}}
	}
	o.Drafters = append(o.Drafters, draft.Ngram{})
	if !a.opts.NoCheckpoints {
		o.Checkpoints, o.Store = a.checkpointBytes(), m.store
	}
	o.Text, m.needs = m.texts(d)
	o.Room, o.Short = m.needs.text, shortRequest // and more once it is in memory, see App.allot
	return engine.New(a.thread, m.bundle.Model, m.bundle.Tokenizer, o)
}

// drafterFolder turns what somebody writes for a drafter into a choice. A folder
// is given whole: whose working folder it is in, only the caller knows.
func (a *App) drafterFolder(name string) (string, error) {
	refuse := func(err error) error {
		return &control.Error{Code: control.CodeInvalid, Param: "drafter", Message: err.Error(), Err: err}
	}
	switch {
	case name == control.DrafterAuto || name == control.DrafterNone:
		return name, nil
	case filepath.IsAbs(name):
		return filepath.Clean(name), nil
	case name == "." || name == ".." || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../"):
		return "", refuse(fmt.Errorf("%q does not say where it begins; name a folder by its whole path, from / on", name))
	case a.settings.Current().HubCache == "":
		return "", refuse(fmt.Errorf("%q is no folder; name one by its path", name))
	}
	dir, err := hub.Resolve(a.settings.Current().HubCache, name)
	if err != nil {
		return "", refuse(err)
	}
	return dir, nil
}

// checkDrafter loads a drafter for a model that need not be in memory, and lets
// it go: what is wrong with it comes out when it is chosen.
func (a *App) checkDrafter(ctx context.Context, row storage.Model, dir string) error {
	outline, err := models.Outline(ctx, a.thread, row.Path)
	if err != nil {
		return invalidModel(err)
	}
	d, err := models.LoadDrafter(ctx, outline, dir, models.DrafterSettings{}, models.Options{Dtype: models.DtypePolicy(a.opts.Dtype)})
	if err != nil {
		return invalidModel(err)
	}
	return errors.Join(d.Close(), a.thread.Do(ctx, func(s *mlx.Scope) error { s.ClearCache(); return nil }))
}

// Drafter implements server.Residents: it sets what drafts for a model, and says
// what does. A drafter that cannot be loaded for the model is refused, and
// nothing is changed.
func (a *App) Drafter(ctx context.Context, r control.DrafterRequest) (control.Drafter, error) {
	id := r.Model
	if id == control.Alias {
		a.mu.Lock()
		id = a.choice
		a.mu.Unlock()
	}
	row, err := a.db.Model(ctx, id)
	if err != nil {
		return control.Drafter{}, a.notRegistered(err, id)
	}
	if r.Drafter != "" {
		if err := a.setDrafter(ctx, row, r.Drafter); err != nil {
			return control.Drafter{}, err
		}
	}
	return a.describeDrafter(ctx, row)
}

func (a *App) setDrafter(ctx context.Context, row storage.Model, name string) error {
	choice, err := a.drafterFolder(name)
	if err != nil {
		return err
	}
	if row, err = a.turnFor(ctx, row.ID); err != nil {
		return err
	}
	defer a.mu.Unlock()
	m := a.inMemory(row.ID)
	if m != nil && m.users > 0 {
		return control.Errorf(control.CodeModelBusy, "The model %s is answering requests; change its drafter when it is idle.", row.ID)
	}
	if m != nil { // nobody may use it meanwhile
		a.drop([]*loaded{m})
		a.coming = &coming{id: row.ID, needs: m.needs}
	}
	err = a.change(func() error {
		next := m
		if m != nil { // it comes back also after a panic
			defer func() {
				a.mu.Lock()
				defer a.mu.Unlock()
				a.coming = nil
				a.enter(next)
			}()
		}
		drafted, err := a.redraft(ctx, m, row, choice)
		next = drafted
		return err
	})
	if err == nil && row.ID == a.drafterFor {
		a.drafterFor = "" // what was chosen last counts
	}
	return err
}

// redraft stores what drafts for a model and returns the model with it, if it
// is in memory. It is unchanged after an error.
func (a *App) redraft(ctx context.Context, m *loaded, row storage.Model, choice string) (*loaded, error) {
	if m == nil {
		if choice != control.DrafterAuto && choice != control.DrafterNone {
			if err := a.checkDrafter(ctx, row, choice); err != nil {
				return nil, err
			}
		}
		return nil, a.db.SetDrafter(ctx, row.ID, choice)
	}
	source, err := a.drafterSource(row, choice)
	if err != nil && choice != control.DrafterAuto {
		return m, err
	}
	var d *drafter
	if err == nil {
		// Automatic drafting goes without where there is no room.
		if err = a.mayDraft(ctx, m, source); err != nil && choice != control.DrafterAuto {
			return m, err
		}
	}
	if err == nil {
		d, err = a.openDrafter(ctx, row, m.bundle, source)
	}
	if err != nil && choice != control.DrafterAuto {
		return m, invalidModel(err)
	}
	reason := whyNone(err)
	if err := a.db.SetDrafter(ctx, row.ID, choice); err != nil {
		return m, errors.Join(err, d.close())
	}
	m.stopDrafting()
	if err := m.drafter.close(); err != nil {
		a.log.Error("freeing a drafter", "drafter", m.drafter.source, "error", err)
	}
	next := &loaded{app: a, row: m.row, weights: m.weights, bundle: m.bundle, context: m.context, uses: m.uses, used: m.used, took: m.took, longest: m.longest, own: m.own}
	next.listen()
	next.startDrafting(d, reason)
	return next, nil
}

// mayDraft sees to it that there is room for a drafter of a model that is in memory, which
// a.coming is. The drafter before it goes later, but nobody has a text there meanwhile.
// Error: CodeMemory; CodeModelBusy, see lull.
func (a *App) mayDraft(ctx context.Context, m *loaded, source string) error {
	size, err := a.measure(m.row, source)
	need := size.demand(m.needs.context)
	if err != nil || need.bytes() <= m.needs.bytes() {
		return nil // what it takes is not known, see loaded.texts, or no more than before
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	left := a.room()
	for _, other := range a.resident {
		left -= other.needs.bytes()
	}
	if need.bytes() > left {
		return control.Plain(control.CodeMemory, fmt.Sprintf(
			"With that drafter %s needs %s, and of the %s that models may take %s are left for it: unload other models, give it a shorter context, or choose a smaller drafter.",
			m.row.ID, control.GiB.Of(need.bytes()), control.GiB.Of(a.room()), control.GiB.Of(max(0, left))))
	}
	a.coming.needs = need
	a.allot()
	return a.lull(ctx, m.row.ID, false)
}

// describeDrafter says what drafts for a model, or would if it were loaded.
func (a *App) describeDrafter(ctx context.Context, row storage.Model) (control.Drafter, error) {
	out := control.Drafter{Model: row.ID}
	var err error
	if out.Choice, err = a.drafterChoice(ctx, row); err != nil {
		return out, err
	}
	a.mu.Lock()
	if m := a.inMemory(row.ID); m != nil {
		defer a.mu.Unlock()
		out.Loaded, out.Reason = true, m.noDrafter
		if d := m.drafter; d != nil {
			out.Source, out.Kind = d.source, d.Name()
			out.Embedding, out.Sliding = string(d.settings.Embedding), string(d.settings.Sliding)
			out.Trials, out.Measuring = d.trials, d.open
		}
		return out, nil
	}
	a.mu.Unlock()
	if out.Source, err = a.drafterSource(row, out.Choice); err != nil {
		out.Reason = err.Error()
		return out, nil
	}
	set, trials, err := a.reading(ctx, row, out.Source)
	out.Embedding, out.Sliding, out.Trials = string(set.Embedding), string(set.Sliding), trials
	return out, err
}
