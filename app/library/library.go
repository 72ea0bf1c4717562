package library

import (
	"context"
	"errors"
	"log/slog"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/pool"
	"tandem/app/settings"
	"tandem/storage"
)

// Options of a Library.
type Options struct {
	// ModelFolders are searched for models, beside the hub's cache and the folders in the settings.
	ModelFolders []ModelFolder

	// Starter is the path of the starter model; empty if this program has none.
	Starter string
}

// A Library knows the models on disk. It is safe for use by several goroutines.
type Library struct {
	opts     Options
	log      *slog.Logger
	home     *home.Home
	db       *storage.DB
	settings *settings.Store
	pool     *pool.Pool
	life     context.Context // ends downloads

	offers    []control.Suggested // the catalogue
	downloads downloads
	sizes     sizes

	starterFault string // why the starter cannot be used, one sentence
}

// Open reads the downloads that an earlier process left, and renews the rows of the models that
// come with the program. life ends every download.
func Open(ctx, life context.Context, db *storage.DB, dir *home.Home, set *settings.Store,
	pool *pool.Pool, log *slog.Logger, o Options) (*Library, error) {
	l := &Library{opts: o, log: log, home: dir, db: db, settings: set, pool: pool, life: life}
	var err error
	if l.offers, err = suggested(); err != nil {
		return nil, err
	}
	if err := errors.Join(l.openDownloads(ctx), l.openSizes(ctx)); err != nil {
		return nil, err
	}
	err = errors.Join(l.registerPocket(ctx), l.registerStarter(ctx))
	if storage.IsFull(err) { // the rows of the last start serve as well
		log.Warn("the models that come with Tandem are not registered", "error", err)
		err = nil
	}
	return l, err
}
