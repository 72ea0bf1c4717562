package server

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/roomtest"
	"tandem/app/wire"
	"tandem/engine"
)

// dialFake serves a fake on a socket and returns a client.
func dialFake(t *testing.T, b *roomtest.Backend) *control.Client {
	t.Helper()
	home, err := os.MkdirTemp("/tmp", "s") // short enough for the address of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	l, err := control.Listen(home)
	if err != nil {
		t.Fatal(err)
	}
	srv := wire.HTTP(New(services(b), Options{}).Socket(), nil, nil)
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	c := control.Dial(home)
	t.Cleanup(c.Close)
	return c
}

func codeOf(err error) control.Code {
	if e, ok := errors.AsType[*control.Error](err); ok {
		return e.Code
	}
	return ""
}

// TestChatRoutesKeepAConversation walks a conversation over the socket.
func TestChatRoutesKeepAConversation(t *testing.T) {
	c, ctx := dialFake(t, roomtest.NewBackend()), t.Context()
	chat, err := control.Call(ctx, c, control.AddChat,
		control.ChatRequest{Kind: "code", Title: "mine", System: "Be brief.",
			Options: json.RawMessage(`{"temperature":0.5}`)})
	if err != nil {
		t.Fatal(err)
	}
	if chat.ID == 0 {
		t.Fatal("chat.ID is 0")
	}
	if chat.Kind != "code" {
		t.Fatalf(`chat.Kind = %q, want "code"`, chat.Kind)
	}
	if chat.Title != "mine" {
		t.Fatalf(`chat.Title = %q, want "mine"`, chat.Title)
	}
	if chat.System != "Be brief." {
		t.Fatalf(`chat.System = %q, want "Be brief."`, chat.System)
	}
	if string(chat.Options) != `{"temperature":0.5}` {
		t.Fatalf("string(chat.Options) = %q, want %q",
			string(chat.Options), `{"temperature":0.5}`)
	}
	q, err := control.Call(ctx, c, control.AddMessage, control.NewMessage{
		Chat: chat.ID, MessageRequest: control.MessageRequest{Role: "user", Content: "x :="}})
	if err != nil || q.ID == 0 || q.Content != "x :=" {
		t.Fatalf("%+v, %v", q, err)
	}
	a, err := control.Call(ctx, c, control.AddMessage, control.NewMessage{
		Chat: chat.ID, MessageRequest: control.MessageRequest{Parent: q.ID, Role: "assistant"}})
	if err != nil || a.Parent != q.ID {
		t.Fatalf("%+v, %v", a, err)
	}
	answer := control.MessageID{Chat: chat.ID, ID: a.ID}
	model, end, content, run := "m", "stop", " 1", int64(5)
	if got, err := control.Call(ctx, c, control.ChangeMessage, control.MessageUpdate{
		MessageID: answer, MessageChange: control.MessageChange{Model: &model, Run: &run,
			Facts: json.RawMessage(`{"n":[1,2]}`)}}); err != nil || got.Content != "" || got.Run != 5 {
		t.Errorf("%+v, %v", got, err)
	}
	// A field that is absent from a body keeps its value.
	for i, change := range []control.MessageChange{{Content: &content}, {}, {Finish: &end}} {
		got, err := control.Call(ctx, c, control.ChangeMessage, control.MessageUpdate{
			MessageID: answer, MessageChange: change})
		if err != nil {
			t.Fatal(err)
		}
		if got.Content != " 1" {
			t.Errorf(`change %d: got.Content = %q, want " 1"`, i, got.Content)
		}
		if got.Run != 5 {
			t.Errorf("change %d: got.Run = %v, want 5", i, got.Run)
		}
		if got.Model != "m" {
			t.Errorf(`change %d: got.Model = %q, want "m"`, i, got.Model)
		}
		if string(got.Facts) != `{"n":[1,2]}` {
			t.Errorf("change %d: string(got.Facts) = %q, want %q", i, string(got.Facts), `{"n":[1,2]}`)
		}
	}
	if _, err := control.Call(ctx, c, control.ChangeMessage, control.MessageUpdate{
		MessageID: answer, MessageChange: control.MessageChange{Content: &content}}); codeOf(err) != control.CodeInvalid {
		t.Errorf("change an ended answer: %v", err)
	}
	title := ""
	if got, err := control.Call(ctx, c, control.ChangeChat,
		control.ChatUpdate{ID: chat.ID, ChatChange: control.ChatChange{Title: &title, Leaf: &q.ID}}); err != nil || got.Title != "" ||
		got.Leaf != q.ID || got.System != "Be brief." {
		t.Errorf("%+v, %v", got, err)
	}
	whole, err := control.Call(ctx, c, control.GetChat, chat.ID)
	if err != nil || len(whole.Messages) != 2 || whole.Messages[1].Content != " 1" ||
		whole.Chat.Leaf != q.ID {
		t.Errorf("%+v, %v", whole, err)
	}
	list, err := control.Call(ctx, c, control.ListChats,
		control.ChatQuery{Search: "", Limit: 1, Before: 99})
	if err != nil || !list.Keep || list.Count != 1 || len(list.Chats) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err := control.Call(ctx, c, control.ListChats,
		control.ChatQuery{Search: "a&b=c%"}); err != nil ||
		len(list.Chats) != 0 || list.Chats == nil {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := control.Call(ctx, c, control.SetKeepChats,
		control.KeepChats{Keep: false}); err != nil {
		t.Error(err)
	}
	if _, err := control.Call(ctx, c, control.AddChat,
		control.ChatRequest{}); codeOf(err) != control.CodeNotKept {
		t.Errorf("add while chats are not kept: %v", err)
	}
	if _, err := control.Call(ctx, c, control.SetKeepChats, control.KeepChats{Keep: true}); err != nil {
		t.Error(err)
	}
	other, err := control.Call(ctx, c, control.AddChat, control.ChatRequest{})
	if err != nil || other.Kind != "chat" {
		t.Errorf("%+v, %v", other, err)
	}
	one := control.DeletedChats{Chats: 1, Checkpoints: 1, Bytes: 100}
	if would, err := control.Call(ctx, c, control.WouldDeleteChat,
		other.ID); err != nil || would != one {
		t.Errorf("would delete %+v, %v", would, err)
	}
	if would, err := control.Ask(ctx, c, control.WouldDeleteChats); err != nil ||
		would != (control.DeletedChats{Chats: 2, Checkpoints: 2, Bytes: 200}) {
		t.Errorf("all chats would delete %+v, %v", would, err)
	}
	message := control.DeletedChats{Checkpoints: 1, Bytes: 100}
	if would, err := control.Call(ctx, c, control.WouldDeleteMessage,
		answer); err != nil || would != message {
		t.Errorf("a message would delete %+v, %v", would, err)
	}
	if gone, err := control.Call(ctx, c, control.DeleteMessage, answer); err != nil || gone != message {
		t.Errorf("%+v, %v", gone, err)
	}
	if _, err := control.Call(ctx, c, control.DeleteMessage,
		answer); codeOf(err) != control.CodeNoChat {
		t.Errorf("delete a deleted message: %v", err)
	}
	pinned := true
	if got, err := control.Call(ctx, c, control.ChangeChat,
		control.ChatUpdate{ID: other.ID, ChatChange: control.ChatChange{Pinned: &pinned}}); err != nil || !got.Pinned {
		t.Errorf("pin a chat: %+v, %v", got, err)
	}
	if gone, err := control.Call(ctx, c, control.DeleteChat, other.ID); err != nil || gone != one {
		t.Errorf("%+v, %v", gone, err)
	}
	if _, err := control.Call(ctx, c, control.DeleteChat, other.ID); codeOf(err) != control.CodeNoChat {
		t.Errorf("delete a deleted chat: %v", err)
	}
	if _, err := control.Call(ctx, c, control.WouldDeleteChat,
		other.ID); codeOf(err) != control.CodeNoChat {
		t.Errorf("deletion of a deleted chat: %v", err)
	}
	if gone, err := control.Ask(ctx, c, control.DeleteChats); err != nil || gone != one {
		t.Errorf("%+v, %v", gone, err)
	}
	if _, err := control.Call(ctx, c, control.GetChat, chat.ID); codeOf(err) != control.CodeNoChat {
		t.Errorf("read a deleted chat: %v", err)
	}
}

// TestPresetRoutes keeps a preset, reads it and deletes it.
func TestPresetRoutes(t *testing.T) {
	c, ctx := dialFake(t, roomtest.NewBackend()), t.Context()
	if p, err := control.Ask(ctx, c, control.ListPresets); err != nil || p.Presets == nil || len(p.Presets) != 0 {
		t.Errorf("at first there are %+v, %v; want an empty list", p, err)
	}
	want := control.Preset{Name: "Reviewer / Go", System: "Be brief."}
	if _, err := control.Call(ctx, c, control.SetPreset, want); err != nil {
		t.Fatal(err)
	}
	if p, err := control.Ask(ctx, c, control.ListPresets); err != nil || len(p.Presets) != 1 || p.Presets[0] != want {
		t.Errorf("%+v, %v; want %+v", p, err, want)
	}
	if p, err := control.Call(ctx, c, control.DeletePreset,
		want.Name); err != nil || len(p.Presets) != 0 {
		t.Errorf("%+v, %v; want none", p, err)
	}
}

// TestBadChatBodyIsRefused: the answer says what is wrong with a body, and the body reaches no
// service.
func TestBadChatBodyIsRefused(t *testing.T) {
	fake := roomtest.NewBackend()
	s := New(services(fake), Options{})
	for _, test := range []struct {
		path, body string
		status     int
		code       control.Code
	}{
		{"/app/chats", `{"kind":"poem"}`, 400, control.CodeInvalid},
		{"/app/chats", `{"kind":1}`, 400, control.CodeInvalid},
		{"/app/chats", `{"options":[]}`, 400, control.CodeInvalid},
		{"/app/chats", `{"options":{"a":1,"a":2}}`, 400, control.CodeInvalid},
		{"/app/chats/0", `{}`, 404, control.CodeNoChat},
		{"/app/chats/x", `{}`, 404, control.CodeNoChat},
		{"/app/chats/99999999999999999999", `{}`, 404, control.CodeNoChat},
		{"/app/chats/1", `{"leaf":"x"}`, 400, control.CodeInvalid},
		{"/app/chats/1", `{"leaf":-1}`, 400, control.CodeInvalid},
		{"/app/chats/1/messages", `{"role":"system"}`, 400, control.CodeInvalid},
		{"/app/chats/1/messages", `{}`, 400, control.CodeInvalid},
		{"/app/chats/1/messages", `{"role":"user","content":[]}`, 400, control.CodeInvalid},
		{"/app/chats/1/messages", `{"role":"user","facts":"x"}`, 400, control.CodeInvalid},
		{"/app/chats/1/messages/x", `{}`, 404, control.CodeNoChat},
		{"/app/chats/1/messages/1", `{"run":-1}`, 400, control.CodeInvalid},
		{"/app/chats/1/messages/1", `{"finish":1}`, 400, control.CodeInvalid},
		{"/app/chats/1/messages/1", `{"facts":[]}`, 400, control.CodeInvalid},
		{"/app/presets", `{"system":"x"}`, 400, control.CodeInvalid},
		{"/app/chats/keep", `{}`, 400, control.CodeInvalid},
		{"/app/chats/keep", `{"keep":"yes"}`, 400, control.CodeInvalid},
	} {
		w := roomtest.Post(s.Socket(), test.path, test.body)
		if w.Code != test.status || !strings.Contains(w.Body.String(), string(test.code)) {
			t.Errorf("%s %s: %d %s, want %d %s",
				test.path, test.body, w.Code, w.Body, test.status, test.code)
		}
	}
	// 0 is no message. The service would take it for the whole chat, so the route refuses it.
	w := httptest.NewRecorder()
	s.Socket().ServeHTTP(w, roomtest.LocalRequest(http.MethodDelete, "/app/chats/1/messages/0", nil))
	if roomtest.WantError(t, w, 404, control.CodeNoChat); !strings.Contains(w.Body.String(), `There is no message \"0\".`) {
		t.Errorf("message 0 reaches the service: %s", w.Body)
	}
	for _, query := range []string{"limit=x", "limit=-1", "limit=201", "before=1.5"} {
		w := httptest.NewRecorder()
		s.Socket().ServeHTTP(w, roomtest.LocalRequest(http.MethodGet, "/app/chats?"+query, nil))
		roomtest.WantError(t, w, 400, control.CodeInvalid)
	}
	if len(fake.ChatRows)+len(fake.Messages) > 0 {
		t.Error("a bad body reached the service")
	}
}

// TestCancelByNameBeforeFirstToken: a request that its client named is cancelled before its answer
// begins.
func TestCancelByNameBeforeFirstToken(t *testing.T) {
	fake := roomtest.NewBackend()
	started := make(chan struct{})
	fake.Model.Script = func(ctx context.Context, _ engine.Request) iter.Seq2[engine.Token, error] {
		return func(yield func(engine.Token, error) bool) {
			close(started)
			<-ctx.Done() // a long prefill
			yield(engine.Token{}, ctx.Err())
		}
	}
	s := New(services(fake), Options{})
	answer := make(chan *httptest.ResponseRecorder)
	go func() {
		r := roomtest.Request("/v1/completions", `{"model":"tandem","prompt":"x","stream":true}`)
		r.Header.Set(api.RunNameHeader, "page-1")
		w := httptest.NewRecorder()
		s.Socket().ServeHTTP(w, r)
		answer <- w
	}()
	<-started
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/runs/page-2/cancel",
		"{}"), 404, control.CodeRunNotFound)
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/runs/page/cancel",
		"{}"), 404, control.CodeRunNotFound)
	if w := roomtest.Post(s.Socket(), "/app/runs/page-1/cancel", "{}"); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := <-answer; w.Code != 200 || !strings.HasSuffix(w.Body.String(), "data: [DONE]\n\n") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if run := fake.LastRun(); run.FinishReason != control.FinishCancel ||
		run.CompletionTokens != 0 {
		t.Errorf("%+v", run)
	}
	for _, name := range []string{"1", "-x", "a b", strings.Repeat("x", 65), "ä"} {
		r := roomtest.Request("/v1/completions", `{"model":"tandem","prompt":"x"}`)
		r.Header.Set(api.RunNameHeader, name)
		w := httptest.NewRecorder()
		s.Socket().ServeHTTP(w, r)
		roomtest.WantError(t, w, 400, control.CodeInvalid)
	}
}
