package checkpoint

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tandem/engine/mlx"
	"tandem/storage/disk"
)

// beside opens a trie of another key over a folder where other stores keep files.
func beside(t *testing.T, o StoreOptions) *bench {
	t.Helper()
	b := newBench(t, stacks[2].make, plenty)
	store := NewStore(o)
	t.Cleanup(store.Close) // after closed
	b.do(func(s *mlx.Scope) error { return b.trie.Load(s, store) })
	return b
}

// closed closes all tries before the check for bytes that are left. That figure counts the whole
// process.
func closed(list ...*bench) {
	for _, b := range list {
		b.do(func(s *mlx.Scope) error { b.trie.Close(s); return nil })
	}
}

// settled waits until the store has written everything that the trie queued and has updated the
// index.
func (b *bench) settled() {
	b.do(func(s *mlx.Scope) error { b.trie.store.flush(); return nil })
}

// TestTwoStoresShareAFolder lets two stores write into one folder at the same time. Each restores
// its own files.
func TestTwoStoresShareAFolder(t *testing.T) {
	dir, folder := t.TempDir(), new(Folder)
	one := beside(t, StoreOptions{Dir: dir, Key: "one", Budget: plenty, Folder: folder})
	part := FilePath(dir, folder.nextID(time.Now())) + partSuffix // a file that the store is writing
	if err := os.WriteFile(part, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	two := beside(t, StoreOptions{Dir: dir, Key: "two", Budget: plenty, Folder: folder})
	defer closed(one, two)
	two.trie.store.Refresh()
	if _, err := os.Stat(part); err != nil {
		t.Errorf("a store deleted the file that another one is writing: %v", err)
	}
	for i := range int32(8) {
		one.begin(text(i, 100), 50, 100).leave()
		two.begin(text(i, 100), 50, 100).leave()
	}
	one.settled()
	two.settled()
	if n := len(checkpointFiles(t, dir)); n != 32 {
		t.Errorf("%d files were written, not 32", n)
	}
	for _, b := range []*bench{one, two} {
		q := b.begin(append(text(3, 100), 7))
		q.want(100, 100)
		q.leave()
	}
}

// TestDeletedFileIsMissedByItsWriter lets one store delete a file of another to keep within the
// budget. The writer no longer relies on that file.
func TestDeletedFileIsMissedByItsWriter(t *testing.T) {
	dir, folder := t.TempDir(), new(Folder)
	o := StoreOptions{Dir: dir, Budget: 20 << 10, Folder: folder}
	o.Key = "one"
	one := beside(t, o)
	o.Key = "two"
	two := beside(t, o)
	defer closed(one, two)
	one.begin(text(1, 100), 50, 100).leave()
	one.settled()
	files := checkpointFiles(t, dir)
	if len(files) != 2 {
		t.Fatalf("files %v", files)
	}
	for i := range int32(20) {
		two.begin(text(i, 100), 50, 100).leave()
		two.settled()
	}
	for _, path := range files {
		if _, err := os.Stat(path); err == nil {
			t.Fatalf("%s was not deleted", filepath.Base(path))
		}
		if !one.trie.store.isMissing(idOf(path)) {
			t.Errorf("the writer of %s still relies on it", filepath.Base(path))
		}
	}
}

// TestPerDayCountsAllStoresOfAFolder expects that all stores of a folder together keep the bound on
// bytes a day.
func TestPerDayCountsAllStoresOfAFolder(t *testing.T) {
	dir, folder := t.TempDir(), new(Folder)
	o := StoreOptions{Dir: dir, Budget: plenty, PerDay: 10 << 10, Folder: folder}
	o.Key = "one"
	one := beside(t, o)
	o.Key = "two"
	two := beside(t, o)
	defer closed(one, two)
	for i := range int32(10) {
		one.begin(text(i, 100), 50, 100).leave()
	}
	one.settled()
	n := len(checkpointFiles(t, dir))
	if n == 0 || n >= 20 {
		t.Fatalf("%d files of 20 were written", n)
	}
	two.begin(text(1, 100), 50, 100).leave()
	two.settled()
	if more := len(checkpointFiles(t, dir)) - n; more > 1 {
		t.Errorf("another store wrote %d files more", more)
	}
}

// A named pipe or a folder in the place of a checkpoint's file is left out, and nothing waits for it.
func TestOnlyRegularFilesAreCheckpoints(t *testing.T) {
	dir := t.TempDir()
	pipe, folder := FilePath(dir, "pipe"), FilePath(dir, "folder")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Mkdir(folder, 0o700),
		syscall.Mkfifo(FilePath(dir, "new")+partSuffix, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, folder} {
		_, ofText := ReadTokens(path)
		for _, err := range []error{ofText, Verify(path)} {
			if _, ok := errors.AsType[*disk.KindError](err); !ok {
				t.Errorf("%s gives %v", path, err)
			}
		}
	}
	d := NewStore(StoreOptions{Dir: dir, Folder: &Folder{}, Key: "key",
		Logger: slog.New(slog.DiscardHandler)})
	if list := d.scan(); len(list) != 0 {
		t.Errorf("the scan finds %+v", list)
	}
	d.Close()
}
