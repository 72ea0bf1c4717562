package library

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/app/pool"
	"tandem/models"
	"tandem/models/hub"
	"tandem/storage"
	"tandem/storage/disk"
)

// Models returns the registered models. It implements server.Library.
func (l *Library) Models(ctx context.Context) ([]control.Model, error) {
	return l.db.Models.List(ctx)
}

// IsFolder reports whether a name that no registered model has means a folder or a GGUF file. It is
// written as only a path can be, or it ends in .gguf, or it has a slash and is a folder. A folder in
// the working folder is an id without a slash.
func IsFolder(name string) bool {
	if filepath.IsAbs(name) || name == "." || name == ".." || strings.HasPrefix(name, "./") ||
		strings.HasPrefix(name, "../") || models.IsGGUF(name) {
		return true
	}
	info, err := disk.Stat(name)
	return strings.Contains(name, "/") && err == nil && info.IsDir()
}

// registerPocket renews the row of the embedded model, since a new program may have a new one.
func (l *Library) registerPocket(ctx context.Context) error {
	info, err := models.OpenPocket().Summary()
	if err != nil {
		return err
	}
	_, err = l.register(ctx, storage.Model{ID: models.PocketID, Source: storage.SourcePocket}, info)
	return err
}

// register stores a row with what inspection found.
func (l *Library) register(ctx context.Context, row storage.Model,
	info models.Summary) (control.Model, error) {
	row.ID = realID(row.ID)
	row.Architecture, row.Quantization, row.Dtype = info.Architecture, info.Quantization, info.Dtype
	row.FileType = info.FileType
	row.Parameters, row.Bytes, row.ContextLength, row.Kind = info.Parameters, info.Bytes,
		info.ContextLength, string(info.Kind)
	return l.db.Models.Register(ctx, row)
}

// realID returns an id with a suffix if it is the alias, which counts as taken.
func realID(id string) string {
	if id == control.Alias {
		return id + "-2"
	}
	return id
}

// AddModel registers a folder, which must hold a complete model of a supported architecture, or a
// GGUF file with one. A folder with one GGUF file means that file. Errors: CodeModelInvalid;
// CodeInvalid for an id that cannot be used. It implements server.Library.
func (l *Library) AddModel(ctx context.Context, r control.AddRequest) (control.Model, error) {
	if r.Path == "" { // which would mean the server's working folder
		return control.Model{}, &control.Error{Code: control.CodeInvalid, Param: "path",
			Message: "The path is empty; give the model's folder or GGUF file."}
	}
	dir, err := filepath.Abs(r.Path)
	if err != nil {
		return control.Model{}, err
	}
	if dir, err = modelPath(dir); err != nil {
		return control.Model{}, err
	}
	info, err := l.pool.Inspect(dir)
	if err != nil {
		return control.Model{}, l.unusable(ctx, dir, err)
	}
	id := l.idOf(dir)
	if r.ID != "" {
		if id, err = r.ID, l.checkID(ctx, r.ID, dir); err != nil {
			return control.Model{}, err
		}
	}
	source := storage.SourceFolder
	if blobID(dir) != "" {
		source = storage.SourceOllama
	}
	return l.register(ctx, storage.Model{ID: id, Path: dir, Source: source}, info)
}

// unusable returns the error of the files at a path. It names the model that has them.
func (l *Library) unusable(ctx context.Context, path string, err error) error {
	rows, _ := l.db.Models.List(ctx) // without them the error names the path
	for _, r := range rows {
		if r.Path == path {
			return pool.Unusable(r, err)
		}
	}
	return pool.InvalidModel(err)
}

// idOf returns the id that the model at a path gets by itself. A folder in LM Studio's folder has its
// publisher's name too: it has models of one name by several publishers.
func (l *Library) idOf(path string) string {
	for _, folder := range l.opts.ModelFolders {
		if folder.Place != control.PlaceLMStudio || models.IsGGUF(path) {
			continue
		}
		rel, err := filepath.Rel(folder.Path, path)
		if id := filepath.ToSlash(rel); err == nil && strings.Count(id, "/") == 1 && isID(id) {
			return id
		}
	}
	return folderID(path)
}

// folderID returns the id of the model in a folder or a GGUF file. In a hub's cache and in Ollama's
// store it is the name there. Elsewhere it is that of the folder or the file, in the hub's alphabet.
func folderID(dir string) string {
	if id := blobID(dir); id != "" {
		return id
	}
	if models.IsGGUF(dir) {
		return ggufID(dir)
	}
	if _, id, _, err := hub.ParseDir(dir); err == nil {
		return id
	}
	return plainID(filepath.Base(dir))
}

// plainID returns a name in the hub's alphabet.
func plainID(name string) string {
	id := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '.':
			return r
		}
		return '-'
	}, name)
	for _, c := range []string{"-", "."} { // a doubled sign has a meaning in the hub's cache
		for strings.Contains(id, c+c) {
			id = strings.ReplaceAll(id, c+c, c)
		}
	}
	id = strings.Trim(id, "-.")
	if _, _, err := hub.Parse(id); err != nil {
		return "model"
	}
	return id
}

// isID reports whether a text can be an id, as the hub, Ollama and Tandem write them: NAME, ORG/NAME or
// HOST/ORG/NAME, with :TAG or without. Each part is in the hub's alphabet.
func isID(id string) bool {
	const most = 256 // bytes
	name, tag, tagged := strings.Cut(id, ":")
	parts := strings.Split(name, "/")
	if tagged {
		parts = append(parts, tag)
	}
	odd := func(part string) bool { return plainID(part) != part }
	return len(id) <= most && strings.Count(name, "/") < 3 && !slices.ContainsFunc(parts, odd)
}

// checkID refuses an id that no request could name, and a second id for the model in dir. Error:
// CodeInvalid.
func (l *Library) checkID(ctx context.Context, id, dir string) error {
	refuse := func(format string, args ...any) error {
		return &control.Error{Code: control.CodeInvalid, Param: "id",
			Message: fmt.Sprintf(format, args...)}
	}
	if !isID(id) {
		return refuse("%q cannot be a model's id: it is NAME, ORG/NAME or HOST/ORG/NAME, with :TAG or without. "+
			"Each part has letters, digits and _, with single - and . between them.", id)
	}
	if id == control.Alias {
		return refuse("The name %s means the current model, whichever that is; take another id.", id)
	}
	rows, err := l.db.Models.List(ctx)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.Path == dir && r.ID != id {
			return refuse("%s is installed as %s; use that name, or remove %s from the list first.",
				dir, r.ID, r.ID)
		}
	}
	return nil
}
