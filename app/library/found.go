package library

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tandem/app/control"
	"tandem/models"
	"tandem/models/hub"
)

// How far models are looked for: folders hold other things too, and some hold a
// great many.
const (
	foundDepth   = 3      // folders below the one that is named: PUBLISHER/MODEL/VARIANT
	foundEntries = 20_000 // names that are read, all folders together
	foundTime    = 10 * time.Second
)

// A ModelFolder is one in which models are looked for.
type ModelFolder struct {
	Path  string
	Place string // see control.FoundModel
}

// Found implements server.Library.
func (l *Library) Found(ctx context.Context) (control.Found, error) {
	rows, err := l.db.Models(ctx)
	if err != nil {
		return control.Found{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, foundTime)
	defer cancel()
	f := &finder{ctx: ctx, left: foundEntries, seen: map[string]bool{}}
	f.out.Models = []control.FoundModel{}
	if dir := l.settings.Hub().CacheDir; dir != "" {
		f.cache(dir)
	}
	for _, folder := range l.modelFolders() {
		f.folder(folder.Path, folder.Place, foundDepth)
	}
	for i := range f.out.Models {
		m := &f.out.Models[i]
		for _, r := range rows {
			if r.Path == m.Path {
				m.ID, m.Registered = r.ID, true
			}
		}
		if m.Why != "" {
			continue
		}
		if needs, err := l.pool.Needs(m.Path); err == nil {
			m.Needs = &needs
		}
	}
	return f.out, nil
}

// modelFolders are those where models are looked for beside the hub's cache.
func (l *Library) modelFolders() []ModelFolder {
	list := slices.Clone(l.opts.ModelFolders)
	for _, dir := range l.settings.Current().ModelFolders {
		list = append(list, ModelFolder{dir, control.PlaceFolder})
	}
	return list
}

// A finder looks for the folders of models.
type finder struct {
	ctx  context.Context
	left int             // names that may still be read
	seen map[string]bool // folders, with links resolved
	out  control.Found
}

// cache looks at the models in a hub's cache.
func (f *finder) cache(dir string) {
	ids, err := hub.List(dir)
	if err != nil {
		return // as if there were none: pulling one tells what is wrong
	}
	for _, id := range ids {
		if f.cut() {
			return
		}
		f.left--
		snapshot, err := hub.Resolve(dir, id)
		if e, ok := errors.AsType[*hub.Error](err); ok && e.Code == hub.NotFound {
			continue // only the folder of one
		}
		if err != nil {
			f.add(control.FoundModel{ID: id, Path: filepath.Join(dir, "models--"+strings.ReplaceAll(id, "/", "--")), Place: control.PlaceHub, Why: bareReason(err, id)})
			continue
		}
		f.look(snapshot, control.PlaceHub)
	}
}

// folder looks at a folder, and so many levels of those below it. Of one that
// holds a model, nothing below is looked at.
func (f *finder) folder(dir, place string, depth int) {
	entries, err := f.read(dir)
	if err != nil {
		return
	}
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
	}
	gguf := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.EqualFold(filepath.Ext(e.Name()), ".gguf") })
	switch {
	case has("config.json"):
		f.look(dir, place)
		return
	case gguf:
		f.add(control.FoundModel{ID: folderID(dir), Path: dir, Place: place, Why: "it holds GGUF files, and Tandem reads safetensors: look for an MLX version of it"})
		return
	case depth == 0:
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") || !e.IsDir() && e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			f.folder(path, place, depth-1)
		}
	}
}

// read lists a folder that was not looked at before, as far as it may.
func (f *finder) read(dir string) ([]fs.DirEntry, error) {
	whole, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	if f.seen[whole] || f.cut() {
		return nil, fs.ErrExist
	}
	f.seen[whole] = true
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(f.left)
	f.left -= len(entries)
	if len(entries) > 0 {
		err = nil // what was read before it counts
	}
	return entries, err
}

// cut reports whether enough was looked at.
func (f *finder) cut() bool {
	if f.left <= 0 || f.ctx.Err() != nil {
		f.out.Cut = true
	}
	return f.out.Cut
}

// look adds the model of a folder, or why it is none.
func (f *finder) look(dir, place string) {
	m := control.FoundModel{ID: folderID(dir), Path: dir, Place: place}
	info, err := models.Inspect(dir)
	if err != nil {
		m.Why = bareReason(err, dir)
	} else {
		m.Bytes, m.Architecture, m.Quantization, m.ContextLength, m.Kind = info.Bytes, info.Architecture, info.Quantization, info.ContextLength, string(info.Kind)
	}
	f.add(m)
}

func (f *finder) add(m control.FoundModel) { f.out.Models = append(f.out.Models, m) }

// bareReason is an error without the name that it begins with.
func bareReason(err error, name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), filepath.Clean(name)), ": ")
}
