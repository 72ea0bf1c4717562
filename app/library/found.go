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

// Bounds of the search for models, since folders hold other things too, and some a great many.
const (
	foundDepth   = 3      // levels of folders below the named one: PUBLISHER/MODEL/VARIANT
	foundEntries = 20_000 // names read in all folders together
	foundTime    = 10 * time.Second
)

// A ModelFolder is a folder to search for models.
type ModelFolder struct {
	Path  string
	Place string // see control.FoundModel
}

// Found returns the models in the hub's cache and in the model folders. Each has its needs, or the
// reason why it cannot be used. Cut says that the search reached a bound. It implements
// server.Library.
func (l *Library) Found(ctx context.Context) (control.Found, error) {
	rows, err := l.db.Models(ctx)
	if err != nil {
		return control.Found{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, foundTime)
	defer cancel()
	f := &finder{ctx: ctx, needs: l.pool.Needs, left: foundEntries, seen: map[string]bool{}}
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
	}
	return f.out, nil
}

// modelFolders returns the folders to search beside the hub's cache.
func (l *Library) modelFolders() []ModelFolder {
	list := slices.Clone(l.opts.ModelFolders)
	for _, dir := range l.settings.Current().ModelFolders {
		list = append(list, ModelFolder{dir, control.PlaceFolder})
	}
	return list
}

// A finder searches folders for models.
type finder struct {
	ctx   context.Context
	needs func(models.Footprint) control.Needs
	left  int             // names that may still be read
	seen  map[string]bool // folders, with links resolved
	out   control.Found
}

// cache adds the models in a hub's cache.
func (f *finder) cache(dir string) {
	ids, err := hub.List(dir)
	if err != nil {
		return // a pull into this cache says what is wrong
	}
	for _, id := range ids {
		if f.limitReached() {
			return
		}
		f.left--
		snapshot, err := hub.Resolve(dir, id)
		if e, ok := errors.AsType[*hub.Error](err); ok && e.Code == hub.NotFound {
			continue // the folder holds no snapshot
		}
		if err != nil {
			f.add(control.FoundModel{ID: id, Path: filepath.Join(dir,
				"models--"+strings.ReplaceAll(id, "/", "--")), Place: control.PlaceHub,
				Why: bareReason(err, id)})
			continue
		}
		f.inspect(snapshot, control.PlaceHub)
	}
}

// folder adds the model of a folder, or searches so many levels of folders below it. Nothing is
// searched below a model. This is the place that recognises a format of models, or refuses it by
// name as it does GGUF.
func (f *finder) folder(dir, place string, depth int) {
	entries, err := f.read(dir)
	if err != nil {
		return
	}
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
	}
	gguf := slices.ContainsFunc(entries,
		func(e fs.DirEntry) bool { return strings.EqualFold(filepath.Ext(e.Name()), ".gguf") })
	switch {
	case has("config.json"):
		f.inspect(dir, place)
		return
	case gguf:
		f.add(control.FoundModel{ID: folderID(dir), Path: dir, Place: place,
			Why: "it holds GGUF files, and Tandem reads safetensors: look for an MLX version of it"})
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

// read lists a folder that was not read before, as far as the bounds allow.
func (f *finder) read(dir string) ([]fs.DirEntry, error) {
	whole, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	if f.seen[whole] || f.limitReached() {
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
		err = nil // the names before it count
	}
	return entries, err
}

// limitReached reports whether the search has reached a bound.
func (f *finder) limitReached() bool {
	if f.left <= 0 || f.ctx.Err() != nil {
		f.out.Cut = true
	}
	return f.out.Cut
}

// inspect adds the model of a folder, with the reason if it cannot be used.
func (f *finder) inspect(dir, place string) {
	m := control.FoundModel{ID: folderID(dir), Path: dir, Place: place}
	info, err := models.Inspect(dir)
	if err != nil {
		m.Why = bareReason(err, dir)
	} else {
		needs := f.needs(info.Footprint)
		m.Needs = &needs
		m.Bytes, m.Architecture, m.Quantization, m.ContextLength, m.Kind = info.Bytes,
			info.Architecture, info.Quantization, info.ContextLength, string(info.Kind)
	}
	f.add(m)
}

func (f *finder) add(m control.FoundModel) { f.out.Models = append(f.out.Models, m) }

// bareReason returns an error's text without the name that it begins with.
func bareReason(err error, name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), filepath.Clean(name)), ": ")
}
