package server

import (
	"context"
	"net/http"

	"tandem/app/control"
)

// A Library knows of models that are not registered, and what models need.
type Library interface {
	// Found looks for models on this machine.
	Found(ctx context.Context) (control.Found, error)
	// Catalogue lists models worth downloading, with their sizes as far as they
	// are known; ask says that the hub is to be asked.
	Catalogue(ctx context.Context, ask bool) (control.Catalogue, error)
	// Memory says what the registered models need of this machine.
	Memory(ctx context.Context) (control.Memory, error)
	// ModelSettings returns those of a registered model.
	ModelSettings(ctx context.Context, id string) (control.ModelSettingsState, error)
	// SetModelSettings stores them in place of what was set.
	SetModelSettings(context.Context, control.ModelSettings) (control.ModelSettingsState, error)
	// Welcomed notes whether somebody has gone through the first steps.
	Welcomed(ctx context.Context, done bool) error
}

func (s *Server) found(w http.ResponseWriter, r *http.Request) error {
	f, err := s.backend.Found(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, f)
}

func (s *Server) catalogue(w http.ResponseWriter, r *http.Request) error {
	c, err := s.backend.Catalogue(r.Context(), r.URL.Query().Get("sizes") == "true")
	if err != nil {
		return err
	}
	return writeJSON(w, c)
}

func (s *Server) memory(w http.ResponseWriter, r *http.Request) error {
	m, err := s.backend.Memory(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, m)
}

func (s *Server) welcome(w http.ResponseWriter, r *http.Request) error {
	f, err := s.readObject(w, r)
	if err != nil {
		return err
	}
	done := f.bool("done")
	if f.err == nil && f.raw("done") == nil {
		f.fail("done", "is missing: say true or false.")
	}
	if f.err != nil {
		return f.err
	}
	if err := s.backend.Welcomed(r.Context(), done); err != nil {
		return err
	}
	return writeJSON(w, s.State())
}
