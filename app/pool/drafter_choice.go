package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/models"
	"tandem/models/hub"
	"tandem/storage"
	"tandem/storage/disk"
)

// drafterChoice returns what drafts for a model: control.DrafterAuto, control.DrafterNone or a
// folder. What UseDrafter was told comes first.
func (p *Pool) drafterChoice(ctx context.Context, row storage.Model) (string, error) {
	p.mu.Lock()
	served := p.drafter != "" && row.ID == p.drafterFor
	p.mu.Unlock()
	if served {
		return p.drafter, nil
	}
	choice, err := p.db.Models.Drafter(ctx, row.ID)
	if storage.IsNotFound(err) {
		return control.DrafterAuto, nil
	}
	return choice, err
}

// drafterSource returns the folder that a choice leads to, the name of a built-in drafter, or ""
// for none.
func (p *Pool) drafterSource(row storage.Model, choice string) (string, error) {
	switch choice {
	case control.DrafterNone:
		return "", nil
	case control.DrafterAuto:
		return p.pairedDrafter(row)
	}
	return choice, nil
}

// pairedDrafter finds the drafter of a model by its place; see the package comment.
func (p *Pool) pairedDrafter(row storage.Model) (string, error) {
	if row.Source == storage.SourcePocket {
		return models.PocketDrafter, nil
	}
	if dir := DrafterBeside(row.Path); dir != "" {
		return dir, nil
	}
	if name := models.BuiltInDrafter(row.Path); name != "" {
		return name, nil
	}
	cached, err := p.cachedDrafters(row)
	if err != nil {
		return "", err
	}
	if len(cached) > 0 && cached[0].blocks {
		return cached[0].dir, nil
	}
	head := p.head(row.Path)
	switch {
	case head.there:
		return row.Path, nil
	case len(cached) > 0:
		return cached[0].dir, nil
	}
	return "", head.unusable
}

// A head is what is known of the head that a model's folder or file brings.
type head struct {
	there    bool
	unusable error // nil if there is none
}

// head looks for the head of a model. It reads the files again only if one of them is another one.
func (p *Pool) head(path string) head {
	h, _ := p.heads.get(path, listFiles(path), func() (head, error) {
		_, err := models.MeasureHead(path)
		if e, ok := errors.AsType[*models.Error](err); ok && e.Code == models.CodeNotFound {
			return head{}, nil
		}
		return head{err == nil, err}, nil
	})
	return h
}

// A cachedDrafter is one in the hub's cache, by its id there. blocks says that it guesses whole
// blocks.
type cachedDrafter struct {
	id, dir string
	blocks  bool
}

// cachedDrafters returns the drafters of a model in the hub's cache, the best first.
func (p *Pool) cachedDrafters(row storage.Model) (list []cachedDrafter, err error) {
	cache := p.settings.Current().HubCache
	if cache == "" {
		return nil, nil
	}
	ids, err := hub.List(cache)
	if err != nil {
		return nil, err
	}
	for _, id := range drafterNames(hubName(row), ids) {
		if dir, kind := drafterInCache(cache, id); dir != "" {
			list = append(list, cachedDrafter{id, dir, drafterKinds[kind].blocks})
		}
	}
	return list, nil
}

// drafterInCache returns the folder and the kind of a drafter in the hub's cache. The folder is ""
// if the drafter is not there, or is a drafter by its name alone.
func drafterInCache(cache, id string) (dir string, kind int) {
	_, kind, ok := cutDrafterName(id)
	if !ok {
		return "", 0
	}
	dir, err := hub.Resolve(cache, id)
	if err != nil || !drafterKinds[kind].alone && !models.IsDrafter(dir) {
		return "", 0
	}
	return dir, kind
}

// drafterKinds are the kinds of drafters by their names at the hub, the best first.
var drafterKinds = []struct {
	suffix string
	blocks bool // guesses a whole block in one forward
	alone  bool // the name is a drafter's alone; the others are those of whole models too
}{
	{"-dflash2", true, true}, {"-dflash", true, true}, {"-dspark", true, false},
	{"-mtp", false, false}, {"-assistant", false, false},
}

// cutDrafterName returns the NAME in the name of a drafter at the hub, in lower case, and its kind.
func cutDrafterName(id string) (name string, kind int, ok bool) {
	for kind, k := range drafterKinds {
		name, more, ok := strings.Cut(lastName(id), k.suffix)
		if ok && name != "" && (more == "" || more[0] == '-') {
			return name, kind, true
		}
	}
	return "", 0, false
}

// lastName returns what follows the publisher in an id of the hub, in lower case.
func lastName(id string) string {
	name := strings.ToLower(id[strings.LastIndexByte(id, '/')+1:])
	if size, ok := strings.CutPrefix(name, "gemma4-"); ok {
		return "gemma-4-" + size
	}
	return name
}

// hubName returns the name of a model at the hub, with the quantization of a GGUF file. It returns
// the id of a model that is not from there.
func hubName(row storage.Model) string {
	dir, tag := row.Path, ""
	if models.IsGGUF(row.Path) {
		if snapshot, err := hub.SnapshotOf(row.Path); err == nil {
			dir, tag = snapshot, hub.Quantization(row.Path)
		}
	}
	_, id, _, err := hub.ParseDir(dir)
	switch {
	case err != nil:
		return row.ID
	case tag != "":
		return id + ":" + tag
	}
	return id
}

// Drafts reports whether auto would take a drafter at the hub for a model at the hub, by their names.
func Drafts(drafter, model string) bool {
	return len(drafterNames(model, []string{drafter})) > 0
}

// PairedModels returns the folders of the registered models that a drafter at the hub would draft
// for, by its name.
func (p *Pool) PairedModels(ctx context.Context, drafter string) (folders []string, err error) {
	rows, err := p.db.Models.List(ctx)
	for _, row := range rows {
		if row.Path != "" && Drafts(drafter, hubName(row)) {
			folders = append(folders, row.Path)
		}
	}
	return folders, err
}

// DrafterBeside returns the folder drafter inside a model's folder, or "". A GGUF file that is the
// only model of its folder has that folder. The folder may hold no drafter; its load says so.
func DrafterBeside(model string) string {
	if model == "" {
		return "" // the embedded model
	}
	dir := model
	if models.IsGGUF(model) {
		if dir = filepath.Dir(model); !onlyModelOf(dir, model) {
			return ""
		}
	}
	if info, err := disk.FS(dir).Stat("drafter"); err != nil || !info.IsDir() {
		return ""
	}
	return filepath.Join(dir, "drafter")
}

// onlyModelOf reports whether a folder has no GGUF file beside one and its set.
func onlyModelOf(dir, file string) bool {
	entries, err := disk.FS(dir).ReadDir(".")
	set := models.GGUFSet(file)
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		path := filepath.Join(dir, e.Name())
		return models.IsGGUF(path) && path != file && !slices.Contains(set, path)
	})
}

// drafterNames returns the ids of the hub that name a drafter for a model, the best first:
// NAME-DFlash2 or NAME-DFlash2-MORE, by any publisher, for a model NAME or NAME-MORE, and so for other
// kinds of drafters. A better kind comes first, and then the longest NAME. gemma-4 is also spelt
// gemma4: one of its published drafters is.
func drafterNames(model string, ids []string) []string {
	model = lastName(model)
	type named struct {
		id     string
		kind   int
		length int
	}
	var list []named
	for _, id := range ids {
		name, kind, ok := cutDrafterName(id)
		if ok && (model == name || strings.HasPrefix(model, name+"-")) && lastName(id) != model {
			list = append(list, named{id, kind, len(name)})
		}
	}
	slices.SortFunc(list, func(a, b named) int {
		return cmp.Or(a.kind-b.kind, b.length-a.length, strings.Compare(a.id, b.id))
	})
	var names []string
	for _, n := range list {
		names = append(names, n.id)
	}
	return names
}

// drafterFolder turns the name of a drafter into a choice. It is a registered model's id, one in the
// hub's cache, or a path, which must be absolute: only the caller knows its working folder.
func (p *Pool) drafterFolder(ctx context.Context, name string) (string, error) {
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
	row, err := p.db.Models.Get(ctx, name)
	switch {
	case err == nil && row.Path == "":
		return "", refuse(fmt.Errorf("the %s model is part of the program and can be no other's drafter; name another model", name))
	case err == nil:
		return row.Path, nil
	case !storage.IsNotFound(err):
		return "", err
	case p.settings.Current().HubCache == "":
		return "", refuse(fmt.Errorf("%q is no folder and no registered model; name one by its path, or by its id in `tandem models list`", name))
	}
	dir, err := hub.Resolve(p.settings.Current().HubCache, name)
	if err != nil {
		return "", refuse(err)
	}
	return dir, nil
}
