package storage

import (
	"context"
	"fmt"
)

// A DrafterFile is a drafter that was pulled from the hub. It is not in the model registry, because
// it cannot be served.
type DrafterFile struct {
	ID       string `json:"id"`
	Path     string `json:"path"`
	Revision string `json:"revision"`
	// of the snapshot: only these are ever deleted from disk
	DownloadedByUs bool `json:"downloaded_by_us"`
}

// DrafterFile returns the drafter with this id. Error: [NotFound].
func (ms Models) DrafterFile(ctx context.Context, id string) (DrafterFile, error) {
	f := DrafterFile{ID: id}
	err := ms.db.r.QueryRowContext(ctx,
		"SELECT path, revision, downloaded_by_us FROM drafter_files WHERE id = ?", id).
		Scan(&f.Path, &f.Revision, &f.DownloadedByUs)
	return f, ms.db.wrap(fmt.Sprintf("read the drafter %q", id), err)
}

// SetDrafterFile stores a drafter's files in place of older ones. DownloadedByUs stays set if the
// path stays the same.
func (ms Models) SetDrafterFile(ctx context.Context, f DrafterFile) error {
	_, err := ms.db.exec(ctx,
		`INSERT INTO drafter_files (id, path, revision, downloaded_by_us, created_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET
			downloaded_by_us = excluded.downloaded_by_us OR (path = excluded.path AND downloaded_by_us),
			path = excluded.path, revision = excluded.revision, created_at = excluded.created_at`,
		f.ID, f.Path, f.Revision, f.DownloadedByUs, stamp(ms.db.clock()))
	return ms.db.wrap("write a drafter's files", err)
}

// RemoveDrafterFile removes a drafter from the list. The caller deletes its files.
func (ms Models) RemoveDrafterFile(ctx context.Context, id string) error {
	_, err := ms.db.exec(ctx, "DELETE FROM drafter_files WHERE id = ?", id)
	return ms.db.wrap("remove a drafter", err)
}

// DrafterFiles returns all drafters that were pulled, ordered by id.
func (ms Models) DrafterFiles(ctx context.Context) ([]DrafterFile, error) {
	list, err := query(ctx, ms.db.r, func(f *DrafterFile) []any {
		return []any{&f.ID, &f.Path, &f.Revision, &f.DownloadedByUs}
	}, "SELECT id, path, revision, downloaded_by_us FROM drafter_files ORDER BY id")
	return list, ms.db.wrap("list drafters", err)
}
