package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A listed file is a file of the folder.
type listed struct {
	path  string
	bytes int64
	date  time.Time
}

// list returns the files in the folder, of all keys.
func (d *Store) list() (files []listed) {
	entries, err := os.ReadDir(d.o.Dir)
	if err != nil {
		d.fail(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasSuffix(e.Name(), fileSuffix) {
			files = append(files, listed{filepath.Join(d.o.Dir, e.Name()), info.Size(),
				info.ModTime()})
		}
	}
	return files
}

// sweep deletes the least valuable files until the folder is within the budget.
func (d *Store) sweep() error {
	d.o.Folder.sweeping.Lock()
	defer d.o.Folder.sweeping.Unlock()
	files, sum := d.list(), int64(0)
	for _, f := range files {
		sum += f.bytes
	}
	if sum <= d.o.Budget {
		return nil
	}
	entries, err := d.byWorth(files)
	if err != nil {
		return err
	}
	sizes := map[string]int64{}
	for _, f := range files {
		sizes[idOf(f.path)] = f.bytes
	}
	why := fmt.Sprintf("was deleted to keep within %d MB on disk", max(1, d.o.Budget/1e6))
	var errs []error
	for _, e := range entries {
		if sum <= d.o.Budget {
			return errors.Join(errs...)
		}
		bytes, there := sizes[e.ID]
		if !there {
			d.discard(e, "has lost its file")
			continue
		}
		for _, other := range d.o.Folder.allStores() {
			other.markMissing(e.ID) // before the file is deleted, so that no store relies on it
		}
		if err := os.Remove(FilePath(d.o.Dir, e.ID)); err != nil {
			errs = append(errs, err)
			continue
		}
		sum -= bytes
		d.discard(e, why)
	}
	if sum > d.o.Budget {
		errs = append(errs, fmt.Errorf("pinned files alone take %d MB, and %d are allowed",
			sum/1e6, d.o.Budget/1e6))
	}
	return errors.Join(errs...)
}

// byWorth returns the entries of files that may be deleted, the least valuable first. Files that
// the index does not know come before all others, the oldest first.
func (d *Store) byWorth(files []listed) (entries []Entry, err error) {
	var known, stay []Entry
	if d.o.Index != nil {
		if known, stay, err = d.o.Index.ByWorth(); err != nil {
			return nil, err
		}
	}
	has := map[string]bool{}
	for _, e := range slices.Concat(known, stay) {
		has[e.ID] = true
	}
	slices.SortFunc(files, func(a, b listed) int { return a.date.Compare(b.date) })
	for _, f := range files {
		if id := idOf(f.path); !has[id] {
			entries = append(entries, Entry{ID: id})
		}
	}
	return append(entries, known...), nil
}

// discard records why a file is gone, in all stores of the folder and the index.
func (d *Store) discard(e Entry, why string) {
	for _, other := range d.o.Folder.allStores() {
		if e.Digest != "" && e.Key == other.o.Key {
			other.tombstones.add(e.To, e.Digest, why)
		}
		other.markMissing(e.ID)
	}
	d.updateIndex("losing a checkpoint", func(x Index) error { return x.Discard(e.ID, why) })
}
