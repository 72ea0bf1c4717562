package drafters

import (
	"context"
	"errors"
	"slices"

	"tandem/app/control"
	"tandem/models"
	"tandem/models/hub"
	"tandem/storage"
)

// Candidates returns the drafters that a model could have, by its path and theirs alone: the one that
// is set first, then the one of auto, then the others, the best kind first. Whether each can be
// loaded is not known yet.
func (f *Finder) Candidates(ctx context.Context,
	row storage.Model) (list []control.DrafterChoice, err error) {
	choice, err := f.Choice(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	var mtp head
	if row.Source != storage.SourcePocket {
		mtp = f.head(row.Path)
	}
	auto, err := f.auto(row)
	if err != nil && !errors.Is(err, mtp.unusable) { // an unusable head is listed: its load says why
		return nil, err
	}
	cached, err := f.cached(row)
	if err != nil {
		return nil, err
	}
	var sources []string
	if choice != control.DrafterAuto && choice != control.DrafterNone {
		sources = append(sources, choice)
	}
	sources = append(sources, auto)
	if row.Source != storage.SourcePocket {
		sources = append(sources, Beside(row.Path))
		for _, c := range cached {
			sources = append(sources, c.dir)
		}
		if mtp != (head{}) {
			sources = append(sources, row.Path)
		}
	}
	for i, source := range sources {
		if source == "" || slices.Contains(sources[:i], source) {
			continue
		}
		c := control.DrafterChoice{Name: displayName(row, source), Source: source, Choice: source,
			Suits: true}
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

// displayName returns the name of a model's drafter for people.
func displayName(row storage.Model, source string) string {
	switch {
	case models.IsBuiltInDrafter(source):
		return "the built-in draft model"
	case source == row.Path:
		return "its own MTP head"
	case source == Beside(row.Path):
		return "the draft model in its folder"
	}
	if _, id, _, err := hub.ParseDir(source); err == nil {
		return id
	}
	return source
}

// Choices returns the Candidates of a model, and then the other drafters in the hub's cache, fitting or not.
func (f *Finder) Choices(ctx context.Context, row storage.Model) ([]control.DrafterChoice, error) {
	list, err := f.Candidates(ctx, row)
	cache := f.settings.Hub().CacheDir
	if err != nil || cache == "" {
		return list, err
	}
	ids, err := hub.List(cache)
	if err != nil {
		return list, err
	}
	for _, id := range ids {
		dir, _ := f.inCache(cache, id)
		if dir != "" && !slices.ContainsFunc(list,
			func(c control.DrafterChoice) bool { return c.Source == dir }) {
			list = append(list, control.DrafterChoice{Name: id, Source: dir, Choice: id})
		}
	}
	return list, nil
}
