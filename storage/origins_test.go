package storage

import (
	"strings"
	"testing"
)

// TestOriginsNameChatAndClient expects for a checkpoint the client of its run and the title of the
// chat that the run answered in.
func TestOriginsNameChatAndClient(t *testing.T) {
	db, ctx := mustOpen(t, ""), t.Context()
	begin := func(client string) int64 {
		t.Helper()
		r, err := db.Runs.Begin(ctx, Run{Client: client})
		if err != nil {
			t.Fatal(err)
		}
		return r.ID
	}
	own, other, unsaid := begin("Tandem"), begin("zed"), begin("")
	for id, run := range map[string]int64{"own": own, "other": other, "unsaid": unsaid, "gone": 99,
		"unknown": 0} {
		if err := db.Checkpoints.Add(ctx, Checkpoint{ID: id, Model: "m", Key: "k", Kind: "prompt",
			ToToken: 1, Run: run}); err != nil {
			t.Fatal(err)
		}
	}
	c := mustChat(t, db, Chat{})
	q := mustSay(t, db, Message{Chat: c.ID, Role: RoleUser, Content: "Why is the sky blue?"})
	mustSay(t, db, Message{Chat: c.ID, Parent: q.ID, Role: RoleAssistant, Content: "It", Run: own})
	// A message that was not generated has run 0, as the checkpoint "unknown" has.
	mustSay(t, db, Message{Chat: c.ID, Parent: q.ID, Role: RoleAssistant, Content: "Rayleigh.",
		Finish: "edited"})

	got, err := db.Checkpoints.Origins(ctx, []string{"own", "other", "unsaid", "gone", "unknown", "nothing",
		`"`})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Origin{"own": {"Tandem", "Why is the sky blue?"}, "other": {Client: "zed"}}
	if len(got) != len(want) || got["own"] != want["own"] || got["other"] != want["other"] {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, err := db.Checkpoints.Origins(ctx, nil); err != nil || len(got) != 0 {
		t.Errorf("without ids there are origins %v, %v; want none", got, err)
	}
}

// TestOnlyCompletedRunsResume expects that a run completes another one only if it was not cut off
// itself.
func TestOnlyCompletedRunsResume(t *testing.T) {
	db, ctx := mustOpen(t, ""), t.Context()
	cut, err := db.Runs.Begin(ctx, Run{})
	if err != nil {
		t.Fatal(err)
	}
	for _, finish := range strings.Fields("cancel error interrupted") {
		finished(t, db, Run{Resumes: cut.ID, FinishReason: finish})
	}
	if _, err := db.Runs.Begin(ctx, Run{Resumes: cut.ID}); err != nil {
		t.Fatal(err)
	}
	if by, err := db.Runs.ResumedBy(ctx, cut.ID); err != nil || by != 0 {
		t.Errorf("completed by %d, %v; want none", by, err)
	}
	want := finished(t, db, Run{Resumes: cut.ID, FinishReason: "length"})
	finished(t, db, Run{FinishReason: "stop"})
	if by, err := db.Runs.ResumedBy(ctx, cut.ID); err != nil || by != want {
		t.Errorf("completed by %d, %v; want %d", by, err, want)
	}
	if by, err := db.Runs.ResumedBy(ctx, 0); err != nil || by != 0 {
		t.Errorf("run 0 is completed by %d, %v; want none", by, err)
	}
}

// finished stores a run that has ended, and returns its id.
func finished(t *testing.T, db *DB, r Run) int64 {
	t.Helper()
	begun, err := db.Runs.Begin(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	r.ID = begun.ID
	if err := db.Runs.Finish(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return r.ID
}
