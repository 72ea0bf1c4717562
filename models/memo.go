package models

import "sync"

// A Memo keeps what was read from files, by a name, until one of the files changes. So a download, its
// registration and the checks before its load inspect a model once. A Memo is safe for use by several
// goroutines.
type Memo[T any] struct {
	mu sync.Mutex
	of map[string]noted[T]
}

// A noted value was read from files.
type noted[T any] struct {
	files string // their names and dates
	value T
}

// Get returns what is known of a name, and calls read if nothing is known or files differs. files
// lists the files that read looks at, with their dates. If it is empty, nothing is kept. An error
// is not kept either.
func (r *Memo[T]) Get(name, files string, read func() (T, error)) (T, error) {
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
		r.of = map[string]noted[T]{}
	}
	r.of[name] = noted[T]{files, value}
	return value, nil
}
