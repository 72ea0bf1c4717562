package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/semver"

	"tandem/app/control"
)

const (
	updateEvery    = 24 * time.Hour
	updateLook     = time.Hour // between two looks whether a check is due
	updatePatience = 15 * time.Second
	maxFeed        = 64 << 10 // bytes
)

// settingUpdates holds the last find, so that a restart does not ask again on the same day.
const settingUpdates = "updates"

// updates hold what is known of newer versions.
type updates struct {
	mu    sync.Mutex
	found control.Updates
}

// release is what the feed says: the newest version, and where people get it.
type release struct {
	Version string `json:"version"`
	Page    string `json:"page"`
}

// openUpdates reads the last find. A find that cannot be read counts as none.
func (a *App) openUpdates(ctx context.Context) error {
	value, err := a.db.Setting(ctx, settingUpdates)
	if value == "" {
		return err
	}
	u := &a.updates.found
	if err := json.Unmarshal([]byte(value), u); err != nil {
		a.log.Warn("the last search for a newer version cannot be read", "error", err)
		*u = control.Updates{}
	}
	u.Newer = newerVersion(u.Version, a.opts.Version) // the newest version may be this one by now
	return nil
}

// Updates implements server.Help.
func (a *App) Updates() control.Updates {
	a.updates.mu.Lock()
	defer a.updates.mu.Unlock()
	u := a.updates.found
	u.Offered = a.opts.UpdateFeed != ""
	return u
}

// CheckUpdates implements server.Help.
func (a *App) CheckUpdates(ctx context.Context) (control.Updates, error) {
	if a.opts.UpdateFeed == "" {
		return control.Updates{}, control.Errorf(control.CodeInvalid,
			"This Tandem was built without an address to ask for newer versions.")
	}
	r, err := fetchRelease(ctx, a.opts.UpdateFeed)
	if ctx.Err() != nil {
		return control.Updates{}, ctx.Err() // the client has left
	}
	a.updates.mu.Lock()
	u := &a.updates.found
	u.CheckedAt, u.Error = time.Now().UTC(), ""
	if err != nil { // the find before it stays
		u.Error = fmt.Sprintf("Looking for a newer version failed: %v.", err)
	} else {
		u.Version, u.Page, u.Newer = r.Version, r.Page, newerVersion(r.Version, a.opts.Version)
	}
	kept, err := json.Marshal(u)
	a.updates.mu.Unlock()
	if err == nil {
		err = a.db.SetSetting(context.WithoutCancel(ctx), settingUpdates, string(kept))
	}
	return a.Updates(), err
}

// watchUpdates checks once a day while the settings say so, until ctx ends. As long as that fails it
// checks once an hour.
func (a *App) watchUpdates(ctx context.Context) {
	if a.opts.UpdateFeed == "" {
		return
	}
	tick := time.NewTicker(updateLook)
	defer tick.Stop()
	for ctx.Err() == nil {
		if a.settings.Current().CheckUpdates && a.updateDue(time.Now()) {
			if u, err := a.CheckUpdates(ctx); ctx.Err() == nil && (err != nil || u.Error != "") {
				a.log.Info("looking for a newer version", "error",
					errors.Join(err, errors.New(u.Error)))
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// updateDue reports whether the last check is a day ago, or in the future of this clock. A failed
// check is due again at the next look. updatePatience is taken off, since a check that ran into it
// ended that much after its look.
func (a *App) updateDue(now time.Time) bool {
	u, every := a.Updates(), updateEvery
	if u.Error != "" {
		every = updateLook - updatePatience
	}
	ago := now.Sub(u.CheckedAt)
	return ago >= every || ago < 0
}

// fetchRelease asks a feed. It refuses a page that is not https.
func fetchRelease(ctx context.Context, feed string) (r release, err error) {
	ctx, cancel := context.WithTimeout(ctx, updatePatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, feed, nil)
	if err != nil {
		return r, err
	}
	req.Header.Set("User-Agent", "Tandem") // no version, no machine
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return r, fmt.Errorf("the feed answers %s", resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxFeed)).Decode(&r); err != nil {
		return r, fmt.Errorf("the feed is not valid: %w", err)
	}
	if u, err := url.Parse(r.Page); err != nil || u.Scheme != "https" || u.Host == "" {
		return r, errors.New("the feed names no page")
	}
	if semantic(r.Version) == "" {
		return r, errors.New("the feed names no version")
	}
	return r, nil
}

// newerVersion reports whether version a comes after another. A string that is not a version, as in
// a program built by hand, has no newer one.
func newerVersion(a, than string) bool {
	x, y := semantic(a), semantic(than)
	return x != "" && y != "" && semver.Compare(x, y) > 0
}

// semantic returns a version, such as 1.2.0 or 1.2.0-beta, in the form of package semver, or "" for
// another string.
func semantic(version string) string {
	v := "v" + strings.TrimPrefix(version, "v")
	if !semver.IsValid(v) || !strings.Contains(v, ".") {
		return ""
	}
	return v
}
