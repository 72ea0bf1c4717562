package history

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"tandem/app/home"
	"tandem/app/pool"
	"tandem/app/settings"
	"tandem/engine/mlx"
	"tandem/storage"
)

// opened is a history above a pool, without a server.
type opened struct {
	history *History
	pool    *pool.Pool
	db      *storage.DB
	home    *home.Home
	closed  bool
	close   func() error
}

// open opens the history in a home folder. It is closed with the test, or by Close before that.
func open(t *testing.T, folder string) *opened {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	log := slog.New(slog.DiscardHandler)
	a := &opened{}
	var err error
	a.home, err = home.Open(folder)
	must(err)
	a.db, err = storage.Open(a.home.Path(home.DatabaseFile), storage.Options{Logger: log})
	must(err)
	thread, err := mlx.NewThread(mlx.Options{})
	must(err)
	set, _, err := settings.Open(t.Context(), a.db, a.home, log, settings.Options{})
	must(err)
	life, end := context.WithCancel(context.Background())
	a.pool = pool.New(life, thread, a.db, a.home, set, log, pool.Options{})
	a.history = New(a.db, a.home, set, a.pool, log, Options{})
	a.close = func() error {
		end()
		return errors.Join(a.pool.Close(), thread.Close(), a.db.Close(), a.home.Close())
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// Close frees the models. It does nothing the second time.
func (a *opened) Close() error {
	if a.closed {
		return nil
	}
	a.closed = true
	return a.close()
}
