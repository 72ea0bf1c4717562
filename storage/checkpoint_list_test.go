package storage

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestCheckpointPagesHaveNoGaps expects each checkpoint on exactly one page, and the totals of all
// checkpoints on every page. A checkpoint that is used between two pages is never listed twice, but
// may be missing.
func TestCheckpointPagesHaveNoGaps(t *testing.T) {
	now := noon
	db := mustOpen(t, "")
	db.now = func() time.Time { return now }
	for i := range 7 {
		if i == 4 {
			now = now.Add(time.Hour) // the first four have one time
		}
		c := Checkpoint{ID: fmt.Sprintf("c%d", i), Model: "m",
			ToToken: 100 * (i / 2), Bytes: 10, SavedMS: 1.5}
		if err := db.Checkpoints.Add(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	keep(t, db, "other")
	if err := db.Checkpoints.MarkGone(t.Context(), []string{"other"}, "was deleted"); err != nil {
		t.Fatal(err)
	}
	if err := db.Checkpoints.Add(t.Context(), Checkpoint{ID: "n", Model: "n", Bytes: 5}); err != nil {
		t.Fatal(err)
	}
	read := func(f CheckpointQuery, between func(page int)) (pages []string) {
		t.Helper()
		for {
			list, err := db.Checkpoints.List(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			if f.Model == "m" && (list.Count != 7 || list.Bytes != 70 || list.SavedMS != 10.5) {
				t.Errorf("totals are %d, %d bytes, %v ms; want 7, 70, 10.5",
					list.Count, list.Bytes, list.SavedMS)
			}
			pages = append(pages, checkpointIDs(list.Checkpoints))
			if f.Before = list.Next; f.Before == "" {
				return pages
			}
			if len(pages) > 20 {
				t.Fatalf("the pages have no end: %v", pages)
			}
			between(len(pages))
		}
	}
	still := func(int) {}
	for limit, want := range map[int]string{
		0: "c6 c4 c5 c2 c3 c0 c1",
		7: "c6 c4 c5 c2 c3 c0 c1",
		3: "c6 c4 c5|c2 c3 c0|c1",
		1: "c6|c4|c5|c2|c3|c0|c1",
	} {
		if got := strings.Join(read(CheckpointQuery{Model: "m", Limit: limit}, still),
			"|"); got != want {
			t.Errorf("%d at a time: %s, want %s", limit, got, want)
		}
	}
	if got := strings.Join(read(CheckpointQuery{}, still), "|"); got != "c6 c4 c5 n c2 c3 c0 c1" {
		t.Errorf("all models have %s, want those of m, and n", got)
	}
	// A checkpoint that is used between two pages is listed at most once. c2 would be on a later
	// page, but its use moves it to the front.
	used := func(page int) {
		if page != 1 {
			return
		}
		now = now.Add(time.Hour)
		if err := db.Checkpoints.MarkUsed(t.Context(),
			Restoration{IDs: []string{"c4", "c2"}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(read(CheckpointQuery{Model: "m", Limit: 3}, used),
		"|"); got != "c6 c4 c5|c3 c0 c1" {
		t.Errorf("used between pages: %s, want c2 to be missing", got)
	}
	if got := strings.Join(read(CheckpointQuery{Model: "m", Limit: 2}, still),
		"|"); got != "c4 c2|c6 c5|c3 c0|c1" {
		t.Errorf("listed after that: %s, want c4 and c2 first", got)
	}
	for _, bad := range []string{"x", ",", "2026-11-22T09:00:00.000Z", "2026-11-22T09:00:00.000Z,1",
		"2026-11-22T09:00:00.000Z,x,id", "0001-01-01T00:00:00.000Z,1,id"} {
		_, err := db.Checkpoints.List(t.Context(), CheckpointQuery{Before: bad})
		wantCode(t, err, Invalid)
	}
	_, err := db.Checkpoints.List(t.Context(), CheckpointQuery{Limit: -1})
	wantCode(t, err, Invalid)
}

// FuzzCheckpointCursor expects that a parsed cursor, written and parsed again, stays the same.
func FuzzCheckpointCursor(f *testing.F) {
	for _, text := range []string{"", "x", "2026-11-22T09:00:00.000Z,4096,mwrc6x2w",
		"2026-11-22T09:00:00.000Z,-1,a,b", "2026-11-22T09:00:00.000Z,+1,a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := parseCheckpointCursor(text)
		if !ok {
			return
		}
		if again, ok := parseCheckpointCursor(c.String()); !ok || again != c {
			t.Errorf("%q is read as %+v, and its text as %+v", text, c, again)
		}
	})
}
