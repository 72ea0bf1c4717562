package library

import (
	"context"
	"errors"

	"tandem/app/control"
	"tandem/app/pool"
	"tandem/models/hub"
	"tandem/storage"
)

// RemoveModel removes a model, or a drafter that was pulled, from the registry, and deletes its
// files if Tandem downloaded them. An idle model in memory is unloaded. Error: CodeModelBusy while
// requests hold it. It implements server.Library.
func (l *Library) RemoveModel(ctx context.Context, id string) (out control.Removal, err error) {
	out.ID = id
	row, drafter, err := l.find(ctx, id)
	switch {
	case err != nil:
		return out, err
	case drafter != nil:
		out.Deletes = drafter.DownloadedByUs
		out.Bytes, err = l.removeDrafterFile(ctx, *drafter)
		return out, err
	case comesAlong(row):
		return out, stays(row)
	}
	out.InMemory, err = l.pool.RemoveModel(ctx, id,
		func(ctx context.Context, row storage.Model) (err error) {
			out.Deletes = row.DownloadedByUs
			out.Bytes, err = l.forget(ctx, row)
			return err
		})
	return out, err
}

// find returns the row of a model, or a drafter that was pulled under that id.
func (l *Library) find(ctx context.Context, id string) (row storage.Model,
	drafter *storage.DrafterFile, err error) {
	if row, err = l.db.Models.Get(ctx, id); storage.IsNotFound(err) {
		if f, err := l.db.Models.DrafterFile(ctx, id); !storage.IsNotFound(err) {
			return row, &f, err
		}
	}
	if err != nil {
		err = pool.NotInstalled(err, id)
	}
	return row, nil, err
}

// comesAlong reports whether a model is part of the program.
func comesAlong(row storage.Model) bool {
	return row.Source == storage.SourcePocket || row.Source == storage.SourceStarter
}

// stays refuses to remove a model that comes along.
func stays(row storage.Model) error {
	return control.Errorf(control.CodeInvalid,
		"The %s model is part of the program and cannot be removed.", row.Source)
}

// Removal returns what RemoveModel would do. It implements server.Library.
func (l *Library) Removal(ctx context.Context, id string) (control.Removal, error) {
	out := control.Removal{ID: id}
	row, drafter, err := l.find(ctx, id)
	switch {
	case err != nil:
		return out, err
	case drafter != nil:
		out.Deletes, out.InMemory = drafter.DownloadedByUs, l.pool.HasDrafter(drafter.Path)
		return withBytes(out, drafter.Path), nil
	case comesAlong(row):
		return out, stays(row)
	}
	out.InMemory = l.pool.InMemory(id)
	out.Deletes = row.DownloadedByUs
	return withBytes(out, row.Path), nil
}

// withBytes adds to a removal the bytes that it would free.
func withBytes(r control.Removal, path string) control.Removal {
	if r.Deletes {
		r.Bytes, _ = hub.Freed(path) // 0 for a folder that is gone
	}
	return r
}

// forget deletes a model's files, if Tandem downloaded them, and its row. It returns the bytes
// freed.
func (l *Library) forget(ctx context.Context, row storage.Model) (freed int64, err error) {
	if freed, err = l.deleteFiles(row); err != nil {
		return freed, err
	}
	return freed, pool.NotInstalled(l.db.Models.Remove(ctx, row.ID), row.ID)
}

// deleteFiles deletes the snapshot of a row, if Tandem downloaded it.
func (l *Library) deleteFiles(row storage.Model) (freed int64, err error) {
	if !row.DownloadedByUs {
		return 0, nil
	}
	return l.deleteSnapshot(row.ID, row.Path, row.Revision)
}

// deleteSnapshot deletes a snapshot in the hub's cache and returns the bytes freed. A missing one
// is not an error.
func (l *Library) deleteSnapshot(id, path, revision string) (freed int64, err error) {
	freed, err = hub.Remove(path)
	if e, ok := errors.AsType[*hub.Error](err); ok && e.Code == hub.NotFound {
		return 0, nil // the folder was deleted before
	}
	if err != nil {
		return freed, hubError(err)
	}
	l.log.Info("model deleted", "model", id, "revision", revision, "bytes", freed)
	return freed, nil
}

// keepDrafterFile stores where a pulled drafter is. It deletes an earlier snapshot that Tandem
// downloaded and no model uses: no name leads there any more.
func (l *Library) keepDrafterFile(ctx context.Context, f storage.DrafterFile) error {
	old, err := l.db.Models.DrafterFile(ctx, f.ID)
	if err != nil && !storage.IsNotFound(err) {
		return err
	}
	if err := l.db.Models.SetDrafterFile(ctx, f); err != nil {
		return err
	}
	if old.DownloadedByUs && old.Path != f.Path && !l.pool.HasDrafter(old.Path) {
		if _, err := l.deleteSnapshot(old.ID, old.Path, old.Revision); err != nil {
			l.log.Warn("the earlier snapshot stays on disk", "path", old.Path, "error", err)
		}
	}
	return nil
}

// removeDrafterFile forgets a drafter that was pulled, and deletes it if Tandem downloaded it.
// Error: CodeModelBusy while a model in memory uses it.
func (l *Library) removeDrafterFile(ctx context.Context,
	f storage.DrafterFile) (freed int64, err error) {
	if l.pool.HasDrafter(f.Path) {
		return 0, control.Errorf(control.CodeModelBusy,
			"The drafter %s is in use by a model in memory; choose another for that model first, or unload the model.", f.ID)
	}
	if f.DownloadedByUs {
		if freed, err = l.deleteSnapshot(f.ID, f.Path, f.Revision); err != nil {
			return freed, err
		}
	}
	return freed, l.db.Models.RemoveDrafterFile(context.WithoutCancel(ctx), f.ID)
}
