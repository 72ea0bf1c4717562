package server

import (
	"context"

	"tandem/app/control"
)

// Residents are the models in memory, with their settings.
type Residents interface {
	// Load makes a registered model the choice and loads it in place of the one before.
	Load(ctx context.Context, id string) error
	// Unload frees a model in memory, or all of them if the id is empty. The error is CodeModelBusy
	// for a model in use. There is no error if no model is in memory.
	Unload(ctx context.Context, id string) error
	// Drafter sets what drafts for a model, unless the request leaves that empty. It returns what
	// drafts.
	Drafter(ctx context.Context, r control.DrafterRequest) (control.Drafter, error)
	// Memory returns how much memory the registered models need on this machine.
	Memory(ctx context.Context) (control.Memory, error)
	// ModelSettings returns the settings of a registered model.
	ModelSettings(ctx context.Context, id string) (control.ModelSettingsState, error)
	// SetModelSettings replaces the settings of a registered model.
	SetModelSettings(ctx context.Context,
		set control.ModelSettings) (control.ModelSettingsState, error)
}

func addResidents(to *controlRoutes, of Residents) {
	handle(to, control.LoadModel, thenState(to, func(ctx context.Context,
		q control.LoadRequest) error {
		return of.Load(ctx, q.Model)
	}))
	handle(to, control.UnloadModel, thenState(to, func(ctx context.Context,
		q control.UnloadRequest) error {
		return of.Unload(ctx, q.Model)
	}))
	handle(to, control.GetMemory, ask(of.Memory))
	handle(to, control.SetDrafter, of.Drafter)
	handle(to, control.GetModelSettings, of.ModelSettings)
	handle(to, control.SetModelSettings, of.SetModelSettings)
}
