package server

import (
	"context"
	"net/http"

	"tandem/app/control"
	"tandem/app/wire"
)

// Settings are the user's choices.
type Settings interface {
	// Settings returns the settings in force, and where each comes from.
	Settings(context.Context) (control.SettingsState, error)
	// ChangeSettings makes all of a change or none of it. The error is CodeInvalid with the name of
	// a field whose value is invalid or decided elsewhere.
	ChangeSettings(context.Context, control.SettingsChange) (control.SettingsState, error)
	// SetPort serves the endpoint at a port. 0 is the port that was asked for before. If another
	// program has the port, the error is CodePortTaken and the endpoint stays where it was.
	SetPort(ctx context.Context, port int) error
}

// changeSettings accepts any names, because the store knows which settings exist.
func (s *Server) changeSettings(w http.ResponseWriter, r *http.Request) error {
	f, err := s.api.ReadObject(w, r)
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
