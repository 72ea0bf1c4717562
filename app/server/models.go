package server

import (
	"context"
	"net/http"
	"strings"

	"tandem/app/control"
)

// A modelEntry is one model of /v1/models. context_length and max_model_len
// are what clients that ask read.
type modelEntry struct {
	ID            string `json:"id"`
	Object        string `json:"object"`
	Created       int64  `json:"created"` // Unix seconds
	OwnedBy       string `json:"owned_by"`
	ContextLength int    `json:"context_length"`
	MaxModelLen   int    `json:"max_model_len"`
	Root          string `json:"root"` // the model behind an alias, as in vLLM
}

// entries lists the alias first, then the registry.
func (s *Server) entries(ctx context.Context) ([]modelEntry, error) {
	list, err := s.services.Library.Models(ctx)
	if err != nil {
		return nil, err
	}
	state := s.services.Status.State()
	out := []modelEntry{}
	for _, m := range list {
		owner, _, ok := strings.Cut(m.ID, "/")
		if !ok {
			owner = "tandem"
		}
		length := m.ContextLength
		if state.ContextLimit > 0 {
			length = min(length, state.ContextLimit)
		}
		if l := state.Resident(m.ID); l != nil {
			length = l.ContextLength // perhaps cut to the machine's memory
		}
		e := modelEntry{m.ID, "model", m.AddedAt.Unix(), owner, length, length, m.ID}
		out = append(out, e)
		if m.ID == state.Choice {
			e.ID, e.OwnedBy = control.Alias, "tandem"
			out = append([]modelEntry{e}, out...)
		}
	}
	return out, nil
}

func (s *Server) listModels(w http.ResponseWriter, r *http.Request) error {
	list, err := s.entries(r.Context())
	if err != nil {
		return err
	}
	if protocolOf(r) == (anthropic{}) {
		page, err := anthropicModels(r, list)
		if err != nil {
			return err
		}
		return writeJSON(w, page)
	}
	return writeJSON(w, struct {
		Object string       `json:"object"`
		Data   []modelEntry `json:"data"`
	}{"list", list})
}

func (s *Server) getModel(w http.ResponseWriter, r *http.Request) error {
	list, err := s.entries(r.Context())
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	for _, e := range list {
		switch {
		case e.ID != id:
		case protocolOf(r) == anthropic{}:
			return writeJSON(w, e.anthropic())
		default:
			return writeJSON(w, e)
		}
	}
	return control.Errorf(control.CodeModelNotFound, "The model %q is not registered; /v1/models lists those that are.", clip(id))
}

// health is 200 as soon as requests can be served.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	switch st := s.services.Status.State(); st.Phase {
	case control.PhaseReady, control.PhaseNoModel:
		return writeJSON(w, map[string]string{"status": "ok"})
	case control.PhaseFailed:
		return control.Errorf(control.CodeNotReady, "No model can be served: %s", st.Error)
	default:
		return control.Errorf(control.CodeNotReady, "Tandem is not ready: %s.", st.Phase)
	}
}
