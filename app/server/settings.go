package server

import (
	"context"
	"net/http"

	"tandem/app/control"
)

// Settings are what a person can set.
type Settings interface {
	// Settings returns those in force and where each comes from.
	Settings(context.Context) (control.SettingsState, error)
	// ChangeSettings does all of a change or nothing. What makes no sense, or is
	// decided elsewhere, is CodeInvalid with the field's name.
	ChangeSettings(context.Context, control.SettingsChange) (control.SettingsState, error)
}

func (s *Server) settings(w http.ResponseWriter, r *http.Request) error {
	st, err := s.backend.Settings(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, st)
}

func (s *Server) changeSettings(w http.ResponseWriter, r *http.Request) error {
	f, err := s.readObject(w, r)
	if err != nil {
		return err
	}
	st, err := s.backend.ChangeSettings(r.Context(), control.SettingsChange(f.values))
	if err != nil {
		return err
	}
	return writeJSON(w, st)
}
