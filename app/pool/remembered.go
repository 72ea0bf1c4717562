package pool

import (
	"fmt"
	"path"
	"strings"
	"sync"

	"tandem/models"
	"tandem/storage/disk"
)

// A remembered keeps what was read from files, by a name, until one of the files changes. So a
// download, its registration and the checks before its load inspect the folder once. The load
// itself opens the weights. A remembered is safe for use by several goroutines.
type remembered[T any] struct {
	mu sync.Mutex
	of map[string]memo[T]
}

// A memo is what was read from files.
type memo[T any] struct {
	files string // their names and dates
	value T
}

// get returns what is known of a name, and calls read if nothing is known or files differs. files
// lists the files that read looks at, with their dates. If it is empty, nothing is kept. An error
// is not kept either.
func (r *remembered[T]) get(name, files string, read func() (T, error)) (T, error) {
	r.mu.Lock()
	known, ok := r.of[name]
	r.mu.Unlock()
	if ok && known.files == files {
		return known.value, nil
	}
	value, err := read() // without the lock, since it may take seconds
	if err != nil || files == "" {
		return value, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[string]memo[T]{}
	}
	r.of[name] = memo[T]{files, value}
	return value, nil
}

// moduleDepth is how deep the folders of a model's modules lie below its own.
const moduleDepth = 2

// listFiles returns the names, sizes and dates of the files that say what the model in a folder is:
// all files of the folder, and the config.json of each folder below it. Another text means other
// files. The text is empty for a folder that has no config.json or cannot be listed. Links are
// followed, since the files of a hub's cache are links.
func listFiles(dir string) string {
	if file := singleFile(dir); file != "" {
		return file
	}
	files := disk.FS(dir)
	if _, err := files.Stat("config.json"); err != nil {
		return "" // no model, however many files it has
	}
	var list strings.Builder
	addFiles(&list, files, ".", moduleDepth)
	return list.String()
}

// singleFile returns the name, the size and the date of a model that is one file, or those of all
// files of its set. It is empty for a folder.
func singleFile(path string) string {
	if info, err := disk.Stat(path); err != nil || info.IsDir() {
		return ""
	}
	var list strings.Builder
	for _, file := range models.GGUFSet(path) {
		if info, err := disk.Stat(file); err == nil {
			fmt.Fprintln(&list, info.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	return list.String()
}

// addFiles lists a folder and, so many levels deep, the config.json of the folders below it.
func addFiles(list *strings.Builder, files disk.Folder, dir string, depth int) {
	entries, _ := files.ReadDir(dir)
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		info, err := files.Stat(name)
		switch {
		case err != nil:
		case !info.IsDir() && (depth == moduleDepth || e.Name() == "config.json"):
			fmt.Fprintln(list, name, info.Size(), info.ModTime().UnixNano())
		case info.IsDir() && depth > 0:
			addFiles(list, files, name, depth-1)
		}
	}
}
