package server

import (
	"context"
	"net/http"

	"tandem/app/control"
	"tandem/app/wire"
)

// A Library has the models on disk: registered, found, offered and on their way.
type Library interface {
	// Models lists the registered models. The alias is not among them.
	Models(ctx context.Context) ([]control.Model, error)
	// AddModel registers a folder.
	AddModel(ctx context.Context, r control.AddRequest) (control.Model, error)
	// RemoveModel takes a model off the list. It deletes only files that Tandem downloaded.
	RemoveModel(ctx context.Context, id string) (control.Removal, error)
	// Removal says what RemoveModel would do.
	Removal(ctx context.Context, id string) (control.Removal, error)
	// Found looks for models on this machine.
	Found(ctx context.Context) (control.Found, error)
	// Catalogue lists models worth downloading, with their sizes as far as they are known.
	// ask allows it to ask the hub.
	Catalogue(ctx context.Context, ask bool) (control.Catalogue, error)
	// Storage sums up what Tandem takes of the disk.
	Storage(ctx context.Context) (control.Storage, error)

	// Pull downloads a model and registers it. progress is called on the caller's
	// goroutine. Cancelling ctx keeps what was fetched, for a resume.
	Pull(ctx context.Context, r control.PullRequest, progress func(control.Progress)) (control.Model, error)
	// Download is Pull in the background: it begins, or goes on. The state tells how far it
	// has come.
	Download(ctx context.Context, r control.PullRequest) error
	// PauseDownload stops one, which stays in the state.
	PauseDownload(ctx context.Context, id string) error
	// DropDownload stops one and takes it out of the state.
	DropDownload(ctx context.Context, r control.DropRequest) error
}

func (s *Server) found(w http.ResponseWriter, r *http.Request) error {
	f, err := s.services.Library.Found(r.Context())
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, f)
}

func (s *Server) catalogue(w http.ResponseWriter, r *http.Request) error {
	c, err := s.services.Library.Catalogue(r.Context(), r.URL.Query().Get("sizes") == "true")
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, c)
}

func (s *Server) memory(w http.ResponseWriter, r *http.Request) error {
	m, err := s.services.Residents.Memory(r.Context())
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, m)
}

func (s *Server) welcome(w http.ResponseWriter, r *http.Request) error {
	f, err := s.ReadObject(w, r)
	if err != nil {
		return err
	}
	done := f.Bool("done")
	if f.Err == nil && f.Raw("done") == nil {
		f.Fail("done", "is missing: say true or false.")
	}
	if f.Err != nil {
		return f.Err
	}
	if err := s.services.Status.Welcomed(r.Context(), done); err != nil {
		return err
	}
	return wire.WriteJSON(w, s.State())
}
