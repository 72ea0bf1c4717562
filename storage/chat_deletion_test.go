package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// keepFiles deletes no file. Tests without files pass it to deletions.
func keepRuns([]string, []int64) error { return nil }

// TestDeletedChatTakesUnneededCheckpoints expects that a deleted chat takes each of its checkpoints
// that nothing else needs or continues.
func TestDeletedChatTakesUnneededCheckpoints(t *testing.T) {
	// Runs 1 and 2 answered in the chat, run 3 in another one, and run 6 in both. A program began
	// run 4. Run 5 completes what run 2 began.
	type file struct {
		id, parent string
		run        int64
		change     func(*Checkpoint)
	}
	named := func(c *Checkpoint) { c.Name = "a name" }
	pinned := func(c *Checkpoint) { c.Pinned = true }
	for _, c := range []struct {
		name  string
		files []file
		texts map[int64]string // run: the file that its text begins in
		gone  string
	}{
		{name: "its own", files: []file{{"a", "", 1, nil}, {"b", "a", 1, nil}, {"c", "b", 2, nil}}, gone: "a b c"},
		{name: "of a run that completes its own", files: []file{{"a", "", 2, nil}, {"b", "a", 5, nil}}, gone: "a b"},
		{name: "of others", files: []file{{"a", "", 3, nil}, {"b", "", 4, nil}, {"c", "", 0, nil}, {"d", "", 6, nil}}},
		{name: "that another goes on from", files: []file{{"a", "", 1, nil}, {"b", "a", 1, nil}, {"c", "b", 1, nil}, {"x", "b", 4, nil}}, gone: "c"},
		{name: "that it goes on from", files: []file{{"a", "", 4, nil}, {"b", "a", 1, nil}}, gone: "b"},
		{name: "with a name", files: []file{{"a", "", 1, nil}, {"b", "a", 1, named}, {"c", "b", 1, nil}, {"d", "a", 1, nil}}, gone: "c d"},
		{name: "with a pin", files: []file{{"a", "", 1, nil}, {"b", "a", 2, pinned}, {"c", "b", 2, nil}}, gone: "c"},
		{name: "in which another's text begins", files: []file{{"a", "", 1, nil}, {"b", "a", 1, nil}, {"c", "b", 1, nil}}, texts: map[int64]string{4: "b", 1: "c"}, gone: "c"},
	} {
		db, ctx := mustOpen(t, ""), t.Context()
		for i := range 6 {
			parted := json.RawMessage(`{}`)
			if i == 3 { // run 4 parted from a text of run 1
				parted = json.RawMessage(`{"run":1}`)
			}
			r, err := db.Runs.Begin(ctx, Run{Model: "m", Divergence: parted})
			if err == nil && r.ID == 5 {
				r.Resumes = 2
			}
			if err == nil {
				err = db.Runs.Finish(ctx, r)
			}
			if err == nil {
				err = db.Runs.SetText(ctx, RunText{Run: r.ID, File: c.texts[r.ID], Tail: []byte{1}})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		chat, other := mustChat(t, db, Chat{}), mustChat(t, db, Chat{})
		for id, runs := range map[int64][]int64{chat.ID: {0, 1, 2, 6}, other.ID: {3, 6}} {
			for _, run := range runs {
				mustSay(t, db, Message{Chat: id, Role: RoleAssistant, Run: run})
			}
		}
		var all []string
		sizes := map[string]int64{}
		for i, f := range c.files {
			x := Checkpoint{ID: f.id, Parent: f.parent, Model: "m", Run: f.run, FromToken: 10 * i,
				ToToken: 10*i + 10, Bytes: 1 << i}
			if f.change != nil {
				f.change(&x)
			}
			if err := db.Checkpoints.Add(ctx, x); err != nil {
				t.Fatal(err)
			}
			all, sizes[f.id] = append(all, f.id), x.Bytes
		}
		if err := db.Checkpoints.Add(ctx, Checkpoint{ID: "z", Model: "m", Run: 1,
			Digest: "of the text"}); err != nil {
			t.Fatal(err)
		}
		if err := db.Checkpoints.MarkGone(ctx, []string{"z"}, "was lost"); err != nil {
			t.Fatal(err)
		}
		want := DeletedChats{Chats: 1, Runs: 3}
		if c.gone != "" {
			want.Checkpoints = strings.Split(c.gone, " ")
		}
		for _, id := range want.Checkpoints {
			want.Bytes += sizes[id]
		}
		same := func(got DeletedChats) bool {
			return got.Chats == want.Chats && got.Runs == want.Runs &&
				slices.Equal(got.Checkpoints, want.Checkpoints) && got.Bytes == want.Bytes
		}
		if got, err := db.Chats.WouldDelete(ctx, chat.ID, 0); err != nil || !same(got) {
			t.Errorf("%s: would delete %+v, %v; want %+v", c.name, got, err, want)
		}
		// If the files cannot be deleted, nothing is.
		failing := errors.New("no")
		if len(want.Checkpoints) > 0 {
			if _, err := db.Chats.Delete(ctx, chat.ID, 0,
				func([]string, []int64) error { return failing }); !errors.Is(err, failing) {
				t.Errorf("%s: error %v, want that of the files", c.name, err)
			}
			if got, err := db.Chats.WouldDelete(ctx, chat.ID, 0); err != nil || !same(got) {
				t.Errorf("%s: after a failure would delete %+v, %v; want %+v",
					c.name, got, err, want)
			}
		}
		var removed []string
		got, err := db.Chats.Delete(ctx, chat.ID, 0,
			func(ids []string, _ []int64) error { removed = ids; return nil })
		if err != nil || !same(got) || !slices.Equal(removed, want.Checkpoints) {
			t.Errorf("%s: deleted %+v, the files %v, %v; want %+v",
				c.name, got, removed, err, want)
		}
		list, err := db.Checkpoints.All(ctx, "m")
		left := slices.DeleteFunc(all,
			func(id string) bool { return slices.Contains(want.Checkpoints, id) })
		if err != nil || checkpointIDs(list) != strings.Join(left, " ") {
			t.Errorf("%s: %s stay, %v; want %v", c.name, checkpointIDs(list), err, left)
		}
		// The texts of its runs are deleted too. Texts of other runs stay.
		for id := range int64(6) {
			_, err := db.Runs.Text(ctx, id+1)
			r, runErr := db.Runs.Get(ctx, id+1)
			if mine := slices.Contains([]int64{1, 2, 5}, id+1); runErr != nil ||
				(err == nil) == mine || (r.Divergence == nil) != (mine || id+1 == 4) {
				t.Errorf("%s: run %d: text %v, parting %s, %v; want them gone: %t",
					c.name, id+1, err, r.Divergence, runErr, mine)
			}
		}
		_, err = db.Chats.WouldDelete(ctx, chat.ID, 0)
		wantCode(t, err, NotFound)
		if n, _, err := db.Chats.Size(ctx); err != nil || n != 1 {
			t.Errorf("%s: %d chats are left, %v; want 1", c.name, n, err)
		}
	}
}

// TestDeleteAllTakesSharedCheckpoints expects that the deletion of all chats takes the checkpoints
// that only chats share.
func TestDeleteAllTakesSharedCheckpoints(t *testing.T) {
	db, ctx := mustOpen(t, ""), t.Context()
	if got, err := db.Chats.Delete(ctx, 0, 0, keepRuns); err != nil || got.Chats != 0 {
		t.Errorf("without chats deletes %+v, %v; want none", got, err)
	}
	for run, files := range [][]Checkpoint{{}, {{ID: "a"}, {ID: "b", Parent: "a"}},
		{{ID: "c", Parent: "a"}}, {{ID: "x"}}} {
		if run == 0 {
			continue
		}
		if _, err := db.Runs.Begin(ctx, Run{}); err != nil {
			t.Fatal(err)
		}
		if run < 3 {
			mustSay(t, db, Message{Chat: mustChat(t, db, Chat{}).ID, Role: RoleAssistant,
				Run: int64(run)})
		}
		for _, c := range files {
			c.Run, c.Bytes = int64(run), 10
			if err := db.Checkpoints.Add(ctx, c); err != nil {
				t.Fatal(err)
			}
		}
	}
	one, err := db.Chats.WouldDelete(ctx, 1, 0)
	if err != nil || strings.Join(one.Checkpoints, " ") != "b" {
		t.Errorf("one chat takes %+v, %v; want b", one, err)
	}
	all, err := db.Chats.Delete(ctx, 0, 0, keepRuns)
	if err != nil || all.Chats != 2 || strings.Join(all.Checkpoints, " ") != "a b c" ||
		all.Bytes != 30 {
		t.Errorf("all chats take %+v, %v; want a, b and c", all, err)
	}
	if list, err := db.Checkpoints.List(ctx, CheckpointQuery{}); err != nil ||
		checkpointIDs(list.Checkpoints) != "x" {
		t.Errorf("%s stay, %v; want x", checkpointIDs(list.Checkpoints), err)
	}
}

// TestRunOfDeletedChatStoresNoMore deletes a chat while runs answer in it. Such a run loses what it
// has stored and stores no more, even at its end. So does a run that completes such an answer. A
// run of another chat goes on storing.
func TestRunOfDeletedChatStoresNoMore(t *testing.T) {
	db, ctx := mustOpen(t, ""), t.Context()
	chat, other := mustChat(t, db, Chat{}), mustChat(t, db, Chat{})
	cut := finished(t, db, Run{FinishReason: FinishInterrupted})
	// first has no message: its message names the run that continued it.
	first := finished(t, db, Run{FinishReason: FinishInterrupted})
	if err := db.Runs.SetText(ctx, RunText{Run: first,
		Request: json.RawMessage(`{"a":1}`)}); err != nil {
		t.Fatal(err)
	}
	var runs []Run
	for _, r := range []Run{{Resumes: first}, {Resumes: cut}, {}} {
		r, err := db.Runs.Begin(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	mustSay(t, db, Message{Chat: chat.ID, Role: RoleAssistant, Run: runs[0].ID})
	mustSay(t, db, Message{Chat: chat.ID, Role: RoleAssistant, Run: cut})
	mustSay(t, db, Message{Chat: other.ID, Role: RoleAssistant, Run: runs[2].ID})
	// store does what a run does when it stores.
	store := func(r Run, when string) error {
		if err := db.Runs.SetText(ctx, RunText{Run: r.ID,
			Request: json.RawMessage(`{"a":1}`)}); err != nil {
			return err
		}
		return db.Checkpoints.Add(ctx, Checkpoint{ID: fmt.Sprint(when, r.ID), Model: "m", Run: r.ID,
			ToToken: 9})
	}
	for _, r := range runs {
		if err := store(r, "before"); err != nil {
			t.Fatal(err)
		}
	}
	if gone, err := db.Chats.Delete(ctx, chat.ID, 0, keepRuns); err != nil || gone.Runs != 4 ||
		len(gone.Checkpoints) != 2 {
		t.Fatalf("deleted %+v, %v; want 4 runs and 2 checkpoints", gone, err)
	}
	_, err := db.Runs.Text(ctx, first)
	wantCode(t, err, NotFound)
	for i, r := range runs {
		stays := i == 2
		if err := store(r, "after"); stays && err != nil {
			t.Error(err)
		} else if !stays {
			wantCode(t, err, NotFound)
		}
		r.Divergence = json.RawMessage(`{"at":3}`)
		if err := db.Runs.Finish(ctx, r); err != nil {
			t.Fatal(err)
		}
		if err := db.Runs.SetText(ctx, RunText{Run: r.ID, Tail: []byte{1, 0, 0, 0}}); err != nil {
			t.Error(err)
		}
		_, err := db.Runs.Text(ctx, r.ID)
		_, before := db.Checkpoints.Get(ctx, fmt.Sprint("before", r.ID))
		_, after := db.Checkpoints.Get(ctx, fmt.Sprint("after", r.ID))
		row, failed := db.Runs.Get(ctx, r.ID)
		if failed != nil {
			t.Errorf("run %d: failed = %v, want nil", r.ID, failed)
		}
		if (err == nil) != stays {
			t.Errorf("run %d: err == nil is %v, want %v", r.ID, err == nil, stays)
		}
		if (before == nil) != stays {
			t.Errorf("run %d: before == nil is %v, want %v", r.ID, before == nil, stays)
		}
		if (after == nil) != stays {
			t.Errorf("run %d: after == nil is %v, want %v", r.ID, after == nil, stays)
		}
		if (row.Divergence != nil) != stays {
			t.Errorf("run %d: row.Divergence != nil is %v, want %v", r.ID, row.Divergence != nil, stays)
		}
	}
}

// TestWhatFollowsAMessageIsFoundByAnIndex expects that a chain of messages takes no look at all
// messages for each of them, and that all of it goes.
func TestWhatFollowsAMessageIsFoundByAnIndex(t *testing.T) {
	db, ctx := mustOpen(t, ""), t.Context()
	chat := mustChat(t, db, Chat{})
	var first, parent int64
	for i := range 200 {
		m := mustSay(t, db, Message{Chat: chat.ID, Parent: parent, Role: RoleAssistant})
		if parent = m.ID; i == 0 {
			first = m.ID
		}
	}
	rows, err := db.r.QueryContext(ctx, "EXPLAIN QUERY PLAN "+goes+"SELECT id FROM goes", chat.ID,
		first)
	if err != nil {
		t.Fatal(err)
	}
	plan := ""
	for rows.Next() {
		var id, above, unused int
		var detail string
		if err := rows.Scan(&id, &above, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan += detail + "\n"
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil ||
		!strings.Contains(plan, "chat_messages_parent (chat=? AND parent=?)") {
		t.Errorf("%s%v", plan, err)
	}
	if _, err := db.Chats.Delete(ctx, chat.ID, first, keepRuns); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := db.r.QueryRowContext(ctx, "SELECT count(*) FROM chat_messages").Scan(&left); err != nil ||
		left != 0 {
		t.Errorf("%d messages are left, %v", left, err)
	}
}
