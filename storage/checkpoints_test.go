package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// keep adds checkpoints of model m, 100 tokens each. A text gives an id and a parent: b<a goes on
// from a.
func keep(t *testing.T, db *DB, list ...string) {
	t.Helper()
	ends := map[string]int{}
	for _, text := range list {
		id, parent, _ := strings.Cut(text, "<")
		ends[id] = ends[parent] + 100
		c := Checkpoint{ID: id, Parent: parent, Model: "m", Key: "k", Kind: "prompt",
			FromToken: ends[parent], ToToken: ends[id], Bytes: 1000, Digest: id}
		if err := db.Checkpoints.Add(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
}

func checkpointIDs(list []Checkpoint) string {
	var ids []string
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return strings.Join(ids, " ")
}

func TestCheckpointRoundTrip(t *testing.T) {
	db := mustOpen(t, "")
	want := filled[Checkpoint]()
	want.Gone = ""
	if err := db.Checkpoints.Add(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	got, err := db.Checkpoints.Get(t.Context(), want.Name)
	if err != nil {
		t.Fatal(err)
	}
	if got.UsedAt.Before(noon) {
		t.Errorf("used at %v, want %v or later", got.UsedAt, noon)
	}
	if got.UsedAt = want.UsedAt; got != want {
		t.Errorf("stored %+v, read %+v", want, got)
	}
	// A second write, as after a restart, keeps the name, the pin and the hits.
	again := want
	again.Name, again.Pinned, again.Hits, again.Bytes = "", false, 0, 7
	if err := db.Checkpoints.Add(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if got, _ = db.Checkpoints.Get(t.Context(), want.ID); got.Name != want.Name || !got.Pinned ||
		got.Hits != want.Hits || got.Bytes != 7 {
		t.Errorf("added again it is %+v, want the name, pin and hits of %+v", got, want)
	}
}

func TestCheckpointIsFoundByNameOrID(t *testing.T) {
	db := mustOpen(t, "")
	keep(t, db, "a", "b<a", "c<b")
	if err := db.Checkpoints.SetName(t.Context(), "b", "before"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, db.Checkpoints.SetName(t.Context(), "c", "before"), Conflict)
	wantCode(t, db.Checkpoints.SetName(t.Context(), "x", "other"), NotFound)
	if c, err := db.Checkpoints.Get(t.Context(), "before"); err != nil || c.ID != "b" {
		t.Errorf("before is %+v, %v; want b", c, err)
	}
	// An id wins over a name. The empty name finds nothing.
	if err := db.Checkpoints.SetName(t.Context(), "a", "c"); err != nil {
		t.Fatal(err)
	}
	if c, err := db.Checkpoints.Get(t.Context(), "c"); err != nil || c.ID != "c" {
		t.Errorf("c is %+v, %v; want the id", c, err)
	}
	_, err := db.Checkpoints.Get(t.Context(), "")
	wantCode(t, err, NotFound)
	if err := db.Checkpoints.MarkGone(t.Context(), []string{"b"}, "was deleted"); err != nil {
		t.Fatal(err)
	}
	if err := db.Checkpoints.SetName(t.Context(), "c", "before"); err != nil {
		t.Errorf("the name of a deleted checkpoint is refused: %v", err)
	}
}

func TestLostCheckpointsAreRemembered(t *testing.T) {
	db := mustOpen(t, "")
	keep(t, db, "a", "b<a", "c<b")
	for _, why := range []string{"was deleted", "another reason, too late"} {
		if err := db.Checkpoints.MarkGone(t.Context(), []string{"b"}, why); err != nil {
			t.Fatal(err)
		}
	}
	list, err := db.Checkpoints.List(t.Context(), CheckpointQuery{Model: "m"})
	if got := checkpointIDs(list.Checkpoints); err != nil || got != "c a" {
		t.Errorf("checkpoints with files are %s, %v; want c a", got, err)
	}
	all, err := db.Checkpoints.All(t.Context(), "m")
	if err != nil || checkpointIDs(all) != "a b c" || all[1].Gone != "was deleted" {
		t.Errorf("all are %s, %+v, %v; want a b c, b deleted", checkpointIDs(all), all, err)
	}
	if err := db.Checkpoints.MarkUsed(t.Context(), Restoration{IDs: []string{"a", "a",
		"nothing"}}); err != nil {
		t.Fatal(err)
	}
	if a, _ := db.Checkpoints.Get(t.Context(), "a"); a.Hits != 2 {
		t.Errorf("%d hits, want 2", a.Hits)
	}
	tree, err := db.Checkpoints.Tree(t.Context(), "a")
	if err != nil || checkpointIDs(tree) != "a c" {
		t.Errorf("the tree of a is %s, %v; want a c", checkpointIDs(tree), err)
	}
}

func TestCheckpointsAreOrderedByWorth(t *testing.T) {
	now := noon
	db := mustOpen(t, "")
	db.now = func() time.Time { return now }
	worth := func(want string) {
		t.Helper()
		list, _, err := db.Checkpoints.ByWorth(t.Context())
		if err != nil || checkpointIDs(list) != want {
			t.Errorf("the order is %s, %v; want %s", checkpointIDs(list), err, want)
		}
	}
	keep(t, db, "a", "b<a", "c<b", "d<a", "e")
	worth("c b d a e") // of equal worth: the deepest first, then by id
	if err := db.Checkpoints.MarkUsed(t.Context(), Restoration{IDs: []string{"a", "b",
		"c"}}); err != nil {
		t.Fatal(err)
	}
	worth("d e c b a")
	now = now.Add(3 * 24 * time.Hour)
	keep(t, db, "f") // new, as often used, worth eight times as much
	worth("d e c b a f")
	for _, c := range []Checkpoint{{ID: "g", Model: "slow", ToToken: 100, Bytes: 1000},
		{ID: "h", Model: "m", ToToken: 100, Bytes: 10}} {
		if err := db.Checkpoints.Add(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range []Run{{Model: "m", PromptTokens: 1000, PrefillMS: 1000},
		{Model: "slow", PromptTokens: 1000, CachedTokens: 900, PrefillMS: 50_000}} {
		if _, err := db.Runs.Begin(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	worth("d e c b a f h g") // h has few bytes, g saves many seconds
	if err := db.Checkpoints.SetPinned(t.Context(), "b", true); err != nil {
		t.Fatal(err)
	}
	worth("d e c f h g")
	// A checkpoint never comes before its continuation, even if the continuation is worth more.
	if err := db.Checkpoints.MarkUsed(t.Context(), Restoration{IDs: slices.Repeat([]string{"d"},
		50)}); err != nil {
		t.Fatal(err)
	}
	if err := db.Checkpoints.SetPinned(t.Context(), "b", false); err != nil {
		t.Fatal(err)
	}
	worth("e c b f d a h g")
}

// TestParentIsWorthAsMuchAsItsFork expects that a text that goes on from inside another one keeps
// its parent, even if the parent ends later.
func TestParentIsWorthAsMuchAsItsFork(t *testing.T) {
	db := mustOpen(t, "")
	for _, c := range []Checkpoint{{ID: "g", ToToken: 200},
		{ID: "p", Parent: "g", FromToken: 200, ToToken: 8000},
		{ID: "c", Parent: "p", FromToken: 3000, ToToken: 3500}} {
		c.Bytes = 1000
		if err := db.Checkpoints.Add(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Checkpoints.MarkUsed(t.Context(), Restoration{IDs: slices.Repeat([]string{"c"},
		50)}); err != nil {
		t.Fatal(err)
	}
	list, _, err := db.Checkpoints.ByWorth(t.Context())
	if err != nil || checkpointIDs(list) != "c p g" {
		t.Errorf("the order is %s, %v; want c p g", checkpointIDs(list), err)
	}
	if err := db.Checkpoints.SetPinned(t.Context(), "c", true); err != nil {
		t.Fatal(err)
	}
	list, stay, err := db.Checkpoints.ByWorth(t.Context())
	if err != nil || len(list) > 0 || len(stay) != 3 {
		t.Errorf("with c pinned %s go and %s stay, %v; want all three to stay",
			checkpointIDs(list), checkpointIDs(stay), err)
	}
}

func TestForgetDeletesItsScope(t *testing.T) {
	open := func() *DB {
		db := mustOpen(t, "")
		day := 0
		add := func(model, client string) int64 {
			day++
			r, err := db.Runs.Begin(t.Context(),
				Run{Model: model, Client: client, StartedAt: noon.AddDate(0, 0, day)})
			if err == nil {
				err = db.Runs.Finish(t.Context(), r)
			}
			if err == nil {
				err = db.Runs.SetText(t.Context(),
					RunText{Run: r.ID, Request: json.RawMessage("{}"), Tail: []byte{1}})
			}
			if err != nil {
				t.Fatal(err)
			}
			return r.ID
		}
		for i, c := range []Checkpoint{
			{ID: "a", Model: "m", Run: add("m", "x")},
			{ID: "b", Parent: "a", Model: "m", Run: add("m", "y")},
			{ID: "c", Parent: "b", Model: "m", Run: add("m", "x")},
			{ID: "d", Model: "n", Run: add("n", "y")}, {ID: "e", Model: "n"},
		} {
			c.ToToken = 10 * i
			if err := db.Checkpoints.Add(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		// in flight
		if _, err := db.Runs.Begin(t.Context(), Run{Model: "m", Client: "x"}); err != nil {
			t.Fatal(err)
		}
		return db
	}
	for _, c := range []struct {
		scope  Scope
		runs   int
		gone   string
		remain string
	}{
		{Scope{Model: "m"}, 3, "a b c", "d e"},
		{Scope{Model: "n"}, 1, "d e", "a b c"},
		{Scope{Client: "y"}, 2, "b c d", "a e"},
		{Scope{Client: "x"}, 2, "a b c", "d e"},
		{Scope{Client: "y", Model: "n"}, 1, "d", "a b c e"},
		{Scope{Day: "2026-11-24"}, 1, "c", "a b d e"},
		{Scope{Day: "2026-11-28"}, 0, "", "a b c d e"},
	} {
		db := open()
		var asked []string
		failing := errors.New("no")
		if _, err := db.Forget(t.Context(), c.scope,
			func([]string) error { return failing }); !errors.Is(err, failing) {
			t.Errorf("%+v: error %v, want that of the files", c.scope, err)
		}
		got, err := db.Forget(t.Context(), c.scope,
			func(ids []string) error { asked = ids; return nil })
		slices.Sort(got.Checkpoints)
		if err != nil || got.Runs != c.runs || strings.Join(got.Checkpoints, " ") != c.gone ||
			len(asked) != len(got.Checkpoints) {
			t.Errorf("%+v forgets %+v, %v; want %d runs and %s", c.scope, got, err, c.runs, c.gone)
		}
		list, _ := db.Checkpoints.List(t.Context(), CheckpointQuery{})
		rest := list.Checkpoints
		slices.SortFunc(rest, func(a, b Checkpoint) int { return strings.Compare(a.ID, b.ID) })
		if checkpointIDs(rest) != c.remain {
			t.Errorf("%+v leaves %s, want %s", c.scope, checkpointIDs(rest), c.remain)
		}
		texts, runs := 0, 0
		if err := db.r.QueryRow("SELECT (SELECT count(*) FROM run_texts), (SELECT count(*) FROM runs)").Scan(&texts,
			&runs); err != nil || texts != 4-c.runs || runs != 5-c.runs {
			t.Errorf("%+v leaves %d texts and %d runs, %v; want %d and %d",
				c.scope, texts, runs, err, 4-c.runs, 5-c.runs)
		}
		if want := c.scope.Model == "m" ||
			c.scope == (Scope{Client: "x"}); (got.InFlight == 1) != want {
			t.Errorf("%+v reports %d runs in flight, want one: %t", c.scope, got.InFlight, want)
		}
	}
	_, err := open().Forget(t.Context(), Scope{}, nil)
	wantCode(t, err, Invalid)
}

func TestRunTextRoundTrip(t *testing.T) {
	db := mustOpen(t, "")
	_, err := db.Runs.Text(t.Context(), 1)
	wantCode(t, err, NotFound)
	r, err := db.Runs.Begin(t.Context(), Run{})
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, db.Runs.SetText(t.Context(), RunText{Run: 99}), Invalid) // of no run
	for i, want := range []RunText{
		{Run: r.ID, Model: "m", Request: json.RawMessage(`{"a":1}`), Prompt: 3, Replay: json.RawMessage(`{}`)},
		{Run: r.ID, Model: "m", Prompt: 3, File: "f", Tokens: 2, Tail: []byte{1, 2, 3, 4}, Replay: json.RawMessage(`{}`)},
		{Run: r.ID, Model: "m", Prompt: 3, File: "f", Tokens: 2, Tail: []byte{}, Replay: json.RawMessage(`{}`)},
	} {
		if err := db.Runs.SetText(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		got, err := db.Runs.Text(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		if string(got.Request) != string(want.Request) {
			t.Errorf("text %d: string(got.Request) = %q, want %q", i,
				string(got.Request), string(want.Request))
		}
		if got.Prompt != 3 {
			t.Errorf("text %d: got.Prompt = %v, want 3", i, got.Prompt)
		}
		if got.File != want.File {
			t.Errorf("text %d: got.File = %v, want %v", i, got.File, want.File)
		}
		if got.Tokens != want.Tokens {
			t.Errorf("text %d: got.Tokens = %v, want %v", i, got.Tokens, want.Tokens)
		}
		if string(got.Tail) != string(want.Tail) {
			t.Errorf("text %d: string(got.Tail) = %q, want %q", i, string(got.Tail), string(want.Tail))
		}
		if (got.Tail == nil) != (want.Tail == nil) {
			t.Errorf("text %d: got.Tail == nil is %v, want %v", i, got.Tail == nil, want.Tail == nil)
		}
		if got.Model != "m" {
			t.Errorf(`text %d: got.Model = %q, want "m"`, i, got.Model)
		}
		if string(got.Replay) != "{}" {
			t.Errorf(`text %d: string(got.Replay) = %q, want "{}"`, i, string(got.Replay))
		}
	}
}

// TestForgottenTextIsNowhere expects that the file, its log and the copies of older programs
// no longer have the text.
func TestForgottenTextIsNowhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tandem.db")
	db := mustOpen(t, path)
	r, err := db.Runs.Begin(t.Context(), Run{Model: "m", Client: "c"})
	if err == nil {
		err = db.Runs.SetText(t.Context(), RunText{Run: r.ID,
			Request: json.RawMessage(`"` + strings.Repeat("a secret ", 2000) + `"`)})
	}
	if err == nil {
		err = db.Runs.Finish(t.Context(), r)
	}
	if err == nil {
		_, err = db.w.Exec("VACUUM INTO ?", path+".v7-20261121T120000Z.backup")
	}
	if err != nil {
		t.Fatal(err)
	}
	holding := func() (names []string) {
		all, _ := filepath.Glob(path + "*")
		for _, name := range all {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(data, []byte("a secret")) {
				names = append(names, filepath.Base(name))
			}
		}
		return names
	}
	if got := holding(); len(got) < 2 {
		t.Fatalf("only %v have the text before, want the file and a copy", got)
	}
	if _, err := db.Forget(t.Context(), Scope{Client: "c"},
		func([]string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if got := holding(); len(got) > 0 {
		t.Errorf("%v still have the text", got)
	}
}

// TestUseAddsSavedTime expects that a use saves the time of its tokens at the model's own pace,
// minus the time to restore. Each token counts once. A model without measured runs saves nothing.
func TestUseAddsSavedTime(t *testing.T) {
	db := mustOpen(t, "")
	for _, c := range []Checkpoint{{ID: "a", Model: "m", ToToken: 100},
		{ID: "b", Model: "m", FromToken: 60, ToToken: 160}, {ID: "x", Model: "new", ToToken: 100}} {
		if err := db.Checkpoints.Add(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	// A token takes 10 ms. Restored tokens and runs in flight do not count.
	for _, r := range []Run{{Model: "m", PromptTokens: 300, CachedTokens: 200, PrefillMS: 1050,
		RestoreMS: 50}, {Model: "m"}, {Model: "other", PromptTokens: 1, PrefillMS: 1e6}} {
		if _, err := db.Runs.Begin(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	saved := func(want map[string]float64) {
		t.Helper()
		for id, ms := range want {
			if c, err := db.Checkpoints.Get(t.Context(), id); err != nil ||
				math.Abs(c.SavedMS-ms) > 1e-6 {
				t.Errorf("%s saved %v ms, %v, want %v", id, c.SavedMS, err, ms)
			}
		}
	}
	use := func(tokens int, took time.Duration, ids ...string) {
		t.Helper()
		if err := db.Checkpoints.MarkUsed(t.Context(),
			Restoration{IDs: ids, Tokens: tokens, Took: took}); err != nil {
			t.Fatal(err)
		}
	}
	use(150, 150*time.Millisecond, "a", "b") // 60 tokens of a and 90 of b, each restored in 1 ms
	saved(map[string]float64{"a": 540, "b": 810})
	use(40, 800*time.Millisecond, "a") // the restore is slower than evaluation
	saved(map[string]float64{"a": 140, "b": 810})
	use(100, time.Second, "x")
	saved(map[string]float64{"x": 0})
	// A file that is written again keeps its saved time.
	if err := db.Checkpoints.Add(t.Context(), Checkpoint{ID: "b", Model: "m", FromToken: 60,
		ToToken: 160}); err != nil {
		t.Fatal(err)
	}
	saved(map[string]float64{"b": 810})
}
