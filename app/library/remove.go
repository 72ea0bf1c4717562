package library

import (
	"context"
	"errors"

	"tandem/app/control"
	"tandem/app/pool"
	"tandem/models/hub"
	"tandem/storage"
)

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
	out.InMemory, err = l.pool.RemoveModel(ctx, id, func(ctx context.Context, row storage.Model) (err error) {
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
