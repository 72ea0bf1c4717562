package history

import (
	"log/slog"
	"time"

	"tandem/app/home"
	"tandem/app/pool"
	"tandem/app/settings"
	"tandem/storage"
)

// A History keeps what requests leave behind, as people see it. It is safe for use by several
// goroutines.
type History struct {
	log      *slog.Logger
	home     *home.Home
	db       *storage.DB
	settings *settings.Store
	pool     *pool.Pool
	opts     Options
	now      func() time.Time // of today and of the last minutes

	titles   titles
	late     lateRuns
	thoughts thoughtDeletion
}

// Options of a History.
type Options struct {
	NoCheckpoints bool // the texts of runs are not kept, nor thoughts
}

// New returns the history in a database.
func New(db *storage.DB, dir *home.Home, set *settings.Store, pool *pool.Pool, log *slog.Logger,
	o Options) *History {
	return &History{log: log, home: dir, db: db, settings: set, pool: pool, opts: o,
		now: time.Now}
}
