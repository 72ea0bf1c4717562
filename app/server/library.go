package server

import (
	"context"
	"net/http"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/wire"
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
	// Catalogue lists models worth downloading, with their sizes where these are known. askHub
	// allows a request to the hub for sizes.
	Catalogue(ctx context.Context, askHub bool) (control.Catalogue, error)
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

// libraryRoutes answer for a Library.
type libraryRoutes struct {
	Library
	api *api.API
}

func addLibrary(to *controlRoutes, of Library) {
	l := libraryRoutes{of, to.api}
	handle(to, control.ListModels, ask(l.list))
	handle(to, control.AddModel, of.AddModel)
	handle(to, control.RemoveModel, of.RemoveModel)
	handle(to, control.WouldRemoveModel, of.Removal)
	handle(to, control.RevealModel, thenState(to, l.reveal))
	handle(to, control.FindModels, ask(of.Found))
	handle(to, control.GetCatalogue, of.Catalogue)
	handle(to, control.GetStorage, ask(of.Storage))
	stream(to, control.PullModel, l.pull)
	handle(to, control.StartDownload, thenState(to, of.Download))
	handle(to, control.PauseDownload, thenState(to, l.pause))
	handle(to, control.DropDownload, thenState(to, of.DropDownload))
}

func (l libraryRoutes) list(ctx context.Context) (control.ModelList, error) {
	list, err := l.Models(ctx)
	return control.ModelList{Models: list}, err
}

func (l libraryRoutes) reveal(ctx context.Context, q control.RevealRequest) error {
	return l.Reveal(ctx, q.Model)
}

func (l libraryRoutes) pause(ctx context.Context, q control.PullRequest) error {
	return l.PauseDownload(ctx, q.ID)
}

// pull streams the progress of a download. The last event has the model or the error. A client that
// leaves stops the download, which can be resumed.
func (l libraryRoutes) pull(w http.ResponseWriter, r *http.Request, q control.PullRequest) error {
	return l.api.Progress(w, r, func(ctx context.Context, send func(any)) error {
		m, err := l.Pull(ctx, q, func(p control.Progress) { send(p) })
		switch {
		case err == nil:
			send(control.Progress{Done: m.Bytes, Total: m.Bytes, Model: &m})
		case context.Cause(ctx) == error(wire.ErrStopping):
			return control.Errorf(control.CodeNotReady,
				"Tandem is stopping; pull %s again to resume.", q.ID)
		}
		return err
	})
}
