package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A Download is a pull from the hub that has not finished.
type Download struct {
	ID        string    `json:"id"`       // at the hub
	Revision  string    `json:"revision"` // empty = main
	Paused    bool      `json:"paused"`   // a person stopped it
	Error     string    `json:"error"`    // why it failed; empty if it did not
	Done      int64     `json:"done"`     // bytes, when it last stopped
	Total     int64     `json:"total"`    // bytes; 0 = not known
	Blobs     []string  `json:"blobs"`    // names of the files that it began in the cache
	StartedAt time.Time `json:"started_at"`
	Cache     string    `json:"cache"`   // folder that receives the files; empty = not known
	Dropped   bool      `json:"dropped"` // a person cancelled it; its files stay in the cache
}

// SetDownload stores a download in place of an older row. It sets StartedAt if that is zero.
func (ms Models) SetDownload(ctx context.Context, d Download) error {
	if d.StartedAt.IsZero() {
		d.StartedAt = ms.db.clock()
	}
	blobs, err := json.Marshal(append([]string{}, d.Blobs...))
	if err != nil {
		return err
	}
	_, err = ms.db.exec(ctx,
		"INSERT OR REPLACE INTO downloads (id, revision, paused, error, done, total, blobs, started_at, cache, dropped) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		d.ID, d.Revision, d.Paused, d.Error, d.Done, d.Total, string(blobs), stamp(d.StartedAt),
		d.Cache, d.Dropped)
	return ms.db.wrap(fmt.Sprintf("note the download of %q", d.ID), err)
}

// RemoveDownload removes a download from the list, if it is there.
func (ms Models) RemoveDownload(ctx context.Context, id string) error {
	_, err := ms.db.exec(ctx, "DELETE FROM downloads WHERE id = ?", id)
	return ms.db.wrap(fmt.Sprintf("forget the download of %q", id), err)
}

// Downloads returns all downloads, the first begun first.
func (ms Models) Downloads(ctx context.Context) (list []Download, err error) {
	type row struct {
		Download
		blobs string
	}
	rows, err := query(ctx, ms.db.r, func(d *row) []any {
		return []any{&d.ID, &d.Revision, &d.Paused, &d.Error, &d.Done, &d.Total, &d.blobs,
			(*stamp)(&d.StartedAt), &d.Cache, &d.Dropped}
	}, "SELECT id, revision, paused, error, done, total, blobs, started_at, cache, dropped FROM downloads ORDER BY started_at, id")
	for _, d := range rows {
		err = errors.Join(err, json.Unmarshal([]byte(d.blobs), &d.Blobs))
		list = append(list, d.Download)
	}
	return list, ms.db.wrap("list downloads", err)
}
