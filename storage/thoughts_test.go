package storage

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/engine/enginetest"
)

// mustThink stores a thought with a run of its own, and returns the run.
func mustThink(t *testing.T, db *DB, client string, x Thought) Run {
	t.Helper()
	r, err := db.Runs.Begin(t.Context(), Run{Model: x.Model, Client: client})
	if err != nil {
		t.Fatal(err)
	}
	if x.Run = r.ID; x.Sealed == nil {
		x.Sealed = []byte{1}
	}
	if err := db.Responses.AddThought(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	return r
}

// thoughts returns the histories that have a thought, sorted.
func thoughts(t *testing.T, db *DB, owner int64, model string, histories ...string) string {
	t.Helper()
	list, err := db.Responses.Thoughts(t.Context(), owner, model, histories)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, x := range list {
		found = append(found, x.History)
	}
	slices.Sort(found)
	return fmt.Sprint(found)
}

// TestThoughtIsFoundByOwnerModelAndHistory expects that a thought is found by its owner, model and
// history alone, and that a later one of them takes its place.
func TestThoughtIsFoundByOwnerModelAndHistory(t *testing.T) {
	db, ctx := mustOpen(t, ""), t.Context()
	k, err := db.AddKey(ctx, "zed", "aa")
	if err != nil {
		t.Fatal(err)
	}
	mustThink(t, db, "zed", Thought{Owner: k.ID, Model: "m", History: "a", Tokens: 3})
	mustThink(t, db, "zed", Thought{Owner: k.ID, Model: "m", History: "b", Tokens: 4})
	mustThink(t, db, "", Thought{Model: "m", History: "c"})
	for _, c := range []struct {
		owner int64
		model string
		want  string
	}{{k.ID, "m", "[a b]"}, {k.ID, "n", "[]"}, {0, "m", "[c]"}, {k.ID + 1, "m", "[]"}} {
		if got := thoughts(t, db, c.owner, c.model, "a", "b", "c", "d"); got != c.want {
			t.Errorf("owner %d has %s of model %s, want %s", c.owner, got, c.model, c.want)
		}
	}
	r := mustThink(t, db, "zed",
		Thought{Owner: k.ID, Model: "m", History: "a", Tokens: 5, Sealed: []byte{2, 3}})
	list, err := db.Responses.Thoughts(ctx, k.ID, "m", []string{"a"})
	want := Thought{Owner: k.ID, Model: "m", History: "a", Run: r.ID, Tokens: 5, Sealed: []byte{2, 3}}
	if err != nil || len(list) != 1 || fmt.Sprint(list[0]) != fmt.Sprint(want) {
		t.Errorf("%v, %v, want %v", list, err, want)
	}

	if err := db.Responses.DropThoughtsOf(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if err := db.DeleteKey(ctx, k.ID); err != nil {
		t.Fatal(err)
	}
	for _, owner := range []int64{0, k.ID} {
		if got := thoughts(t, db, owner, "m", "a", "b", "c"); got != "[]" {
			t.Errorf("after their deletion owner %d has %s", owner, got)
		}
	}
	wantCode(t, db.Responses.AddThought(ctx, Thought{Owner: k.ID, Run: r.ID, Sealed: []byte{1}}), NotFound)
}

// TestForgottenThoughtIsGone expects that a thought goes with its run and with its chat, and that a
// run that was forgotten in flight stores none.
func TestForgottenThoughtIsGone(t *testing.T) {
	db, ctx := mustOpen(t, ""), t.Context()
	ended := mustThink(t, db, "zed", Thought{Model: "m", History: "ended"})
	if err := db.Runs.Finish(ctx, ended); err != nil {
		t.Fatal(err)
	}
	flying := mustThink(t, db, "zed", Thought{Model: "m", History: "flying"})
	mustThink(t, db, "phone", Thought{Model: "m", History: "other"})
	all := []string{"ended", "flying", "other", "said"}
	if _, err := db.Forget(ctx, Scope{Client: "zed"}, func([]string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if got := thoughts(t, db, 0, "m", all...); got != "[other]" {
		t.Errorf("%s are left", got)
	}
	wantCode(t, db.Responses.AddThought(ctx, Thought{Run: flying.ID, Sealed: []byte{1}}), NotFound)

	said := mustThink(t, db, "Tandem", Thought{Model: "m", History: "said"})
	chat := mustChat(t, db, Chat{})
	mustSay(t, db, Message{Chat: chat.ID, Role: "assistant", Run: said.ID})
	if _, err := db.Chats.Delete(ctx, chat.ID, 0, keepRuns); err != nil {
		t.Fatal(err)
	}
	if got := thoughts(t, db, 0, "m", all...); got != "[other]" {
		t.Errorf("after its chat was deleted %s are left", got)
	}
	if err := db.Responses.DropThoughts(ctx); err != nil {
		t.Fatal(err)
	}
	if got := thoughts(t, db, 0, "m", all...); got != "[]" {
		t.Errorf("after all were deleted %s are left", got)
	}
}

// awaitUse waits until the use of a thought at a time is noted.
func awaitUse(t *testing.T, db *DB, history string, at time.Time) {
	t.Helper()
	enginetest.Await(t, fmt.Sprintf("the use of %s at %s is noted", history, at), func() bool {
		var used time.Time
		if err := db.r.QueryRowContext(t.Context(), "SELECT used_at FROM thoughts WHERE history = ?",
			history).Scan((*stamp)(&used)); err != nil {
			t.Fatal(err)
		}
		return used.Equal(at)
	})
}

// TestThoughtsAreFoundInAHeldDatabase expects that thoughts are read at once while another process
// holds the file, and that the log says what is missed then.
func TestThoughtsAreFoundInAHeldDatabase(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	lines := make(lineWriter, 9)
	db, err := Open(filepath.Join(t.TempDir(), "tandem.db"), Options{
		Now: func() time.Time { return now }, Logger: slog.New(slog.NewTextHandler(lines, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	mustThink(t, db, "", Thought{Model: "m", History: "a"})
	now = now.Add(thoughtUsedEvery)
	db.writer.held.Store(&heldError{"another program has it"})
	defer db.writer.held.Store(nil)
	if got := thoughts(t, db, 0, "m", "a"); got != "[a]" {
		t.Errorf("there are %s", got)
	}
	for line := range lines { // the first one is of the new database
		if strings.Contains(line, "the use of thoughts is not noted") &&
			strings.Contains(line, "another program has it") {
			return
		}
		if strings.Contains(line, "WARN") {
			t.Fatalf("the log has %q", line)
		}
	}
}

// A lineWriter sends what is written.
type lineWriter chan string

func (w lineWriter) Write(b []byte) (int, error) {
	w <- string(b)
	return len(b), nil
}

// TestUnusedThoughtsAreDeleted expects that thoughts go after their time, or for their size, those
// unused for longest first. A thought that is put back counts as used.
func TestUnusedThoughtsAreDeleted(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	db, err := Open("", Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	mustThink(t, db, "", Thought{Model: "m", History: "old"})
	mustThink(t, db, "", Thought{Model: "m", History: "used"})
	now = now.Add(ThoughtsKept - time.Hour)
	if got := thoughts(t, db, 0, "m", "used"); got != "[used]" {
		t.Fatalf("there are %s", got)
	}
	awaitUse(t, db, "used", now)
	now = now.Add(2 * time.Hour)
	if got := thoughts(t, db, 0, "m", "old"); got != "[]" {
		t.Errorf("%s are found after their time", got)
	}
	if n, err := db.Responses.SweepThoughts(t.Context()); err != nil || n != 1 {
		t.Errorf("%d swept, %v; want 1", n, err)
	}

	big := bytes.Repeat([]byte{1}, MaxThought)
	var names []string
	for i := range MaxThoughts / MaxThought { // with the used one they are too many
		now = now.Add(time.Second)
		names = append(names, fmt.Sprintf("%03d", i))
		mustThink(t, db, "", Thought{Model: "m", History: names[i], Sealed: big})
	}
	want := names[len(names)-trimmedThoughts/MaxThought:]
	if got := thoughts(t, db, 0, "m", append(names, "used")...); got != fmt.Sprint(want) {
		t.Errorf("there are %s, want %v", got, want)
	}
	r, err := db.Runs.Begin(t.Context(), Run{})
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, db.Responses.AddThought(t.Context(), Thought{Run: r.ID, Sealed: append(big, 1)}), Invalid)
}
