package library

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/pool"
	"tandem/app/roomtest"
	"tandem/engine/enginetest"
	"tandem/models/hub"
	"tandem/storage"
)

// A setup holds the options of a test's library.
type setup struct {
	Home         string // empty = a new folder
	Hub          hub.Options
	Logger       *slog.Logger
	Memory       int64
	ModelFolders []ModelFolder
}

// opened is a library above a pool, without a server.
type opened struct {
	library *Library
	pool    *pool.Pool
	db      *storage.DB
	rooms   *roomtest.Rooms
}

// open opens a library. The test's end closes it, unless Close did before.
func open(t *testing.T, o setup) *opened {
	t.Helper()
	r := roomtest.Open(t, roomtest.Options{
		Home: o.Home, Hub: o.Hub, Logger: o.Logger,
		Pool: pool.Options{Memory: o.Memory, NoCheckpoints: true},
	})
	l, err := Open(t.Context(), r.Life, r.DB, r.Home, r.Settings, r.Pool, r.Log,
		Options{ModelFolders: o.ModelFolders})
	if err != nil {
		t.Fatal(err)
	}
	id, err := pool.LastChoice(t.Context(), r.DB)
	if err != nil {
		t.Fatal(err)
	}
	r.Pool.Start(id)
	a := &opened{l, r.Pool, r.DB, r}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// Close ends the downloads and frees the models. It does nothing the second time.
func (a *opened) Close() error {
	a.rooms.End() // ends the downloads
	a.library.Close()
	return a.rooms.Close()
}

// cachedModel puts a tiny model into a hub's cache, and returns its snapshot.
func cachedModel(t *testing.T, cache, id, arch string) string {
	t.Helper()
	dir := filepath.Join(cache, "models--"+strings.ReplaceAll(id, "/", "--"), "snapshots",
		strings.Repeat("a", 40))
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(enginetest.TinyModel(t, arch), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}
