package library

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/home"
	"tandem/app/pool"
	"tandem/app/settings"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models/hub"
	"tandem/storage"
)

// A setup says what a test's library is opened with.
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
	closed  bool
	close   func() error
}

// open opens a library. It is closed with the test, or by Close before that.
func open(t *testing.T, o setup) *opened {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if o.Home == "" {
		o.Home = t.TempDir()
	}
	log := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	dir, err := home.Open(o.Home)
	must(err)
	a := &opened{}
	a.db, err = storage.Open(dir.Path(home.DatabaseFile), storage.Options{Logger: log})
	must(err)
	thread, err := mlx.NewThread(mlx.Options{})
	must(err)
	set, _, err := settings.Open(t.Context(), a.db, dir, log, settings.Options{Hub: o.Hub})
	must(err)
	life, end := context.WithCancel(context.Background())
	a.pool = pool.New(life, thread, a.db, dir, set, log, pool.Options{Memory: o.Memory, NoCheckpoints: true})
	a.library, err = Open(t.Context(), life, a.db, dir, set, a.pool, log, Options{ModelFolders: o.ModelFolders})
	must(err)
	id, err := pool.LastChoice(t.Context(), a.db)
	must(err)
	a.pool.Start(id)
	a.close = func() error {
		end()
		a.library.Close()
		return errors.Join(a.pool.Close(), thread.Close(), a.db.Close(), dir.Close())
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// Close ends the downloads and frees the models. It does nothing the second time.
func (a *opened) Close() error {
	if a.closed {
		return nil
	}
	a.closed = true
	return a.close()
}

// cachedModel puts a tiny model into a hub's cache, and returns its snapshot.
func cachedModel(t *testing.T, cache, id, arch string) string {
	t.Helper()
	dir := filepath.Join(cache, "models--"+strings.ReplaceAll(id, "/", "--"), "snapshots", strings.Repeat("a", 40))
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(enginetest.TinyModel(t, arch), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}
