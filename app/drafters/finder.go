package drafters

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"

	"tandem/app/control"
	"tandem/app/settings"
	"tandem/engine/mlx"
	"tandem/models"
	"tandem/models/hub"
	"tandem/storage"
)

// A Finder knows which drafter each model has, and opens it. It is safe for use by several
// goroutines.
type Finder struct {
	db       *storage.DB
	settings *settings.Store
	log      *slog.Logger

	used atomic.Pointer[override] // see Use; or nil

	files   *models.FileCache
	builtIn models.Memo[string] // hashes of built-in drafters, by name
}

// An override is a choice for one model that only this process knows.
type override struct{ model, choice string }

// New returns a Finder of the drafters that the database and the settings name. It opens files by way of
// the cache.
func New(db *storage.DB, set *settings.Store, files *models.FileCache, log *slog.Logger) *Finder {
	return &Finder{db: db, settings: set, files: files, log: log}
}

// Choice returns the drafter setting of the model with an id: control.DrafterAuto, control.DrafterNone, or
// a folder. A choice made by Use comes first.
func (f *Finder) Choice(ctx context.Context, id string) (string, error) {
	if used := f.used.Load(); used != nil && used.model == id {
		return used.choice, nil
	}
	choice, err := f.db.Models.Drafter(ctx, id)
	if storage.IsNotFound(err) {
		return control.DrafterAuto, nil
	}
	return choice, err
}

// Use overrides the stored choice for a model until the process ends.
func (f *Finder) Use(id, choice string) { f.used.Store(&override{id, choice}) }

// SetChoice stores a choice for a model, and ends what Use did for it.
func (f *Finder) SetChoice(ctx context.Context, id, choice string) error {
	if err := f.db.Models.SetDrafter(ctx, id, choice); err != nil {
		return err
	}
	if used := f.used.Load(); used != nil && used.model == id {
		f.used.CompareAndSwap(used, nil)
	}
	return nil
}

// Source resolves a choice to a folder or the name of a built-in drafter, or "" for none.
func (f *Finder) Source(row storage.Model, choice string) (string, error) {
	switch choice {
	case control.DrafterNone:
		return "", nil
	case control.DrafterAuto:
		return f.auto(row)
	}
	return choice, nil
}

// Folder turns the name of a drafter into a choice. The name is a registered model's id, one in the hub's
// cache, or a path, which must be absolute: only the caller knows its working folder. Error:
// CodeInvalid.
func (f *Finder) Folder(ctx context.Context, name string) (string, error) {
	refuse := func(err error) error {
		return &control.Error{Code: control.CodeInvalid, Param: "drafter", Message: err.Error(),
			Err: err}
	}
	switch {
	case name == control.DrafterAuto || name == control.DrafterNone:
		return name, nil
	case filepath.IsAbs(name):
		return filepath.Clean(name), nil
	case name == "." || name == ".." || strings.HasPrefix(name, "./") ||
		strings.HasPrefix(name, "../"):
		return "", refuse(fmt.Errorf("%q does not say where it begins; name a folder by its whole path, from / on", name))
	}
	row, err := f.db.Models.Get(ctx, name)
	switch {
	case err == nil && row.Path == "":
		return "", refuse(fmt.Errorf("the %s model is part of the program and can be no other's drafter; name another model", name))
	case err == nil:
		return row.Path, nil
	case !storage.IsNotFound(err):
		return "", err
	case f.settings.Current().HubCache == "":
		return "", refuse(fmt.Errorf("%q is neither a folder nor an installed model; name one by its path, or by its id in the list of models", name))
	}
	dir, err := hub.Resolve(f.settings.Current().HubCache, name)
	if err != nil {
		return "", refuse(err)
	}
	return dir, nil
}

// Measure returns the memory of the drafter that a model would have from a folder, read from its
// files.
func (f *Finder) Measure(row storage.Model, source string) (models.Footprint, error) {
	files, err := f.files.Open(source)
	if err != nil {
		return models.Footprint{}, err
	}
	if source == row.Path && f.head(source).found { // else the whole model is its own drafter
		return files.Head()
	}
	return files.Drafter()
}

// LoadOptions say how a drafter is held in memory, and what it reads.
type LoadOptions struct {
	models.Options        // of its load
	Window         int    // rows of context, see models.DrafterSettings
	Target         string // format of the model's keys and values, "" for the usual one
}

// Open loads the drafter at source for the model with an id, in the variant that was measured to be best.
// It returns nil for an empty source.
func (f *Finder) Open(ctx context.Context, id string, bundle *models.Bundle, source string,
	o LoadOptions) (*Drafter, error) {
	if source == "" {
		return nil, nil
	}
	variant, err := f.Variant(ctx, id, source, o)
	if err != nil {
		return nil, err
	}
	key, variantKey := f.Key(source, o), f.variantKey(source, o)
	variant.Settings.Window = o.Window
	files, err := f.files.Open(source)
	if err != nil {
		return nil, err
	}
	d, err := load(ctx, bundle, source, files, variant.Settings, o.Options)
	if err != nil {
		return nil, err
	}
	// A built-in drafter needs no trial: it is read as it was trained.
	variant.Measuring = variant.Trials == nil && !models.IsBuiltInDrafter(source) &&
		len(d.Variants()) > 1
	d.key, d.variantKey, d.variant = key, variantKey, variant
	return d, nil
}

// Check loads a drafter for a model and frees it, so that one that does not work is refused when it is
// chosen. Of target only the configuration and the tokenizer are used.
func (f *Finder) Check(ctx context.Context, target *models.Bundle, source string,
	o models.Options) error {
	files, err := f.files.Open(source)
	if err != nil {
		return err
	}
	d, err := load(ctx, target, source, files, models.DrafterSettings{}, o)
	if err != nil {
		return err
	}
	thread := d.files.Thread()
	if err := d.Close(); err != nil {
		return err
	}
	return thread.Do(ctx, func(s *mlx.Scope) error { s.ClearCache(); return nil })
}
