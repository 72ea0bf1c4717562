package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tandem/app/control"
	"tandem/app/terminal"
)

// chat returns the verb that is run without a prompt.
func chat(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "chat [MODEL]", Short: "chat on the terminal, as run without a prompt",
		Args: terminal.Args(0, 1, ""), ValidArgsFunction: m.completeModel}
	r := newRunFlags(m, cmd)
	cmd.RunE = func(cmd *cobra.Command, words []string) error {
		ctx, model := cmd.Context(), control.Alias
		if !m.chats() {
			return terminal.Mistake(cmd, "a chat needs a terminal; `tandem run PROMPT` answers without one")
		}
		g, err := r.generation()
		if err != nil {
			return err
		}
		return m.withServerOf(ctx, r.kvBits, func(c *control.Client) error {
			if len(words) > 0 {
				model = words[0]
				k, err := askKnown(ctx, c)
				if err == nil {
					err = m.offer(ctx, cmd, k, model)
				}
				if err != nil {
					return err
				}
			}
			return m.withModel(ctx, c, r.kvBits, model, func(id string) error {
				g.Model = id
				return m.chat(ctx, cmd, c, g)
			})
		})
	}
	return cmd
}

// chats reports whether there is a terminal to chat on.
func (m *Main) chats() bool { return m.Typed && m.Shown }

// A conversation is a chat on the terminal. It is kept by this process alone, and each turn sends it whole:
// the checkpoints of the server make that quick.
type conversation struct {
	*Main
	cmd     *cobra.Command
	c       *control.Client
	request generation // its messages are the conversation
	editor  *terminal.Editor
}

// commands are what a line may begin with.
var commands = [][]any{
	{"/model [ID]", "list the models, or go on with another"},
	{"/clear", "forget what was said"},
	{"/save FILE", "write the chat into a new file"},
	{"/help", "list these"},
	{"/bye", "leave, as Ctrl-D does"},
}

// isCommand matches the word that a command is, or that is meant for one.
var isCommand = regexp.MustCompile(`^/[a-z?]+$`)

// chat answers what is typed until the person leaves. An error ends a turn, and no chat.
func (m *Main) chat(ctx context.Context, cmd *cobra.Command, c *control.Client, g generation) error {
	v := &conversation{Main: m, cmd: cmd, c: c, request: g}
	err := v.use(ctx, g.Model)
	if err != nil {
		return err
	}
	if v.editor, err = m.NewEditor(); err != nil {
		return err
	}
	_, stop := m.Interruptible(ctx) // no Ctrl-C ends the chat
	defer stop()
	v.Remark("%s answers. /help lists the commands, Ctrl-D leaves.", v.request.Model)
	for {
		text, err := v.editor.ReadText(ctx, ">>> ")
		switch {
		case err == io.EOF:
			return nil
		case err == terminal.ErrInterrupted:
			v.Remark("Ctrl-D or /bye leaves")
			continue
		case err != nil:
			return err
		}
		turn, stop := m.Interruptible(ctx)
		leaves, err := v.take(turn, text)
		stopped := turn.Err() != nil
		stop()
		switch {
		case leaves || ctx.Err() != nil:
			return ctx.Err()
		case err != nil && stopped || err == terminal.ErrInterrupted:
			v.Remark("stopped")
		case err != nil:
			m.Say("%v", err)
		}
	}
}

// take follows a command, or answers what was said.
func (v *conversation) take(ctx context.Context, text string) (leaves bool, err error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch {
	case word == "/bye":
		return true, nil
	case word == "":
		return false, nil
	case isCommand.MatchString(word):
		return false, v.obey(ctx, word, strings.TrimSpace(rest))
	}
	return false, v.answer(ctx, text)
}

// use goes on with a model that is here.
func (v *conversation) use(ctx context.Context, name string) error {
	id, err := idOf(ctx, v.c, name)
	if err != nil {
		return err
	}
	if _, err := control.Call(ctx, v.c, control.GetModelSettings, id); err != nil { // no model has the id
		return err
	}
	v.request.Model = id
	return nil
}

// obey follows a command.
func (v *conversation) obey(ctx context.Context, command, rest string) error {
	switch command {
	case "/help":
		err := v.Facts(commands)
		v.Remark(`""" begins and ends a text of several lines. Ctrl-C stops an answer.`)
		return err
	case "/clear":
		v.request.Messages = nil
		v.Remark("the chat starts over")
		return nil
	case "/save":
		return v.save(rest)
	case "/model":
		k, err := askKnown(ctx, v.c)
		if err != nil {
			return err
		}
		if rest == "" {
			return v.list(k)
		}
		if err := v.offer(ctx, v.cmd, k, rest); err != nil {
			return err
		}
		if err := v.use(ctx, rest); err != nil {
			return err
		}
		v.Remark("%s answers from here on", v.request.Model)
		return nil
	}
	return fmt.Errorf("there is no command %s; /help lists them", command)
}

// list prints the models that are here.
func (v *conversation) list(k known) error {
	var rows [][]any
	for _, id := range k.here {
		mark := ""
		if id == v.request.Model {
			mark = "*"
		}
		rows = append(rows, []any{mark, terminal.ID(id)})
	}
	return v.Facts(rows)
}

// save writes the chat into a file that is not there yet.
func (v *conversation) save(path string) error {
	if path == "" {
		return errors.New("name a file: /save FILE")
	}
	if len(v.request.Messages) == 0 {
		return errors.New("nothing was said yet; there is nothing to save")
	}
	var s strings.Builder
	for _, m := range v.request.Messages {
		who := "You"
		if m.Role == "assistant" {
			who = "Assistant"
		}
		fmt.Fprintf(&s, "## %s\n\n%s\n\n", who, m.Content)
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok { // no shell is here to do it
		path = filepath.Join(control.UserHome(v.Getenv), rest)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already; name another file", path)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(s.String())
	if err = errors.Join(err, f.Close()); err == nil {
		v.Remark("saved to %s", path)
	}
	return err
}

// answer asks the model for an answer to what was said. What was written until an error stays in the
// conversation. A question without an answer does not.
func (v *conversation) answer(ctx context.Context, said string) error {
	arrived := v.watch(ctx, stateOf(v.c))
	defer arrived()
	g := v.request
	g.Messages = append(slices.Clone(g.Messages), message{"user", said})
	body, continues, err := v.ask(ctx, v.c, g, false)
	if err != nil {
		return err
	}
	a, err := v.print(body, terminal.AnswerForm{Markdown: !continues}, arrived)
	if a.text.Len() > 0 {
		v.request.Messages = append(g.Messages, message{"assistant", a.text.String()})
	}
	if err == nil {
		v.Remark("%s", a.speed())
	}
	return err
}
