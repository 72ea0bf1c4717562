package server

import (
	"cmp"
	"context"

	"tandem/app/control"
)

// Chats keeps the window's own conversations. Errors are CodeNoChat for an unknown id, CodeNotKept
// while chats are not kept, and CodeInvalid beyond the limits of what is kept.
type Chats interface {
	Chats(context.Context, control.ChatQuery) (control.ChatList, error)
	Chat(ctx context.Context, id int64) (control.WholeChat, error)
	// AddChat begins a chat of the kind, title, system prompt and options given.
	AddChat(context.Context, control.Chat) (control.Chat, error)
	ChangeChat(context.Context, control.ChatUpdate) (control.Chat, error)
	// AddMessage appends to Chat, after Parent.
	AddMessage(context.Context, control.Message) (control.Message, error)
	// ChangeMessage stores the newest text of a growing answer. The error is CodeInvalid if the
	// answer has ended, or if the change would lose text that is kept.
	ChangeMessage(context.Context, control.MessageUpdate) (control.Message, error)
	// DeleteChats deletes a chat, or all if id is 0. It also deletes the checkpoints that nothing
	// else continues, and returns what it deleted.
	DeleteChats(ctx context.Context, id int64) (control.DeletedChats, error)
	// WouldDeleteChats returns what DeleteChats would delete.
	WouldDeleteChats(ctx context.Context, id int64) (control.DeletedChats, error)
	// DeleteMessage deletes a message with all that follow it, and with the checkpoints that nothing
	// else continues. The shown branch ends before it then, unless it did not hold it.
	DeleteMessage(context.Context, control.MessageID) (control.DeletedChats, error)
	// WouldDeleteMessage returns what DeleteMessage would delete.
	WouldDeleteMessage(context.Context, control.MessageID) (control.DeletedChats, error)
	// Presets are the instructions that a person has named.
	Presets(context.Context) (control.Presets, error)
	SetPreset(context.Context, control.Preset) error
	// DeletePreset returns the presets that stay. The error is CodeInvalid if there is none of that
	// name.
	DeletePreset(ctx context.Context, name string) (control.Presets, error)
	// KeepChats sets whether chats are kept from now on.
	KeepChats(ctx context.Context, keep bool) error
}

func addChats(to *controlRoutes, of Chats) {
	handle(to, control.ListChats, of.Chats)
	handle(to, control.AddChat, func(ctx context.Context, q control.ChatRequest) (control.Chat, error) {
		return of.AddChat(ctx, control.Chat{Kind: cmp.Or(q.Kind, "chat"), Title: q.Title,
			System: q.System, Options: q.Options})
	})
	handle(to, control.DeleteChats, ask(func(ctx context.Context) (control.DeletedChats, error) {
		return of.DeleteChats(ctx, 0)
	}))
	handle(to, control.WouldDeleteChats, ask(func(ctx context.Context) (control.DeletedChats, error) {
		return of.WouldDeleteChats(ctx, 0)
	}))
	handle(to, control.SetKeepChats, echo(func(ctx context.Context, q control.KeepChats) error {
		return of.KeepChats(ctx, q.Keep)
	}))
	handle(to, control.GetChat, of.Chat)
	handle(to, control.ChangeChat, of.ChangeChat)
	handle(to, control.DeleteChat, of.DeleteChats)
	handle(to, control.WouldDeleteChat, of.WouldDeleteChats)
	handle(to, control.AddMessage, func(ctx context.Context,
		m control.NewMessage) (control.Message, error) {
		return of.AddMessage(ctx, control.Message{
			Chat: m.Chat, Parent: m.Parent, Role: m.Role, Content: m.Content, Model: m.Model,
			Finish: m.Finish, Run: m.Run, Facts: m.Facts,
		})
	})
	handle(to, control.ChangeMessage, of.ChangeMessage)
	handle(to, control.DeleteMessage, of.DeleteMessage)
	handle(to, control.WouldDeleteMessage, of.WouldDeleteMessage)
	handle(to, control.ListPresets, ask(of.Presets))
	handle(to, control.SetPreset, echo(of.SetPreset))
	handle(to, control.DeletePreset, of.DeletePreset)
}
