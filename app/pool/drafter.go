package pool

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

// BuiltInDrafter stands for the folder of the drafter that is built in, and is served with
// the pocket model.
const BuiltInDrafter = models.PocketDrafter

// A Drafter is in memory beside the model it guesses for.
type Drafter struct {
	draft.Drafter
	source string // its folder, or what one that is built in goes by
	files  *models.Drafter
	flash  *draft.DFlash // nil if it is a model of its own

	settings models.DrafterSettings
	trials   []control.Trial
	open     bool // its reading is still to be measured
}

// LoadDrafter loads the drafter in a folder, or one that is built in, for a model.
func LoadDrafter(ctx context.Context, bundle *models.Bundle, source string, set models.DrafterSettings, o models.Options) (*Drafter, error) {
	d := &Drafter{source: source, settings: set}
	var err error
	if source == BuiltInDrafter || source == models.PocketSlidingDrafter {
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
		return nil, errors.Join(err, d.Close())
	}
	d.Drafter = d.flash
	return d, nil
}

// Close frees a drafter that no engine has any more. It does nothing to nil.
func (d *Drafter) Close() error {
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
func (p *Pool) drafterChoice(ctx context.Context, row storage.Model) (string, error) {
	p.mu.Lock()
	served := p.drafter != "" && row.ID == p.drafterFor
	p.mu.Unlock()
	if served {
		return p.drafter, nil
	}
	choice, err := p.db.Drafter(ctx, row.ID)
	if storage.IsNotFound(err) {
		return control.DrafterAuto, nil
	}
	return choice, err
}

// drafterSource returns the folder a choice comes to, embedded for the one that
// is built in, or "" for none.
func (p *Pool) drafterSource(row storage.Model, choice string) (string, error) {
	switch choice {
	case control.DrafterNone:
		return "", nil
	case control.DrafterAuto:
		return p.pairedDrafter(row)
	}
	return choice, nil
}

// pairedDrafter looks for the drafter that belongs to a model by where it lies
// (see the package comment).
func (p *Pool) pairedDrafter(row storage.Model) (string, error) {
	if row.Source == storage.SourcePocket {
		if !models.HasPocketDrafter() {
			return "", nil
		}
		return BuiltInDrafter, nil
	}
	if dir := DrafterBeside(row.Path); dir != "" {
		return dir, nil
	}
	if p.settings.Current().HubCache == "" {
		return "", nil
	}
	ids, err := hub.List(p.settings.Current().HubCache)
	if err != nil {
		return "", err
	}
	name := row.ID
	if _, id, _, err := hub.ParseDir(row.Path); err == nil {
		name = id
	}
	for _, id := range DrafterNames(name, ids) {
		if dir, err := hub.Resolve(p.settings.Current().HubCache, id); err == nil {
			return dir, nil
		}
	}
	return "", nil
}

// DrafterBeside returns the folder of the drafter that lies in a model's, or "".
func DrafterBeside(model string) string {
	dir := filepath.Join(model, "drafter")
	if _, err := os.Stat(filepath.Join(dir, "config.json")); err != nil {
		return ""
	}
	return dir
}

// DrafterNames returns those of the hub's ids that name a drafter for a model,
// the best first: NAME-DFlash, or NAME-DFlash-MORE, for a model NAME or
// NAME-MORE, whoever published it. The longest NAME is the best.
func DrafterNames(model string, ids []string) []string {
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
func (p *Pool) openDrafter(ctx context.Context, row storage.Model, bundle *models.Bundle, source string) (*Drafter, error) {
	if source == "" {
		return nil, nil
	}
	set, trials, err := p.reading(ctx, row, source)
	if err != nil {
		return nil, err
	}
	d, err := LoadDrafter(ctx, bundle, source, set, models.Options{Dtype: models.DtypePolicy(p.opts.Dtype)})
	if err != nil {
		return nil, err
	}
	d.trials = trials
	// The one that is built in is read as it was trained.
	d.open = trials == nil && source != BuiltInDrafter && d.files.Block != nil && len(d.files.Block.Variants()) > 1
	return d, nil
}

// draftFor is openDrafter for a model that is served whatever comes of it: why
// there is no drafter is told with each answer.
func (p *Pool) draftFor(ctx context.Context, row storage.Model, bundle *models.Bundle) (d *Drafter, reason string, err error) {
	choice, err := p.drafterChoice(ctx, row)
	if err != nil {
		return nil, "", err
	}
	source, err := p.drafterSource(row, choice)
	if err == nil {
		d, err = p.openDrafter(ctx, row, bundle, source)
	}
	if ctx.Err() != nil {
		return nil, "", errors.Join(ctx.Err(), d.Close())
	}
	if err != nil {
		p.log.Warn("a model is served without its drafter", "model", row.ID, "drafter", source, "error", err)
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
func (m *Model) newEngine(d *Drafter, reason string) *engine.Engine {
	a := m.pool
	o := engine.Options{
		ContextLength: m.context, Logger: a.log,
		Name: m.row.ID, Policies: policies{db: a.db}, NoDrafter: reason,
		Drafters: []draft.Drafter{draft.Prediction{}}, Neighbours: &a.engines,
	}
	if d != nil {
		o.Drafters = append(o.Drafters, d.Drafter)
		o.Policies = policies{a.db, map[string]string{d.Name(): WeightsKey(d.source)}}
	}
	o.Drafters = append(o.Drafters, draft.Ngram{})
	if !a.opts.NoCheckpoints {
		o.Checkpoints, o.Store = a.CheckpointBytes(), m.store
	}
	o.Text, m.needs = m.texts(d)
	o.Room, o.Short = m.needs.text, shortRequest // and more once it is in memory, see App.allot
	return engine.New(a.thread, m.bundle.Model, m.bundle.Tokenizer, o)
}

// drafterFolder turns what somebody writes for a drafter into a choice. A folder
// is given whole: whose working folder it is in, only the caller knows.
func (p *Pool) drafterFolder(name string) (string, error) {
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
	case p.settings.Current().HubCache == "":
		return "", refuse(fmt.Errorf("%q is no folder; name one by its path", name))
	}
	dir, err := hub.Resolve(p.settings.Current().HubCache, name)
	if err != nil {
		return "", refuse(err)
	}
	return dir, nil
}

// checkDrafter loads a drafter for a model that need not be in memory, and lets
// it go: what is wrong with it comes out when it is chosen.
func (p *Pool) checkDrafter(ctx context.Context, row storage.Model, dir string) error {
	outline, err := models.Outline(ctx, p.thread, row.Path)
	if err != nil {
		return InvalidModel(err)
	}
	d, err := models.LoadDrafter(ctx, outline, dir, models.DrafterSettings{}, models.Options{Dtype: models.DtypePolicy(p.opts.Dtype)})
	if err != nil {
		return InvalidModel(err)
	}
	return errors.Join(d.Close(), p.thread.Do(ctx, func(s *mlx.Scope) error { s.ClearCache(); return nil }))
}

// Drafter implements server.Residents: it sets what drafts for a model, and says
// what does. A drafter that cannot be loaded for the model is refused, and
// nothing is changed.
func (p *Pool) Drafter(ctx context.Context, r control.DrafterRequest) (control.Drafter, error) {
	id := r.Model
	if id == control.Alias {
		id = p.Choice()
	}
	row, err := p.db.Model(ctx, id)
	if err != nil {
		return control.Drafter{}, NotRegistered(err, id)
	}
	if r.Drafter != "" {
		if err := p.setDrafter(ctx, row, r.Drafter); err != nil {
			return control.Drafter{}, err
		}
	}
	return p.describeDrafter(ctx, row)
}

func (p *Pool) setDrafter(ctx context.Context, row storage.Model, name string) error {
	choice, err := p.drafterFolder(name)
	if err != nil {
		return err
	}
	if row, err = p.lockFor(ctx, row.ID); err != nil {
		return err
	}
	defer p.mu.Unlock()
	m := p.inMemory(row.ID)
	if m != nil && m.users > 0 {
		return control.Errorf(control.CodeModelBusy, "The model %s is answering requests; change its drafter when it is idle.", row.ID)
	}
	if m != nil { // nobody may use it meanwhile
		p.remove([]*Model{m})
		p.loading = &loading{id: row.ID, needs: m.needs}
	}
	err = p.change(func() error {
		next := m
		if m != nil { // it comes back also after a panic
			defer func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.loading = nil
				p.add(next)
			}()
		}
		drafted, err := p.redraft(ctx, m, row, choice)
		next = drafted
		return err
	})
	if err == nil && row.ID == p.drafterFor {
		p.drafterFor = "" // what was chosen last counts
	}
	return err
}

// redraft stores what drafts for a model and returns the model with it, if it
// is in memory. It is unchanged after an error.
func (p *Pool) redraft(ctx context.Context, m *Model, row storage.Model, choice string) (*Model, error) {
	if m == nil {
		if choice != control.DrafterAuto && choice != control.DrafterNone {
			if err := p.checkDrafter(ctx, row, choice); err != nil {
				return nil, err
			}
		}
		return nil, p.db.SetDrafter(ctx, row.ID, choice)
	}
	source, err := p.drafterSource(row, choice)
	if err != nil && choice != control.DrafterAuto {
		return m, err
	}
	var d *Drafter
	if err == nil {
		// Automatic drafting goes without where there is no room.
		if err = p.mayDraft(ctx, m, source); err != nil && choice != control.DrafterAuto {
			return m, err
		}
	}
	if err == nil {
		d, err = p.openDrafter(ctx, row, m.bundle, source)
	}
	if err != nil && choice != control.DrafterAuto {
		return m, InvalidModel(err)
	}
	reason := whyNone(err)
	if err := p.db.SetDrafter(ctx, row.ID, choice); err != nil {
		return m, errors.Join(err, d.Close())
	}
	m.stopDrafting()
	if err := m.drafter.Close(); err != nil {
		p.log.Error("freeing a drafter", "drafter", m.drafter.source, "error", err)
	}
	next := &Model{pool: p, row: m.row, weights: m.weights, bundle: m.bundle, context: m.context, uses: m.uses, used: m.used, took: m.took, longest: m.longest, own: m.own}
	next.listen()
	next.startDrafting(d, reason)
	return next, nil
}

// mayDraft sees to it that there is room for a drafter of a model that is in memory, which
// a.coming is. The drafter before it goes later, but nobody has a text there meanwhile.
// Error: CodeMemory; CodeModelBusy, see lull.
func (p *Pool) mayDraft(ctx context.Context, m *Model, source string) error {
	size, err := p.measure(m.row, source)
	need := size.demand(m.needs.context)
	if err != nil || need.bytes() <= m.needs.bytes() {
		return nil // what it takes is not known, see loaded.texts, or no more than before
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.Room()
	for _, other := range p.resident {
		left -= other.needs.bytes()
	}
	if need.bytes() > left {
		return control.Plain(control.CodeMemory, fmt.Sprintf(
			"With that drafter %s needs %s, and of the %s that models may take %s are left for it: unload other models, give it a shorter context, or choose a smaller drafter.",
			m.row.ID, control.GiB.Of(need.bytes()), control.GiB.Of(p.Room()), control.GiB.Of(max(0, left))))
	}
	p.loading.needs = need
	p.divideMemory()
	return p.waitForMemory(ctx, m.row.ID, false)
}

// describeDrafter says what drafts for a model, or would if it were loaded.
func (p *Pool) describeDrafter(ctx context.Context, row storage.Model) (control.Drafter, error) {
	out := control.Drafter{Model: row.ID}
	var err error
	if out.Choice, err = p.drafterChoice(ctx, row); err != nil {
		return out, err
	}
	p.mu.Lock()
	if m := p.inMemory(row.ID); m != nil {
		defer p.mu.Unlock()
		out.Loaded, out.Reason = true, m.noDrafter
		if d := m.drafter; d != nil {
			out.Source, out.Kind = d.source, d.Name()
			out.Embedding, out.Sliding = string(d.settings.Embedding), string(d.settings.Sliding)
			out.Trials, out.Measuring = d.trials, d.open
		}
		return out, nil
	}
	p.mu.Unlock()
	if out.Source, err = p.drafterSource(row, out.Choice); err != nil {
		out.Reason = err.Error()
		return out, nil
	}
	set, trials, err := p.reading(ctx, row, out.Source)
	out.Embedding, out.Sliding, out.Trials = string(set.Embedding), string(set.Sliding), trials
	return out, err
}

// HasDrafter reports whether the drafter in a folder is in memory.
func (p *Pool) HasDrafter(path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.resident, func(m *Model) bool { return m.drafter != nil && m.drafter.source == path })
}
