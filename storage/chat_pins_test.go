package storage

import (
	"fmt"
	"slices"
	"testing"
)

// TestPinnedChatsComeFirst expects all pinned chats before the first page, and on no other.
func TestPinnedChatsComeFirst(t *testing.T) {
	db, ctx := mustOpen(t, ""), t.Context()
	yes, no := true, false
	var ids []int64
	for range 5 {
		ids = append(ids, mustChat(t, db, Chat{Pinned: true}).ID) // a new chat has no pin
	}
	for _, id := range []int64{ids[0], ids[1], ids[2]} {
		if c, err := db.Chats.Update(ctx, id, ChatChange{Pinned: &yes}); err != nil || !c.Pinned {
			t.Fatalf("%+v, %v", c, err)
		}
	}
	if c, err := db.Chats.Update(ctx, ids[2], ChatChange{Pinned: &no}); err != nil || c.Pinned {
		t.Fatalf("%+v, %v", c, err)
	}
	var pages [][]int64
	before := int64(0)
	for {
		list, next, err := db.Chats.List(ctx, ChatQuery{Limit: 2, Before: before})
		if err != nil {
			t.Fatal(err)
		}
		var page []int64
		for _, c := range list {
			page = append(page, c.ID)
		}
		if pages = append(pages, page); next == 0 {
			break
		}
		before = next
	}
	want := [][]int64{{ids[1], ids[0], ids[4], ids[3]}, {ids[2]}}
	if !slices.EqualFunc(pages, want, slices.Equal) {
		t.Errorf("the pages are %v, want %v", pages, want)
	}
}

// TestDeletedMessageTakesWhatFollows deletes one of two answers, with a question after it.
func TestDeletedMessageTakesWhatFollows(t *testing.T) {
	db, ctx := mustOpen(t, ""), t.Context()
	c, other := mustChat(t, db, Chat{}), mustChat(t, db, Chat{})
	say := func(chat Chat, parent int64, role string, run int64) int64 {
		return mustSay(t, db, Message{Chat: chat.ID, Parent: parent, Role: role, Run: run,
			Content: fmt.Sprint(run)}).ID
	}
	q := say(c, 0, RoleUser, 0)
	first := say(c, q, RoleAssistant, 11)
	second := say(c, q, RoleAssistant, 12)
	more := say(c, second, RoleUser, 0)
	say(c, more, RoleAssistant, 13)
	say(other, say(other, 0, RoleUser, 0), RoleAssistant, 12) // a copy of an answer

	would, err := db.Chats.WouldDelete(ctx, c.ID, second)
	if err != nil || would.Chats != 0 || would.Runs != 1 {
		t.Errorf("would delete %+v, %v; want run 13 alone", would, err)
	}
	var runs []int64
	gone, err := db.Chats.Delete(ctx, c.ID, second, func(_ []string, of []int64) error {
		runs = of
		return nil
	})
	if err != nil || gone.Runs != 1 || !slices.Equal(runs, []int64{13}) {
		t.Errorf("deleted %+v of runs %v, %v; want run 13 alone", gone, runs, err)
	}
	list, err := db.Chats.Messages(ctx, c.ID)
	if err != nil || len(list) != 2 || list[0].ID != q || list[1].ID != first {
		t.Errorf("the chat has %+v, %v; want the question and its first answer", list, err)
	}
	if chat, err := db.Chats.Get(ctx, c.ID); err != nil || chat.Leaf != q {
		t.Errorf("%+v, %v; want it to end with the question", chat, err)
	}
	if list, err := db.Chats.Messages(ctx, other.ID); err != nil || len(list) != 2 {
		t.Errorf("the other chat has %d messages, %v; want 2", len(list), err)
	}
	for _, id := range []int64{second, list[0].ID + 100} {
		_, err := db.Chats.WouldDelete(ctx, c.ID, id)
		wantCode(t, err, NotFound)
		_, err = db.Chats.Delete(ctx, c.ID, id, keepRuns)
		wantCode(t, err, NotFound)
	}
	if _, err := db.Chats.Delete(ctx, other.ID, first, keepRuns); err == nil {
		t.Error("a message is deleted by the id of another chat")
	}
}
