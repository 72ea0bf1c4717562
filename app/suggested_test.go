package app

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/models/hub"
)

// TestCatalogue: sizes are the hub's, asked for once, and not known where it does
// not answer.
func TestCatalogue(t *testing.T) {
	var asked atomic.Int32
	var down atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if down.Load() || r.URL.Query().Get("blobs") != "true" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"sha": strings.Repeat("a", 40), "siblings": []map[string]any{
			{"rfilename": "config.json", "size": 100}, {"rfilename": "model.safetensors", "size": 2_000}, {"rfilename": "picture.png", "size": 5},
		}})
	}))
	defer server.Close()
	open := func(log *slog.Logger) *App {
		a, err := Open(t.Context(), Options{Home: t.TempDir(), Logger: log, Memory: 16*(1<<30) - (1<<30)/2, Hub: hub.Options{CacheDir: t.TempDir(), Endpoint: server.URL}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close() })
		return a
	}
	a := open(nil)
	c, err := a.library.Catalogue(t.Context(), false)
	if err != nil || c.Class != 16 || c.Memory != 16*(1<<30)-(1<<30)/2 || asked.Load() > 0 || c.Models[0].Bytes != 0 {
		t.Errorf("unasked %+v, %v; the hub was asked %d times", c, err, asked.Load())
	}
	for range 2 {
		c, err = a.library.Catalogue(t.Context(), true)
		if err != nil || c.Why != "" {
			t.Fatal(c.Why, err)
		}
	}
	names := int32(0)
	commit := regexp.MustCompile(`^[0-9a-f]{40}$`)
	for _, m := range c.Models {
		if !commit.MatchString(m.Revision) || (m.Drafter != "") != commit.MatchString(m.DrafterRevision) {
			t.Errorf("%s at %q with %s at %q: each is pulled at a commit", m.ID, m.Revision, m.Drafter, m.DrafterRevision)
		}
		names++
		if m.Bytes != 2_100 || m.Drafter != "" && m.DrafterBytes != 2_100 || m.Registered || m.HasDrafter {
			t.Errorf("%+v", m)
		}
		if m.Drafter != "" {
			names++
		}
	}
	if asked.Load() != names {
		t.Errorf("the hub was asked %d times of %d names", asked.Load(), names)
	}

	down.Store(true)
	var lines strings.Builder
	b := open(slog.New(slog.NewTextHandler(&lines, nil)))
	for range 2 {
		asked.Store(0)
		c, err = b.library.Catalogue(t.Context(), true)
		if err != nil || c.Why == "" || strings.HasPrefix(c.Why, "mlx-community/") || c.Models[0].Bytes != 0 {
			t.Errorf("of a hub that refuses: %q, %v, %+v", c.Why, err, c.Models[0])
		}
	}
	if asked.Load() > 0 {
		t.Error("a hub that did not answer is asked again at once")
	}
	b.library.Sizes.Tried = time.Time{}
	if _, err := b.library.Catalogue(t.Context(), true); err != nil || asked.Load() == 0 || strings.Count(lines.String(), "the hub tells no sizes") != 1 {
		t.Errorf("%v; asked again %d times, the log has\n%s", err, asked.Load(), lines.String())
	}
}

// TestOtherHub: once another hub is set it is asked at once, for what the first one refused
// and by downloads that wait for the first.
func TestOtherHub(t *testing.T) {
	const wanted = "/api/models/org/name"
	waits, comes := make(chan struct{}, 100), make(chan struct{}, 100)
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, wanted) {
			waits <- struct{}{}
			<-r.Context().Done()
			return
		}
		http.Error(w, "no", http.StatusForbidden)
	}))
	t.Cleanup(first.Close)
	second := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, wanted) {
			comes <- struct{}{}
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"sha": strings.Repeat("a", 40), "siblings": []map[string]any{{"rfilename": "config.json", "size": 100}, {"rfilename": "model.safetensors", "size": 2_000}}})
	}))
	t.Cleanup(second.Close)
	a, err := Open(t.Context(), Options{Home: t.TempDir(), Memory: 16 * (1 << 30), Hub: hub.Options{CacheDir: t.TempDir(), Endpoint: first.URL}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	if c, err := a.library.Catalogue(t.Context(), true); err != nil || c.Why == "" {
		t.Fatalf("%q, %v", c.Why, err)
	}
	if err := a.library.Download(t.Context(), control.PullRequest{ID: first.URL + "/org/name"}); err != nil {
		t.Fatal(err)
	}
	<-waits
	if _, err := a.ChangeSettings(t.Context(), control.SettingsChange{"hub_endpoint": json.RawMessage(`"` + second.URL + `"`)}); err != nil {
		t.Fatal(err)
	}
	<-comes
	if c, err := a.library.Catalogue(t.Context(), true); err != nil || c.Why != "" || c.Models[0].Bytes != 2_100 {
		t.Errorf("of the other hub: %q, %v, %+v", c.Why, err, c.Models[0])
	}
}
