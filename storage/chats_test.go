package storage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func mustChat(t *testing.T, db *DB, c Chat) Chat {
	t.Helper()
	if c.Kind == "" {
		c.Kind = ChatTalk
	}
	c, err := db.Chats.Add(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustSay(t *testing.T, db *DB, m Message) Message {
	t.Helper()
	m, err := db.Chats.AddMessage(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestChatKeepsEveryBranch stores a question, its growing answer, a second answer and an edited
// question.
func TestChatKeepsEveryBranch(t *testing.T) {
	db, ctx := mustOpen(t, ""), t.Context()
	c := mustChat(t, db, Chat{System: "Be brief.", Options: json.RawMessage(`{"temperature":0}`)})
	q := mustSay(t, db, Message{Chat: c.ID, Role: RoleUser,
		Content: "\n  Why is\tthe sky blue?\nTell me."})
	a := mustSay(t, db, Message{Chat: c.ID, Parent: q.ID, Role: RoleAssistant, Content: "Be"})
	if q.Finish != FinishSaid || a.Finish != "" {
		t.Errorf("finish %q and %q, want %q and none", q.Finish, a.Finish, FinishSaid)
	}
	content, model, run := "Because", "m", int64(7)
	grown := MessageChange{Content: &content, Model: &model, Run: &run,
		Facts: json.RawMessage(`{"n":1}`)}
	if got, err := db.Chats.UpdateMessage(ctx, c.ID, a.ID, grown); err != nil ||
		got.Content != "Because" || got.Role != RoleAssistant || got.Parent != q.ID {
		t.Fatalf("changed to %+v, %v; want Because", got, err)
	}
	// A change that would lose generated text is refused.
	for _, lost := range []string{"", "Beca", "because", "So it is"} {
		_, err := db.Chats.UpdateMessage(ctx, c.ID, a.ID, MessageChange{Content: &lost})
		wantCode(t, err, Conflict)
	}
	// Fields that a change does not name stay.
	words, end := "Because of Rayleigh.", "stop"
	for _, change := range []MessageChange{{Content: &words}, {}, {Finish: &end}} {
		if _, err := db.Chats.UpdateMessage(ctx, c.ID, a.ID, change); err != nil {
			t.Fatal(err)
		}
	}
	more, asked, yes := words+" And", q.Content+"!", "Air. Yes"
	_, err := db.Chats.UpdateMessage(ctx, c.ID, a.ID, MessageChange{Content: &more})
	wantCode(t, err, Conflict)
	_, err = db.Chats.UpdateMessage(ctx, c.ID, q.ID, MessageChange{Content: &asked})
	wantCode(t, err, Conflict)

	b := mustSay(t, db, Message{Chat: c.ID, Parent: q.ID, Role: RoleAssistant, Content: "Air."})
	e := mustSay(t, db, Message{Chat: c.ID, Role: RoleUser, Content: "Why is grass green?"})
	list, err := db.Chats.Messages(ctx, c.ID)
	if err != nil || len(list) != 4 {
		t.Fatalf("messages %+v, %v; want 4", list, err)
	}
	var parents []int64
	for _, m := range list {
		parents = append(parents, m.Parent)
	}
	if want := []int64{0, q.ID, q.ID, 0}; !slices.Equal(parents, want) {
		t.Errorf("parents %v, want %v", parents, want)
	}
	want := Message{ID: a.ID, Chat: c.ID, Parent: q.ID, Role: RoleAssistant,
		Content: "Because of Rayleigh.", Model: "m", Finish: "stop", Run: 7,
		Facts: json.RawMessage(`{"n":1}`), CreatedAt: a.CreatedAt}
	if !reflect.DeepEqual(list[1], want) {
		t.Errorf("the answer is %+v, want %+v", list[1], want)
	}
	got, err := db.Chats.Get(ctx, c.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.Title != "Why is the sky blue?" {
		t.Errorf(`got.Title = %q, want "Why is the sky blue?"`, got.Title)
	}
	if got.Leaf != e.ID {
		t.Errorf("got.Leaf = %v, want %v", got.Leaf, e.ID)
	}
	if got.System != "Be brief." {
		t.Errorf(`got.System = %q, want "Be brief."`, got.System)
	}
	if string(got.Options) != `{"temperature":0}` {
		t.Errorf("string(got.Options) = %q, want %q",
			string(got.Options), `{"temperature":0}`)
	}
	if !got.UpdatedAt.After(got.CreatedAt) {
		t.Errorf("got.UpdatedAt = %v, want it after %v", got.UpdatedAt, got.CreatedAt)
	}
	// The other branch is shown again.
	if got, err = db.Chats.Update(ctx, c.ID, ChatChange{Leaf: &b.ID}); err != nil ||
		got.Leaf != b.ID {
		t.Errorf("the chat is %+v, %v; want leaf %d", got, err, b.ID)
	}

	// Text is kept to the byte.
	odd := "a\x00b\r\n\u2028\U0001F600\ufffd"
	odder := odd + "\x00"
	if m := mustSay(t, db, Message{Chat: c.ID, Parent: e.ID, Role: RoleAssistant,
		Content: odd}); m.Content != odd {
		t.Errorf("text %q, want %q", m.Content, odd)
	} else if m, err = db.Chats.UpdateMessage(ctx, c.ID, m.ID,
		MessageChange{Content: &odder}); err != nil {
		t.Error(err)
	} else if list, err := db.Chats.Messages(ctx, c.ID); err != nil ||
		list[len(list)-1].Content != odder {
		t.Errorf("text %q, %v; want %q", list[len(list)-1].Content, err, odder)
	}

	// A message of one chat is refused in another one.
	other := mustChat(t, db, Chat{})
	_, err = db.Chats.AddMessage(ctx, Message{Chat: other.ID, Parent: q.ID, Role: RoleUser})
	wantCode(t, err, Invalid)
	_, err = db.Chats.Update(ctx, other.ID, ChatChange{Leaf: &b.ID})
	wantCode(t, err, Invalid)
	_, err = db.Chats.UpdateMessage(ctx, other.ID, b.ID, MessageChange{Content: &yes})
	wantCode(t, err, NotFound)
	_, err = db.Chats.AddMessage(ctx, Message{Chat: 999, Role: RoleUser})
	wantCode(t, err, NotFound)
	_, err = db.Chats.AddMessage(ctx, Message{Chat: c.ID, Role: "system"})
	wantCode(t, err, Invalid)
	_, err = db.Chats.Add(ctx, Chat{Kind: "poem"})
	wantCode(t, err, Invalid)
	_, err = db.Chats.Update(ctx, 999, ChatChange{})
	wantCode(t, err, NotFound)
	_, err = db.Chats.Get(ctx, 999)
	wantCode(t, err, NotFound)
}

func TestChatTakesTitleFromItsText(t *testing.T) {
	db, ctx := mustOpen(t, ""), t.Context()
	c := mustChat(t, db, Chat{})
	mustSay(t, db, Message{Chat: c.ID, Role: RoleUser, Content: "first"})
	mine, none := "  my\x00 own\x1b title ", ""
	if got, err := db.Chats.Update(ctx, c.ID, ChatChange{Title: &mine}); err != nil ||
		got.Title != "my own title" {
		t.Errorf("title %q, %v; want my own title", got.Title, err)
	}
	mustSay(t, db, Message{Chat: c.ID, Role: RoleUser, Content: "second"})
	if got, err := db.Chats.Get(ctx, c.ID); err != nil || got.Title != "my own title" {
		t.Errorf("title %q, %v; want my own title", got.Title, err)
	}
	if got, err := db.Chats.Update(ctx, c.ID, ChatChange{Title: &none}); err != nil ||
		got.Title != "first" {
		t.Errorf("title %q, %v; want first", got.Title, err)
	}
	code := mustChat(t, db, Chat{Kind: ChatCode})
	mustSay(t, db, Message{Chat: code.ID, Role: RoleUser,
		Content: "package main\n\nfunc Len(s string) int {\n\t\n"})
	if got, err := db.Chats.Get(ctx, code.ID); err != nil || got.Title != "func Len(s string) int {" {
		t.Errorf("title %q, %v; want the first line of code with words", got.Title, err)
	}
	if got, err := db.Chats.Update(ctx, code.ID, ChatChange{Title: &none}); err != nil ||
		got.Title != "func Len(s string) int {" {
		t.Errorf("title %q, %v; want the first line of code with words", got.Title, err)
	}
	long := titleOf(strings.Repeat("ä", MaxTitleRunes+1))
	if utf8.RuneCountInString(long) != MaxTitleRunes || !strings.HasSuffix(long, "ä…") {
		t.Errorf("title %q, want %d runes that end in …", long, MaxTitleRunes)
	}
	if got := titleOf(" \n\t\n\x07\n"); got != "" {
		t.Errorf("a text without words gives title %q, want none", got)
	}
}

// TestChatsAreListedBySearchAndPage expects pages that begin with the chat written last, and a
// search that takes its text literally.
func TestChatsAreListedBySearchAndPage(t *testing.T) {
	db, ctx := mustOpen(t, ""), t.Context()
	var ids []int64
	for i, said := range []string{"Hello World", "100% sure", `a_b\c`, "hello again"} {
		c := mustChat(t, db, Chat{System: fmt.Sprint("system ", i)})
		mustSay(t, db, Message{Chat: c.ID, Role: RoleUser, Content: "title"})
		mustSay(t, db, Message{Chat: c.ID, Role: RoleUser, Content: said})
		ids = append(ids, c.ID)
	}
	mustSay(t, db, Message{Chat: ids[1], Role: RoleAssistant, Content: "answer"})
	var got []int64
	f := ChatQuery{Limit: 3}
	for page := 0; ; page++ {
		list, next, err := db.Chats.List(ctx, f)
		if err != nil || page > 1 {
			t.Fatal(err, page)
		}
		for _, c := range list {
			got = append(got, c.ID)
		}
		if f.Before = next; next == 0 {
			break
		}
	}
	if want := []int64{ids[1], ids[3], ids[2], ids[0]}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for search, want := range map[string][]int64{
		"HELLO": {ids[3], ids[0]}, "%": {ids[1]}, "0% s": {ids[1]}, "_": {ids[2]}, `\`: {ids[2]},
		"system 3": {ids[3]}, "itle": {ids[1], ids[3], ids[2], ids[0]}, "nowhere": nil,
	} {
		list, _, err := db.Chats.List(ctx, ChatQuery{Search: search})
		var found []int64
		for _, c := range list {
			found = append(found, c.ID)
		}
		if err != nil || !slices.Equal(found, want) {
			t.Errorf("%q finds %v, %v, want %v", search, found, err, want)
		}
	}
	for search, want := range map[string]string{"WORLD": "Hello World", "itle": "title", "system 0": "", "% sure": ""} {
		if words, err := db.Chats.Words(ctx, ids[0], search); err != nil || words != want {
			t.Errorf("the words around %q are %q, %v, want %q", search, words, err, want)
		}
	}
	other := mustOpen(t, "")
	long := mustChat(t, other, Chat{})
	mustSay(t, other, Message{Chat: long.ID, Role: RoleUser, Content: strings.Repeat("ä", 300) + "needle" + strings.Repeat("ö", 300)})
	if words, err := other.Chats.Words(ctx, long.ID, "needle"); err != nil ||
		words != strings.Repeat("ä", 40)+"needle"+strings.Repeat("ö", 114) {
		t.Errorf("of a long message the words are %q, %v", words, err)
	}
	if n, bytes, err := db.Chats.Size(ctx); err != nil || n != 4 ||
		bytes != int64(4*len("title")+len("Hello World100% sure")+len(`a_b\chello again`)+len("answer")) {
		t.Errorf("%d chats, %d bytes, %v; want 4 and the bytes of their texts", n, bytes, err)
	}
	_, _, err := db.Chats.List(ctx, ChatQuery{Limit: -1})
	wantCode(t, err, Invalid)
	_, _, err = db.Chats.List(ctx, ChatQuery{Search: strings.Repeat("%", MaxSearchBytes)})
	if err != nil {
		t.Error(err)
	}
	_, _, err = db.Chats.List(ctx, ChatQuery{Search: strings.Repeat("%", MaxSearchBytes+1)})
	wantCode(t, err, Invalid)
}

func TestChatBeyondItsLimitsIsRefused(t *testing.T) {
	db, ctx := mustOpen(t, ""), t.Context()
	c := mustChat(t, db, Chat{})
	big := strings.Repeat("x", MaxMessageBytes)
	for range MaxChatBytes / MaxMessageBytes {
		mustSay(t, db, Message{Chat: c.ID, Role: RoleUser, Content: big})
	}
	_, err := db.Chats.AddMessage(ctx, Message{Chat: c.ID, Role: RoleUser, Content: "x"})
	wantCode(t, err, Invalid)
	small := mustChat(t, db, Chat{})
	_, err = db.Chats.AddMessage(ctx, Message{Chat: small.ID, Role: RoleUser, Content: big + "x"})
	wantCode(t, err, Invalid)
	short, tooLong := mustSay(t, db, Message{Chat: mustChat(t, db, Chat{}).ID,
		Role: RoleAssistant}), big+"x"
	_, err = db.Chats.UpdateMessage(ctx, short.Chat, short.ID, MessageChange{Content: &tooLong})
	wantCode(t, err, Invalid)
	_, err = db.Chats.AddMessage(ctx, Message{Chat: small.ID, Role: RoleUser,
		Facts: make([]byte, MaxFactsBytes+1)})
	wantCode(t, err, Invalid)
	_, err = db.Chats.Add(ctx, Chat{Kind: ChatTalk, System: strings.Repeat("x", MaxSystemBytes+1)})
	wantCode(t, err, Invalid)
	for range MaxChatMessages {
		mustSay(t, db, Message{Chat: small.ID, Role: RoleUser})
	}
	_, err = db.Chats.AddMessage(ctx, Message{Chat: small.ID, Role: RoleUser})
	wantCode(t, err, Invalid)
}

// TestDeletedChatLeavesNoText expects that the file, its log and its copies no longer have the
// messages.
func TestDeletedChatLeavesNoText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db, ctx := mustOpen(t, path), t.Context()
	secret := "the-secret-of-" + strings.Repeat("long", 3000)
	c, other := mustChat(t, db, Chat{}), mustChat(t, db, Chat{})
	for _, id := range []int64{c.ID, other.ID} {
		mustSay(t, db, Message{Chat: id, Role: RoleUser, Content: secret})
	}
	if _, err := db.w.Exec("VACUUM INTO ?", path+".v12-20261121T120000Z.backup"); err != nil {
		t.Fatal(err)
	}
	found := func() (where []string) {
		names, err := filepath.Glob(path + "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if text, err := os.ReadFile(name); err != nil ||
				bytes.Contains(text, []byte("secret")) {
				where = append(where, name)
			}
		}
		return where
	}
	if len(found()) == 0 {
		t.Fatal("no file has the text before its deletion")
	}
	if _, err := db.Chats.Delete(ctx, c.ID, 0, keepRuns); err != nil {
		t.Fatal(err)
	}
	if list, err := db.Chats.Messages(ctx, c.ID); err != nil || len(list) != 0 {
		t.Errorf("its messages stay: %v, %v", list, err)
	}
	_, err := db.Chats.Delete(ctx, c.ID, 0, keepRuns)
	wantCode(t, err, NotFound)
	if n, err := db.Chats.Delete(ctx, 0, 0, keepRuns); err != nil || n.Chats != 1 {
		t.Errorf("deleted %v, %v; want 1 chat", n, err)
	}
	if where := found(); len(where) > 0 {
		t.Errorf("%v still have the text", where)
	}
	if n, size, err := db.Chats.Size(ctx); err != nil || n != 0 || size != 0 {
		t.Errorf("%d chats, %d bytes, %v; want none", n, size, err)
	}
}
