package storage

import (
	"context"
	"fmt"
)

// A DrafterFile is a drafter that was pulled from the hub. It is no model of the registry, for it cannot be served.
type DrafterFile struct {
	ID             string `json:"id"`
	Path           string `json:"path"`
	Revision       string `json:"revision"`
	DownloadedByUs bool   `json:"downloaded_by_us"` // of the snapshot: what others downloaded stays theirs
}

// DrafterFile returns the one of an id, or [NotFound].
func (db *DB) DrafterFile(ctx context.Context, id string) (DrafterFile, error) {
	f := DrafterFile{ID: id}
	err := db.r.QueryRowContext(ctx, "SELECT path, revision, downloaded_by_us FROM drafter_files WHERE id = ?", id).
		Scan(&f.Path, &f.Revision, &f.DownloadedByUs)
	return f, db.wrap(fmt.Sprintf("read the drafter %q", id), err)
}

// SetDrafterFile stores a drafter's files in place of older ones. Of the same snapshot it stays ours if it was.
func (db *DB) SetDrafterFile(ctx context.Context, f DrafterFile) error {
	_, err := db.w.ExecContext(ctx, `INSERT INTO drafter_files (id, path, revision, downloaded_by_us, created_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET
			downloaded_by_us = excluded.downloaded_by_us OR (path = excluded.path AND downloaded_by_us),
			path = excluded.path, revision = excluded.revision, created_at = excluded.created_at`,
		f.ID, f.Path, f.Revision, f.DownloadedByUs, stamp(db.clock()))
	return db.wrap("write a drafter's files", err)
}

// RemoveDrafterFile takes a drafter off the list; its files are the caller's business.
func (db *DB) RemoveDrafterFile(ctx context.Context, id string) error {
	_, err := db.w.ExecContext(ctx, "DELETE FROM drafter_files WHERE id = ?", id)
	return db.wrap("remove a drafter", err)
}
