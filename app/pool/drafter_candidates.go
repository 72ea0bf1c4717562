package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"tandem/app/control"
	"tandem/models"
	"tandem/models/hub"
	"tandem/storage"
)

// Candidates returns the drafters that a model could have, by its place and by theirs: the one that
// is set first, then the one of auto, then the others, the best kind first. Whether each can be
// loaded is not known yet.
func (p *Pool) Candidates(ctx context.Context, id string) ([]control.DrafterChoice, error) {
	row, err := p.findModel(ctx, id)
	if err != nil {
		return nil, err
	}
	return p.candidates(ctx, row)
}

// Candidates are those of a model in memory.
func (m *Model) Candidates(ctx context.Context) ([]control.DrafterChoice, error) {
	return m.pool.candidates(ctx, m.row)
}

func (p *Pool) candidates(ctx context.Context, row storage.Model) (list []control.DrafterChoice, err error) {
	choice, err := p.drafterChoice(ctx, row)
	if err != nil {
		return nil, err
	}
	var own head
	if row.Source != storage.SourcePocket {
		own = p.head(row.Path)
	}
	auto, err := p.pairedDrafter(row)
	if err != nil && !errors.Is(err, own.unusable) {
		return nil, err
	}
	cached, err := p.cachedDrafters(row)
	if err != nil {
		return nil, err
	}
	var sources []string
	if choice != control.DrafterAuto && choice != control.DrafterNone {
		sources = append(sources, choice)
	}
	sources = append(sources, auto)
	if row.Source != storage.SourcePocket {
		sources = append(sources, DrafterBeside(row.Path))
		for _, c := range cached {
			sources = append(sources, c.dir)
		}
		if own.there || own.unusable != nil { // its load says what is wrong
			sources = append(sources, row.Path)
		}
	}
	for i, source := range sources {
		if source == "" || slices.Contains(sources[:i], source) {
			continue
		}
		c := control.DrafterChoice{Name: drafterName(row, source), Source: source, Choice: source,
			Own: true}
		if k := slices.IndexFunc(cached,
			func(c cachedDrafter) bool { return c.dir == source }); k >= 0 {
			c.Choice = cached[k].id
		} else if models.IsBuiltInDrafter(source) { // built in, where auto alone leads
			c.Choice = control.DrafterAuto
		}
		list = append(list, c)
	}
	return list, nil
}

// drafterName returns the name of a model's drafter for people.
func drafterName(row storage.Model, source string) string {
	switch {
	case models.IsBuiltInDrafter(source):
		return "the built-in drafter"
	case source == row.Path:
		return "the head in its own folder"
	case source == DrafterBeside(row.Path):
		return "the drafter in its own folder"
	}
	if _, id, _, err := hub.ParseDir(source); err == nil {
		return id
	}
	return source
}

// drafterChoices returns the candidates of a model, and then the other drafters in the hub's cache.
func (p *Pool) drafterChoices(ctx context.Context,
	row storage.Model) ([]control.DrafterChoice, error) {
	list, err := p.candidates(ctx, row)
	cache := p.settings.Hub().CacheDir
	if err != nil || cache == "" {
		return list, err
	}
	ids, err := hub.List(cache)
	if err != nil {
		return list, err
	}
	for _, id := range ids {
		dir, _ := drafterInCache(cache, id)
		if dir != "" && !slices.ContainsFunc(list,
			func(c control.DrafterChoice) bool { return c.Source == dir }) {
			list = append(list, control.DrafterChoice{Name: id, Source: dir, Choice: id})
		}
	}
	return list, nil
}

// A BorrowedDrafter is loaded for a measurement, beside the drafter that the model has.
type BorrowedDrafter struct {
	*Drafter
	model *Model
	bytes int64 // counted as the model's
}

// BorrowDrafter loads another drafter of a model that was lent, as it would be loaded if it were
// set. It measures how the drafter is to be read, if that is not known. Its memory counts as the
// model's until GiveBack. The error says why it cannot be had.
func (m *Model) BorrowDrafter(ctx context.Context, source string) (*BorrowedDrafter, error) {
	if m.bounded != nil {
		return nil, refuseOtherDrafter(m.row)
	}
	how, bytes, err := m.reserveDrafter(source)
	if err != nil {
		return nil, err
	}
	b := &BorrowedDrafter{model: m, bytes: bytes}
	if b.Drafter, err = m.pool.openDrafter(ctx, m, source, how); err != nil {
		m.release(bytes)
		return nil, err
	}
	if b.open {
		if err := m.tryReadings(ctx, b.Drafter); err != nil {
			m.pool.log.Info("a drafter is read as published", "model", m.row.ID, "drafter", source,
				"error", err)
		}
	}
	return b, nil
}

// GiveBack frees the drafter.
func (b *BorrowedDrafter) GiveBack() error {
	err := b.Close()
	b.model.release(b.bytes)
	return err
}

// reserveDrafter counts the memory of another drafter as the model's. It returns the form to load the
// drafter in: unpacked where that fits. Error: CodeMemory.
func (m *Model) reserveDrafter(source string) (how form, bytes int64, err error) {
	p := m.pool
	how = m.form
	size, err := p.measure(m.row, source, m.formSetting)
	if err != nil { // its needs are not known, see textMemory
		how.drafts = false
		return how, 0, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.roomLeft()
	need := func() int64 {
		held := size.as(how)
		return held.drafterWeights() +
			held.drafter.Text(min(shortRequest, cmp.Or(m.context, shortRequest)), how.wide || how.draftsWide)
	}
	how.draftsWide, how.drafts = size.draftsWide, size.unpacks
	if need() > left {
		how.drafts = false
	}
	if bytes = need(); bytes > left {
		return how, 0, control.Plain(control.CodeMemory, fmt.Sprintf(
			"It needs %s beside the model, and %s of the memory for models are left.",
			control.GiB.Of(bytes), control.GiB.Of(max(0, left))))
	}
	m.countMore(bytes)
	return how, bytes, nil
}

// release takes the memory of another drafter off the model's.
func (m *Model) release(bytes int64) {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	m.countMore(-bytes)
}

// countMore adds bytes to the weights of the model. The caller holds the pool's mu.
func (m *Model) countMore(bytes int64) {
	m.needs.weights += bytes
	if slices.Contains(m.pool.resident, m) {
		m.pool.divideMemory()
	}
}
