package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/app/library"
	"tandem/app/terminal"
	"tandem/storage/disk"
)

// withModel calls fn with the id of the model that is named. A folder is registered first, and not kept if
// it proves to be no model. It fails if a Tandem that runs already has other bits for the model than the
// flag asks for.
func (m *Main) withModel(ctx context.Context, c *control.Client, bits kvBitsFlag, name string,
	fn func(id string) error) error {
	if bits != "" {
		if err := bits.check(ctx, c, name); err != nil {
			return err
		}
	}
	id, added, err := register(ctx, c, name)
	if err != nil {
		return err
	}
	err = fn(id)
	if e, ok := errors.AsType[*control.Error](err); ok && e.Code == control.CodeModelInvalid && added {
		_, undo := control.Call(ctx, c, control.RemoveModel, id)
		return errors.Join(err, undo)
	}
	return orFolder(err, name)
}

// register returns the id of the model that is named. A folder is registered first; added says
// whether that made a new row. An id, or the alias, is never a folder.
func register(ctx context.Context, c *control.Client,
	name string) (id string, added bool, err error) {
	path, here, err := pathOf(ctx, c, name)
	if err != nil || path == "" {
		return name, false, err
	}
	model, err := control.Call(ctx, c, control.AddModel, control.AddRequest{Path: path})
	return model.ID, !slices.ContainsFunc(here,
		func(m control.Model) bool { return m.Path == model.Path }), err
}

// pathOf returns the path that a name means, from this process's working folder, and the registered
// models. It is empty if the name is an id, which comes before a file of that name, or cannot be a path.
func pathOf(ctx context.Context, c *control.Client, name string) (path string, here []control.Model, err error) {
	if !library.IsFolder(name) {
		return "", nil, nil
	}
	list, err := control.Ask(ctx, c, control.ListModels)
	if err != nil || slices.ContainsFunc(list.Models,
		func(m control.Model) bool { return m.ID == name }) {
		return "", list.Models, err
	}
	path, err = filepath.Abs(name)
	return path, list.Models, err
}

// idOf returns the id of the registered model that a person names: by its id, the alias of the current one,
// its folder or GGUF file, or a name that Ollama has for it. So run and serve take names too. A name that no
// model has is returned as it is. Error: a folder with several models.
func idOf(ctx context.Context, c *control.Client, name string) (string, error) {
	list, err := control.Ask(ctx, c, control.ListModels)
	if err != nil {
		return "", err
	}
	has := func(id string) bool {
		return slices.ContainsFunc(list.Models, func(m control.Model) bool { return m.ID == id })
	}
	bare := strings.TrimSuffix(name, ":latest")
	switch {
	case bare == control.Alias:
		state, err := control.Ask(ctx, c, control.GetState)
		return state.Choice, err
	case has(name):
		return name, nil
	case has(bare):
		return bare, nil
	case library.IsFolder(name):
		return idAt(list.Models, name)
	case !slices.ContainsFunc(list.Models, func(m control.Model) bool { return m.Source == "ollama" }):
		return name, nil
	}
	found, err := control.Ask(ctx, c, control.FindModels)
	if err != nil {
		return "", err
	}
	for _, m := range found.Models {
		if m.Registered && slices.Contains(m.Names, name) {
			return m.ID, nil
		}
	}
	return name, nil
}

// idAt returns the id of the registered model at a path. A folder stands for the GGUF file in it.
func idAt(list []control.Model, name string) (string, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, m := range list {
		if m.Path == path || filepath.Dir(m.Path) == path && library.TrimGGUF(m.Path) != m.Path {
			ids = append(ids, m.ID)
		}
	}
	switch len(ids) {
	case 0:
		return name, nil
	case 1:
		return ids[0], nil
	}
	slices.Sort(ids)
	return "", fmt.Errorf("%d installed models are at %s; name one by its id: %s", len(ids),
		terminal.Printable(name), strings.Join(ids, ", "))
}

// orFolder adds to an error about an unknown id what to write for the folder of that name, or that
// there is no such folder.
func orFolder(err error, name string) error {
	if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeModelNotFound {
		return err
	}
	also := fmt.Sprintf("There is a folder of that name, though: write ./%s for that one.", name)
	switch info, statErr := disk.Stat(name); {
	case statErr != nil:
		also = "No folder here has that name either."
	case !info.IsDir():
		also = name + " is a file, and a model is a folder or a GGUF file."
	}
	return fmt.Errorf("%w %s", err, also)
}
