package library

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tandem/app/control"
	"tandem/models"
	"tandem/models/hub"
	"tandem/storage"
	"tandem/storage/disk"
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
// reason why it cannot be used. Cut says that the search reached a bound. A folder that does not
// answer is listed as such, and keeps no other from being found. It implements server.Library.
func (l *Library) Found(ctx context.Context) (control.Found, error) {
	rows, err := l.db.Models.List(ctx)
	if err != nil {
		return control.Found{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, foundTime)
	defer cancel()
	f := newFinder(ctx, l.pool.Inspect, l.pool.Needs, foundEntries)
	if dir := l.settings.Hub().CacheDir; dir != "" {
		f.cache(dir)
	}
	for _, folder := range l.modelFolders() {
		if folder.Place == control.PlaceOllama {
			f.store(folder.Path, l.inspectBlob)
			continue
		}
		f.folder(folder.Path, folder.Place, foundDepth)
	}
	found := f.result()
	for i := range found.Models {
		m := &found.Models[i]
		at := slices.IndexFunc(rows, func(r storage.Model) bool { return r.Path == m.Path })
		if at >= 0 {
			m.ID, m.Registered = rows[at].ID, true
			continue
		}
		if m.Place == control.PlaceLMStudio || m.Place == control.PlaceFolder {
			m.ID = l.idOf(m.Path)
		}
		m.ID = freeID(rows, m.ID)
	}
	return found, nil
}

// freeID returns the id that a model gets which asks for id and has no row. Storage gives it.
func freeID(rows []storage.Model, id string) string {
	free, _ := storage.FreeID(realID(id), func(id string) (bool, error) { // rows never fail
		return slices.ContainsFunc(rows, func(r storage.Model) bool { return r.ID == id }), nil
	})
	return free
}

// modelFolders returns the folders to search beside the hub's cache.
func (l *Library) modelFolders() []ModelFolder {
	list := slices.Clone(l.opts.ModelFolders)
	for _, dir := range l.settings.Current().ModelFolders {
		list = append(list, ModelFolder{dir, control.PlaceFolder})
	}
	return list
}

// foundAtOnce is how many folders are read at the same time: the search goes on where some do not
// answer.
const foundAtOnce = 16

// A finder searches folders for models.
type finder struct {
	ctx     context.Context
	inspect func(dir string) (models.Summary, error)
	needs   func(models.Summary) *control.Needs
	slots   chan struct{} // one for each folder that is being read
	running sync.WaitGroup

	mu   sync.Mutex
	left int             // names that may still be read
	cut  bool            // a bound was reached
	seen map[string]bool // folders, with links resolved
	list []control.FoundModel
}

func newFinder(ctx context.Context, inspect func(dir string) (models.Summary, error),
	needs func(models.Summary) *control.Needs, names int) *finder {
	return &finder{ctx: ctx, inspect: inspect, needs: needs, left: names,
		slots: make(chan struct{}, foundAtOnce), seen: map[string]bool{}}
}

// result waits for the search, and returns what it found: the hub's cache first, each place by the
// names of folders.
func (f *finder) result() control.Found {
	f.running.Wait()
	rank := []string{control.PlaceHub, control.PlaceLMStudio, control.PlaceOllama,
		control.PlaceFolder}
	slices.SortFunc(f.list, func(a, b control.FoundModel) int {
		return cmp.Or(slices.Index(rank, a.Place)-slices.Index(rank, b.Place),
			cmp.Compare(a.Path, b.Path))
	})
	if f.list == nil {
		f.list = []control.FoundModel{}
	}
	return control.Found{Models: f.list, Cut: f.cut}
}

// begin looks at a folder beside others, unless a bound is reached.
func (f *finder) begin(look func()) {
	f.running.Go(func() {
		f.slots <- struct{}{}
		defer func() { <-f.slots }()
		if f.take(0) >= 0 {
			look()
		}
	})
}

// take counts names that were read. It returns how many more may be read, -1 if none.
func (f *finder) take(names int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left -= names
	if f.left <= 0 || f.ctx.Err() != nil {
		f.cut = true
	}
	if f.cut {
		return -1
	}
	return f.left
}

// cache adds the models in a hub's cache.
func (f *finder) cache(dir string) {
	f.begin(func() {
		ids, err := hub.List(dir)
		if f.silent(err, dir, control.PlaceHub) || err != nil {
			return // a pull into this cache says what is wrong
		}
		for _, id := range ids {
			if f.take(1) < 0 {
				return
			}
			f.begin(func() { f.cached(dir, id) })
		}
	})
}

// cached adds one model of a hub's cache.
func (f *finder) cached(dir, id string) {
	snapshot, err := hub.Resolve(dir, id)
	e, ok := errors.AsType[*hub.Error](err)
	if ok && e.Code == hub.NotFound {
		return // the folder holds no snapshot
	}
	if err != nil {
		m := control.FoundModel{ID: id, Path: filepath.Join(dir,
			"models--"+strings.ReplaceAll(id, "/", "--")), Place: control.PlaceHub,
			Why: bareReason(err, id)}
		if ok && e.Dir != "" { // what a whole download would not mend is told first
			_, err := f.inspect(e.Dir)
			if of, ok := errors.AsType[*models.Error](err); ok && of.Code == models.CodeUnsupported {
				m.Why = bareReason(err, e.Dir)
			}
		}
		f.add(m)
		return
	}
	f.search(snapshot, control.PlaceHub, 1)
}

// folder adds the model of a folder, or searches depth levels of folders below it.
func (f *finder) folder(dir, place string, depth int) {
	f.begin(func() { f.search(dir, place, depth) })
}

// search is folder. Nothing is searched below a model's folder. This is the place that recognises a
// format of models. Each GGUF file is a model, and so is each set of them.
func (f *finder) search(dir, place string, depth int) {
	entries, err := f.read(dir)
	if f.silent(err, dir, place) || err != nil {
		return
	}
	files := ggufModels(entries)
	if len(files) == 0 && hasFile(entries, "config.json") {
		f.addModel(control.FoundModel{ID: folderID(dir), Path: dir, Place: place})
		return
	}
	for _, name := range files {
		path := filepath.Join(dir, name)
		f.begin(func() {
			f.addModel(control.FoundModel{ID: ggufID(path), Path: path, Place: place})
		})
	}
	if depth == 0 {
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."), models.IsGGUF(e.Name()):
		case e.IsDir():
			f.folder(path, place, depth-1)
		case e.Type()&fs.ModeSymlink != 0:
			f.begin(func() {
				info, err := disk.Stat(path)
				if !f.silent(err, path, place) && err == nil && info.IsDir() {
					f.search(path, place, depth-1)
				}
			})
		}
	}
}

// read lists a folder that was not read before, as far as the bounds allow.
func (f *finder) read(dir string) ([]fs.DirEntry, error) {
	whole, err := disk.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	again := f.seen[whole]
	f.seen[whole] = true
	f.mu.Unlock()
	left := f.take(0)
	if again || left < 0 {
		return nil, fs.ErrExist
	}
	entries, err := disk.ReadDir(dir, left)
	f.take(len(entries))
	return entries, err
}

// silent reports whether an error says that a folder does not answer, and lists the folder if so.
func (f *finder) silent(err error, dir, place string) bool {
	if _, ok := errors.AsType[*disk.SilentError](err); !ok {
		return false
	}
	f.add(control.FoundModel{ID: folderID(dir), Path: dir, Place: place,
		Why: "the folder does not answer: look whether its disk is connected"})
	return true
}

// addModel adds a model after it looked at the path, with the reason if it cannot be used.
func (f *finder) addModel(m control.FoundModel) {
	info, err := f.inspect(m.Path)
	f.addInspected(m, info, err)
}

// addInspected is addModel for a path that was looked at.
func (f *finder) addInspected(m control.FoundModel, info models.Summary, err error) {
	if err != nil {
		m.Why = bareReason(err, m.Path)
	} else {
		m.Needs, m.NoChat = f.needs(info), info.NoChat()
		m.Bytes, m.Architecture, m.ContextLength, m.Kind = info.Bytes, info.Architecture,
			info.ContextLength, string(info.Kind)
		m.Quantization, m.Dtype, m.FileType = info.Quantization, info.Dtype, info.FileType
	}
	f.add(m)
}

func (f *finder) add(m control.FoundModel) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, m)
}

// bareReason returns an error's text without the name that it begins with.
func bareReason(err error, name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), filepath.Clean(name)), ": ")
}
