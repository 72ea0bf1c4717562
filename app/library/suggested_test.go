package library

import (
	"database/sql"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tandem/app/home"
	"tandem/engine/enginetest"
	"tandem/models/hub"
)

// The hub tells the sizes of the catalogue, and is asked once. Without its answer the sizes are not
// known.
func TestCatalogueAsksTheHubForEachSizeOnce(t *testing.T) {
	var asked atomic.Int32
	var down atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if down.Load() || r.URL.Query().Get("blobs") != "true" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"sha": strings.Repeat("a", 40),
			"siblings": []map[string]any{
				{"rfilename": "config.json", "size": 100}, {"rfilename": "model.safetensors", "size": 2_000}, {"rfilename": "picture.png", "size": 5},
			}})
	}))
	defer server.Close()
	memory := int64(16<<30 - 1<<29)
	openWithLog := func(log *slog.Logger) *Library {
		return open(t, setup{Logger: log, Memory: memory,
			Hub: hub.Options{CacheDir: t.TempDir(), Endpoint: server.URL}}).library
	}
	a := openWithLog(nil)
	c, err := a.Catalogue(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if c.Class != 16 {
		t.Errorf("c.Class = %v, want 16", c.Class)
	}
	if c.Memory != memory {
		t.Errorf("c.Memory = %v, want %v", c.Memory, memory)
	}
	if asked.Load() > 0 {
		t.Errorf("asked.Load() = %v, want at most 0", asked.Load())
	}
	if c.Models[0].Bytes != 0 {
		t.Errorf("c.Models[0].Bytes = %v, want 0", c.Models[0].Bytes)
	}
	for range 2 {
		c, err = a.Catalogue(t.Context(), true)
		if err != nil || c.Why != "" {
			t.Fatal(c.Why, err)
		}
	}
	names := int32(0)
	commit := regexp.MustCompile(`^[0-9a-f]{40}$`)
	for _, m := range c.Models {
		names++
		if !commit.MatchString(m.Revision) || m.Bytes != 2_100 || m.Registered {
			t.Errorf("%+v: it needs a whole commit", m)
		}
		for _, d := range m.Drafters {
			names++
			if !commit.MatchString(d.Revision) || d.Bytes != 2_100 || d.Here {
				t.Errorf("%+v: it needs a whole commit", d)
			}
		}
	}
	if asked.Load() != names {
		t.Errorf("the hub was asked %d times about %d names", asked.Load(), names)
	}

	down.Store(true)
	var lines strings.Builder
	b := openWithLog(slog.New(slog.NewTextHandler(&lines, nil)))
	for range 2 {
		asked.Store(0)
		c, err = b.Catalogue(t.Context(), true)
		if err != nil || c.Why == "" || strings.HasPrefix(c.Why, "mlx-community/") ||
			c.Models[0].Bytes != 0 {
			t.Errorf("with a hub that refuses: %q, %v, %+v", c.Why, err, c.Models[0])
		}
	}
	if asked.Load() > 0 {
		t.Error("a hub that did not answer is asked again at once")
	}
	b.sizes.tried = time.Time{}
	if _, err := b.Catalogue(t.Context(), true); err != nil || asked.Load() == 0 ||
		strings.Count(lines.String(), "the hub tells no sizes") != 1 {
		t.Errorf("%v; asked again %d times, the log has\n%s", err, asked.Load(), lines.String())
	}
}

// The sizes that the hub told show after a restart without a network.
func TestSizesStayForALaterProcess(t *testing.T) {
	server := tellingSizes(t)
	s := setup{Home: t.TempDir(), Hub: hub.Options{CacheDir: t.TempDir(), Endpoint: server.URL}}
	a := open(t, s)
	if c, err := a.library.Catalogue(t.Context(), true); err != nil || c.Models[0].Bytes != 2_100 {
		t.Fatalf("%+v, %v", c.Models[0], err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	server.Close()
	c, err := open(t, s).library.Catalogue(t.Context(), false)
	if err != nil || c.Models[0].Bytes != 2_100 {
		t.Errorf("after a restart %+v, %v", c.Models[0], err)
	}
}

// While another program holds the database, the catalogue has the sizes that the hub tells. They are
// stored later.
func TestCatalogueNeedsNoFreeDatabase(t *testing.T) {
	server := tellingSizes(t)
	s := setup{Home: t.TempDir(), Hub: hub.Options{CacheDir: t.TempDir(), Endpoint: server.URL}}
	a := open(t, s)
	other, err := sql.Open("sqlite", "file:"+filepath.Join(s.Home, home.DatabaseFile))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if c, err := a.library.Catalogue(t.Context(), true); err != nil || c.Models[0].Bytes != 2_100 {
		t.Errorf("%+v, %v", c.Models[0], err)
	}
	if _, err := other.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	enginetest.Await(t, "the size is stored", func() bool {
		_, err := a.library.Catalogue(t.Context(), true)
		text, failed := a.db.Setting(t.Context(), settingSizes)
		return err == nil && failed == nil && strings.Contains(text, "2100")
	})
}

// The sizes of another hub are gone after a restart too.
func TestSizesOfAnotherHubAreForgotten(t *testing.T) {
	server := tellingSizes(t)
	s := setup{Home: t.TempDir(), Hub: hub.Options{CacheDir: t.TempDir(), Endpoint: server.URL}}
	a := open(t, s)
	if c, err := a.library.Catalogue(t.Context(), true); err != nil || c.Models[0].Bytes != 2_100 {
		t.Fatalf("%+v, %v", c.Models[0], err)
	}
	a.library.Refetch(t.Context())
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if c, err := open(t, s).library.Catalogue(t.Context(), false); err != nil || c.Models[0].Bytes != 0 {
		t.Errorf("after a restart %+v, %v", c.Models[0], err)
	}
}

// tellingSizes is a hub where each model has 2,100 bytes.
func tellingSizes(t *testing.T) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(map[string]any{"sha": strings.Repeat("a", 40),
			"siblings": []map[string]any{{"rfilename": "config.json", "size": 100},
				{"rfilename": "model.safetensors", "size": 2_000}}})
	}))
	t.Cleanup(server.Close)
	return server
}
