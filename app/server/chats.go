package server

import (
	"cmp"
	"context"
	"net/http"

	"tandem/app/control"
	"tandem/app/wire"
)

// Chats keeps the window's own conversations. Errors are CodeNoChat for an unknown id, CodeNotKept
// while chats are not kept, and CodeInvalid beyond the limits of what is kept.
type Chats interface {
	Chats(context.Context, control.ChatQuery) (control.ChatList, error)
	Chat(ctx context.Context, id int64) (control.WholeChat, error)
	// AddChat begins a chat of the kind, title, system prompt and options given.
	AddChat(context.Context, control.Chat) (control.Chat, error)
	ChangeChat(ctx context.Context, id int64, change control.ChatChange) (control.Chat, error)
	// AddMessage appends to Chat, after Parent.
	AddMessage(context.Context, control.Message) (control.Message, error)
	// ChangeMessage stores the newest text of a growing answer. The error is CodeInvalid if the
	// answer has ended, or if the change would lose text that is kept.
	ChangeMessage(ctx context.Context, chat, id int64,
		change control.MessageChange) (control.Message, error)
	// DeleteChats deletes a chat, or all if id is 0. It also deletes the checkpoints that nothing
	// else continues, and returns what it deleted.
	DeleteChats(ctx context.Context, id int64) (control.DeletedChats, error)
	// WouldDeleteChats returns what DeleteChats would delete.
	WouldDeleteChats(ctx context.Context, id int64) (control.DeletedChats, error)
	// DeleteMessage deletes a message with all that follow it, and with the checkpoints that nothing
	// else continues. The shown branch ends before it then, unless it did not hold it.
	DeleteMessage(ctx context.Context, chat, id int64) (control.DeletedChats, error)
	// WouldDeleteMessage returns what DeleteMessage would delete.
	WouldDeleteMessage(ctx context.Context, chat, id int64) (control.DeletedChats, error)
	// Presets are the instructions that a person has named.
	Presets(context.Context) (control.Presets, error)
	SetPreset(context.Context, control.Preset) error
	// DeletePreset returns the presets that stay. The error is CodeInvalid if there is none of that
	// name.
	DeletePreset(ctx context.Context, name string) (control.Presets, error)
	// KeepChats sets whether chats are kept from now on.
	KeepChats(ctx context.Context, keep bool) error
}

// chatRoutes lays out the routes of chats.
func (s *Server) chatRoutes(route wire.AddRoute) {
	route("/app/chats", map[string]wire.Handler{
		http.MethodGet:    call(s, s.chats),
		http.MethodPost:   call(s, s.addChat),
		http.MethodDelete: call(s, s.deleteChats),
	})
	route.Post("/app/chats/keep", call(s, s.keepChats))
	route.Get("/app/chats/deletion", call(s, s.wouldDeleteChats))
	route("/app/chats/{id}", map[string]wire.Handler{
		http.MethodGet:    call(s, s.oneChat),
		http.MethodPost:   call(s, s.changeChat),
		http.MethodDelete: call(s, s.deleteChat),
	})
	route.Get("/app/chats/{id}/deletion", call(s, s.wouldDeleteChat))
	route.Post("/app/chats/{id}/messages", call(s, s.addMessage))
	route("/app/chats/{id}/messages/{message}", map[string]wire.Handler{
		http.MethodPost:   call(s, s.changeMessage),
		http.MethodDelete: call(s, s.deleteMessage),
	})
	route.Get("/app/chats/{id}/messages/{message}/deletion", call(s, s.wouldDeleteMessage))
	route("/app/presets", map[string]wire.Handler{
		http.MethodGet:  ask(s, s.presets),
		http.MethodPost: call(s, s.setPreset),
	})
	route("/app/presets/{name...}", map[string]wire.Handler{
		http.MethodDelete: call(s, s.deletePreset),
	})
}

// A chatQuery has the filters of GET /app/chats.
type chatQuery control.ChatQuery

func (q *chatQuery) readAddress(r *http.Request) error {
	query := r.URL.Query()
	q.Search = query.Get("search")
	limit, err := queryNumber(query, "limit", 200)
	if err != nil {
		return err
	}
	q.Limit = int(limit)
	q.Before, err = queryNumber(query, "before", 1<<62)
	return err
}

func (s *Server) chats(ctx context.Context, q chatQuery) (control.ChatList, error) {
	list, err := s.services.Chats.Chats(ctx, control.ChatQuery(q))
	list.Chats = listOf(list.Chats)
	return list, err
}

func (s *Server) oneChat(ctx context.Context, c chatID) (control.WholeChat, error) {
	whole, err := s.services.Chats.Chat(ctx, c.id)
	whole.Messages = listOf(whole.Messages)
	return whole, err
}

func (s *Server) addChat(ctx context.Context, q control.ChatRequest) (control.Chat, error) {
	c := control.Chat{Kind: cmp.Or(q.Kind, "chat"), Title: q.Title, System: q.System,
		Options: q.Options}
	return s.services.Chats.AddChat(ctx, c)
}

// A chatChange is a change of the chat in the path.
type chatChange struct {
	chatID
	control.ChatChange
}

func (s *Server) changeChat(ctx context.Context, c chatChange) (control.Chat, error) {
	return s.services.Chats.ChangeChat(ctx, c.id, c.ChatChange)
}

// A newMessage is a message for the chat in the path.
type newMessage struct {
	chatID
	control.MessageRequest
}

func (s *Server) addMessage(ctx context.Context, m newMessage) (control.Message, error) {
	return s.services.Chats.AddMessage(ctx, control.Message{
		Chat: m.id, Parent: m.Parent, Role: m.Role, Content: m.Content, Model: m.Model,
		Finish: m.Finish, Run: m.Run, Facts: m.Facts,
	})
}

// A messageChange is a change of the message in the path.
type messageChange struct {
	messageID
	control.MessageChange
}

func (s *Server) changeMessage(ctx context.Context, m messageChange) (control.Message, error) {
	return s.services.Chats.ChangeMessage(ctx, m.id, m.message, m.MessageChange)
}

func (s *Server) deleteChat(ctx context.Context, c chatID) (control.DeletedChats, error) {
	return s.services.Chats.DeleteChats(ctx, c.id)
}

func (s *Server) deleteChats(ctx context.Context, _ nothing) (control.DeletedChats, error) {
	return s.services.Chats.DeleteChats(ctx, 0)
}

func (s *Server) wouldDeleteChat(ctx context.Context, c chatID) (control.DeletedChats, error) {
	return s.services.Chats.WouldDeleteChats(ctx, c.id)
}

func (s *Server) wouldDeleteChats(ctx context.Context, _ nothing) (control.DeletedChats, error) {
	return s.services.Chats.WouldDeleteChats(ctx, 0)
}

func (s *Server) deleteMessage(ctx context.Context, m messageID) (control.DeletedChats, error) {
	return s.services.Chats.DeleteMessage(ctx, m.id, m.message)
}

func (s *Server) wouldDeleteMessage(ctx context.Context,
	m messageID) (control.DeletedChats, error) {
	return s.services.Chats.WouldDeleteMessage(ctx, m.id, m.message)
}

func (s *Server) presets(ctx context.Context) (control.Presets, error) {
	p, err := s.services.Chats.Presets(ctx)
	p.Presets = listOf(p.Presets)
	return p, err
}

func (s *Server) setPreset(ctx context.Context, p control.Preset) (control.Preset, error) {
	return p, s.services.Chats.SetPreset(ctx, p)
}

// A presetName is the name of a preset in a path.
type presetName struct {
	name string
}

func (p *presetName) readAddress(r *http.Request) error {
	p.name = r.PathValue("name")
	return nil
}

func (s *Server) deletePreset(ctx context.Context, n presetName) (control.Presets, error) {
	p, err := s.services.Chats.DeletePreset(ctx, n.name)
	p.Presets = listOf(p.Presets)
	return p, err
}

func (s *Server) keepChats(ctx context.Context, q control.KeepChats) (control.KeepChats, error) {
	return q, s.services.Chats.KeepChats(ctx, q.Keep)
}
