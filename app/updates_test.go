package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/engine/enginetest"
)

// A version is newer than another by its numbers, and a release is newer than its beta. Nothing is
// newer than a build from a commit, and a malformed version is never newer.
func TestVersionIsNewerByItsNumbers(t *testing.T) {
	for _, c := range []struct {
		a, than string
		want    bool
	}{
		{"1.2.0", "1.1.9", true},
		{"1.1.9", "1.2.0", false},
		{"1.2.0", "1.2.0", false},
		{"1.10.0", "1.9.0", true},
		{"2.0", "1.9.9", true},
		{"v1.2.1", "1.2.0", true},
		{"1.2.0", "1.2.0-beta", true},
		{"1.2.0-beta", "1.2.0", false},
		{"1.2.0+build.7", "1.2.0", false},
		{"9.9.9", "a92f4c0b61bc", false}, // built from a commit
		{"9.9.9", "(devel)", false},
		{"", "1.0.0", false},
		{"1", "0.1.0", false},
		{"1.-2.0", "0.1.0", false},
		{"1.2.3.4", "0.1.0", false},
	} {
		if got := newerVersion(c.a, c.than); got != c.want {
			t.Errorf("%q is newer than %q: %t, want %t", c.a, c.than, got, c.want)
		}
	}
}

// The feed is asked only when a person or the settings say so. A feed with a bad answer gives an
// error, and the last good answer stays.
func TestUpdateFeedIsAskedOnlyOnRequest(t *testing.T) {
	var asked atomic.Int64
	var says atomic.Pointer[string]
	says.Store(new(`{"version": "1.3.0", "page": "https://example.org/tandem"}`))
	feed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if ua := r.Header.Get("User-Agent"); ua != "Tandem" {
			t.Errorf("the feed gets the User-Agent %q, want Tandem", ua)
		}
		fmt.Fprint(w, *says.Load())
	}))
	defer feed.Close()
	c := start(t, Options{Version: "1.2.0", UpdateFeed: feed.URL}, "").client(t)
	if u, err := control.Ask(t.Context(), c, control.GetUpdates); err != nil || !u.Offered || u.Newer || asked.Load() != 0 {
		t.Errorf("before the check: %+v, %v, the feed was asked %d times", u, err, asked.Load())
	}
	u, err := control.Ask(t.Context(), c, control.CheckUpdates)
	if err != nil {
		t.Fatalf("after the check: %v", err)
	}
	if !u.Newer {
		t.Error("after the check: u.Newer = false, want true")
	}
	if u.Version != "1.3.0" {
		t.Errorf(`after the check: u.Version = %q, want "1.3.0"`, u.Version)
	}
	if u.Page != "https://example.org/tandem" {
		t.Errorf(`after the check: u.Page = %q, want "https://example.org/tandem"`, u.Page)
	}
	if u.CheckedAt.IsZero() {
		t.Error("after the check: u.CheckedAt is zero")
	}
	if u.Error != "" {
		t.Errorf(`after the check: u.Error = %q, want ""`, u.Error)
	}
	for _, bad := range []string{"", "<html>",
		`{"version": "1.3.0", "page": "javascript:alert(1)"}`,
		`{"version": "1.3.0", "page": "http://example.org"}`,
		`{"version": "new", "page": "https://example.org"}`} {
		says.Store(&bad)
		u, err := control.Ask(t.Context(), c, control.CheckUpdates)
		if err != nil {
			t.Fatalf("the feed says %q: %v", bad, err)
		}
		if !u.Newer {
			t.Errorf("the feed says %q: u.Newer = false, want true", bad)
		}
		if u.Version != "1.3.0" {
			t.Errorf(`the feed says %q: u.Version = %q, want "1.3.0"`, bad, u.Version)
		}
		if u.Page != "https://example.org/tandem" {
			t.Errorf(`the feed says %q: u.Page = %q, want "https://example.org/tandem"`,
				bad, u.Page)
		}
		if !strings.Contains(u.Error, "failed") {
			t.Errorf(`the feed says %q: u.Error = %q, want it to have "failed"`, bad, u.Error)
		}
	}
}

// A server with check_updates asks the feed once a day, not once a start. A process that serves one
// command does not ask.
func TestServerAsksForUpdatesOnceADay(t *testing.T) {
	var asked, others atomic.Int64
	feed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/other" {
			others.Add(1)
		} else {
			asked.Add(1)
		}
		fmt.Fprint(w, `{"version": "1.3.0", "page": "https://example.org/tandem"}`)
	}))
	defer feed.Close()
	home := t.TempDir()
	open := func(t *testing.T, home, version, path string) *App {
		a, err := Open(t.Context(), Options{Home: home, Version: version, UpdateFeed: feed.URL +
			path})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	serve := func(t *testing.T, version string, stays bool) *running {
		return serving(t, open(t, home, version, ""), ServeOptions{Preload: stays})
	}
	set := control.SettingsChange{"check_updates": []byte("true")}
	looked := func(t *testing.T, r *running) {
		t.Helper()
		enginetest.Await(t, "the server has asked the feed", func() bool {
			return !r.Updates().CheckedAt.IsZero()
		})
	}
	t.Run("a command", func(t *testing.T) {
		if _, err := serve(t, "1.2.0", false).ChangeSettings(t.Context(), set); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a command later", func(t *testing.T) {
		serve(t, "1.2.0", false)
		// A server that starts later asks the feed. By then the command would have asked too.
		other := open(t, t.TempDir(), "1.2.0", "/other")
		if _, err := other.ChangeSettings(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		looked(t, serving(t, other, ServeOptions{Preload: true}))
	})
	if n := asked.Load(); n != 0 || others.Load() != 1 {
		t.Errorf("commands asked %d times and the server %d times, want 0 and 1",
			n, others.Load())
	}
	t.Run("serve", func(t *testing.T) { looked(t, serve(t, "1.2.0", true)) })
	t.Run("serve again", func(t *testing.T) {
		r := serve(t, "1.2.0", true)
		u := r.Updates()
		if !u.Newer || u.Version != "1.3.0" || u.Page != "https://example.org/tandem" {
			t.Errorf("after a restart: %+v, want version 1.3.0", u)
		}
		due := func(after time.Duration) bool { return r.updateDue(u.CheckedAt.Add(after)) }
		if due(updateEvery-time.Second) || !due(updateEvery) || !due(-time.Hour) {
			t.Errorf("a check is not due %v after the last one, is due 1s earlier, "+
				"or is not due after the clock went back", updateEvery)
		}
		r.updates.mu.Lock()
		r.updates.found.Error = "it failed"
		r.updates.mu.Unlock()
		if due(updateLook/2) || !due(updateLook-time.Second) || !due(-time.Hour) {
			t.Errorf("a failed check is not due after %v, is due after %v, "+
				"or is not due after the clock went back", updateLook-time.Second, updateLook/2)
		}
	})
	if n := asked.Load(); n != 1 {
		t.Errorf("the feed was asked %d times in a day, want 1", n)
	}
	if u := serve(t, "1.3.0", false).Updates(); u.Newer || u.Version != "1.3.0" {
		t.Errorf("with the newer version installed: %+v", u)
	}
}

// A program that was built without the address of a feed offers no updates and refuses a check.
func TestProgramWithoutAFeedOffersNoUpdates(t *testing.T) {
	c := start(t, Options{Version: "1.2.0"}, "").client(t)
	if u, err := control.Ask(t.Context(), c, control.GetUpdates); err != nil || u.Offered {
		t.Errorf("the updates are %+v, %v, want none offered", u, err)
	}
	if _, err := control.Ask(t.Context(), c, control.CheckUpdates); codeOf(err) != control.CodeInvalid {
		t.Errorf("the check: %v, want %s", err, control.CodeInvalid)
	}
}
