package library

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"tandem/app/control"
	"tandem/models"
	"tandem/models/hub"
	"tandem/storage"
)

// Storage returns what Tandem takes of the disk, and the usage of its models. It implements
// server.Library.
func (l *Library) Storage(ctx context.Context) (control.Storage, error) {
	out := control.Storage{Home: l.home.Dir, Models: []control.StoredModel{}}
	var disk unix.Statfs_t
	if unix.Statfs(l.home.Dir, &disk) == nil {
		out.Free = int64(disk.Bavail) * int64(disk.Bsize)
	}
	rows, err := l.db.Models(ctx)
	if err != nil {
		return out, err
	}
	for _, r := range rows {
		if r.Source == storage.SourcePocket {
			continue // in the program
		}
		m := control.StoredModel{ID: r.ID, Path: r.Path, Bytes: r.Bytes, Ours: r.DownloadedByUs}
		if m.Ours {
			m.Bytes, _ = hub.Freed(m.Path) // 0 for a folder that is gone
		}
		out.Models = append(out.Models, m)
	}
	drafters, err := l.db.DrafterFiles(ctx)
	if err != nil {
		return out, err
	}
	for _, f := range drafters {
		m := control.StoredModel{ID: f.ID, Path: f.Path, Ours: f.DownloadedByUs, Drafter: true}
		if m.Ours {
			m.Bytes, _ = hub.Freed(m.Path)
		} else {
			size, _ := models.MeasureDrafter(m.Path) // also of a drafter that cannot be used
			m.Bytes = size.Weights(false)
		}
		out.Models = append(out.Models, m)
	}
	all, err := l.db.Totals(ctx)
	if err != nil {
		return out, err
	}
	out.Checkpoints, out.CheckpointBytes, out.PinnedBytes = all.Checkpoints, all.Bytes, all.Pinned
	out.Runs, out.HistoryBytes = all.Runs, all.Database
	usage := func(by storage.UsageBy) []control.Usage {
		list, e := l.db.Usage(ctx, by)
		err = errors.Join(err, e)
		sums := make([]control.Usage, len(list))
		for i, u := range list {
			sums[i] = control.Usage(u)
		}
		return sums
	}
	out.ByModel, out.ByClient, out.ByDay = usage(storage.ByModel), usage(storage.ByClient),
		usage(storage.ByDay)
	return out, err
}
