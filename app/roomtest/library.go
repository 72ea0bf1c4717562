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

func (f *Backend) Storage(context.Context) (control.Storage, error) {
	return control.Storage{Home: "/home", ByDay: []control.Usage{{Name: "2026-11-22", Runs: 3,
		Bytes: 5}}}, nil
}

func (f *Backend) ModelSettings(
	_ context.Context, id string,
) (control.ModelSettingsState, error) {
	if id != f.Model.Name {
		return control.ModelSettingsState{}, control.NotInstalled(id)
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

func (f *Backend) Drafter(
	_ context.Context, r control.DrafterRequest,
) (control.Drafter, error) {
	return control.Drafter{Model: r.Model, Choice: r.Drafter}, nil
}

func (f *Backend) Download(_ context.Context, r control.PullRequest) error {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Downloads = append(f.Downloads, control.Download{ID: r.ID})
	return nil
}

func (f *Backend) PauseDownload(_ context.Context, id string) error {
	return control.Errorf(control.CodeModelNotFound, "There is no download of %q.", id)
}

func (f *Backend) DropDownload(ctx context.Context, r control.DropRequest) error {
	return f.PauseDownload(ctx, r.ID)
}

func (f *Backend) Pull(ctx context.Context, r control.PullRequest,
	progress func(control.Progress)) (control.Model, error) {
	if f.OnPull != nil {
		return f.OnPull(ctx, progress)
	}
	progress(control.Progress{Done: 5, Total: 10})
	if r.ID == "acme/gated" {
		return control.Model{}, control.Errorf(control.CodeGated, "acme/gated wants a token.")
	}
	return control.Model{ID: r.ID, Source: "hub", Bytes: 10}, nil
}

func (f *Backend) AddModel(_ context.Context, r control.AddRequest) (control.Model, error) {
	if r.Path != "/models/new" {
		return control.Model{}, control.Errorf(control.CodeModelInvalid,
			"%s has no config.json; give the folder of a model.", r.Path)
	}
	return control.Model{ID: "new", Path: r.Path, Source: "folder"}, nil
}

func (f *Backend) Reveal(_ context.Context, id string) error {
	if id != f.Model.Name {
		return control.NotInstalled(id)
	}
	f.Revealed = append(f.Revealed, id)
	return nil
}

func (f *Backend) Removal(ctx context.Context, id string) (control.Removal, error) {
	return f.RemoveModel(ctx, id)
}

func (f *Backend) RemoveModel(_ context.Context, id string) (control.Removal, error) {
	if id != f.Model.Name {
		return control.Removal{}, control.NotInstalled(id)
	}
	return control.Removal{ID: id, Deletes: true, Bytes: 1000}, nil
}
