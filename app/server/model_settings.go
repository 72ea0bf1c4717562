package server

import (
	"context"

	"tandem/app/control"
	"tandem/app/wire"
)

func (s *Server) modelSettings(ctx context.Context,
	id modelQuery) (control.ModelSettingsState, error) {
	if id == "" {
		return control.ModelSettingsState{}, wire.Invalid("model",
			"The field model is missing: name a registered model.")
	}
	return s.services.Residents.ModelSettings(ctx, string(id))
}

func (s *Server) setModelSettings(ctx context.Context,
	set control.ModelSettings) (control.ModelSettingsState, error) {
	return s.services.Residents.SetModelSettings(ctx, set)
}
