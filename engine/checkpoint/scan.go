package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// startScan begins a scan, whose result the next Load takes.
func (d *Store) startScan() {
	found := make(chan []found, 1)
	d.found = found
	d.running.Go(func() { found <- d.scan() })
}

// A found file is a file of the store's key.
type found struct {
	header
	path string
}

// files returns the files of the scan that startScan began, or of a new scan.
func (d *Store) files() []found {
	if d.found == nil {
		return d.scan()
	}
	list := <-d.found
	d.found = nil
	return list
}

// DiscardScan waits for the scan in progress and discards its result. No trie may be using the store.
func (d *Store) DiscardScan() {
	if d.found != nil {
		<-d.found
		d.found = nil
	}
}

// Refresh begins a new scan after files were deleted. It also clears why files are gone; the scan
// reads that from the index again. No trie may be using the store.
func (d *Store) Refresh() {
	d.DiscardScan()
	d.tombstones.clear()
	d.startScan()
}

// scan reads the headers of the folder's files and returns the files of the key, ordered by where
// their edges begin. It deletes files that a crash left partly written, and damaged files, and
// brings the index up to date.
func (d *Store) scan() (list []found) {
	entries, err := os.ReadDir(d.o.Dir)
	if err != nil {
		d.fail(err)
		return nil
	}
	known := map[string]Entry{} // of the index, and not found yet
	certain := d.o.Index != nil
	d.updateIndex("knowing checkpoints", func(i Index) error {
		list, err := i.Known()
		for _, e := range list {
			known[e.ID] = e
		}
		certain = err == nil
		return err
	})
	for _, e := range entries {
		path := filepath.Join(d.o.Dir, e.Name())
		if strings.HasSuffix(e.Name(), partSuffix) && d.o.Folder.isLeftover(e.Name()) {
			os.Remove(path)
		}
		if !strings.HasSuffix(e.Name(), fileSuffix) {
			continue
		}
		id := idOf(path)
		x, err := openFile(path, d.o.Key)
		if err != nil {
			d.o.Logger.Debug("a checkpoint is left out", "error", err)
			if k, ok := known[id]; ok && k.Gone == "" {
				d.recordUnusable(k, err)
			}
			d.deleteDamaged(err)
			delete(known, id)
			continue
		}
		if k, ok := known[id]; certain && (!ok || k.Gone != "") {
			// its writer ended before it could update the index
			if info, err := e.Info(); err == nil && d.add(x.entry(path, info.Size())) != nil {
				x.close()
				continue
			}
		}
		delete(known, id)
		list = append(list, found{x.header, path})
		x.close()
	}
	for _, e := range known {
		if e.Gone != "" {
			d.tombstones.add(e.To, e.Digest, e.Gone)
			// and no store has written it since
		} else if _, err := os.Stat(FilePath(d.o.Dir, e.ID)); errors.Is(err, fs.ErrNotExist) {
			d.discard(e, "has lost its file")
		}
	}
	slices.SortStableFunc(list, func(a, b found) int { return a.From - b.From })
	return list
}

// deleteDamaged deletes a damaged file. It may be called from any goroutine.
func (d *Store) deleteDamaged(err error) {
	if e, ok := errors.AsType[*DamagedError](err); ok {
		d.o.Logger.Warn("a checkpoint is damaged and is deleted", "file", e.Path, "reason", e.Why)
		if err := os.Remove(e.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.o.Logger.Warn("deleting a checkpoint", "error", err)
		}
	}
}

// discardDamaged deletes a file whose rows turned out to be damaged, and updates the index.
func (d *Store) discardDamaged(err error) {
	e, ok := errors.AsType[*DamagedError](err)
	if !ok {
		return
	}
	id := idOf(e.Path)
	d.markMissing(id)
	d.deleteDamaged(err)
	d.enqueue(func() {
		d.updateIndex("losing a checkpoint", func(x Index) error {
			return x.Discard(id, "was damaged: "+e.Why)
		})
	})
}

// recordUnusable notes why this model cannot use a file as it is loaded now. A file of another key stays:
// the model may use it when it is loaded in another way, and its text can be read until a file of
// this key replaces it.
func (d *Store) recordUnusable(e Entry, err error) {
	damaged, isDamaged := errors.AsType[*DamagedError](err)
	other, isOtherKey := errors.AsType[*otherKeyError](err)
	switch {
	case isOtherKey:
		d.tombstones.add(e.To, e.Digest, other.why(d.o.Key))
	case isDamaged:
		d.discard(e, "is of no use: "+damaged.Why)
	case errors.Is(err, errNewer): // the newer program may be used again
		d.tombstones.add(e.To, e.Digest, "is of a newer version of the format")
	default: // the next read may succeed
		d.tombstones.add(e.To, e.Digest, "could not be read")
	}
}
