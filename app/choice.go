package app

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/pool"
	"tandem/models"
	"tandem/storage"
)

// LastChoice returns the model that will be served on a home folder that no process holds, see
// Owner, by a program with this starter model. Nothing is made or changed.
func LastChoice(ctx context.Context, dir, starter string) (_ control.Model, err error) {
	db, err := openToRead(dir)
	if err != nil {
		return control.Model{}, err
	}
	if db == nil {
		return firstChoice(starter), nil
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	id, err := pool.Chosen(ctx, db)
	if err != nil {
		return control.Model{}, err
	}
	row, err := db.Models.Get(ctx, id)
	if storage.IsNotFound(err) || err == nil && row.Source == storage.SourceStarter {
		return firstChoice(starter), nil
	}
	return row, err
}

// Registered returns the models that are registered in a home folder that no process holds.
func Registered(ctx context.Context, dir string) (list []control.Model, err error) {
	db, err := openToRead(dir)
	if db == nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.Models.List(ctx)
}

// openToRead opens the database of a home folder that no process holds. It is nil if the folder has
// none yet, or an empty one.
func openToRead(dir string) (*storage.DB, error) {
	path := filepath.Join(dir, home.DatabaseFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	db, err := storage.OpenReadOnly(path)
	if e, ok := errors.AsType[*storage.Error](err); ok && e.Code == storage.Empty {
		return nil, nil
	}
	return db, err
}

// firstChoice returns the model that is served unless another is chosen, given the starter's path.
func firstChoice(starter string) control.Model {
	if starter != "" {
		if _, err := models.Inspect(starter); err == nil {
			return control.Model{ID: models.StarterID, Source: storage.SourceStarter, Path: starter}
		}
	}
	return control.Model{ID: models.PocketID, Source: storage.SourcePocket}
}

// savedHubCache returns the folder for downloads that is set in a home folder that no process holds.
// It is empty if none is set.
func savedHubCache(ctx context.Context, homeDir string) (cache string, err error) {
	db, err := openToRead(homeDir)
	if db == nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	value, err := db.Setting(ctx, "hub_cache")
	if value != "" {
		err = json.Unmarshal([]byte(value), &cache)
	}
	return cache, err
}

// checkDatabase reads the whole database of a home folder that no process holds. It returns the first
// problem, or "".
func checkDatabase(ctx context.Context, dir string) (problem string, err error) {
	db, err := openToRead(dir)
	if db == nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.Integrity(ctx)
}

// checkModel reads the headers of a registered model's files, and returns their place. Error: why the
// model cannot be served.
func checkModel(m control.Model) (place string, err error) {
	if m.Source == storage.SourcePocket {
		_, err = models.OpenPocket().Summary()
		return "part of the program", err
	}
	if _, err := models.Inspect(m.Path); err != nil {
		return "", pool.Unusable(m, err)
	}
	return m.Path, nil
}
