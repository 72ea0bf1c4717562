package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// mustRespond stores a response with a run of its own that has ended.
func mustRespond(t *testing.T, db *DB, id, previous, owner string) Run {
	t.Helper()
	r, err := db.Runs.Begin(t.Context(), Run{Model: "m", Client: owner})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Responses.Add(t.Context(), Response{ID: id, Owner: owner, Run: r.ID, Previous: previous,
		Input: json.RawMessage(`["` + id + `"]`), Output: json.RawMessage(`["o"]`),
		Response: json.RawMessage(`{"a":1}`)})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Runs.Finish(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return r
}

// ids returns the ids of a chain, or the text of its error.
func ids(list []Response, err error) string {
	if err != nil {
		return strings.ReplaceAll(err.Error(), "\n", " ")
	}
	var s []string
	for _, r := range list {
		s = append(s, r.ID)
	}
	return strings.Join(s, " ")
}

// TestResponseIsFoundByItsOwner expects that its owner finds a response, with all that it
// continues, for a day after its last use.
func TestResponseIsFoundByItsOwner(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	db, err := Open("", Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx := t.Context()
	k, err := db.AddKey(ctx, "zed", "aa")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.AddKey(ctx, "phone", "bb"); err != nil {
		t.Fatal(err)
	}
	r := mustRespond(t, db, "a", "", "zed")
	want := Response{ID: "a", Owner: "zed", Run: r.ID, Input: json.RawMessage(`["a"]`),
		Output: json.RawMessage(`["o"]`), Response: json.RawMessage(`{"a":1}`), CreatedAt: now,
		UsedAt: now}
	if got, err := db.Responses.Get(ctx, "zed", "a"); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v %v, want %v", got, err, want)
	}
	for _, owner := range []string{"", "phone"} {
		_, err := db.Responses.Get(ctx, owner, "a")
		wantCode(t, err, NotFound)
		_, err = db.Responses.Chain(ctx, owner, "a")
		wantCode(t, err, NotFound)
		wantCode(t, db.Responses.Delete(ctx, owner, "a"), NotFound)
	}
	now = now.Add(20 * time.Hour)
	mustRespond(t, db, "b", "a", "zed")
	mustRespond(t, db, "c", "b", "zed")
	mustRespond(t, db, "other", "", "zed")
	mustRespond(t, db, "strange", "c", "phone")
	if got := ids(db.Responses.Chain(ctx, "zed", "c")); got != "a b c" {
		t.Errorf("the chain is %s, want a b c", got)
	}
	if _, err := db.Responses.Chain(ctx, "phone", "strange"); err == nil {
		t.Error("a chain goes back to a response of another owner")
	}

	// A response that is continued stays for a day from then on.
	now = now.Add(23 * time.Hour)
	if n, err := db.Responses.Sweep(ctx); err != nil || n != 0 {
		t.Errorf("%d swept, %v; want none", n, err)
	}
	if got := ids(db.Responses.Chain(ctx, "zed", "c")); got != "a b c" {
		t.Errorf("the chain is %s, want a b c", got)
	}
	mustRespond(t, db, "d", "b", "zed")
	now = now.Add(2 * time.Hour)
	for _, id := range []string{"c", "other"} {
		_, err := db.Responses.Get(ctx, "zed", id)
		wantCode(t, err, NotFound)
		wantCode(t, db.Responses.Delete(ctx, "zed", id), NotFound)
	}
	if got := ids(db.Responses.Chain(ctx, "zed", "d")); got != "a b d" {
		t.Errorf("the chain is %s, want a b d", got)
	}
	if n, err := db.Responses.Sweep(ctx); err != nil || n != 3 {
		t.Errorf("%d swept, %v; want 3", n, err)
	}

	if err := db.Responses.Delete(ctx, "zed", "a"); err != nil {
		t.Error(err)
	}
	if _, err := db.Responses.Chain(ctx, "zed", "d"); err == nil {
		t.Error("a chain without its beginning is returned")
	}
	if got, err := db.Responses.Get(ctx, "zed", "d"); err != nil || got.Previous != "b" {
		t.Errorf("response %v, %v; want one that continues b", got, err)
	}

	// A later key of the same name does not find them either.
	mustRespond(t, db, "mine", "", "")
	if err := db.DeleteKey(ctx, k.ID); err != nil {
		t.Fatal(err)
	}
	_, err = db.Responses.Get(ctx, "zed", "d")
	wantCode(t, err, NotFound)
	wantCode(t, db.Responses.Add(ctx, Response{ID: "late", Owner: "zed", Run: r.ID,
		Input: json.RawMessage("[]"), Response: json.RawMessage("{}")}), NotFound)
	if _, err := db.Responses.Get(ctx, "", "mine"); err != nil {
		t.Error(err)
	}
}

// TestOldestResponsesAreDeleted expects that the oldest responses beyond the limits are deleted,
// and that a longer chain is refused.
func TestOldestResponsesAreDeleted(t *testing.T) {
	db, ctx := mustOpen(t, ""), t.Context()
	r, err := db.Runs.Begin(ctx, Run{})
	if err != nil {
		t.Fatal(err)
	}
	const size, most = MaxChainBytes / 2, MaxResponses / (MaxChainBytes / 2)
	add := func(i int) {
		t.Helper()
		x := Response{ID: fmt.Sprint(i), Run: r.ID, Input: json.RawMessage("[]"),
			Output: json.RawMessage(strings.Repeat("x", size-2))}
		if i%2 == 1 {
			x.Previous = fmt.Sprint(i - 1)
		}
		if err := db.Responses.Add(ctx, x); err != nil {
			t.Fatal(err)
		}
	}
	for i := range most + 1 {
		add(i)
	}
	var there []string
	for i := range most + 1 {
		if _, err := db.Responses.Get(ctx, "", fmt.Sprint(i)); err == nil {
			there = append(there, fmt.Sprint(i))
		}
	}
	if len(there) != most || slices.Contains(there, "0") {
		t.Errorf("there are %v, want %d without 0", there, most)
	}
	if _, err := db.Responses.Chain(ctx, "", "3"); err != nil {
		t.Errorf("a chain of the largest size is refused: %v", err)
	}
	if err := db.Responses.Add(ctx, Response{ID: "more", Run: r.ID, Previous: "3",
		Input: json.RawMessage("[]")}); err != nil {
		t.Fatal(err)
	}
	_, err = db.Responses.Chain(ctx, "", "more")
	wantCode(t, err, Invalid)

	previous := ""
	for i := range MaxChain + 1 {
		id := fmt.Sprint("link", i)
		if err := db.Responses.Add(ctx, Response{ID: id, Run: r.ID, Previous: previous,
			Input: json.RawMessage("[]")}); err != nil {
			t.Fatal(err)
		}
		previous = id
	}
	if list, err := db.Responses.Chain(ctx, "", fmt.Sprint("link", MaxChain-1)); err != nil ||
		len(list) != MaxChain {
		t.Errorf("%d responses, %v; want %d", len(list), err, MaxChain)
	}
	_, err = db.Responses.Chain(ctx, "", previous)
	wantCode(t, err, Invalid)
}

// TestForgottenResponsesLeaveNoText expects that responses are forgotten with their runs. The files
// have no text of a forgotten or a deleted response.
func TestForgottenResponsesLeaveNoText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tandem.db")
	db, ctx := mustOpen(t, path), t.Context()
	secret := func(word string) json.RawMessage {
		return json.RawMessage(`["` + strings.Repeat(word+" ", 2000) + `"]`)
	}
	for i, word := range []string{"forgotten", "deleted", "staying"} {
		r, err := db.Runs.Begin(ctx, Run{Client: word})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Responses.Add(ctx, Response{ID: fmt.Sprint(i), Run: r.ID, Input: secret(word),
			Output: secret(word), Response: secret(word)}); err != nil {
			t.Fatal(err)
		}
		if err := db.Runs.Finish(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := db.Forget(ctx, Scope{Client: "forgotten"},
		func([]string) error { return nil }); err != nil || out.Runs != 1 {
		t.Fatalf("forgot %+v, %v; want 1 run", out, err)
	}
	if err := db.Responses.Delete(ctx, "", "1"); err != nil {
		t.Fatal(err)
	}
	for i, there := range []bool{false, false, true} {
		if _, err := db.Responses.Get(ctx, "", fmt.Sprint(i)); (err == nil) != there {
			t.Errorf("response %d: %v; want it there: %t", i, err, there)
		}
	}
	for _, name := range []string{path, path + "-wal"} {
		b, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, word := range []string{"forgotten ", "deleted "} {
			if strings.Contains(string(b), strings.Repeat(word, 10)) {
				t.Errorf("%s still has the text that was %s", name, word)
			}
		}
	}
}

// TestChainLeavesOutRepeatedTexts expects that a chain counts and returns inputs and outputs, but
// not the tools and instructions that each response repeats. Storing a response reads no text.
func TestChainLeavesOutRepeatedTexts(t *testing.T) {
	db, ctx := mustOpen(t, ""), t.Context()
	r, err := db.Runs.Begin(ctx, Run{})
	if err != nil {
		t.Fatal(err)
	}
	tools, previous := json.RawMessage(strings.Repeat("t", MaxChainBytes/8)), ""
	for i := range 12 {
		x := Response{ID: fmt.Sprint(i), Run: r.ID, Previous: previous,
			Input: json.RawMessage("in"), Output: json.RawMessage("out"), Response: tools}
		if err := db.Responses.Add(ctx, x); err != nil {
			t.Fatal(err)
		}
		previous = x.ID
	}
	list, err := db.Responses.Chain(ctx, "", previous)
	if err != nil || len(list) != 12 {
		t.Fatalf("%d responses, %v", len(list), err)
	}
	for _, x := range list {
		if string(x.Input) != "in" || string(x.Output) != "out" || x.Response != nil {
			t.Errorf("%s has %d, %d and %d bytes",
				x.ID, len(x.Input), len(x.Output), len(x.Response))
		}
	}
	for statement, args := range map[string][]any{
		useChain:      {previous, "", db.Responses.unusedSince(), stamp(db.clock()), ""},
		trimResponses: {MaxResponses},
	} {
		rows, err := db.w.QueryContext(ctx, "EXPLAIN QUERY PLAN "+statement, args...)
		if err != nil {
			t.Fatal(err)
		}
		plan := ""
		for rows.Next() {
			var id, parent, unused int
			var step string
			if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
				t.Fatal(err)
			}
			plan += step + "\n"
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(plan, "SCAN responses\n") ||
			strings.Contains(plan, "SCAN response_texts") || statement == trimResponses &&
			!strings.Contains(plan, "SCAN responses USING COVERING INDEX responses_used") {
			t.Errorf("%s\nreads\n%s", statement, plan)
		}
	}
	rows, err := db.r.QueryContext(ctx,
		"SELECT name FROM pragma_table_info('responses') WHERE name IN ('input', 'output', 'response')")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if rows.Next() {
		t.Error("texts are columns of the table that lists read")
	}
}
