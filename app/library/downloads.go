package library

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/models/hub"
	"tandem/storage"
)

// downloads are the pulls that go on whoever watches: until they are whole, or
// somebody says so. What has arrived stays on disk for the next attempt. They are in
// the database as well: the next process that serves goes on with those that were
// under way, for that is what was asked for, and those that a person stopped stay
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
	cache      string             // folder that it fetches into; empty before the first time
	blobs      []string           // that it began there, see hub.Options
	stop       context.CancelFunc // nil while nothing is fetched
	ended      chan struct{}      // closed when nothing is fetched any more; nil before the first time
	wish       wish               // of who spoke last
	discarding bool               // what it began is being deleted; nobody's wish counts
}

// dropped reports whether it is off the list for everybody, and kept for what it began until it is
// begun again. The caller holds downloads.mu.
func (x *download) dropped() bool { return x.wish == wishDrop && x.stop == nil }

// A wish is what is to become of a download when it stops.
type wish int

const (
	wishRun wish = iota
	wishPause
	wishDrop
)

// Downloads lists the downloads for the state.
func (l *Library) Downloads() []control.Download { return l.downloads.states() }

// Close returns when nothing is fetched any more. life must have ended.
func (l *Library) Close() { l.downloads.running.Wait() }

// Refetch has downloads and sizes asked for again, where the settings now say.
func (l *Library) Refetch() {
	l.Sizes.forget()
	l.refetchDownloads()
}

// states returns them for State.
func (d *downloads) states() []control.Download {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]control.Download, 0, len(d.list))
	for _, x := range d.list {
		if !x.dropped() {
			list = append(list, x.Download)
		}
	}
	return list
}

// find returns the one of an id, nil if there is none. The caller holds d.mu.
func (d *downloads) find(id string) *download {
	i := slices.IndexFunc(d.list, func(x *download) bool { return x.ID == id })
	if i < 0 {
		return nil
	}
	return d.list[i]
}

// drop takes one off the list. The caller holds d.mu.
func (d *downloads) drop(x *download) {
	d.list = slices.DeleteFunc(d.list, func(y *download) bool { return x == y })
}

// Download implements server.Library: it begins one, or goes on with one that was
// paused or failed. One that is under way is left alone.
func (l *Library) Download(_ context.Context, r control.PullRequest) error {
	r = fromPage(r, l.settings.Hub())
	if _, _, err := hub.ParsePull(pullName(r)); err != nil {
		return hubError(err)
	}
	d := &l.downloads
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.life.Err() != nil {
		return control.ErrDraining
	}
	x := d.find(r.ID)
	if x == nil || x.dropped() {
		before := x
		x = &download{Download: control.Download{ID: r.ID}, began: time.Now()}
		if before != nil {
			d.drop(before)
			if before.cache == l.settings.Hub().CacheDir { // what it began is this one's to go on with, and to discard
				x.cache, x.blobs = before.cache, before.blobs
			}
		}
		d.list = append(d.list, x)
	}
	if x.discarding {
		return errDiscarding(x.ID)
	}
	x.wish = wishRun
	if x.stop == nil {
		x.revision = cmp.Or(r.Revision, x.revision)
		l.beginFetch(x)
	}
	return nil
}

// openDownloads reads those that an earlier process left. None of them is fetched
// before resumeDownloads.
func (l *Library) openDownloads(ctx context.Context) error {
	rows, err := l.db.Downloads(ctx)
	if err != nil {
		return err
	}
	d := &l.downloads
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range rows {
		x := &download{Download: control.Download{ID: r.ID, Done: r.Done, Total: r.Total, Error: r.Error, Paused: r.Paused || r.Error == ""}, revision: r.Revision, began: r.StartedAt,
			cache: cmp.Or(r.Cache, l.settings.Hub().CacheDir), blobs: r.Blobs}
		switch x.wish = wishRun; {
		case r.Dropped:
			x.wish = wishDrop
		case r.Paused:
			x.wish = wishPause
		}
		d.list = append(d.list, x)
	}
	return nil
}

// Resume goes on with those that were under way when the process before
// this one ended.
func (l *Library) Resume() {
	d := &l.downloads
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, x := range d.list {
		if x.wish == wishRun && x.stop == nil && x.Error == "" && l.life.Err() == nil {
			l.beginFetch(x)
		}
	}
}

// refetchDownloads has those that are under way begin again, from where the settings now
// say. What has arrived stays.
func (l *Library) refetchDownloads() {
	d := &l.downloads
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, x := range d.list {
		if x.wish == wishRun && x.stop != nil {
			x.stop()
		}
	}
}

// keepDownload notes in the database where one stands. The caller holds
// downloads.mu.
func (l *Library) keepDownload(x *download) {
	err := l.db.SetDownload(context.Background(), storage.Download{ID: x.ID, Revision: x.revision,
		Paused: x.wish == wishPause, Error: x.Error, Done: x.Done, Total: x.Total, Cache: x.cache, Blobs: x.blobs, StartedAt: x.began, Dropped: x.dropped()})
	if err != nil {
		l.log.Warn("noting a download", "model", x.ID, "error", err)
	}
}

// dropDownload takes one off the list. The caller holds downloads.mu.
func (l *Library) dropDownload(x *download) {
	l.downloads.drop(x)
	if err := l.db.RemoveDownload(context.Background(), x.ID); err != nil {
		l.log.Warn("forgetting a download", "model", x.ID, "error", err)
	}
}

// leaveDownload takes one off the list that was cancelled, and remembers what it began, which stays
// in the cache. The caller holds downloads.mu.
func (l *Library) leaveDownload(x *download) {
	if len(x.blobs) == 0 {
		l.dropDownload(x)
		return
	}
	l.keepDownload(x)
}

// beginFetch has a download fetched. The caller holds downloads.mu.
func (l *Library) beginFetch(x *download) {
	var ctx context.Context
	ctx, x.stop = context.WithCancel(l.life)
	x.Paused, x.Error, x.ended = false, "", make(chan struct{})
	o := l.settings.Hub()
	if len(x.blobs) > 0 && home.IsDir(x.cache) { // it goes on where it began: elsewhere nobody would know of that
		o.CacheDir = x.cache
	} else if x.cache != o.CacheDir {
		x.cache, x.blobs, x.Done, x.Total = o.CacheDir, nil, 0, 0
	}
	l.keepDownload(x)
	l.downloads.running.Go(func() { l.fetch(ctx, x, o) })
}

// fetch pulls, and takes the download off the list when it is whole.
func (l *Library) fetch(ctx context.Context, x *download, o hub.Options) {
	d := &l.downloads
	o.Began = func(blob string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		x.blobs = append(x.blobs, blob)
		l.keepDownload(x)
	}
	planned := false
	_, err := l.pull(ctx, control.PullRequest{ID: x.ID, Revision: x.revision}, o, func(p control.Progress) {
		d.mu.Lock()
		defer d.mu.Unlock()
		switch {
		case p.Total == 0: // not known yet; what an earlier attempt knew stands
		case !planned: // there may be less than before, on the disk or at the hub
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
		l.dropDownload(x)
	case x.wish == wishDrop:
		l.leaveDownload(x)
	case x.wish == wishPause:
		x.Paused = true
		l.keepDownload(x)
	case stopped && l.life.Err() != nil: // the next process goes on with it
		l.keepDownload(x)
	case stopped: // and gone on with before it had
		l.beginFetch(x)
	default:
		l.failDownload(x, "download failed", err)
	}
}

// failDownload notes why one goes on no more. The caller holds downloads.mu.
func (l *Library) failDownload(x *download, what string, err error) {
	x.Error = err.Error()
	var cause error
	if e, ok := errors.AsType[*hub.Error](err); ok {
		x.Error, cause = control.Sentence(e.Message), e.Err // whose name is shown beside it
	}
	l.log.Info(what, "model", x.ID, "error", err, "cause", cause)
	l.keepDownload(x)
}

// PauseDownload implements server.Library.
func (l *Library) PauseDownload(_ context.Context, id string) error {
	return l.stopDownload(id, wishPause)
}

// DropDownload implements server.Library. One that is to be discarded stays on the list,
// stopped, until that is done: if it fails it can be asked for again.
func (l *Library) DropDownload(ctx context.Context, r control.DropRequest) error {
	if !r.Discard {
		return l.stopDownload(r.ID, wishDrop)
	}
	d := &l.downloads
	d.mu.Lock()
	x, err := l.Stop(r.ID, wishPause)
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
	case <-ctx.Done(): // it is done whoever waits for it
		return context.Cause(ctx)
	}
}

// discard deletes what a download began in the cache and did not bring to an end, and
// takes it off the list.
func (l *Library) discard(x *download) error {
	d := &l.downloads
	d.mu.Lock()
	ended := x.ended
	d.mu.Unlock()
	if ended != nil {
		<-ended // soon, as it was stopped
	}
	d.mu.Lock()
	there, cache, blobs := d.find(x.ID) == x, x.cache, x.blobs
	d.mu.Unlock()
	if !there { // it was whole before it was stopped
		return nil
	}
	freed, err := hub.Discard(cache, x.ID, blobs) // of gigabytes it takes a while
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
	return control.Errorf(control.CodeModelBusy, "What was downloaded of %s is being deleted; wait until that is done.", id)
}

func (l *Library) stopDownload(id string, w wish) error {
	l.downloads.mu.Lock()
	defer l.downloads.mu.Unlock()
	_, err := l.Stop(id, w)
	return err
}

// Stop ends a download's fetch, if there is one, and does with it as w says. The
// caller holds downloads.mu.
func (l *Library) Stop(id string, w wish) (*download, error) {
	x := l.downloads.find(id)
	switch {
	case x == nil || x.dropped():
		return nil, control.Errorf(control.CodeModelNotFound, "There is no download of %q.", id)
	case x.discarding:
		return nil, errDiscarding(id)
	}
	x.wish = w
	switch {
	case x.stop != nil:
		x.stop()
	case w == wishDrop:
		l.leaveDownload(x)
	default:
		l.keepDownload(x)
	}
	return x, nil
}
