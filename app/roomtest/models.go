package roomtest

import (
	"context"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/modeltest"
)

func (f *Backend) Models(context.Context) ([]control.Model, error) {
	if f.Library != nil {
		return f.Library, nil
	}
	added := Ended.UTC()
	return []control.Model{
		{ID: "other", Source: "folder", ContextLength: 4096, AddedAt: added},
		{ID: f.Model.Name, Source: "hub", Kind: f.Model.Purpose, ContextLength: f.Model.Context, AddedAt: added},
	}, nil
}

func (f *Backend) IDOf(_ context.Context, name string) (string, error) {
	if name == "foreign:8b" {
		return f.Model.Name, nil
	}
	return name, nil
}

func (f *Backend) Acquire(ctx context.Context, name string) (model.Model, error) {
	if f.OnLoad != nil {
		if err := f.OnLoad(ctx); err != nil {
			return nil, err
		}
	}
	switch name {
	case control.Alias, f.Model.Name:
		f.Mu.Lock()
		f.Held++
		f.Mu.Unlock()
		return &heldModel{&f.Model, f}, nil
	case "other":
		return nil, control.Errorf(control.CodeModelBusy,
			"acme/coder is answering requests; other can be loaded when it is idle.")
	}
	return nil, control.NotInstalled(name)
}

func (f *Backend) Abilities(_ context.Context, id string) (model.Abilities, error) {
	if id != f.Model.Name {
		return model.Abilities{}, nil
	}
	var fim *model.FIM
	if texts, ok := f.Model.FIM(); ok {
		fim = &texts
	}
	return model.NewAbilities(f.Model.Dialect(), fim), nil
}

// A heldModel is a model that was acquired and is counted in Held until Release.
type heldModel struct {
	*modeltest.Fake
	f *Backend
}

func (h *heldModel) Release() {
	h.f.Mu.Lock()
	h.f.Held--
	h.f.Mu.Unlock()
	h.Fake.Release()
}

func (f *Backend) Load(_ context.Context, id string) error {
	m, err := f.Acquire(context.Background(), id)
	if err == nil {
		m.Release()
	}
	return err
}

func (f *Backend) Unload(_ context.Context, id string) error {
	if f.OnUnload != nil {
		return f.OnUnload()
	}
	f.Unloaded = append(f.Unloaded, id)
	return nil
}
