package app

import (
	"context"
	"slices"
	"sync"

	"tandem/app/control"
	"tandem/models/hub"
)

// downloads are the pulls that go on whoever watches: they end with the program,
// or when somebody says so. What has arrived stays on disk for the next attempt.
type downloads struct {
	mu      sync.Mutex
	list    []*download // oldest first
	running sync.WaitGroup
}

// A download is one of them. Its fields are guarded by downloads.mu.
type download struct {
	control.Download
	revision string
	stop     context.CancelFunc // nil while nothing is fetched
	wish     wish               // of who spoke last
}

// A wish is what is to become of a download when it stops.
type wish int

const (
	wishRun wish = iota
	wishPause
	wishDrop
)

// states returns them for State.
func (d *downloads) states() []control.Download {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]control.Download, len(d.list))
	for i, x := range d.list {
		list[i] = x.Download
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

// wait returns when nothing is fetched any more.
func (d *downloads) wait() { d.running.Wait() }

// Download implements server.Admin: it begins one, or goes on with one that was
// paused or failed. One that is under way is left alone.
func (a *App) Download(_ context.Context, r control.PullRequest) error {
	if _, _, err := hub.Parse(pullName(r)); err != nil {
		return hubError(err)
	}
	d := &a.downloads
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.life.Err() != nil {
		return errDraining
	}
	x := d.find(r.ID)
	if x == nil {
		x = &download{Download: control.Download{ID: r.ID}}
		d.list = append(d.list, x)
	}
	x.wish = wishRun
	if x.stop == nil {
		x.revision = r.Revision
		a.beginFetch(x)
	}
	return nil
}

// beginFetch has a download fetched. The caller holds downloads.mu.
func (a *App) beginFetch(x *download) {
	var ctx context.Context
	ctx, x.stop = context.WithCancel(a.life)
	x.Paused, x.Error = false, ""
	a.downloads.running.Go(func() { a.fetch(ctx, x) })
}

// fetch pulls, and takes the download off the list when it is whole.
func (a *App) fetch(ctx context.Context, x *download) {
	d := &a.downloads
	_, err := a.Pull(ctx, control.PullRequest{ID: x.ID, Revision: x.revision}, func(p control.Progress) {
		d.mu.Lock()
		defer d.mu.Unlock()
		x.Done, x.Total, x.PerSecond, x.Waiting = max(x.Done, p.Done), max(x.Total, p.Total), p.PerSecond, p.Waiting
		if p.Note != "" {
			a.log.Info("downloaded", "model", x.ID, "note", p.Note)
		}
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	stopped := ctx.Err() != nil && a.life.Err() == nil
	x.stop()
	x.stop, x.PerSecond, x.Waiting = nil, 0, ""
	switch {
	case err == nil, x.wish == wishDrop:
		d.drop(x)
	case x.wish == wishPause:
		x.Paused = true
	case stopped: // and gone on with before it had
		a.beginFetch(x)
	default:
		x.Error = err.Error()
	}
}

// PauseDownload implements server.Admin.
func (a *App) PauseDownload(_ context.Context, id string) error {
	return a.stopDownload(id, wishPause)
}

// DropDownload implements server.Admin: what has arrived stays in the cache.
func (a *App) DropDownload(_ context.Context, id string) error {
	return a.stopDownload(id, wishDrop)
}

func (a *App) stopDownload(id string, w wish) error {
	d := &a.downloads
	d.mu.Lock()
	defer d.mu.Unlock()
	x := d.find(id)
	if x == nil {
		return control.Errorf(control.CodeModelNotFound, "There is no download of %q.", id)
	}
	x.wish = w
	switch {
	case x.stop != nil:
		x.stop()
	case w == wishDrop:
		d.drop(x)
	}
	return nil
}
