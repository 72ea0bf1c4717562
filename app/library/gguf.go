package library

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	"tandem/models"
	"tandem/models/hub"
)

// projectorName begins the names of files with what lets a model see. They are no models.
const projectorName = "mmproj"

// ggufModels returns the GGUF files of a folder that are models: of a set, the first file.
func ggufModels(entries []fs.DirEntry) []string {
	var names []string
	for _, e := range entries {
		name := e.Name()
		if !models.IsGGUF(name) || e.IsDir() || strings.HasPrefix(name, ".") ||
			strings.Contains(strings.ToLower(name), projectorName) {
			continue
		}
		if models.GGUFSet(name)[0] == name {
			names = append(names, name)
		}
	}
	return names
}

// ggufID returns the id of the model in a GGUF file. It is ORG/NAME:QUANTIZATION where the file
// lies as publishers have it: in a folder ORG/NAME, under a name that begins with NAME, without
// GGUF, and ends with the quantization. Elsewhere it is the file's own name.
func ggufID(path string) string {
	name := models.TrimGGUF(filepath.Base(models.GGUFSet(path)[0]))
	if set := models.GGUFSet(path); len(set) > 1 {
		name = setEnd.ReplaceAllString(name, "")
	}
	tag := hub.Quantization(filepath.Base(path))
	folder := filepath.Dir(path)
	id := ""
	if dir, err := hub.SnapshotOf(path); err == nil {
		_, id, _, _ = hub.ParseDir(dir) // which SnapshotOf has read
	} else {
		id = filepath.Base(filepath.Dir(folder)) + "/" + filepath.Base(folder)
	}
	if tag == "" || !strings.HasPrefix(strings.ToLower(name), strings.ToLower(
		trimGGUFEnd(id[strings.LastIndexByte(id, '/')+1:]))) {
		return plainID(name)
	}
	if _, _, err := hub.Parse(id); err != nil {
		return plainID(name)
	}
	return id + ":" + tag
}

// setEnd is how the names of the files of a set end.
var setEnd = regexp.MustCompile(`-\d{5}-of-\d{5}$`)

// trimGGUFEnd returns the name of a repository without the end that those of GGUF files have.
func trimGGUFEnd(name string) string {
	for _, end := range []string{"-GGUF", "-gguf", "_GGUF", ".GGUF"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}
