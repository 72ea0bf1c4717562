package server

import (
	"context"
	"net/http"
	"strconv"

	"tandem/app/control"
	"tandem/app/wire"
)

// Chats keeps the window's own conversations. CodeNoChat where there is none of
// that id, CodeNotKept where chats are not to be kept, CodeInvalid beyond the
// limits of what is kept.
type Chats interface {
	Chats(context.Context, control.ChatQuery) (control.ChatList, error)
	Chat(ctx context.Context, id int64) (control.WholeChat, error)
	// AddChat begins a chat of the kind, title, system prompt and options given.
	AddChat(context.Context, control.Chat) (control.Chat, error)
	ChangeChat(ctx context.Context, id int64, change control.ChatChange) (control.Chat, error)
	// AddMessage appends to Chat, behind Parent.
	AddMessage(context.Context, control.Message) (control.Message, error)
	// ChangeMessage writes what an answer has become that grows. CodeInvalid if it
	// has ended, or if what is kept of it would be lost.
	ChangeMessage(ctx context.Context, chat, id int64, change control.MessageChange) (control.Message, error)
	// DeleteChats deletes a chat, or all if id is 0, with the checkpoints that nothing
	// else goes on from, and says what went.
	DeleteChats(ctx context.Context, id int64) (control.DeletedChats, error)
	// WouldDeleteChats says what DeleteChats would do.
	WouldDeleteChats(ctx context.Context, id int64) (control.DeletedChats, error)
	// KeepChats says whether chats are kept from now on.
	KeepChats(ctx context.Context, keep bool) error
}

// chatRoutes lays out the routes of chats.
func (s *Server) chatRoutes(route wire.AddRoute) {
	route("/app/chats", map[string]wire.Handler{http.MethodGet: s.chats, http.MethodPost: s.addChat, http.MethodDelete: ofAllChats(s.services.Chats.DeleteChats)})
	route("/app/chats/keep", map[string]wire.Handler{http.MethodPost: s.keepChats})
	route("/app/chats/deletion", map[string]wire.Handler{http.MethodGet: ofAllChats(s.services.Chats.WouldDeleteChats)})
	route("/app/chats/{id}", map[string]wire.Handler{http.MethodGet: s.oneChat, http.MethodPost: s.changeChat, http.MethodDelete: ofChat(s.services.Chats.DeleteChats)})
	route("/app/chats/{id}/deletion", map[string]wire.Handler{http.MethodGet: ofChat(s.services.Chats.WouldDeleteChats)})
	route("/app/chats/{id}/messages", map[string]wire.Handler{http.MethodPost: s.addMessage})
	route("/app/chats/{id}/messages/{message}", map[string]wire.Handler{http.MethodPost: s.changeMessage})
}

func (s *Server) chats(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	q := control.ChatQuery{Search: query.Get("search")}
	limit, err := queryNumber(query, "limit", 200)
	if err != nil {
		return err
	}
	if q.Before, err = queryNumber(query, "before", 1<<62); err != nil {
		return err
	}
	q.Limit = int(limit)
	list, err := s.services.Chats.Chats(r.Context(), q)
	if err != nil {
		return err
	}
	list.Chats = append([]control.Chat{}, list.Chats...)
	return wire.WriteJSON(w, list)
}

func (s *Server) oneChat(w http.ResponseWriter, r *http.Request) error {
	id, err := chatID(r)
	if err != nil {
		return err
	}
	c, err := s.services.Chats.Chat(r.Context(), id)
	if err != nil {
		return err
	}
	c.Messages = append([]control.Message{}, c.Messages...)
	return wire.WriteJSON(w, c)
}

// chatID reads the id in the path.
func chatID(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || id < 1 {
		return 0, control.Errorf(control.CodeNoChat, "There is no chat %q.", wire.Clip(r.PathValue("id")))
	}
	return id, nil
}

func (s *Server) addChat(w http.ResponseWriter, r *http.Request) error {
	f, err := s.ReadObject(w, r)
	if err != nil {
		return err
	}
	c := control.Chat{Kind: f.String("kind"), Title: f.String("title"), System: f.String("system"), Options: f.Blob("options")}
	if c.Kind == "" {
		c.Kind = "chat"
	}
	if f.Err == nil && c.Kind != "chat" && c.Kind != "code" {
		f.Fail("kind", "must be \"chat\" or \"code\", not %q.", wire.Clip(c.Kind))
	}
	if f.Err != nil {
		return f.Err
	}
	if c, err = s.services.Chats.AddChat(r.Context(), c); err != nil {
		return err
	}
	return wire.WriteJSON(w, c)
}

func (s *Server) changeChat(w http.ResponseWriter, r *http.Request) error {
	id, err := chatID(r)
	if err != nil {
		return err
	}
	f, err := s.ReadObject(w, r)
	if err != nil {
		return err
	}
	change := control.ChatChange{Options: f.Blob("options")}
	change.Title = wire.Optional(f, "title", f.String)
	change.System = wire.Optional(f, "system", f.String)
	change.Leaf = wire.Optional(f, "leaf", f.Id)
	if f.Err != nil {
		return f.Err
	}
	c, err := s.services.Chats.ChangeChat(r.Context(), id, change)
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, c)
}

func (s *Server) addMessage(w http.ResponseWriter, r *http.Request) error {
	id, err := chatID(r)
	if err != nil {
		return err
	}
	f, err := s.ReadObject(w, r)
	if err != nil {
		return err
	}
	m := control.Message{
		Chat: id, Parent: f.Id("parent"), Role: f.String("role"), Content: f.String("content"), Model: f.String("model"),
		Finish: f.String("finish"), Run: f.Id("run"), Facts: f.Blob("facts"),
	}
	if f.Err == nil && m.Role != "user" && m.Role != "assistant" {
		f.Fail("role", "must be \"user\" or \"assistant\", not %q.", wire.Clip(m.Role))
	}
	if f.Err != nil {
		return f.Err
	}
	if m, err = s.services.Chats.AddMessage(r.Context(), m); err != nil {
		return err
	}
	return wire.WriteJSON(w, m)
}

func (s *Server) changeMessage(w http.ResponseWriter, r *http.Request) error {
	chat, err := chatID(r)
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(r.PathValue("message"), 10, 64)
	if err != nil {
		return control.Errorf(control.CodeNoChat, "There is no message %q.", wire.Clip(r.PathValue("message")))
	}
	f, err := s.ReadObject(w, r)
	if err != nil {
		return err
	}
	change := control.MessageChange{Facts: f.Blob("facts")}
	change.Content = wire.Optional(f, "content", f.String)
	change.Model = wire.Optional(f, "model", f.String)
	change.Finish = wire.Optional(f, "finish", f.String)
	change.Run = wire.Optional(f, "run", f.Id)
	if f.Err != nil {
		return f.Err
	}
	m, err := s.services.Chats.ChangeMessage(r.Context(), chat, id, change)
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, m)
}

// ofChat answers with what a deletion of the chat in the path does, or would.
func ofChat(deletion func(ctx context.Context, id int64) (control.DeletedChats, error)) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := chatID(r)
		if err != nil {
			return err
		}
		gone, err := deletion(r.Context(), id)
		if err != nil {
			return err
		}
		return wire.WriteJSON(w, gone)
	}
}

// ofAllChats is ofChat for all there are.
func ofAllChats(deletion func(ctx context.Context, id int64) (control.DeletedChats, error)) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		gone, err := deletion(r.Context(), 0)
		if err != nil {
			return err
		}
		return wire.WriteJSON(w, gone)
	}
}

func (s *Server) keepChats(w http.ResponseWriter, r *http.Request) error {
	f, err := s.ReadObject(w, r)
	if err != nil {
		return err
	}
	if f.Raw("keep") == nil {
		f.Fail("keep", "is missing: say true or false.")
	}
	keep := control.KeepChats{Keep: f.Bool("keep")}
	if f.Err != nil {
		return f.Err
	}
	if err := s.services.Chats.KeepChats(r.Context(), keep.Keep); err != nil {
		return err
	}
	return wire.WriteJSON(w, keep)
}
