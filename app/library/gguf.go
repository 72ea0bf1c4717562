package library

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/models"
	"tandem/models/hub"
	"tandem/storage/disk"
)

// TrimGGUF returns the name of a file without its .gguf extension.
func TrimGGUF(name string) string { return models.TrimGGUF(name) }

// ggufModels returns the GGUF files of a folder that are models: of a set, the first file, even if it
// is missing. It returns none for a folder that is a model itself, with config.json and safetensors.
func ggufModels(entries []fs.DirEntry) []string {
	var all, names []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	if hub.HasSafetensors(all) {
		return nil
	}
	seen := map[string]bool{} // a folder may hold many sets
	for _, e := range entries {
		name := e.Name()
		if !models.IsGGUF(name) || e.IsDir() || strings.HasPrefix(name, ".") || hub.IsProjector(name) {
			continue
		}
		if first := models.FirstOfGGUFSet(name); !seen[first] {
			seen[first] = true
			names = append(names, first)
		}
	}
	return names
}

// hasFile reports whether a folder has a file of that name.
func hasFile(entries []fs.DirEntry, name string) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
}

// Bounds of a folder that is looked at for its one GGUF file.
const (
	maxFolderEntries = 4096 // names read
	maxNamed         = 8    // files that the error names
)

// modelPath returns the path of the model that a person names: the GGUF file of a folder that has
// one, the first file of a set whichever is named, else the path itself. A path without a model is
// Inspect's to refuse. Error: CodeModelInvalid for a folder with several, or with nothing but what
// lets a model see.
func modelPath(path string) (string, error) {
	entries, err := disk.ReadDir(path, maxFolderEntries)
	if err != nil {
		return models.FirstOfGGUFSet(path), nil // a file, or one that inspection refuses
	}
	refuse := func(format string, args ...any) error {
		return &control.Error{Code: control.CodeModelInvalid, Param: "path",
			Message: fmt.Sprintf(format, args...)}
	}
	names := ggufModels(entries)
	switch len(names) {
	case 0:
		i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return hub.IsProjector(e.Name()) })
		if i >= 0 && !hasFile(entries, "config.json") {
			return "", refuse("%s holds %s, which lets a model see and is not a model; "+
				"download the model's own file too", path, entries[i].Name())
		}
		return path, nil
	case 1:
		return filepath.Join(path, names[0]), nil
	}
	slices.Sort(names)
	list := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if len(names) > maxNamed {
		list += ", ..."
	}
	return "", refuse("%s holds %d models in GGUF, so name the file of one: %s", path, len(names),
		list)
}

// ggufID returns the id of the model in a GGUF file. It is ORG/NAME:QUANTIZATION where the file
// is as publishers have it: in a folder ORG/NAME, under a name that begins with NAME, without
// GGUF, and ends with the quantization. Elsewhere it is the file's own name.
func ggufID(path string) string {
	name := hub.GGUFStem(filepath.ToSlash(path))
	tag := hub.Quantization(filepath.Base(path))
	folder := filepath.Dir(path)
	id := ""
	if dir, err := hub.SnapshotOf(path); err == nil {
		_, id, _, _ = hub.ParseDir(dir) // which SnapshotOf has read
	} else {
		id = filepath.Base(filepath.Dir(folder)) + "/" + filepath.Base(folder)
	}
	if tag == "" || !strings.HasPrefix(strings.ToLower(name), strings.ToLower(
		trimGGUFSuffix(id[strings.LastIndexByte(id, '/')+1:]))) {
		return plainID(name)
	}
	if _, _, err := hub.Parse(id); err != nil {
		return plainID(name)
	}
	return id + ":" + tag
}

// trimGGUFSuffix returns the name of a repository without -GGUF or the like.
func trimGGUFSuffix(name string) string {
	for _, end := range []string{"-GGUF", "-gguf", "_GGUF", ".GGUF"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}
