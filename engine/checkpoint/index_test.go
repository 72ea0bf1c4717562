package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/engine/mlx"
)

// flush waits until everything is on disk and in the index.
func (b *bench) flush() {
	b.t.Helper()
	b.do(func(s *mlx.Scope) error { b.trie.store.flush(); return nil })
}

// TestIndexRecordsWritesAndUses expects that the index records each file after it is on disk, and
// of the files that a restored text used.
func TestIndexRecordsWritesAndUses(t *testing.T) {
	each(t, func(t *testing.T, b *bench, exact bool) {
		dir, x := t.TempDir(), &notebook{}
		o := StoreOptions{Key: "k", Context: "c", Index: x}
		defer b.restart(dir, o).Close()
		a := text(1, 60)
		b.begin(a, 20, 60).leave()
		b.drafting = false
		b.begin(append(slices.Clone(a[:20]), text(2, 10)...), 30).leave()
		b.flush()
		// The branch is restored from the first file.
		if len(x.added) != 3 || len(x.lost) > 0 || len(x.used) != 1 ||
			!slices.Equal(x.used[0], x.added[:1]) {
			t.Fatalf("added %q, used %q, lost %q", x.added, x.used, x.lost)
		}
		first, second, branch := x.entries[x.added[0]], x.entries[x.added[1]], x.entries[x.added[2]]
		for _, c := range []struct {
			got             Entry
			parent, context string
			from, to        int
			text            []int32
		}{
			{first, "", "c", 0, 20, a[:20]},
			{second, first.ID, "c", 20, 60, a},
			{branch, first.ID, "", 20, 30, append(slices.Clone(a[:20]), text(2, 10)...)},
		} {
			info, err := os.Stat(FilePath(dir, c.got.ID))
			if err != nil {
				t.Fatal(err)
			}
			want := Entry{
				ID: c.got.ID, Parent: c.parent, Key: "k", Context: c.context, Kind: KindAnswer,
				From: c.from, To: c.to,
				Bytes: info.Size(), Digest: digestOf(c.text), Created: createdAt(c.got.ID),
			}
			if c.got != want {
				t.Errorf("the entry of %d to %d is %+v, want %+v", c.from, c.to, c.got, want)
			}
		}

		// After a restart the files are known, and the index records restored texts.
		defer b.restart(dir, o).Close()
		q := b.begin(append(slices.Clone(a), 7))
		q.want(60, 60)
		q.leave()
		b.begin(text(3, 20), 20).leave()
		b.flush() // records uses before it returns
		if len(x.added) != 4 || len(x.lost) > 0 {
			t.Errorf("after a restart added %q, lost %q", x.added[3:], x.lost)
		}
		if len(x.used) != 2 || !slices.Equal(x.used[1], []string{first.ID, second.ID}) {
			t.Errorf("%q were used, want %q", x.used[1:], []string{first.ID, second.ID})
		}
	})
}

// TestIndexFollowsFolder opens a store whose index and folder disagree. The folder decides. The
// text has 60 tokens, and its files end at 20, 40 and 60.
func TestIndexFollowsFolder(t *testing.T) {
	const evicted = "was deleted to keep within 5 MB on disk"
	for _, c := range []struct {
		name   string
		key    string
		change func(t *testing.T, x *notebook, path, id string) // of the last file
		added  bool                                             // the last one is
		// the last one is, with this in its reason
		lost     string
		restored int
		gone     string // in Path.Gone
	}{
		{"nothing", "k", func(*testing.T, *notebook, string, string) {}, false, "", 60, ""},
		{"no entry", "k", func(_ *testing.T, x *notebook, _, id string) { delete(x.entries, id) }, true, "", 60, ""},
		{"entry of a file that was gone", "k", func(_ *testing.T, x *notebook, _, id string) {
			e := x.entries[id]
			e.Gone = evicted
			x.entries[id] = e
		}, true, "", 60, ""},
		{"no file", "k", func(t *testing.T, _ *notebook, path, _ string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, false, "has lost its file", 40, "has lost its file"},
		{"a file that went long ago", "k", func(t *testing.T, x *notebook, path, id string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			e := x.entries[id]
			e.Gone = evicted
			x.entries[id] = e
		}, false, "", 40, evicted},
		{"other keys", "another", func(*testing.T, *notebook, string, string) {}, false, "", 0, "other weights"},
		{"other arithmetic", "another", func(t *testing.T, _ *notebook, path, _ string) {
			rewrite(t, path, `\"k with MLX 2\"`, `\"k with MLX 1\"`)
		}, false, "", 0, "was computed with MLX 1, and this program has MLX 2"},
		{"arithmetic before it was kept", "another", func(t *testing.T, _ *notebook, path, _ string) {
			rewrite(t, path, `\"k with MLX 2\"`, `\"k-----------\"`)
		}, false, "", 0, "was computed by an older version"},
		{"a newer version", "k", func(t *testing.T, _ *notebook, path, _ string) {
			rewrite(t, path, `\"version\":1`, `\"version\":7`)
		}, false, "", 40, "newer version"},
		{"an older version", "k", func(t *testing.T, _ *notebook, path, _ string) {
			rewrite(t, path, `\"version\":1`, `\"version\":0`)
		}, false, "version 0", 40, "version 0"},
		{"a damaged header", "k", func(t *testing.T, _ *notebook, path, _ string) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			data = bytes.Replace(data, []byte("1058,1059"), []byte("1058,1050"), 1)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}, false, "damaged", 40, "damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, stacks[2].make, plenty)
			dir, x := t.TempDir(), &notebook{}
			defer b.restart(dir, StoreOptions{Key: NewKey("k", "MLX 2"), Index: x}).Close()
			a := text(1, 60)
			b.begin(a, 20, 40, 60).leave()
			b.flush()
			id := x.added[2]
			was := x.entries[id]
			c.change(t, x, FilePath(dir, id), id)
			x.added = nil

			defer b.restart(dir, StoreOptions{Key: NewKey(c.key, "MLX 2"), Index: x}).Close()
			q := b.begin(append(slices.Clone(a), 7))
			if q.path.Restored != c.restored {
				t.Errorf("%d tokens were restored, want %d", q.path.Restored, c.restored)
			}
			if why := q.path.Gone; !strings.Contains(why, c.gone) ||
				(why == "") != (c.gone == "") || why != "" && q.path.Length != 60 {
				t.Errorf("of the first %d tokens the path says %q, want %q",
					q.path.Length, why, c.gone)
			}
			q.leave()
			q = b.begin(append(slices.Clone(a[:50]), 7, 8))
			if q.path.Gone != "" && q.path.Length > 50 {
				t.Errorf("a text that diverges before has a reason for %d tokens: %q",
					q.path.Length, q.path.Gone)
			}
			q.leave()
			if c.added != slices.Equal(x.added, []string{id}) || !c.added && len(x.added) > 0 {
				t.Errorf("added %q; the last one should be: %v", x.added, c.added)
			}
			if c.added && x.entries[id] != was {
				t.Errorf("the entry is %+v, it was %+v", x.entries[id], was)
			}
			switch {
			case c.lost == "" && len(x.lost) > 0:
				t.Errorf("lost %q", x.lost)
			case c.lost != "" && (!slices.Equal(x.lost, []string{id}) ||
				!strings.Contains(x.entries[id].Gone, c.lost)):
				t.Errorf("lost %q, %q; want %q, %q", x.lost, x.entries[id].Gone, id, c.lost)
			}
		})
	}
}

// rewrite replaces a part of a file's header by one of the same length, and the checksum by the new
// header's.
func rewrite(t *testing.T, path, old, new string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	header := func(data []byte) []byte {
		begin := bytes.Index(data, []byte(`"{\"format`))
		end := bytes.Index(data[begin:], []byte(`}"`))
		return bytes.ReplaceAll(data[begin+1:begin+end+1], []byte(`\"`), []byte(`"`))
	}
	before := sumOf(header(data))
	changed := bytes.Replace(data, []byte(old), []byte(new), 1)
	after := bytes.Replace(changed, []byte(before), []byte(sumOf(header(changed))), 1)
	if bytes.Equal(changed, data) || bytes.Equal(after, changed) {
		t.Fatalf("%s has no %q, or not the sum %s", filepath.Base(path), old, before)
	}
	if err := os.WriteFile(path, after, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTextOfOtherArithmeticIsReadAgain uses a text whose file is of an older MLX. Its rows do not come
// back, its tokens do. The text is read again and kept in a new file, in place of the old one.
func TestTextOfOtherArithmeticIsReadAgain(t *testing.T) {
	b := newBench(t, stacks[2].make, plenty)
	dir, x := t.TempDir(), &notebook{}
	defer b.restart(dir, StoreOptions{Key: NewKey("k", "MLX 1"), Index: x}).Close()
	a := text(1, 60)
	b.begin(a, 60).leave()
	b.flush()
	old := FilePath(dir, x.added[0])

	x.replaced = func(e Entry) []string {
		if e.To != 60 || e.Digest != x.entries[x.added[0]].Digest {
			t.Errorf("the index records %+v", e)
		}
		return x.added[:1:1]
	}
	newer := StoreOptions{Key: NewKey("k", "MLX 2"), Index: x}
	defer b.restart(dir, newer).Close()
	kept, err := ReadTokens(old)
	if err != nil || !slices.Equal(kept, a) {
		t.Fatalf("the file has the text %v, %v", kept, err)
	}
	q := b.begin(append(kept, 7), 60)
	q.want(0, 0)
	q.leave()
	b.flush()
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old file is still there: %v", err)
	}
	defer b.restart(dir, newer).Close()
	q = b.begin(append(slices.Clone(a), 7))
	q.want(60, 60)
	q.leave()
}

// TestIndexOrdersDeletions expects that files are deleted in the index's order until the rest is
// within the budget. Files that the index does not name stay. A text that begins like a deleted one
// gets the reason.
func TestIndexOrdersDeletions(t *testing.T) {
	b := newBench(t, stacks[2].make, plenty)
	dir, x := t.TempDir(), &notebook{}
	store := b.restart(dir, StoreOptions{Key: "k", Index: x})
	defer store.Close()
	for i := range int32(6) {
		b.begin(text(i, 60), 60).leave()
	}
	b.flush()
	ids := slices.Clone(x.added)
	size := x.entries[ids[0]].Bytes
	order := []string{ids[4], ids[0], "nowhere", ids[3], ids[5]} // 1 and 2 are pinned
	x.order = func(list []Entry) (worth []Entry) {
		for _, id := range order {
			e := Entry{ID: id}
			if i := slices.IndexFunc(list, func(e Entry) bool { return e.ID == id }); i >= 0 {
				e = list[i]
			} else if id != "nowhere" {
				continue
			}
			worth = append(worth, e)
		}
		return worth
	}

	// There is room for four and a half files, and a seventh comes.
	store = b.restart(dir, StoreOptions{Key: "k", Index: x, Budget: 4*size + size/2})
	defer store.Close()
	b.begin(text(6, 60), 60).leave()
	b.flush()
	if want := []string{ids[4], ids[0], "nowhere", ids[3]}; !slices.Equal(x.lost, want) {
		t.Errorf("%q went, want %q", x.lost, want)
	}
	for i, id := range append(ids, x.added[6]) {
		_, err := os.Stat(FilePath(dir, id))
		if went := errors.Is(err, os.ErrNotExist); went != slices.Contains(x.lost, id) {
			t.Errorf("file %d is gone: %v", i, went)
		}
	}

	delete(x.entries, "nowhere")
	store = b.restart(dir, StoreOptions{Key: "k", Index: x})
	defer store.Close()
	q := b.begin(append(text(4, 60), 7))
	q.want(0, 0)
	if q.path.Length != 60 || !strings.Contains(q.path.Gone, "to keep within") {
		t.Errorf("of the first %d tokens the path says %q", q.path.Length, q.path.Gone)
	}
	q.leave()
	q = b.begin(append(text(1, 60), 7))
	q.want(60, 60)
	q.leave()

	// A store knows of the files that it deleted while it was open.
	order = []string{ids[5]}
	store = b.restart(dir, StoreOptions{Key: "k", Index: x, Budget: 1})
	defer store.Close()
	b.begin(text(7, 60), 60).leave()
	b.flush()
	if at, why := store.tombstones.find(append(text(5, 60), 7), 0); at != 60 ||
		!strings.Contains(why, "to keep within") {
		t.Errorf("of the first %d tokens the store says %q", at, why)
	}
}

// TestIndexRecordsDamage expects that the index records damaged rows when they are read. Later
// texts get the reason.
func TestIndexRecordsDamage(t *testing.T) {
	each(t, func(t *testing.T, b *bench, exact bool) {
		dir, x := t.TempDir(), &notebook{}
		defer b.restart(dir, StoreOptions{Key: "k", Index: x}).Close()
		b.begin(text(1, 60), 60).leave()
		b.flush()
		path := FilePath(dir, x.added[0])
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data[8+binary.LittleEndian.Uint64(data)] ^= 1 // of the first tensor
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		defer b.restart(dir, StoreOptions{Key: "k", Index: x}).Close()
		if len(x.lost) > 0 {
			t.Errorf("%q were lost before any read", x.lost)
		}
		asked := append(text(1, 60), 7)
		b.do(func(s *mlx.Scope) error {
			p := b.trie.Begin(asked, Label{})
			defer p.Close()
			if _, err := p.Restore(s, b.fresh); err == nil {
				t.Error("damaged rows were restored")
			}
			return nil
		})
		b.flush() // updates the index
		if !slices.Equal(x.lost, x.added) || !strings.Contains(x.entries[x.added[0]].Gone,
			"damaged") {
			t.Errorf("lost %q, %+v", x.lost, x.entries)
		}
		for range 2 {
			q := b.begin(asked)
			if q.path.Restored > 0 || q.path.Length != 60 ||
				!strings.Contains(q.path.Gone, "damaged") {
				t.Errorf("%d tokens restored; the first %d %s",
					q.path.Restored, q.path.Length, q.path.Gone)
			}
			q.leave()
			defer b.restart(dir, StoreOptions{Key: "k", Index: x}).Close()
		}
	})
}
