package api

import (
	"crypto/rand"
	"errors"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/wire"
)

// A Conversation is a chat that is made of turns, as in Responses and Messages.
type Conversation struct {
	Chat
	Turns  []Turn // the source of Messages
	GoesOn bool   // the answer continues the last turn, if that is an answer
	begun  string // the text of that turn
}

// Complete makes the messages of the turns, and checks them.
func (c *Conversation) Complete() error {
	c.begun = ""
	if last := c.Turns[len(c.Turns)-1]; c.GoesOn && last.Role == "assistant" && last.Calls == nil {
		c.begun = strings.TrimSpace(last.Text())
	}
	c.Messages = make([]Message, len(c.Turns))
	for i, t := range c.Turns {
		c.Messages[i] = t.message()
	}
	return c.Chat.Complete()
}

// Prompts implements Question.
func (c *Conversation) Prompts(m model.Model) ([]*Prompt, error) {
	text, err := c.Rendered(m)
	if err != nil {
		return nil, err
	}
	return c.promptOf(m, text)
}

// Rendered returns the prompt. Some templates have no place for the turns as they are, because
// agents speak as the system at any time and as the user several times in a row. Such a template
// gets plainer turns.
func (c *Conversation) Rendered(m model.Model) (string, error) {
	text, err := c.renderOnce(m)
	if !misplaced(c.Turns, text, err) {
		return text, err
	}
	plain, changed := plainer(c.Turns)
	if !changed {
		return text, err
	}
	was := *c
	c.Turns = plain
	if err := c.Complete(); err != nil {
		return "", err
	}
	if again, err := c.renderOnce(m); err == nil {
		return again, nil
	}
	*c = was
	return text, err
}

// renderOnce returns the turns as the template writes them, with thoughts under the template's
// name. A begun answer continues where its last message ends, before what the template writes after
// a message. A word that no text has marks that place.
func (c *Conversation) renderOnce(m model.Model) (string, error) {
	name := m.Dialect().Remembered()
	if c.begun == "" {
		return c.render(m, c.Vars(c.Messages, true, name))
	}
	end := rand.Text()
	last := c.Turns[len(c.Turns)-1]
	last.Texts = []string{c.begun + end}
	begun := append(slices.Clone(c.Messages[:len(c.Messages)-1]), last.message())
	text, err := c.render(m, c.Vars(begun, false, name))
	if err != nil {
		return "", err
	}
	text, _, found := strings.Cut(text, end)
	if !found {
		return "", wire.Invalid("messages", "The template of the model %s leaves out an answer that was begun; let the last message be the user's.", m.ID())
	}
	return text, nil
}

// misplaced reports whether a template, which wrote text or failed, has no place for the turns as
// they are. It then refuses them, or leaves out some of what the system says.
func misplaced(list []Turn, text string, err error) bool {
	if err != nil {
		e, ok := errors.AsType[*control.Error](err)
		return ok && e.Code == control.CodeInvalid
	}
	for _, t := range list {
		if t.Role != "system" {
			continue
		}
		var found bool
		if _, text, found = strings.Cut(text, strings.TrimSpace(t.Text())); !found {
			return true
		}
	}
	return false
}

// plainer returns turns for simpler templates. The system speaks only at the start, and the user
// quotes it later in a conversation. A user's text directly after a tool's result becomes part of
// the result. plainer reports whether that changes anything.
func plainer(list []Turn) (_ []Turn, changed bool) {
	s := &Turns{}
	for i, t := range list {
		if t.Role == "system" && i > 0 {
			t = Turn{Role: "user", Texts: []string{"<system>\n" + t.Text() + "\n</system>"}}
			changed = true
		}
		n := len(s.List)
		switch {
		case t.Role == "user" && n > 0 && s.List[n-1].Role == "tool":
			changed = true
		case t.Role != "user" || n == 0 || s.List[n-1].Role != "user":
			s.List = append(s.List, t)
			continue
		}
		last := &s.List[n-1]
		last.Texts = append(last.Texts, t.Texts...)
	}
	return s.List, changed
}
