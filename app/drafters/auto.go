package drafters

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"tandem/models"
	"tandem/models/hub"
	"tandem/storage"
	"tandem/storage/disk"
)

// auto finds the drafter of a model by its place; see the package comment.
func (f *Finder) auto(row storage.Model) (string, error) {
	if row.Source == storage.SourcePocket {
		return models.PocketDrafter, nil
	}
	if dir := Beside(row.Path); dir != "" {
		return dir, nil
	}
	if name := models.BuiltInDrafter(row.Path); name != "" {
		return name, nil
	}
	cached, err := f.cached(row)
	if err != nil {
		return "", err
	}
	if len(cached) > 0 && cached[0].blocks {
		return cached[0].dir, nil
	}
	head := f.head(row.Path)
	switch {
	case head.found:
		return row.Path, nil
	case len(cached) > 0:
		return cached[0].dir, nil
	}
	return "", head.unusable
}

// A head is what is known of the head that a model's folder or file brings.
type head struct {
	found    bool
	unusable error // why it cannot be used; nil if there is none
}

// head looks for the head of a model.
func (f *Finder) head(path string) head {
	files, err := f.files.Open(path)
	if err == nil {
		_, err = files.Head()
	}
	if e, ok := errors.AsType[*models.Error](err); ok && e.Code == models.CodeNotFound {
		return head{}
	}
	return head{err == nil, err}
}

// HasHead reports whether a model brings a head. The load of an unusable one says what is wrong.
func (f *Finder) HasHead(path string) bool { return f.head(path) != head{} }

// A cachedDrafter is one in the hub's cache, by its id there. blocks says that it guesses whole
// blocks.
type cachedDrafter struct {
	id, dir string
	blocks  bool
}

// cached returns the drafters of a model in the hub's cache, the best first.
func (f *Finder) cached(row storage.Model) (list []cachedDrafter, err error) {
	cache := f.settings.Current().HubCache
	if cache == "" {
		return nil, nil
	}
	ids, err := hub.List(cache)
	if err != nil {
		return nil, err
	}
	for _, id := range drafterNames(hubName(row), ids) {
		if dir, kind := f.inCache(cache, id); dir != "" {
			list = append(list, cachedDrafter{id, dir, kinds[kind].blocks})
		}
	}
	return list, nil
}

// inCache returns the folder and the kind of a drafter in the hub's cache. The folder is "" if the
// drafter is not there, or is a drafter by its name alone.
func (f *Finder) inCache(cache, id string) (dir string, kind int) {
	_, kind, ok := cutName(id)
	if !ok {
		return "", 0
	}
	dir, err := hub.Resolve(cache, id)
	if err != nil {
		return "", 0
	}
	if !kinds[kind].alone {
		if files, err := f.files.Open(dir); err != nil || !files.IsDrafter() {
			return "", 0
		}
	}
	return dir, kind
}

// hubName returns the name of a model at the hub, or the id of a model that is not from there.
func hubName(row storage.Model) string { return cmp.Or(hub.NameOf(row.Path), row.ID) }

// Beside returns the folder drafter inside a model's folder, or "". A GGUF file that is the only
// model of its folder has that folder. The folder may hold no drafter; its load says so.
func Beside(model string) string {
	if model == "" {
		return "" // the embedded model
	}
	dir := model
	if models.IsGGUF(model) {
		if dir = filepath.Dir(model); !onlyModelOf(dir, model) {
			return ""
		}
	}
	if info, err := disk.Folder(dir).Stat("drafter"); err != nil || !info.IsDir() {
		return ""
	}
	return filepath.Join(dir, "drafter")
}

// onlyModelOf reports whether a folder has no GGUF file beside one and its set.
func onlyModelOf(dir, file string) bool {
	entries, err := disk.Folder(dir).ReadDir(".")
	set := models.GGUFSet(file)
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		path := filepath.Join(dir, e.Name())
		return models.IsGGUF(path) && path != file && !slices.Contains(set, path)
	})
}
