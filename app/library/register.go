package library

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tandem/app/control"
	"tandem/app/pool"
	"tandem/models"
	"tandem/models/hub"
	"tandem/storage"
)

// Models implements server.Library.
func (l *Library) Models(ctx context.Context) ([]control.Model, error) {
	rows, err := l.db.Models(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]control.Model, len(rows))
	for i, r := range rows {
		list[i] = control.Model(r)
	}
	return list, nil
}

// IsFolder reports whether a name that is no registered id means a folder: it
// is spelled as only a path can be, or it is a path of a folder that exists. A
// bare name is always an id, whatever lies in the working folder.
func IsFolder(name string) bool {
	if filepath.IsAbs(name) || name == "." || name == ".." || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") {
		return true
	}
	if !strings.Contains(name, "/") {
		return false
	}
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// registerPocket renews the row of the embedded model: a new program may
// bring a new one.
func (l *Library) registerPocket(ctx context.Context) error {
	info, err := models.InspectPocket()
	if err != nil {
		return err
	}
	_, err = l.register(ctx, storage.Model{ID: models.PocketID, Source: storage.SourcePocket}, info)
	return err
}

// register adds what inspection found to a row and stores it.
func (l *Library) register(ctx context.Context, row storage.Model, info models.Summary) (control.Model, error) {
	if row.ID == control.Alias {
		row.ID += "-2" // as if another model had the name
	}
	row.Architecture, row.Quantization, row.Dtype = info.Architecture, info.Quantization, info.Dtype
	row.Parameters, row.Bytes, row.ContextLength, row.Kind = info.Parameters, info.Bytes, info.ContextLength, string(info.Kind)
	row, err := l.db.RegisterModel(ctx, row)
	return control.Model(row), err
}

// AddModel implements server.Library: the folder must hold a complete model of a
// supported architecture.
func (l *Library) AddModel(ctx context.Context, r control.AddRequest) (control.Model, error) {
	dir, err := filepath.Abs(r.Path)
	if err != nil {
		return control.Model{}, err
	}
	if file, err := os.Stat(dir); err == nil && !file.IsDir() {
		return control.Model{}, control.Errorf(control.CodeModelInvalid, "%s is a file, not a model's folder; name the folder that holds config.json and the weights", dir)
	}
	info, err := models.Inspect(dir)
	if err != nil {
		return control.Model{}, pool.InvalidModel(err)
	}
	id := folderID(dir)
	if r.ID != "" {
		if id, err = r.ID, l.checkID(ctx, r.ID, dir); err != nil {
			return control.Model{}, err
		}
	}
	return l.register(ctx, storage.Model{ID: id, Path: dir, Source: storage.SourceFolder}, info)
}

// folderID is the id of a folder's model: its name at the hub if it lies in a
// hub's cache, else the folder's name in the hub's alphabet.
func folderID(dir string) string {
	if _, id, _, err := hub.ParseDir(dir); err == nil {
		return id
	}
	id := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '.':
			return r
		}
		return '-'
	}, filepath.Base(dir))
	for _, c := range []string{"-", "."} { // a doubled one has a meaning in the hub's cache
		for strings.Contains(id, c+c) {
			id = strings.ReplaceAll(id, c+c, c)
		}
	}
	id = strings.Trim(id, "-.")
	if _, _, err := hub.Parse(id); err != nil {
		return "model"
	}
	return id
}

// checkID refuses an id that no request could name, or a second one for the
// model in dir.
func (l *Library) checkID(ctx context.Context, id, dir string) error {
	refuse := func(format string, args ...any) error {
		return &control.Error{Code: control.CodeInvalid, Param: "id", Message: fmt.Sprintf(format, args...)}
	}
	if _, _, err := hub.Parse(id); err != nil || strings.Contains(id, "@") {
		return refuse("%q cannot be a model's id: it is NAME or ORG/NAME, of letters, digits and the signs - _ and .", id)
	}
	if id == control.Alias {
		return refuse("The name %s stands for the chosen model, whichever that is; take another id.", id)
	}
	rows, err := l.db.Models(ctx)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.Path == dir && r.ID != id {
			return refuse("%s is registered as %s; use that name, or `tandem models remove %s` first.", dir, r.ID, r.ID)
		}
	}
	return nil
}

// RemoveModel implements server.Library: it unloads the model if it is idle.
func (l *Library) RemoveModel(ctx context.Context, id string) (out control.Removal, err error) {
	out.ID = id
	row, err := l.db.Model(ctx, id)
	if storage.IsNotFound(err) {
		if f, err := l.db.DrafterFile(ctx, id); !storage.IsNotFound(err) {
			if err == nil {
				out.Bytes, err = l.removeDrafterFile(ctx, f)
			}
			out.Deletes = f.DownloadedByUs
			return out, err
		}
	}
	if err != nil {
		return out, pool.NotRegistered(err, id)
	}
	if row.Source == storage.SourcePocket {
		return out, errPocketStays
	}
	out.InMemory, err = l.pool.Without(ctx, id, func(ctx context.Context, row storage.Model) (err error) {
		out.Deletes = row.DownloadedByUs
		out.Bytes, err = l.forget(ctx, row)
		return err
	})
	return out, err
}

// errPocketStays is what those get who want to remove the pocket model.
var errPocketStays = control.Errorf(control.CodeInvalid, "The pocket model is part of the program and cannot be removed.")

// Removal implements server.Library.
func (l *Library) Removal(ctx context.Context, id string) (control.Removal, error) {
	out := control.Removal{ID: id}
	row, err := l.db.Model(ctx, id)
	if storage.IsNotFound(err) {
		if f, err := l.db.DrafterFile(ctx, id); !storage.IsNotFound(err) {
			out.Deletes, out.InMemory = f.DownloadedByUs, l.pool.HasDrafter(f.Path)
			return sized(out, f.Path), err
		}
	}
	switch {
	case err != nil:
		return out, pool.NotRegistered(err, id)
	case row.Source == storage.SourcePocket:
		return out, errPocketStays
	}
	out.InMemory = l.pool.InMemory(id)
	out.Deletes = row.DownloadedByUs
	return sized(out, row.Path), nil
}

// sized adds to what a removal would be the bytes that it would free.
func sized(r control.Removal, path string) control.Removal {
	if r.Deletes {
		r.Bytes, _ = hub.Freed(path) // nothing of what is not there
	}
	return r
}

// forget deletes a model's files, if Tandem downloaded them, and its row. It
// returns the bytes that this freed.
func (l *Library) forget(ctx context.Context, row storage.Model) (freed int64, err error) {
	if freed, err = l.deleteFiles(row); err != nil {
		return freed, err
	}
	return freed, pool.NotRegistered(l.db.RemoveModel(ctx, row.ID), row.ID)
}

// deleteFiles deletes the snapshot of a row, if Tandem downloaded it.
func (l *Library) deleteFiles(row storage.Model) (freed int64, err error) {
	if !row.DownloadedByUs {
		return 0, nil
	}
	return l.deleteSnapshot(row.ID, row.Path, row.Revision)
}

// deleteSnapshot deletes one in the hub's cache.
func (l *Library) deleteSnapshot(id, path, revision string) (freed int64, err error) {
	freed, err = hub.Remove(path)
	if e, ok := errors.AsType[*hub.Error](err); ok && e.Code == hub.NotFound {
		return 0, nil // somebody deleted the folder before
	}
	if err != nil {
		return freed, hubError(err)
	}
	l.log.Info("model deleted", "model", id, "revision", revision, "bytes", freed)
	return freed, nil
}

// keepDrafterFile notes where a drafter that was pulled lies. Nothing leads to
// an earlier snapshot of it any more: if it was ours, it goes.
func (l *Library) keepDrafterFile(ctx context.Context, f storage.DrafterFile) error {
	old, err := l.db.DrafterFile(ctx, f.ID)
	if err != nil && !storage.IsNotFound(err) {
		return err
	}
	if err := l.db.SetDrafterFile(ctx, f); err != nil {
		return err
	}
	if old.DownloadedByUs && old.Path != f.Path && !l.pool.HasDrafter(old.Path) {
		if _, err := l.deleteSnapshot(old.ID, old.Path, old.Revision); err != nil {
			l.log.Warn("the earlier snapshot stays on disk", "path", old.Path, "error", err)
		}
	}
	return nil
}

// removeDrafterFile forgets a drafter that was pulled, and deletes it if Tandem
// downloaded it.
func (l *Library) removeDrafterFile(ctx context.Context, f storage.DrafterFile) (freed int64, err error) {
	if l.pool.HasDrafter(f.Path) {
		return 0, control.Errorf(control.CodeModelBusy, "The drafter %s guesses for a model in memory; choose another with `tandem models drafter` first, or unload the model.", f.ID)
	}
	if f.DownloadedByUs {
		if freed, err = l.deleteSnapshot(f.ID, f.Path, f.Revision); err != nil {
			return freed, err
		}
	}
	return freed, l.db.RemoveDrafterFile(context.WithoutCancel(ctx), f.ID)
}

// pullName is what a request names at the hub: ORG/NAME or ORG/NAME@REVISION.
func pullName(r control.PullRequest) string {
	if r.Revision == "" {
		return r.ID
	}
	return r.ID + "@" + r.Revision
}

// Pull implements server.Library.
func (l *Library) Pull(ctx context.Context, r control.PullRequest, progress func(control.Progress)) (control.Model, error) {
	o := l.settings.Hub()
	return l.pull(ctx, fromPage(r, o), o, progress)
}

// fromPage has a request name the model where it has the address of its page.
func fromPage(r control.PullRequest, o hub.Options) control.PullRequest {
	if name := hub.FromPage(r.ID, o.Endpoint); name != r.ID {
		id, revision, _ := strings.Cut(name, "@")
		r.ID, r.Revision = id, cmp.Or(r.Revision, revision)
	}
	return r
}

// pull is Pull from where, and to where, the options say.
func (l *Library) pull(ctx context.Context, r control.PullRequest, o hub.Options, progress func(control.Progress)) (control.Model, error) {
	name := pullName(r)
	id, _, err := hub.ParsePull(name)
	if err != nil {
		return control.Model{}, hubError(err)
	}
	snapshot, err := hub.Pull(ctx, name, o, func(p hub.Progress) {
		progress(control.Progress{Done: p.Done, Total: p.Total, PerSecond: int64(p.Rate), Waiting: p.Waiting})
	})
	if err != nil {
		return control.Model{}, hubError(err)
	}
	var notes []string
	if snapshot.Unchecked != nil {
		notes = append(notes, fmt.Sprintf("the hub could not be asked for a newer revision, so what the cache holds is used: %v", snapshot.Unchecked))
	}
	drafter := models.IsDrafter(snapshot.Dir)
	if drafter {
		notes = append(notes, fmt.Sprintf("%s is a drafter and no model of its own: where it is named NAME-DFlash the model NAME takes it by itself when it is loaded next, and `tandem models drafter ID %s` sets it for the model ID now; `tandem models remove %s` deletes it", id, id, id))
	}
	if notes != nil {
		progress(control.Progress{Note: strings.Join(notes, "; ")})
	}
	if drafter { // not for the registry, which holds what can be served
		if err := l.keepDrafterFile(ctx, storage.DrafterFile{ID: id, Path: snapshot.Dir, Revision: snapshot.Commit, DownloadedByUs: snapshot.Added}); err != nil {
			return control.Model{}, err
		}
		return control.Model{ID: id, Path: snapshot.Dir, Source: storage.SourceHub, Revision: snapshot.Commit}, nil
	}
	info, err := models.Inspect(snapshot.Dir)
	if err != nil {
		return control.Model{}, pool.InvalidModel(err)
	}
	old, err := l.pulled(ctx, id)
	if err != nil {
		return control.Model{}, err
	}
	if old.ID != "" {
		id = old.ID
	}
	// What others downloaded stays theirs; what they began and we completed
	// is ours.
	model, err := l.register(ctx, storage.Model{
		ID: id, Path: snapshot.Dir, Source: storage.SourceHub, Revision: snapshot.Commit, DownloadedByUs: snapshot.Added,
	}, info)
	if err == nil && model.ID == old.ID && model.Path != old.Path {
		// Nothing leads to our earlier snapshot any more.
		if _, err := l.deleteFiles(old); err != nil {
			l.log.Warn("the earlier snapshot stays on disk", "path", old.Path, "error", err)
		}
	}
	return model, err
}

// pulled returns the row of a model of the hub, the zero Model if it has none.
// Its id is another than the hub's if that was taken.
func (l *Library) pulled(ctx context.Context, id string) (storage.Model, error) {
	rows, err := l.db.Models(ctx)
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

// hubError maps the hub's codes to the control routes'.
func hubError(err error) error {
	e, ok := errors.AsType[*hub.Error](err)
	if !ok {
		return err
	}
	code, param := control.CodeInternal, ""
	switch e.Code {
	case hub.Invalid:
		code, param = control.CodeInvalid, "id"
	case hub.BadOption, hub.Unsupported, hub.Unsafe:
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
	message := e.Error()
	if e.Name == "" {
		message = control.Sentence(e.Message)
	}
	return &control.Error{Code: code, Param: param, Message: message, Err: err}
}
