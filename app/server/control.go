package server

import (
	"net/http"

	"tandem/app/control"
	"tandem/app/wire"
)

// State is what Status reports, with the requests in flight.
func (s *Server) State() control.State {
	st := s.services.Status.State()
	st.Active = s.api.Active()
	return st
}

// health answers 200 as soon as requests can be served.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	switch st := s.services.Status.State(); st.Phase {
	case control.PhaseReady, control.PhaseNoModel:
		return wire.WriteJSON(w, map[string]string{"status": "ok"})
	case control.PhaseFailed:
		return control.Errorf(control.CodeNotReady, "No model can be served: %s", st.Error)
	default:
		return control.Errorf(control.CodeNotReady, "Tandem is not ready: %s.", st.Phase)
	}
}

// ListModels answers in the form of the vendor whose program asks. Two vendors have their list at
// the same path.
func (s *Server) ListModels(w http.ResponseWriter, r *http.Request) error {
	if wire.ProtocolOf(r) == (wire.Anthropic{}) {
		return s.anthropic.ListModels(w, r)
	}
	return s.openAI.ListModels(w, r)
}

// GetModel is ListModels for one model.
func (s *Server) GetModel(w http.ResponseWriter, r *http.Request) error {
	if wire.ProtocolOf(r) == (wire.Anthropic{}) {
		return s.anthropic.GetModel(w, r)
	}
	return s.openAI.GetModel(w, r)
}
