package library

import (
	"context"
	"path/filepath"

	"tandem/app/control"
	"tandem/models"
	"tandem/models/ollama"
	"tandem/storage"
)

// ollamaID returns the name of a model as Ollama writes it. Parts come from names of folders, so one
// that no request could name makes it a plain id.
func ollamaID(m ollama.Model) string {
	for _, part := range []string{m.Host, m.Namespace, m.Name, m.Tag} {
		if plainID(part) != part {
			return plainID(m.Name + "-" + m.Tag)
		}
	}
	return m.ID()
}

// blobID returns the name that Ollama has for a blob in its store, empty if it has none.
func blobID(path string) string {
	if m, ok := ollama.Of(path); ok {
		return ollamaID(m)
	}
	return ""
}

// IDOf returns the id of the registered model that Ollama has under a name too. Of another name it
// returns the name itself. It implements server.Library.
func (l *Library) IDOf(ctx context.Context, name string) (id string, err error) {
	rows, err := l.db.Models.List(ctx)
	if err != nil {
		return "", err
	}
	ids := map[string]string{} // by the path of the file
	asked := map[string]bool{} // stores
	for _, row := range rows {
		if row.Source == storage.SourceOllama {
			ids[row.Path] = row.ID
		}
	}
	for path := range ids {
		store := filepath.Dir(filepath.Dir(path))
		if asked[store] {
			continue
		}
		asked[store] = true
		if m, ok := ollama.Named(store, name); ok && ids[m.Blob] != "" {
			return ids[m.Blob], nil
		}
	}
	return name, nil
}

// inspectBlob inspects a model of Ollama's as the pool does others.
func (l *Library) inspectBlob(m ollama.Model) (models.Summary, error) {
	return l.pool.InspectBy(m.Blob,
		func() (*models.Files, error) { return models.OpenOllama(m) })
}

// store adds the models in Ollama's store. A name that is not a separate model here is listed with the
// reason, at the path of their manifest.
func (f *finder) store(dir string, inspect func(m ollama.Model) (models.Summary, error)) {
	f.begin(func() {
		list, err := ollama.Models(dir)
		if f.silent(err, dir, control.PlaceOllama) || err != nil {
			return
		}
		for _, m := range list {
			if f.take(1) < 0 {
				return
			}
			found := control.FoundModel{ID: ollamaID(m), Path: m.Blob, Place: control.PlaceOllama,
				Names: m.Names}
			if m.Why != "" {
				found.Path, found.Why = m.Manifest, m.Why
				f.add(found)
				continue
			}
			f.begin(func() {
				info, err := inspect(m)
				f.addInspected(found, info, err)
			})
		}
	})
}
