package checkpoint

import (
	"slices"
	"sync"
	"time"
)

// A Folder is shared by the stores that keep files in one folder, such as the stores of several
// models in memory. Its zero value is ready, and stores may share it from any goroutine. It ensures
// that
//
//   - no two files get the same id;
//   - no store deletes a file that another one is writing, as if a crash had left it;
//   - all stores together write no more bytes in a day than one may write alone;
//   - no store relies on a file that another one deleted to make space.
type Folder struct {
	sweeping sync.Mutex // held by a store while it deletes files to make space

	mu     sync.Mutex
	first  string    // lowest id that one of the stores could have given
	last   string    // highest id given
	recent int64     // bytes written since since
	since  time.Time // at most a day ago
	stores []*Store
}

// addStore adds a store. at is the time. last is the highest id in the folder that is less than a day
// later than at. recent is how many bytes of its files were written in the last 24 hours.
func (f *Folder) addStore(d *Store, at time.Time, last string, recent int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first == "" {
		f.first, f.since, f.recent = newID(at), at, recent
	}
	f.last = max(f.last, last)
	f.stores = append(f.stores, d)
}

// removeStore removes a store.
func (f *Folder) removeStore(d *Store) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stores = slices.DeleteFunc(f.stores, func(other *Store) bool { return other == d })
}

// nextID returns the id for a file that is begun at a time. It is higher than all ids before.
func (f *Folder) nextID(at time.Time) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if earliest := createdAt(f.last).Add(time.Millisecond); at.Before(earliest) {
		at = earliest
	}
	f.last = newID(at)
	return f.last
}

// reserveBytes reports whether bytes more may be written today, and if so counts them. perDay 0 means no
// bound.
func (f *Folder) reserveBytes(bytes, perDay int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.since) >= day {
		f.since, f.recent = now, 0
	}
	if perDay > 0 && f.recent+bytes > perDay {
		return false
	}
	f.recent += bytes
	return true
}

// isLeftover reports whether a file of this name was begun before the first store: by a process that has
// ended.
func (f *Folder) isLeftover(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return name < f.first
}

// allStores returns the stores.
func (f *Folder) allStores() []*Store {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.stores)
}
