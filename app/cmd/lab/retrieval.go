package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tandem/app/home"
	"tandem/app/lab"
	"tandem/models/retrieval"
)

// retrievalFolder writes the embedded model to its folder in the home folder and returns that: a model
// with a drafter and an f_theta needs a folder.
func (m *Main) retrievalFolder() (string, error) {
	if err := home.Make(m.home()); err != nil {
		return "", err
	}
	dir := filepath.Join(m.home(), "models", lab.RetrievalModel)
	if err := writeFolder(dir, retrieval.Files()); err != nil {
		return "", fmt.Errorf("write the model %s: %w", lab.RetrievalModel, err)
	}
	return dir, nil
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
		return home.WritePrivate(path, string(data))
	})
}
