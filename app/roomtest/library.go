package roomtest

import (
	"context"

	"tandem/app/control"
)

func (f *Backend) Found(context.Context) (control.Found, error) {
	return control.Found{Models: []control.FoundModel{{ID: "acme/other", Path: "/models/other",
		Why: "it is too new"}}}, nil
}

func (f *Backend) Catalogue(_ context.Context, ask bool) (control.Catalogue, error) {
	c := control.Catalogue{Class: 16, Models: []control.Suggested{{ID: "acme/more"}}}
	if ask {
		c.Models[0].Bytes = 1000
	}
	return c, nil
}

func (f *Backend) Memory(context.Context) (control.Memory, error) {
	return control.Memory{Total: 16 << 30, Models: []control.ModelNeeds{{ID: "acme/coder",
		Needs: control.Needs{Bytes: 5, Fits: true}}}}, nil
}

func (f *Backend) ModelSettings(
	_ context.Context, id string,
) (control.ModelSettingsState, error) {
	if id != f.Model.Name {
		return control.ModelSettingsState{}, control.Errorf(control.CodeModelNotFound,
			"The model %q is not registered.", id)
	}
	return control.ModelSettingsState{Settings: f.Own}, nil
}

func (f *Backend) SetModelSettings(ctx context.Context,
	set control.ModelSettings) (control.ModelSettingsState, error) {
	if _, err := f.ModelSettings(ctx, set.Model); err != nil {
		return control.ModelSettingsState{}, err
	}
	f.Own = set
	return f.ModelSettings(ctx, set.Model)
}

func (f *Backend) Welcomed(_ context.Context, done bool) error {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Welcome = !done
	return nil
}
