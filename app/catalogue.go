package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"tandem/app/control"
	"tandem/models"
	"tandem/models/hub"
	"tandem/storage"
)

// Models implements server.Catalogue.
func (a *App) Models(ctx context.Context) ([]control.Model, error) {
	rows, err := a.db.Models(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]control.Model, len(rows))
	for i, r := range rows {
		list[i] = control.Model(r)
	}
	return list, nil
}

// IsFolder reports whether a model is named by its folder, not by its id: the
// folder exists, or the name is spelled as only a path can be.
func IsFolder(name string) bool {
	if filepath.IsAbs(name) || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") {
		return true
	}
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// registerPocket renews the row of the embedded model: a new program may
// bring a new one.
func (a *App) registerPocket(ctx context.Context) error {
	info, err := models.InspectPocket()
	if err != nil {
		return err
	}
	_, err = a.register(ctx, storage.Model{ID: models.PocketID, Source: storage.SourcePocket}, info)
	return err
}

// register adds what inspection found to a row and stores it.
func (a *App) register(ctx context.Context, row storage.Model, info models.Summary) (control.Model, error) {
	row.Architecture, row.Quantization, row.Dtype = info.Architecture, info.Quantization, info.Dtype
	row.Parameters, row.Bytes, row.ContextLength = info.Parameters, info.Bytes, info.ContextLength
	row, err := a.db.RegisterModel(ctx, row)
	return control.Model(row), err
}

// AddModel implements server.Admin: the folder must hold a complete model of a
// supported architecture.
func (a *App) AddModel(ctx context.Context, r control.AddRequest) (control.Model, error) {
	dir, err := filepath.Abs(r.Path)
	if err != nil {
		return control.Model{}, err
	}
	info, err := models.Inspect(dir)
	if err != nil {
		return control.Model{}, invalidModel(err)
	}
	id := r.ID
	if id == "" {
		id = filepath.Base(dir)
	}
	return a.register(ctx, storage.Model{ID: id, Path: dir, Source: storage.SourceFolder}, info)
}

// RemoveModel implements server.Admin.
func (a *App) RemoveModel(ctx context.Context, id string) error {
	row, err := a.db.Model(ctx, id)
	if err != nil {
		return a.notRegistered(err, id)
	}
	if row.Source == storage.SourcePocket {
		return control.Errorf(control.CodeInvalid, "The pocket model is part of the program and cannot be removed.")
	}
	if err := a.turn(ctx); err != nil {
		return err
	}
	defer a.mu.Unlock()
	if a.loaded != nil && a.loaded.row.ID == id {
		return control.Errorf(control.CodeModelBusy, "The model %s is loaded; unload it first.", id)
	}
	// Nobody may load it while its files go.
	end := a.begin()
	a.mu.Unlock()
	err = a.forget(ctx, row)
	a.mu.Lock()
	end()
	if err == nil && a.choice == id {
		a.choice = models.PocketID
		err = a.db.SetSetting(ctx, settingChoice, a.choice)
	}
	return err
}

// forget deletes a model's files, if Tandem downloaded them, and its row.
func (a *App) forget(ctx context.Context, row storage.Model) error {
	if err := a.deleteFiles(row); err != nil {
		return err
	}
	return a.notRegistered(a.db.RemoveModel(ctx, row.ID), row.ID)
}

// deleteFiles deletes the snapshot of a row, if Tandem downloaded it.
func (a *App) deleteFiles(row storage.Model) error {
	if !row.DownloadedByUs {
		return nil
	}
	freed, err := hub.Remove(row.Path)
	if e, ok := errors.AsType[*hub.Error](err); ok && e.Code == hub.NotFound {
		return nil // somebody deleted the folder before
	}
	if err != nil {
		return hubError(err)
	}
	a.log.Info("model deleted", "model", row.ID, "revision", row.Revision, "bytes", freed)
	return nil
}

// Pull implements server.Admin.
func (a *App) Pull(ctx context.Context, r control.PullRequest, progress func(control.Progress)) (control.Model, error) {
	name := r.ID
	if r.Revision != "" {
		name += "@" + r.Revision
	}
	id, _, err := hub.Parse(name)
	if err != nil {
		return control.Model{}, hubError(err)
	}
	snapshot, err := hub.Pull(ctx, name, a.opts.Hub, func(p hub.Progress) {
		progress(control.Progress{Done: p.Done, Total: p.Total, PerSecond: int64(p.Rate)})
	})
	if err != nil {
		return control.Model{}, hubError(err)
	}
	info, err := models.Inspect(snapshot.Dir)
	if err != nil {
		return control.Model{}, invalidModel(err)
	}
	old, err := a.pulled(ctx, id)
	if err != nil {
		return control.Model{}, err
	}
	if old.ID != "" {
		id = old.ID
	}
	// What others downloaded stays theirs; what they began and we completed
	// is ours.
	model, err := a.register(ctx, storage.Model{
		ID: id, Path: snapshot.Dir, Source: storage.SourceHub, Revision: snapshot.Commit, DownloadedByUs: snapshot.Added,
	}, info)
	if err == nil && model.ID == old.ID && model.Path != old.Path {
		// Nothing leads to our earlier snapshot any more.
		if err := a.deleteFiles(old); err != nil {
			a.log.Warn("the earlier snapshot stays on disk", "path", old.Path, "error", err)
		}
	}
	return model, err
}

// pulled returns the row of a model of the hub, the zero Model if it has none.
// Its id is another than the hub's if that was taken.
func (a *App) pulled(ctx context.Context, id string) (storage.Model, error) {
	rows, err := a.db.Models(ctx)
	if err != nil {
		return storage.Model{}, err
	}
	for _, row := range rows {
		if row.Source != storage.SourceHub {
			continue
		}
		if _, of, _, err := hub.ParseDir(row.Path); err == nil && of == id {
			return row, nil
		}
	}
	return storage.Model{}, nil
}

// invalidModel tells what is wrong with a model's folder.
func invalidModel(err error) *control.Error {
	return &control.Error{Code: control.CodeModelInvalid, Message: err.Error(), Err: err}
}

// hubError maps the hub's codes to the control routes'.
func hubError(err error) error {
	e, ok := errors.AsType[*hub.Error](err)
	if !ok {
		return err
	}
	code := control.CodeInternal
	switch e.Code {
	case hub.Invalid, hub.Unsupported, hub.Unsafe:
		code = control.CodeInvalid
	case hub.NotFound:
		code = control.CodeModelNotFound
	case hub.Gated:
		code = control.CodeGated
	case hub.DiskFull:
		code = control.CodeDiskFull
	case hub.Busy:
		code = control.CodeModelBusy
	case hub.Offline, hub.RateLimited, hub.Unavailable:
		code = control.CodeUnavailable
	case hub.Incomplete, hub.Damaged:
		code = control.CodeModelInvalid
	}
	return &control.Error{Code: code, Message: e.Error(), Err: err}
}
