package checkpoint

import (
	"slices"
	"testing"
)

// TestForgottenFileIsDeleted forgets a text whose file is being written or has just been found. The
// store deletes the file as soon as the index says so. The sequence goes on, and a later sequence
// writes the text again.
func TestForgottenFileIsDeleted(t *testing.T) {
	each(t, func(t *testing.T, b *bench, exact bool) {
		dir, x := t.TempDir(), &notebook{unwanted: func(e Entry) bool { return e.To > 20 }}
		o := StoreOptions{Key: "k", Index: x}
		store := b.restart(dir, o)
		defer store.Close()
		a := text(1, 60)
		q := b.begin(a, 20, 40, 60)
		b.flush()
		q.leave()
		b.flush()
		if n := len(checkpointFiles(t, dir)); n != 1 || len(x.added) != 1 ||
			x.entries[x.added[0]].To != 20 || store.Failure() != "" {
			t.Fatalf("%d files, the index has %v, %s", n, x.entries, store.Failure())
		}
		x.unwanted = nil
		q = b.begin(append(slices.Clone(a), text(2, 10)...), 70)
		q.want(60, 60)
		q.leave()
		b.flush()
		if last := x.entries[x.added[len(x.added)-1]]; last.To != 70 ||
			len(checkpointFiles(t, dir)) != len(x.added) {
			t.Errorf("the last file goes to %d, %d are there of %d",
				last.To, len(checkpointFiles(t, dir)), len(x.added))
		}

		y := &notebook{unwanted: func(e Entry) bool { return e.To > 20 }}
		defer b.restart(dir, StoreOptions{Key: "k", Index: y}).Close()
		q = b.begin(a)
		q.want(20, 20)
		q.leave()
		if n := len(checkpointFiles(t, dir)); n != 1 {
			t.Errorf("%d files of a forgotten text are left", n)
		}
	})
}
