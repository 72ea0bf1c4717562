package library

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"tandem/app/control"
	"tandem/models/hub"
	"tandem/storage"
	"tandem/storage/disk"
)

// downloads are the downloads of this home folder. They continue whether a client watches or not, until
// they are complete or a person stops them. What has arrived stays on disk for the next attempt.
// The database lists them too: the next process resumes those in progress, and a stopped one stays
// stopped.
type downloads struct {
	mu      sync.Mutex
	list    []*download // oldest first
	running sync.WaitGroup
}

// A download is one of them. Its fields are guarded by downloads.mu.
type download struct {
	control.Download
	revision   string
	began      time.Time
	cache      string             // folder that it fetches into; empty before the first fetch
	blobs      []string           // partial files there, see hub.Options
	stop       context.CancelFunc // nil while nothing is fetched
	ended      chan struct{}      // closed when the fetch has ended; nil before the first fetch
	intent     intent             // the last request for it
	discarding bool               // its files are being deleted, and requests for it are refused

	// drafted is how many bytes the drafter had that came with the model, once it is complete.
	drafted int64
}

// dropped reports whether the download is off the list. Its record stays, for the files that it
// began, until it is begun again. The caller holds downloads.mu.
func (x *download) dropped() bool { return x.intent == intentDrop && x.stop == nil }

// An intent says what becomes of a download when its fetch stops.
type intent int

const (
	intentRun intent = iota
	intentPause
	intentDrop
)

// Close returns when no fetch is in progress. life must have ended.
func (l *Library) Close() { l.downloads.running.Wait() }

// Refetch asks for downloads and sizes again, from where the settings now say.
func (l *Library) Refetch(ctx context.Context) {
	l.sizes.forget()
	l.keepSizes(context.WithoutCancel(ctx))
	l.refetchDownloads()
}

// find returns the download of an id, or nil. The caller holds d.mu.
func (d *downloads) find(id string) *download {
	i := slices.IndexFunc(d.list, func(x *download) bool { return x.ID == id })
	if i < 0 {
		return nil
	}
	return d.list[i]
}

// drop takes a download off the list. The caller holds d.mu.
func (d *downloads) drop(x *download) {
	d.list = slices.DeleteFunc(d.list, func(y *download) bool { return x == y })
}

// Download begins a download, or resumes a paused or failed one. It does nothing to one in progress. The
// drafter of a suggested model comes with it. It implements server.Library.
func (l *Library) Download(_ context.Context, r control.PullRequest) error {
	r = nameFromPage(r, l.settings.Hub())
	if _, _, err := hub.ParsePull(hubName(r.ID, r.Revision)); err != nil {
		return hubError(err)
	}
	drafter, missing := l.drafterToo(r.ID)
	d := &l.downloads
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.life.Err() != nil {
		return control.ErrDraining
	}
	x := d.find(r.ID)
	first := x == nil || x.dropped()
	if err := l.startDownload(r); err != nil {
		return err
	}
	if first && (r.NoDrafter || !missing) || !first && d.drafterOf(l, r.ID) == nil {
		return nil
	}
	if err := l.startDownload(control.PullRequest{ID: drafter.ID,
		Revision: drafter.Revision}); err != nil {
		l.log.Info("the drafter of a model is not downloaded with it", "model", r.ID, "drafter",
			drafter.ID, "error", err)
	}
	return nil
}

// startDownload is Download for a model alone, or for its drafter. The caller holds downloads.mu.
func (l *Library) startDownload(r control.PullRequest) error {
	d := &l.downloads
	x := d.find(r.ID)
	if x == nil || x.dropped() {
		before := x
		x = &download{Download: control.Download{ID: r.ID}, began: time.Now()}
		if before != nil {
			d.drop(before)
			// the new download takes over its partial files
			if before.cache == l.settings.Hub().CacheDir {
				x.cache, x.blobs = before.cache, before.blobs
			}
		}
		d.list = append(d.list, x)
	}
	if x.discarding {
		return errDiscarding(x.ID)
	}
	x.intent = intentRun
	if x.stop == nil {
		x.revision = cmp.Or(r.Revision, x.revision)
		l.beginFetch(x)
	}
	return nil
}

// openDownloads reads the downloads that an earlier process left. No fetch starts before Resume.
func (l *Library) openDownloads(ctx context.Context) error {
	rows, err := l.db.Models.Downloads(ctx)
	if err != nil {
		return err
	}
	d := &l.downloads
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range rows {
		x := &download{Download: control.Download{ID: r.ID, Done: r.Done, Total: r.Total,
			Error: r.Error, Paused: r.Paused || r.Error == ""}, revision: r.Revision,
			began: r.StartedAt,
			cache: cmp.Or(r.Cache, l.settings.Hub().CacheDir), blobs: r.Blobs}
		switch x.intent = intentRun; {
		case r.Dropped:
			x.intent = intentDrop
		case r.Paused:
			x.intent = intentPause
		}
		d.list = append(d.list, x)
	}
	return nil
}

// Resume resumes the downloads that were in progress when the previous process ended.
func (l *Library) Resume() {
	d := &l.downloads
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, x := range d.list {
		if x.intent == intentRun && x.stop == nil && x.Error == "" && l.life.Err() == nil {
			l.beginFetch(x)
		}
	}
}

// refetchDownloads begins the downloads in progress again, from where the settings now say. What
// has arrived stays.
func (l *Library) refetchDownloads() {
	d := &l.downloads
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, x := range d.list {
		if x.intent == intentRun && x.stop != nil {
			x.stop()
		}
	}
}

// keepDownload stores the progress of a download. The caller holds downloads.mu.
func (l *Library) keepDownload(x *download) {
	err := l.db.Models.SetDownload(context.Background(), storage.Download{ID: x.ID, Revision: x.revision,
		Paused: x.intent == intentPause, Error: x.Error, Done: x.Done, Total: x.Total,
		Cache: x.cache, Blobs: x.blobs, StartedAt: x.began, Dropped: x.dropped()})
	if err != nil {
		l.log.Warn("noting a download", "model", x.ID, "error", err)
	}
}

// dropDownload takes a download off the list and out of the database. The caller holds
// downloads.mu.
func (l *Library) dropDownload(x *download) {
	l.downloads.drop(x)
	if err := l.db.Models.RemoveDownload(context.Background(), x.ID); err != nil {
		l.log.Warn("forgetting a download", "model", x.ID, "error", err)
	}
}

// keepCancelled takes a cancelled download off the list. The record of one with partial files in the cache
// stays in the database. The caller holds downloads.mu.
func (l *Library) keepCancelled(x *download) {
	if len(x.blobs) == 0 {
		l.dropDownload(x)
		return
	}
	l.keepDownload(x)
}

// beginFetch starts to fetch a download. The caller holds downloads.mu.
func (l *Library) beginFetch(x *download) {
	var ctx context.Context
	ctx, x.stop = context.WithCancel(l.life)
	x.Paused, x.Error, x.ended = false, "", make(chan struct{})
	o := l.settings.Hub()
	if len(x.blobs) > 0 && disk.IsDir(x.cache) { // resume in the cache that has its partial files
		o.CacheDir = x.cache
	} else if x.cache != o.CacheDir {
		x.cache, x.blobs, x.Done, x.Total = o.CacheDir, nil, 0, 0
	}
	l.keepDownload(x)
	l.downloads.running.Go(func() { l.fetch(ctx, x, o) })
}

// fetch pulls a download, and takes it off the list when it is complete.
func (l *Library) fetch(ctx context.Context, x *download, o hub.Options) {
	d := &l.downloads
	o.Began = func(blob string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		x.blobs = append(x.blobs, blob)
		l.keepDownload(x)
	}
	planned := false
	_, err := l.pull(ctx, control.PullRequest{ID: x.ID, Revision: x.revision}, o,
		func(p control.Progress) {
			d.mu.Lock()
			defer d.mu.Unlock()
			switch {
			case p.Total == 0: // not known yet: keep the total of the previous attempt
			case !planned: // it may be less than in the previous attempt
				planned, x.Done, x.Total = true, p.Done, p.Total
			default:
				x.Done, x.Total = max(x.Done, p.Done), max(x.Total, p.Total)
			}
			x.PerSecond, x.Waiting = p.PerSecond, p.Waiting
			if p.Note != "" {
				l.log.Info("downloaded", "model", x.ID, "note", p.Note)
			}
		})
	d.mu.Lock()
	defer d.mu.Unlock()
	stopped := ctx.Err() != nil
	x.stop()
	close(x.ended)
	x.stop, x.PerSecond, x.Waiting = nil, 0, ""
	switch {
	case err == nil:
		if of := d.modelOf(l, x.ID); of != nil {
			of.drafted = x.Total
		}
		l.dropDownload(x)
	case x.intent == intentDrop:
		l.keepCancelled(x)
	case x.intent == intentPause:
		x.Paused = true
		l.keepDownload(x)
	case stopped && l.life.Err() != nil: // the next process resumes it
		l.keepDownload(x)
	case stopped: // and requested again before the fetch ended: restart
		l.beginFetch(x)
	default:
		l.failDownload(x, "download failed", err)
	}
}

// failDownload records why a download failed. The caller holds downloads.mu.
func (l *Library) failDownload(x *download, what string, err error) {
	x.Error = err.Error()
	var cause error
	if e, ok := errors.AsType[*hub.Error](err); ok {
		// without the name, which is shown beside it
		x.Error, cause = control.Sentence(e.Message), e.Err
	}
	l.log.Info(what, "model", x.ID, "error", err, "cause", cause)
	l.keepDownload(x)
}

// PauseDownload stops a download, and the drafter that comes with it. Both stay on the list. It
// implements server.Library.
func (l *Library) PauseDownload(_ context.Context, id string) error {
	return l.stopDownload(id, intentPause)
}

// DropDownload stops a download and takes it off the list, and the drafter that came with it. With Discard
// its partial files are deleted first, and it stays on the list until that is done: after a failure the
// client can ask again. It implements server.Library.
func (l *Library) DropDownload(ctx context.Context, r control.DropRequest) error {
	if !r.Discard {
		return l.stopDownload(r.ID, intentDrop)
	}
	d := &l.downloads
	d.mu.Lock()
	drafter := d.drafterOf(l, r.ID)
	d.mu.Unlock()
	if err := l.discardDownload(ctx, r.ID); err != nil || drafter == nil {
		return err
	}
	err := l.discardDownload(ctx, drafter.ID)
	if e, ok := errors.AsType[*control.Error](err); ok && e.Code == control.CodeModelNotFound {
		return nil // it has completed in the meantime
	}
	return err
}

// discardDownload is DropDownload with Discard, for one download.
func (l *Library) discardDownload(ctx context.Context, id string) error {
	d := &l.downloads
	d.mu.Lock()
	x, err := l.stop(id, intentPause)
	if err == nil && l.life.Err() != nil {
		err = control.ErrDraining
	}
	if err != nil {
		d.mu.Unlock()
		return err
	}
	x.discarding = true
	done := make(chan error, 1)
	d.running.Go(func() { done <- l.discard(x) })
	d.mu.Unlock()
	select {
	case err := <-done:
		return err
	case <-ctx.Done(): // the deletion continues without the client
		return context.Cause(ctx)
	}
}

// discard deletes the incomplete files of a download from the cache, and takes the download off the
// list.
func (l *Library) discard(x *download) error {
	d := &l.downloads
	d.mu.Lock()
	ended := x.ended
	d.mu.Unlock()
	if ended != nil {
		<-ended // soon, since the fetch was stopped
	}
	d.mu.Lock()
	there, cache, blobs := d.find(x.ID) == x, x.cache, x.blobs
	d.mu.Unlock()
	if !there { // it was complete before it was stopped
		return nil
	}
	id, _ := hub.CutQuantization(x.ID)
	freed, err := hub.Discard(cache, id, blobs) // this takes a while for gigabytes
	d.mu.Lock()
	defer d.mu.Unlock()
	x.discarding = false
	if err != nil {
		l.failDownload(x, "download not discarded", err)
		return hubError(err)
	}
	l.log.Info("download discarded", "model", x.ID, "bytes", freed)
	l.dropDownload(x)
	return nil
}

func errDiscarding(id string) error {
	return control.Errorf(control.CodeModelBusy,
		"What was downloaded of %s is being deleted; wait until that is done.", id)
}

func (l *Library) stopDownload(id string, w intent) error {
	d := &l.downloads
	d.mu.Lock()
	defer d.mu.Unlock()
	drafter := d.drafterOf(l, id)
	_, err := l.stop(id, w)
	if err == nil && drafter != nil {
		_, err = l.stop(drafter.ID, w)
	}
	return err
}

// stop sets the intent of a download and ends its fetch, if one is in progress. Errors:
// CodeModelNotFound; CodeModelBusy while its files are deleted. The caller holds downloads.mu.
func (l *Library) stop(id string, w intent) (*download, error) {
	x := l.downloads.find(id)
	switch {
	case x == nil || x.dropped():
		return nil, control.Errorf(control.CodeModelNotFound, "There is no download of %q.", id)
	case x.discarding:
		return nil, errDiscarding(id)
	}
	x.intent = w
	switch {
	case x.stop != nil:
		x.stop()
	case w == intentDrop:
		l.keepCancelled(x)
	default:
		l.keepDownload(x)
	}
	return x, nil
}
