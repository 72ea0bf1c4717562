package app

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/models"
)

// BoundedModel is the id of a model that comes with the program and can be served with bounded layers.
const BoundedModel = models.RetrievalID

// retrievalFolder is where the embedded retrieval model lies once it was chosen by its name. A model
// with a drafter and an f_theta needs a folder.
func (a *App) retrievalFolder() string {
	return filepath.Join(a.opts.Home, "models", models.RetrievalID)
}

// addRetrieval writes the embedded retrieval model to its folder, and registers it.
func (a *App) addRetrieval(ctx context.Context) error {
	dir := a.retrievalFolder()
	if err := writeFolder(dir, models.RetrievalFiles()); err != nil {
		return fmt.Errorf("write the model %s: %w", models.RetrievalID, err)
	}
	_, err := a.library.AddModel(ctx, control.AddRequest{Path: dir, ID: models.RetrievalID})
	return err
}

// renewRetrieval is addRetrieval if id is the embedded model's, since a new program may have a new one.
// A failure is logged: the load says what the files lack.
func (a *App) renewRetrieval(ctx context.Context, id string) {
	if id != models.RetrievalID {
		return
	}
	if row, err := a.db.Model(ctx, id); err != nil || row.Path != a.retrievalFolder() {
		return
	}
	if err := a.addRetrieval(ctx); err != nil {
		a.log.Warn("the files of a model that comes with the program are not renewed", "err", err)
	}
}

// writeFolder makes a folder hold the files of files. It leaves a file alone that is so already.
func writeFolder(dir string, files fs.FS) error {
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, data) {
			return nil
		}
		return home.WriteOwn(path, string(data))
	})
}
