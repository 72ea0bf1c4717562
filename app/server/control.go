package server

import (
	"context"
	"net/http"
	"strings"

	"tandem/app/control"
	"tandem/app/wire"
)

// State is what Status reports, with the requests in flight.
func (s *Server) State() control.State {
	st := s.services.Status.State()
	st.Active = s.Active()
	return st
}

func (s *Server) state(w http.ResponseWriter, r *http.Request) error {
	if strings.HasPrefix(r.Header.Get("Accept"), "text/event-stream") {
		return s.watch(w, r)
	}
	return wire.WriteJSON(w, s.State())
}

func (s *Server) load(w http.ResponseWriter, r *http.Request) error {
	f, err := s.ReadObject(w, r)
	if err != nil {
		return err
	}
	id := f.String("model")
	if f.Err == nil && id == "" {
		f.Fail("model", "is missing: name a registered model.")
	}
	if f.Err != nil {
		return f.Err
	}
	if err := s.services.Residents.Load(r.Context(), id); err != nil {
		return err
	}
	return wire.WriteJSON(w, s.State())
}

func (s *Server) unload(w http.ResponseWriter, r *http.Request) error {
	f, err := s.ReadObject(w, r)
	if err != nil {
		return err
	}
	id := f.String("model")
	if f.Err != nil {
		return f.Err
	}
	if err := s.services.Residents.Unload(r.Context(), id); err != nil {
		return err
	}
	return wire.WriteJSON(w, s.State())
}

// models is the body of GET /app/models.
type models struct {
	Models []control.Model `json:"models"`
}

func (s *Server) registry(w http.ResponseWriter, r *http.Request) error {
	list, err := s.services.Library.Models(r.Context())
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, models{append([]control.Model{}, list...)})
}

func (s *Server) addModel(w http.ResponseWriter, r *http.Request) error {
	f, err := s.ReadObject(w, r)
	if err != nil {
		return err
	}
	add := control.AddRequest{Path: f.String("path"), ID: f.String("id")}
	if f.Err == nil && add.Path == "" {
		f.Fail("path", "is missing: give the model's folder.")
	}
	if f.Err != nil {
		return f.Err
	}
	m, err := s.services.Library.AddModel(r.Context(), add)
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, m)
}

func (s *Server) removeModel(w http.ResponseWriter, r *http.Request) error {
	out, err := s.services.Library.RemoveModel(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, out)
}

func (s *Server) drafter(w http.ResponseWriter, r *http.Request) error {
	f, err := s.ReadObject(w, r)
	if err != nil {
		return err
	}
	req := control.DrafterRequest{Model: f.String("model"), Drafter: f.String("drafter")}
	if f.Err == nil && req.Model == "" {
		f.Fail("model", "is missing: name a registered model.")
	}
	if f.Err != nil {
		return f.Err
	}
	d, err := s.services.Residents.Drafter(r.Context(), req)
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, d)
}

// pull streams the progress of a download; its last event has the model or
// the error. A client that leaves stops the download, which can be resumed.
func (s *Server) pull(w http.ResponseWriter, r *http.Request) error {
	req, err := s.pullRequest(w, r)
	if err != nil {
		return err
	}
	return s.Progress(w, r, func(ctx context.Context, send func(any)) error {
		m, err := s.services.Library.Pull(ctx, req, func(p control.Progress) { send(p) })
		switch {
		case err == nil:
			send(control.Progress{Done: m.Bytes, Total: m.Bytes, Model: &m})
		case context.Cause(ctx) == error(wire.ErrStopping):
			return control.Errorf(control.CodeNotReady, "Tandem is stopping; pull %s again to resume.", req.ID)
		}
		return err
	})
}

// pullRequest reads what to download.
func (s *Server) pullRequest(w http.ResponseWriter, r *http.Request) (req control.PullRequest, err error) {
	f, err := s.ReadObject(w, r)
	if err != nil {
		return req, err
	}
	req = control.PullRequest{ID: f.String("id"), Revision: f.String("revision")}
	if f.Err == nil && req.ID == "" {
		f.Fail("id", "is missing: name a model of the hub, org/name.")
	}
	return req, f.Err
}

// download begins a pull that goes on when its client leaves.
func (s *Server) download(w http.ResponseWriter, r *http.Request) error {
	req, err := s.pullRequest(w, r)
	if err != nil {
		return err
	}
	if err := s.services.Library.Download(r.Context(), req); err != nil {
		return err
	}
	return wire.WriteJSON(w, s.State())
}

func (s *Server) pauseDownload(w http.ResponseWriter, r *http.Request) error {
	req, err := s.pullRequest(w, r)
	if err != nil {
		return err
	}
	if err := s.services.Library.PauseDownload(r.Context(), req.ID); err != nil {
		return err
	}
	return wire.WriteJSON(w, s.State())
}

func (s *Server) dropDownload(w http.ResponseWriter, r *http.Request) error {
	f, err := s.ReadObject(w, r)
	if err != nil {
		return err
	}
	req := control.DropRequest{ID: f.String("id"), Discard: f.Bool("discard")}
	if f.Err == nil && req.ID == "" {
		f.Fail("id", "is missing: name a download.")
	}
	if f.Err != nil {
		return f.Err
	}
	if err := s.services.Library.DropDownload(r.Context(), req); err != nil {
		return err
	}
	return wire.WriteJSON(w, s.State())
}

// health is 200 as soon as requests can be served.
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

// ListModels answers in the form of the vendor whose program asks: two vendors have their
// list at the same path.
func (s *Server) ListModels(w http.ResponseWriter, r *http.Request) error {
	if wire.ProtocolOf(r) == (wire.Anthropic{}) {
		return s.anthropic.ListModels(w, r)
	}
	return s.openAI.ListModels(w, r)
}

// GetModel is listModels for one model.
func (s *Server) GetModel(w http.ResponseWriter, r *http.Request) error {
	if wire.ProtocolOf(r) == (wire.Anthropic{}) {
		return s.anthropic.GetModel(w, r)
	}
	return s.openAI.GetModel(w, r)
}
