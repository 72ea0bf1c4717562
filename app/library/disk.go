package library

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sys/unix"

	"tandem/app/control"
	"tandem/app/pool"
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
	rows, err := l.db.Models.List(ctx)
	if err != nil {
		return out, err
	}
	for _, r := range rows {
		if comesAlong(r) {
			continue
		}
		out.Models = append(out.Models, control.StoredModel{ID: r.ID, Path: r.Path, Bytes: r.Bytes,
			Ours: r.DownloadedByUs})
	}
	drafters, err := l.db.Models.DrafterFiles(ctx)
	if err != nil {
		return out, err
	}
	for _, f := range drafters {
		out.Models = append(out.Models, control.StoredModel{ID: f.ID, Path: f.Path,
			Ours: f.DownloadedByUs, Drafter: true})
	}
	measureStored(out.Models)
	all, err := l.db.Totals(ctx)
	if err != nil {
		return out, err
	}
	out.Checkpoints, out.CheckpointBytes, out.PinnedBytes = all.Checkpoints, all.Bytes, all.Pinned
	out.WrittenToday, out.MostADay = all.Today, pool.CheckpointsADay
	out.Runs, out.HistoryBytes = all.Runs, all.Database
	usage := func(by storage.UsageBy) []control.Usage {
		list, e := l.db.Usage(ctx, by)
		err = errors.Join(err, e)
		return append([]control.Usage{}, list...)
	}
	out.ByModel, out.ByClient, out.ByDay = usage(storage.ByModel), usage(storage.ByClient),
		usage(storage.ByDay)
	var e error
	out.Texts, e = l.pool.Texts.List(ctx)
	return out, errors.Join(err, e)
}

// measureStored fills in the bytes on disk. It reads all folders at once, since one that
// does not answer takes its time.
func measureStored(list []control.StoredModel) {
	var reading sync.WaitGroup
	for i := range list {
		reading.Go(func() {
			switch m := &list[i]; {
			case m.Ours:
				m.Bytes, _ = hub.Freed(m.Path) // 0 for a folder that is gone
			case m.Drafter:
				if files, err := models.Open(m.Path); err == nil {
					size, _ := files.Drafter() // also of a drafter that cannot be used
					m.Bytes = size.Weights(false)
				}
			}
		})
	}
	reading.Wait()
}
