package setup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// TestEnsureFillsOnce calls Ensure eight times while the entry is being made. The entry is complete
// only after each of these calls has waited for its lock.
func TestEnsureFillsOnce(t *testing.T) {
	const others = 8
	waiting := make(chan string, others)
	c := Cache{Dir: filepath.Join(t.TempDir(), "cache"),
		waiting: func(lock string) { waiting <- lock }}
	e := Entry{Name: "x", Inputs: []string{"1"}}
	var fills atomic.Int32
	ensure := func(fill func()) {
		dir, err := c.Ensure(t.Context(), e, func(dir string) error {
			fills.Add(1)
			fill()
			return os.WriteFile(filepath.Join(dir, "made"), []byte("made"), 0o644)
		})
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := os.Stat(filepath.Join(dir, "made")); err != nil {
			t.Error(err)
		}
	}
	returned := make(chan bool, others)
	ensure(func() {
		for range others {
			go func() {
				ensure(func() {})
				returned <- true
			}()
		}
		for range others {
			select {
			case lock := <-waiting:
				if lock != c.Path(e)+".lock" {
					t.Errorf("a call waits for %s, want the entry's lock", lock)
				}
			case <-returned:
				t.Error("a call returned before the entry was made")
				returned <- true
			}
		}
	})
	for range others {
		<-returned
	}
	if n := fills.Load(); n != 1 {
		t.Fatalf("filled %d times", n)
	}
}

func TestEnsureStartsOverAfterFailure(t *testing.T) {
	c := Cache{Dir: t.TempDir()}
	e := Entry{Name: "x"}
	broken := errors.New("broken")
	if _, err := c.Ensure(t.Context(), e, func(dir string) error {
		os.WriteFile(filepath.Join(dir, "half"), nil, 0o644)
		return broken
	}); !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
	if c.Complete(e) {
		t.Fatal("a failed entry is complete")
	}
	dir, err := c.Ensure(t.Context(), e, func(string) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "half")); err == nil {
		t.Fatal("the files of the failed run are still there")
	}
}

func TestEntryPathFollowsInputs(t *testing.T) {
	c := Cache{Dir: "/cache"}
	seen := map[string]bool{}
	for _, inputs := range [][]string{nil, {""}, {"ab"}, {"a", "b"}, {"b", "a"}} {
		p := c.Path(Entry{Name: "x", Inputs: inputs})
		if seen[p] {
			t.Errorf("inputs %q share the folder %s", inputs, p)
		}
		seen[p] = true
		if p != c.Path(Entry{Name: "x", Inputs: inputs}) {
			t.Errorf("inputs %q have two folders", inputs)
		}
	}
}

// TestCleanWaitsForMakers calls Clean while an entry is being made. Clean must neither remove it
// nor skip it.
func TestCleanWaitsForMakers(t *testing.T) {
	c := Cache{Dir: t.TempDir()}
	e := Entry{Name: "x"}
	started, finish := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := c.Ensure(t.Context(), e, func(dir string) error {
			close(started)
			<-finish
			_, err := os.Stat(dir)
			return err
		}); err != nil {
			t.Error(err)
		}
	})
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	patient := c
	patient.waiting = func(string) { cancel() }
	if err := patient.Clean(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("clean beside a running ensure: %v", err)
	}
	close(finish)
	group.Wait()
	if !c.Complete(e) {
		t.Fatal("the entry is gone before clean had its turn")
	}
	kept := filepath.Join(c.Dir, "kept", "file")
	if err := os.MkdirAll(kept, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.Clean(t.Context(), "kept"); err != nil {
		t.Fatal(err)
	}
	if c.Complete(e) {
		t.Fatal("the entry is still there after clean")
	}
	if _, err := os.Stat(kept); err != nil {
		t.Fatal("clean removed an entry that it had to keep")
	}
}

func TestLinkReplacesLinksAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ".deps", "1")
	for _, target := range []string{"/a", "/a", "/b"} { // new, unchanged, changed
		if err := Link(path, target); err != nil {
			t.Fatal(err)
		}
		if got, err := os.Readlink(path); err != nil || got != target {
			t.Fatalf("link is %q, %v; want %q", got, err, target)
		}
	}
	folder := filepath.Join(dir, "folder")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Link(folder, "/a"); err == nil {
		t.Fatal("link replaced a folder")
	}
}
