package roomtest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"testing"

	"tandem/app/home"
	"tandem/app/pool"
	"tandem/app/settings"
	"tandem/engine/mlx"
	"tandem/models/hub"
	"tandem/storage"
)

// Options of Open. The zero value is useful.
type Options struct {
	Home   string // folder; empty = a new one
	Hub    hub.Options
	Logger *slog.Logger // nil discards
	Pool   pool.Options
}

// Rooms are the rooms below a room that is tested.
type Rooms struct {
	Home     *home.Home
	DB       *storage.DB
	Settings *settings.Store
	Pool     *pool.Pool
	Log      *slog.Logger
	Life     context.Context
	End      context.CancelFunc // ends Life; Close calls it

	thread *mlx.Thread
	closed bool
}

// Open opens the rooms. They are closed with the test, or by Close before that.
func Open(t *testing.T, o Options) *Rooms {
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
	r := &Rooms{Log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler))}
	var err error
	r.Home, err = home.Open(o.Home)
	must(err)
	r.DB, err = storage.Open(r.Home.Path(home.DatabaseFile), storage.Options{Logger: r.Log})
	must(err)
	r.thread, err = mlx.NewThread(mlx.Options{})
	must(err)
	r.Settings, _, err = settings.Open(t.Context(), r.DB, r.Home, r.Log,
		settings.Options{Hub: o.Hub})
	must(err)
	r.Life, r.End = context.WithCancel(context.Background())
	r.Pool = pool.New(r.Life, r.thread, r.DB, r.Home, r.Settings, r.Log, o.Pool)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// Close ends Life, and frees the models. It does nothing the second time.
func (r *Rooms) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.End()
	return errors.Join(r.Pool.Close(), r.thread.Close(), r.DB.Close(), r.Home.Close())
}
