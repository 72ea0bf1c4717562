package pool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// A remembered keeps what was read from model folders, by a name, until one of the files changes.
// So a download, its registration and its load read config.json and the headers of tensors once.
// It is safe for use by several goroutines.
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
// lists the files that read looks at, with their dates. An error is not kept.
func (r *remembered[T]) get(name, files string, read func() (T, error)) (T, error) {
	r.mu.Lock()
	known, ok := r.of[name]
	r.mu.Unlock()
	if ok && known.files == files {
		return known.value, nil
	}
	value, err := read() // without the lock, since it may take seconds
	if err != nil {
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

// listFiles returns the names, sizes and dates of the files that say what the model in a folder is:
// all files of the folder, and the config.json of each folder inside it. Another text means other
// files. Links are followed, since the files of a hub's cache are links.
func listFiles(dir string) string {
	var list strings.Builder
	entries, _ := os.ReadDir(dir) // a folder that cannot be read has no files
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if e.IsDir() {
			name = filepath.Join(name, "config.json")
		}
		if info, err := os.Stat(name); err == nil {
			fmt.Fprintln(&list, name, info.Size(), info.ModTime().UnixNano())
		}
	}
	return list.String()
}
