package server

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/app/model"
)

// A conversation is a chat that is made of turns, as responses and messages are.
type conversation struct {
	chat
	turns  []turn // which messages are made of
	goesOn bool   // an answer that the last turn begins is gone on with
	begun  string // that one
}

// complete makes of the turns what the model needs.
func (c *conversation) complete() error {
	c.begun = ""
	if last := c.turns[len(c.turns)-1]; c.goesOn && last.role == "assistant" && last.calls == nil {
		c.begun = strings.TrimSpace(last.text())
	}
	c.messages = make([]json.RawMessage, len(c.turns))
	for i, t := range c.turns {
		c.messages[i] = t.message()
	}
	return c.chat.complete()
}

// prompts implements request.
func (c *conversation) prompts(m model.Model) ([]*prompt, error) {
	text, err := c.rendered(m)
	if err != nil {
		return nil, err
	}
	return c.promptOf(m, text)
}

// rendered returns the prompt. A template that has no place for the turns as they are
// gets them plainer: agents say things in the system's name at any time, and in the
// user's several times in a row.
func (c *conversation) rendered(m model.Model) (string, error) {
	text, err := c.renderOnce(m)
	if !misplaced(c.turns, text, err) {
		return text, err
	}
	plain, changed := plainer(c.turns)
	if !changed {
		return text, err
	}
	was := *c
	c.turns = plain
	if err := c.complete(); err != nil {
		return "", err
	}
	if again, err := c.renderOnce(m); err == nil {
		return again, nil
	}
	*c = was
	return text, err
}

// renderOnce has the template write the turns, thoughts under its own name. An answer
// that was begun goes on where its last message ends, before what the template puts
// behind one: there a word stands that no text has.
func (c *conversation) renderOnce(m model.Model) (string, error) {
	name := m.Dialect().Remembered()
	if err := c.remember(name); err != nil {
		return "", err
	}
	if c.begun == "" {
		return c.render(m, c.vars)
	}
	end := rand.Text()
	last := c.turns[len(c.turns)-1]
	last.texts = []string{c.begun + end}
	begun := chat{messages: append(slices.Clone(c.messages[:len(c.messages)-1]), last.message())}
	if err := begun.remember(name); err != nil {
		return "", err
	}
	vars, err := templateVars(begun.messages, c.tools.list, c.kwargs, false)
	if err != nil {
		return "", err
	}
	text, err := c.render(m, vars)
	if err != nil {
		return "", err
	}
	text, _, found := strings.Cut(text, end)
	if !found {
		return "", invalid("messages", "The template of the model %s leaves out an answer that was begun; let the last message be the user's.", m.ID())
	}
	return text, nil
}

// misplaced reports whether a template that wrote text, or failed, has no place for the
// turns as they are: it refuses them, or passes over what the system says, or some of it.
func misplaced(list []turn, text string, err error) bool {
	if err != nil {
		e, ok := errors.AsType[*control.Error](err)
		return ok && e.Code == control.CodeInvalid
	}
	for _, t := range list {
		if t.role != "system" {
			continue
		}
		var found bool
		if _, text, found = strings.Cut(text, strings.TrimSpace(t.text())); !found {
			return true
		}
	}
	return false
}

// plainer returns turns for templates that know less: the system speaks in front alone,
// and amid a conversation it is quoted by the user, who says nothing right behind a
// tool's result but as a part of it. It reports whether that changes anything.
func plainer(list []turn) (_ []turn, changed bool) {
	s := &turns{}
	for i, t := range list {
		if t.role == "system" && i > 0 {
			t = turn{role: "user", texts: []string{"<system>\n" + t.text() + "\n</system>"}}
			changed = true
		}
		n := len(s.list)
		switch {
		case t.role == "user" && n > 0 && s.list[n-1].role == "tool":
			changed = true
		case t.role != "user" || n == 0 || s.list[n-1].role != "user":
			s.list = append(s.list, t)
			continue
		}
		last := &s.list[n-1]
		last.texts = append(last.texts, t.texts...)
	}
	return s.list, changed
}
