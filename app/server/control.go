package server

import (
	"context"
	"net/http"
	"strings"

	"tandem/app/control"
)

// State is what Status reports, with the requests in flight.
func (s *Server) State() control.State {
	st := s.services.Status.State()
	st.Active = s.active()
	return st
}

func (s *Server) state(w http.ResponseWriter, r *http.Request) error {
	if strings.HasPrefix(r.Header.Get("Accept"), "text/event-stream") {
		return s.watch(w, r)
	}
	return writeJSON(w, s.State())
}

func (s *Server) load(w http.ResponseWriter, r *http.Request) error {
	f, err := s.readObject(w, r)
	if err != nil {
		return err
	}
	id := f.string("model")
	if f.err == nil && id == "" {
		f.fail("model", "is missing: name a registered model.")
	}
	if f.err != nil {
		return f.err
	}
	if err := s.services.Residents.Load(r.Context(), id); err != nil {
		return err
	}
	return writeJSON(w, s.State())
}

func (s *Server) unload(w http.ResponseWriter, r *http.Request) error {
	f, err := s.readObject(w, r)
	if err != nil {
		return err
	}
	id := f.string("model")
	if f.err != nil {
		return f.err
	}
	if err := s.services.Residents.Unload(r.Context(), id); err != nil {
		return err
	}
	return writeJSON(w, s.State())
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
	return writeJSON(w, models{append([]control.Model{}, list...)})
}

func (s *Server) addModel(w http.ResponseWriter, r *http.Request) error {
	f, err := s.readObject(w, r)
	if err != nil {
		return err
	}
	add := control.AddRequest{Path: f.string("path"), ID: f.string("id")}
	if f.err == nil && add.Path == "" {
		f.fail("path", "is missing: give the model's folder.")
	}
	if f.err != nil {
		return f.err
	}
	m, err := s.services.Library.AddModel(r.Context(), add)
	if err != nil {
		return err
	}
	return writeJSON(w, m)
}

func (s *Server) removeModel(w http.ResponseWriter, r *http.Request) error {
	out, err := s.services.Library.RemoveModel(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return writeJSON(w, out)
}

func (s *Server) drafter(w http.ResponseWriter, r *http.Request) error {
	f, err := s.readObject(w, r)
	if err != nil {
		return err
	}
	req := control.DrafterRequest{Model: f.string("model"), Drafter: f.string("drafter")}
	if f.err == nil && req.Model == "" {
		f.fail("model", "is missing: name a registered model.")
	}
	if f.err != nil {
		return f.err
	}
	d, err := s.services.Residents.Drafter(r.Context(), req)
	if err != nil {
		return err
	}
	return writeJSON(w, d)
}

// pull streams the progress of a download; its last event has the model or
// the error. A client that leaves stops the download, which can be resumed.
func (s *Server) pull(w http.ResponseWriter, r *http.Request) error {
	req, err := s.pullRequest(w, r)
	if err != nil {
		return err
	}
	return s.progress(w, r, func(ctx context.Context, send func(any)) error {
		m, err := s.services.Library.Pull(ctx, req, func(p control.Progress) { send(p) })
		switch {
		case err == nil:
			send(control.Progress{Done: m.Bytes, Total: m.Bytes, Model: &m})
		case context.Cause(ctx) == error(errStopping):
			return control.Errorf(control.CodeNotReady, "Tandem is stopping; pull %s again to resume.", req.ID)
		}
		return err
	})
}

// pullRequest reads what to download.
func (s *Server) pullRequest(w http.ResponseWriter, r *http.Request) (req control.PullRequest, err error) {
	f, err := s.readObject(w, r)
	if err != nil {
		return req, err
	}
	req = control.PullRequest{ID: f.string("id"), Revision: f.string("revision")}
	if f.err == nil && req.ID == "" {
		f.fail("id", "is missing: name a model of the hub, org/name.")
	}
	return req, f.err
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
	return writeJSON(w, s.State())
}

func (s *Server) pauseDownload(w http.ResponseWriter, r *http.Request) error {
	req, err := s.pullRequest(w, r)
	if err != nil {
		return err
	}
	if err := s.services.Library.PauseDownload(r.Context(), req.ID); err != nil {
		return err
	}
	return writeJSON(w, s.State())
}

func (s *Server) dropDownload(w http.ResponseWriter, r *http.Request) error {
	f, err := s.readObject(w, r)
	if err != nil {
		return err
	}
	req := control.DropRequest{ID: f.string("id"), Discard: f.bool("discard")}
	if f.err == nil && req.ID == "" {
		f.fail("id", "is missing: name a download.")
	}
	if f.err != nil {
		return f.err
	}
	if err := s.services.Library.DropDownload(r.Context(), req); err != nil {
		return err
	}
	return writeJSON(w, s.State())
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

// listModels answers in the form of the vendor whose program asks: two vendors have their
// list at the same path.
func (s *Server) listModels(w http.ResponseWriter, r *http.Request) error {
	if protocolOf(r) == (anthropic{}) {
		return s.anthropic.listModels(w, r)
	}
	return s.openAI.listModels(w, r)
}

// getModel is listModels for one model.
func (s *Server) getModel(w http.ResponseWriter, r *http.Request) error {
	if protocolOf(r) == (anthropic{}) {
		return s.anthropic.getModel(w, r)
	}
	return s.openAI.getModel(w, r)
}
