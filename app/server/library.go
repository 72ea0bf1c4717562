package server

import (
	"context"
	"net/http"

	"tandem/app/control"
)

// A Library has the models on disk: registered, found, offered and on their way.
type Library interface {
	// Models lists the registered models. The alias is not among them.
	Models(ctx context.Context) ([]control.Model, error)
	// IDOf returns the id of the model that another program has under a name, else the name.
	IDOf(ctx context.Context, name string) (string, error)
	// AddModel registers a folder.
	AddModel(ctx context.Context, r control.AddRequest) (control.Model, error)
	// RemoveModel takes a model off the list. It deletes only files that Tandem downloaded.
	RemoveModel(ctx context.Context, id string) (control.Removal, error)
	// Removal says what RemoveModel would do.
	Removal(ctx context.Context, id string) (control.Removal, error)
	// Reveal shows the files of a model in the program that shows folders here.
	Reveal(ctx context.Context, id string) error
	// Found looks for models on this machine.
	Found(ctx context.Context) (control.Found, error)
	// Catalogue lists models worth downloading, with their sizes where these are known. ask allows
	// a request to the hub.
	Catalogue(ctx context.Context, ask bool) (control.Catalogue, error)
	// Storage returns how much of the disk Tandem uses.
	Storage(ctx context.Context) (control.Storage, error)

	// Pull downloads a model and registers it. It calls progress on the caller's goroutine. After
	// ctx is cancelled, the downloaded part is kept for a resume.
	Pull(ctx context.Context, r control.PullRequest,
		progress func(control.Progress)) (control.Model, error)
	// Download begins or resumes a Pull in the background. The state has its progress.
	Download(ctx context.Context, r control.PullRequest) error
	// PauseDownload stops a download, which stays in the state.
	PauseDownload(ctx context.Context, id string) error
	// DropDownload stops a download and removes it from the state.
	DropDownload(ctx context.Context, r control.DropRequest) error
}

// models is the body of GET /app/models.
type models struct {
	Models []control.Model `json:"models"`
}

func (s *Server) registry(ctx context.Context) (models, error) {
	list, err := s.services.Library.Models(ctx)
	return models{listOf(list)}, err
}

func (s *Server) removeModel(ctx context.Context, m pathID) (control.Removal, error) {
	return s.services.Library.RemoveModel(ctx, m.id)
}

func (s *Server) removal(ctx context.Context, id modelQuery) (control.Removal, error) {
	return s.services.Library.Removal(ctx, string(id))
}

func (s *Server) reveal(ctx context.Context, q control.RevealRequest) (control.State, error) {
	err := s.services.Library.Reveal(ctx, q.Model)
	return s.State(), err
}

// A catalogueQuery decides whether the hub may be asked for sizes.
type catalogueQuery bool

func (q *catalogueQuery) readAddress(r *http.Request) error {
	*q = r.URL.Query().Get("sizes") == "true"
	return nil
}

func (s *Server) catalogue(ctx context.Context, ask catalogueQuery) (control.Catalogue, error) {
	return s.services.Library.Catalogue(ctx, bool(ask))
}

// download begins a pull that continues after its client has left.
func (s *Server) download(ctx context.Context, q control.PullRequest) (control.State, error) {
	err := s.services.Library.Download(ctx, q)
	return s.State(), err
}

func (s *Server) pauseDownload(ctx context.Context, q control.PullRequest) (control.State, error) {
	err := s.services.Library.PauseDownload(ctx, q.ID)
	return s.State(), err
}

func (s *Server) dropDownload(ctx context.Context, q control.DropRequest) (control.State, error) {
	err := s.services.Library.DropDownload(ctx, q)
	return s.State(), err
}

func (s *Server) welcome(ctx context.Context, q control.WelcomeRequest) (control.State, error) {
	err := s.services.Status.Welcomed(ctx, q.Done)
	return s.State(), err
}

func (s *Server) addModel(ctx context.Context, q control.AddRequest) (control.Model, error) {
	return s.services.Library.AddModel(ctx, q)
}

func (s *Server) found(ctx context.Context) (control.Found, error) {
	return s.services.Library.Found(ctx)
}

func (s *Server) storage(ctx context.Context) (control.Storage, error) {
	return s.services.Library.Storage(ctx)
}
