package server

import (
	"context"
	"net/http"

	"tandem/app/control"
	"tandem/app/wire"
)

// Settings are what a person can set.
type Settings interface {
	// Settings returns those in force and where each comes from.
	Settings(context.Context) (control.SettingsState, error)
	// ChangeSettings does all of a change or nothing. What makes no sense, or is
	// decided elsewhere, is CodeInvalid with the field's name.
	ChangeSettings(context.Context, control.SettingsChange) (control.SettingsState, error)
	// SetPort serves the endpoint at a port; 0 is the one that was asked for before.
	// One that another program has is CodePortTaken, and nothing moves.
	SetPort(ctx context.Context, port int) error
}

// changeSettings reads any names: the store knows which there are.
func (s *Server) changeSettings(w http.ResponseWriter, r *http.Request) error {
	f, err := s.ReadObject(w, r)
	if err != nil {
		return err
	}
	before := s.services.Status.State().Address
	st, err := s.services.Settings.ChangeSettings(r.Context(), control.SettingsChange(f.Values))
	if err != nil {
		return err
	}
	if s.services.Status.State().Address != before {
		st.Link = s.NewCode().URL
	}
	return wire.WriteJSON(w, st)
}

func (s *Server) port(ctx context.Context, q control.PortRequest) (control.State, error) {
	err := s.services.Settings.SetPort(ctx, q.Port)
	return s.State(), err
}

func (s *Server) settings(ctx context.Context) (control.SettingsState, error) {
	return s.services.Settings.Settings(ctx)
}
