package checkpoint

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/engine/mlx"
)

// restart closes the trie and opens another one over the same folder.
func (b *bench) restart(dir string, o StoreOptions) *Store {
	b.t.Helper()
	b.do(func(s *mlx.Scope) error { b.trie.Close(s); return nil })
	o.Dir = dir
	if o.Budget == 0 {
		o.Budget = plenty
	}
	store := NewStore(o)
	b.trie = New(b.fresh(), context1(), plenty)
	b.do(func(s *mlx.Scope) error { return b.trie.Load(s, store) })
	return store
}

func checkpointFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"+fileSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestRestartRestoresTextsAndContexts expects that texts and their branches come back after a
// restart, with their rows, states and contexts.
func TestRestartRestoresTextsAndContexts(t *testing.T) {
	each(t, func(t *testing.T, b *bench, exact bool) {
		dir := t.TempDir()
		defer b.restart(dir, StoreOptions{Key: "k"}).Close()
		a := text(1, 60)
		b.begin(a, 20, 40, 60).park()
		other := append(slices.Clone(a[:33]), text(2, 20)...)
		b.begin(other, 53).leave()
		for range 2 {
			defer b.restart(dir, StoreOptions{Key: "k"}).Close()
			if n := b.trie.Bytes(); n != 0 {
				t.Errorf("%d bytes are in memory before any text asked for them", n)
			}
			for _, c := range []struct {
				text []int32
				n    int
			}{{a, 60}, {other, 53}, {a[:41], either(exact, 40, 41)}} {
				q := b.begin(append(slices.Clone(c.text), 7))
				if q.path.Restored != c.n || len(q.draft) == 0 {
					t.Errorf("%d tokens of %d were restored, context %v",
						q.path.Restored, c.n, len(q.draft) > 0)
				}
				q.leave()
			}
		}
		b.restart(dir, StoreOptions{Key: "k", Context: "another"}).Close()
		q := b.begin(append(slices.Clone(a), 7))
		q.want(60, 60)
		if len(q.draft) > 0 {
			t.Error("the context of another drafter came back")
		}
		q.leave()
		b.restart(dir, StoreOptions{Key: "another"}).Close()
		q = b.begin(append(slices.Clone(a), 7))
		q.want(0, 0)
		q.leave()
	})
}

// TestDamagedFileGivesNothingWrong cuts a file off or changes any of its bits. The file then gives
// no rows, or the rows that it held. The text is evaluated and kept again.
func TestDamagedFileGivesNothingWrong(t *testing.T) {
	each(t, func(t *testing.T, b *bench, exact bool) {
		dir := t.TempDir()
		defer b.restart(dir, StoreOptions{Key: "k"}).Close()
		a := text(1, 60)
		b.begin(a, 30, 60).leave()
		b.do(func(s *mlx.Scope) error { b.trie.store.flush(); return nil })
		whole := map[string][]byte{}
		for _, path := range checkpointFiles(t, dir) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			whole[path] = data
		}
		rng := rand.New(rand.NewPCG(1, 1))
		lost := 0
		for i := range 60 {
			for _, path := range checkpointFiles(t, dir) {
				os.Remove(path)
			}
			for path, data := range whole {
				data = slices.Clone(data)
				if rng.IntN(2) == 0 {
					if i%2 == 0 {
						data = data[:rng.IntN(len(data))]
					} else {
						data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
					}
				}
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			defer b.restart(dir, StoreOptions{Key: "k"}).Close()
			var q *sequence
			var failed error
			if err := b.th.Do(t.Context(), func(s *mlx.Scope) error {
				q = &sequence{bench: b, tokens: append(slices.Clone(a), 7), path: nil}
				q.path = b.trie.Begin(q.tokens, Label{})
				q.stack, failed = q.path.Restore(s, b.fresh)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if failed != nil || q.path.Restored < 60 {
				lost++
			}
			if failed != nil {
				q.path.Close()
				b.begin(q.tokens).leave() // checks what it gets
				continue
			}
			q.check(q.path.Restored)
			q.leave()
		}
		if lost == 0 {
			t.Error("the store found none of the damages")
		}
	})
}

// TestRowsUnderAnotherTextAreNotServed expects no rows from a file whose text was changed.
func TestRowsUnderAnotherTextAreNotServed(t *testing.T) {
	b := newBench(t, stacks[2].make, plenty)
	dir := t.TempDir()
	defer b.restart(dir, StoreOptions{Key: "k"}).Close()
	b.begin(text(1, 60), 60).leave()
	b.do(func(s *mlx.Scope) error { b.trie.store.flush(); return nil })
	for _, path := range checkpointFiles(t, dir) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		forged := bytes.Replace(data, []byte("1058,1059"), []byte("1058,1050"), 1)
		if bytes.Equal(forged, data) {
			t.Fatal("the text is not in the file")
		}
		if err := os.WriteFile(path, forged, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	defer b.restart(dir, StoreOptions{Key: "k"}).Close()
	q := b.begin(append(text(1, 59), 1050, 7))
	q.want(0, 0)
	q.leave()
}

// TestPerDayBoundsWrites expects that edges beyond a day's bound on writes stay in memory.
func TestPerDayBoundsWrites(t *testing.T) {
	b := newBench(t, stacks[2].make, plenty)
	dir := t.TempDir()
	defer b.restart(dir, StoreOptions{Key: "k", PerDay: 10 << 10}).Close()
	for i := range int32(20) {
		b.begin(text(i, 100), 50, 100).leave()
	}
	b.do(func(s *mlx.Scope) error { b.trie.store.flush(); return nil })
	n := len(checkpointFiles(t, dir))
	if n == 0 || n >= 40 {
		t.Errorf("%d files of 40 were written", n)
	}
	q := b.begin(append(text(19, 100), 7))
	q.want(100, 100)
	q.leave()
	// The day goes on after a restart.
	defer b.restart(dir, StoreOptions{Key: "k", PerDay: 10 << 10}).Close()
	b.begin(text(30, 100), 50, 100).leave()
	b.do(func(s *mlx.Scope) error { b.trie.store.flush(); return nil })
	if more := len(checkpointFiles(t, dir)) - n; more > 1 {
		t.Errorf("%d files more were written", more)
	}
}

// TestBudgetDeletesOldestFiles expects that the oldest files are deleted. Their texts are evaluated
// again.
func TestBudgetDeletesOldestFiles(t *testing.T) {
	b := newBench(t, stacks[2].make, plenty)
	dir := t.TempDir()
	defer b.restart(dir, StoreOptions{Key: "k", Budget: 20 << 10}).Close()
	for i := range int32(20) {
		b.begin(text(i, 100), 50, 100).park()
		b.do(func(s *mlx.Scope) error { b.trie.store.flush(); return nil }) // the queue never fills up
	}
	sum := int64(0)
	for _, path := range checkpointFiles(t, dir) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	if sum == 0 || sum > 20<<10 {
		t.Errorf("%d bytes are on disk, %d allowed", sum, 20<<10)
	}
	defer b.restart(dir, StoreOptions{Key: "k"}).Close()
	for i := range int32(20) {
		q := b.begin(append(text(i, 100), 7))
		q.leave()
		if i == 19 && q.path.Restored != 100 {
			t.Errorf("%d tokens of the last text were restored", q.path.Restored)
		}
	}
}

// TestUnwritableFolderLeavesMemoryWorking opens a store over a folder that refuses writes.
// Checkpoints work in memory, and the store reports the reason.
func TestUnwritableFolderLeavesMemoryWorking(t *testing.T) {
	b := newBench(t, stacks[2].make, plenty)
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	store := b.restart(dir, StoreOptions{Key: "k"})
	defer store.Close()
	b.begin(text(1, 60), 60).park()
	q := b.begin(append(text(1, 60), 7))
	q.want(60, 60)
	q.leave()
	b.do(func(s *mlx.Scope) error { store.flush(); return nil })
	if !strings.Contains(store.Failure(), "not written") {
		t.Errorf("the store says %q", store.Failure())
	}
}

// TestDeletedFolderIsMadeAgain deletes the folder, as another program may, while the store keeps
// files in it.
func TestDeletedFolderIsMadeAgain(t *testing.T) {
	b := newBench(t, stacks[2].make, plenty)
	dir := filepath.Join(t.TempDir(), "checkpoints")
	store := b.restart(dir, StoreOptions{Key: "k"})
	defer store.Close()
	b.begin(text(1, 60), 60).park()
	b.do(func(s *mlx.Scope) error { store.flush(); return nil })
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	b.begin(text(2, 60), 60).park()
	b.do(func(s *mlx.Scope) error { store.flush(); return nil })
	if files := checkpointFiles(t, dir); len(files) != 1 || store.Failure() != "" {
		t.Errorf("%d files, the store says %q", len(files), store.Failure())
	}
}

// TestSpilledRowsComeBack expects that rows on disk leave memory and come back when a text needs
// them.
func TestSpilledRowsComeBack(t *testing.T) {
	each(t, func(t *testing.T, b *bench, exact bool) {
		defer b.restart(t.TempDir(), StoreOptions{Key: "k"}).Close()
		for i := range int32(20) {
			b.begin(text(i, 100), 50, 100).leave()
			// the queue never fills up
			b.do(func(s *mlx.Scope) error { b.trie.store.flush(); return nil })
		}
		b.do(func(s *mlx.Scope) error {
			b.trie.budget = b.trie.Bytes() / 4
			return b.trie.evict(s)
		})
		if n := b.trie.Bytes(); n > b.trie.budget {
			t.Errorf("%d bytes are in memory, the budget is %d", n, b.trie.budget)
		}
		for i := range int32(20) {
			q := b.begin(append(text(i, 100), 7))
			q.want(100, 100)
			q.leave()
		}
	})
}

// TestDamagedFilesAreDeleted damages the rows of one file and the header of another. The store
// deletes each as soon as it finds the damage. Whole files stay.
func TestDamagedFilesAreDeleted(t *testing.T) {
	b := newBench(t, stacks[2].make, plenty)
	dir := t.TempDir()
	defer b.restart(dir, StoreOptions{Key: "k"}).Close()
	for i := range int32(3) {
		b.begin(text(i, 60), 60).leave()
		b.do(func(s *mlx.Scope) error { b.trie.store.flush(); return nil })
	}
	files := checkpointFiles(t, dir)
	change := func(path, old, new string) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Replace(data, []byte(old), []byte(new), 1)
		if old == "" {
			changed = slices.Clone(data)
			changed[8+binary.LittleEndian.Uint64(data)] ^= 1
		}
		if err := os.WriteFile(path, changed, 0o600); err != nil || bytes.Equal(changed, data) {
			t.Fatalf("%s is not changed: %v", path, err)
		}
	}
	change(files[0], "", "") // its first tensor
	change(files[1], `needed`, `needes`)
	defer b.restart(dir, StoreOptions{Key: "k"}).Close()
	var failed error
	b.do(func(s *mlx.Scope) error {
		p := b.trie.Begin(append(text(0, 60), 7), Label{})
		_, failed = p.Restore(s, b.fresh)
		p.Close()
		return nil
	})
	if failed == nil {
		t.Error("damaged rows were restored")
	}
	if left := checkpointFiles(t, dir); !slices.Equal(left, files[2:]) {
		t.Errorf("%v are left of %v", left, files)
	}
	q := b.begin(append(text(0, 60), 7))
	if q.path.Restored != 0 || q.path.Length != 60 || !strings.Contains(q.path.Gone, "damaged") {
		t.Errorf("%d tokens restored; the first %d %s", q.path.Restored, q.path.Length, q.path.Gone)
	}
	q.leave()
}

// TestTextBeforeDamageIsRestored damages or deletes a file inside a text. As soon as the store
// finds that, it restores the text before the file.
func TestTextBeforeDamageIsRestored(t *testing.T) {
	for _, gone := range []bool{false, true} {
		each(t, func(t *testing.T, b *bench, exact bool) {
			dir := t.TempDir()
			defer b.restart(dir, StoreOptions{Key: "k"}).Close()
			a := text(1, 60)
			b.begin(a, 20, 40, 60).leave()
			b.do(func(s *mlx.Scope) error { b.trie.store.flush(); return nil })
			path := checkpointFiles(t, dir)[1] // of 20 to 40
			defer b.restart(dir, StoreOptions{Key: "k"}).Close()
			q := b.begin(append(slices.Clone(a[:20]), 7)) // its rows are in memory from here on
			q.leave()
			if gone {
				os.Remove(path)
			} else {
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				data[8+binary.LittleEndian.Uint64(data)] ^= 1
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			asked := append(slices.Clone(a), 7)
			b.do(func(s *mlx.Scope) error {
				p := b.trie.Begin(asked, Label{})
				stack, err := p.Restore(s, b.fresh)
				if err == nil && !exact {
					t.Error("rows of a damaged file were restored")
				}
				stack.Free(s)
				p.Close()
				return nil
			})
			b.drafting = false // its context is rows of all files
			q = b.begin(asked)
			// a ring needs the last file only
			if n := q.path.Restored; n != 20 && !(exact && n == 60) {
				t.Errorf("%d tokens are restored, want 20", n)
			}
			q.leave()
		})
	}
}
