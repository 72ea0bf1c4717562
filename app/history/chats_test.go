package history

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
)

// A restart keeps the chats, with an answer that was cut off, and the choice to keep no new ones.
func TestChatsSurviveRestart(t *testing.T) {
	home, ctx := t.TempDir(), t.Context()
	wantCode := func(err error, code control.Code, says string) {
		t.Helper()
		if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != code ||
			!strings.Contains(e.Message, says) {
			t.Errorf("the error is %v, want %s with %q", err, code, says)
		}
	}

	a := open(t, home)
	chat, err := a.chats.AddChat(ctx, control.Chat{Kind: "chat"})
	if err != nil {
		t.Fatal(err)
	}
	q, err := a.chats.AddMessage(ctx, control.Message{Chat: chat.ID, Role: "user",
		Content: "Why?"})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := a.chats.AddMessage(ctx, control.Message{Chat: chat.ID, Parent: q.ID,
		Role: "assistant", Content: "Because of"})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.chats.KeepChats(ctx, false); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}

	a = open(t, home)
	whole, err := a.chats.Chat(ctx, chat.ID)
	if err != nil {
		t.Fatal(err)
	}
	if whole.Chat.Title != "Why?" {
		t.Errorf(`whole.Chat.Title = %q, want "Why?"`, whole.Chat.Title)
	}
	if len(whole.Messages) != 2 {
		t.Fatalf("len(whole.Messages) = %v, want 2", len(whole.Messages))
	}
	if whole.Messages[1].Content != "Because of" {
		t.Errorf(`whole.Messages[1].Content = %q, want "Because of"`,
			whole.Messages[1].Content)
	}
	if whole.Messages[1].Finish != "" {
		t.Errorf(`whole.Messages[1].Finish = %q, want ""`, whole.Messages[1].Finish)
	}
	list, err := a.chats.Chats(ctx, control.ChatQuery{Search: "because"})
	if err != nil {
		t.Fatal(err)
	}
	if list.Keep {
		t.Error("list.Keep = true, want false")
	}
	if list.Count != 1 {
		t.Errorf("list.Count = %v, want 1", list.Count)
	}
	if list.Bytes != int64(len("Why?Because of")) {
		t.Errorf("list.Bytes = %v, want %v", list.Bytes, int64(len("Why?Because of")))
	}
	if len(list.Chats) != 1 {
		t.Errorf("len(list.Chats) = %v, want 1", len(list.Chats))
	}
	_, err = a.chats.AddChat(ctx, control.Chat{Kind: "chat"})
	wantCode(err, control.CodeNotKept, "Settings, History has the switch")
	_, err = a.chats.Chats(ctx, control.ChatQuery{Search: strings.Repeat("x", 2000)})
	wantCode(err, control.CodeInvalid, "longer than")
	so := "So"
	_, err = a.chats.ChangeMessage(ctx, control.MessageUpdate{
		MessageID:     control.MessageID{Chat: chat.ID, ID: answer.ID},
		MessageChange: control.MessageChange{Content: &so}})
	wantCode(err, control.CodeInvalid, "would be lost")
	_, err = a.chats.AddMessage(ctx, control.Message{Chat: 99, Role: "user"})
	wantCode(err, control.CodeNoChat, "There is no such chat.")
	stuck := a.Home.Path("tandem.db.v1-20261121T120000Z.backup")
	if err := os.MkdirAll(filepath.Join(stuck, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = a.chats.DeleteChats(ctx, chat.ID)
	wantCode(err, control.CodeFolder, "Nothing is deleted, for an old copy of the database is still beside")
	_, err = a.chats.DeleteChats(ctx, 0)
	wantCode(err, control.CodeFolder, "Nothing is deleted")
	_, err = a.history.Forget(ctx, control.ForgetRequest{Client: "c"})
	wantCode(err, control.CodeFolder, "Nothing is deleted")
	if err := os.RemoveAll(stuck); err != nil {
		t.Fatal(err)
	}
	if n, err := a.chats.DeleteChats(ctx, 0); err != nil || n.Chats != 1 {
		t.Errorf("%v, %v", n, err)
	}
	_, err = a.chats.Chat(ctx, chat.ID)
	wantCode(err, control.CodeNoChat, "There is no such chat.")
}

// A change of chats is made even if its client has left.
func TestChangeOfChatsIsMadeAfterItsClientLeft(t *testing.T) {
	a := open(t, t.TempDir())
	left, leave := context.WithCancel(t.Context())
	leave()
	chat, err := a.chats.AddChat(left, control.Chat{Kind: "chat"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := a.chats.AddMessage(left, control.Message{Chat: chat.ID, Role: "assistant",
		Content: "Be"})
	if err != nil {
		t.Fatal(err)
	}
	words, title := "Because", "Why?"
	if _, err := a.chats.ChangeMessage(left, control.MessageUpdate{
		MessageID:     control.MessageID{Chat: chat.ID, ID: m.ID},
		MessageChange: control.MessageChange{Content: &words}}); err != nil {
		t.Error(err)
	}
	if _, err := a.chats.ChangeChat(left, control.ChatUpdate{ID: chat.ID,
		ChatChange: control.ChatChange{Title: &title}}); err != nil {
		t.Error(err)
	}
	if err := a.chats.KeepChats(left, false); err != nil {
		t.Error(err)
	}
	if whole, err := a.chats.Chat(t.Context(), chat.ID); err != nil ||
		whole.Chat.Title != title || len(whole.Messages) != 1 ||
		whole.Messages[0].Content != words {
		t.Errorf("%+v, %v", whole, err)
	}
	if _, err := a.chats.DeleteChats(left, chat.ID); err != nil {
		t.Error(err)
	}
	if _, err := a.chats.DeleteChats(left, 0); err != nil {
		t.Error(err)
	}
	if list, err := a.chats.Chats(t.Context(), control.ChatQuery{}); err != nil ||
		list.Count != 0 || list.Keep {
		t.Errorf("%+v, %v", list, err)
	}
}
