package api

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"

	"tandem/app/model"
	"tandem/app/wire"
)

func (c *Conversation) Prompts(ctx context.Context, m model.Model) ([]*Prompt, error) {
	if err := m.CheckTexts(ctx, c.Tools.Tools); err != nil {
		return nil, err
	}
	text, ids, err := c.encoded(ctx, m)
	if err != nil {
		return nil, err
	}
	c.leaveOutArguments(m)
	p := &Prompt{IDs: ids, boundaries: c.boundaries(ctx, m, ids), conversation: c}
	if p.Parsing, err = c.parsing(m, text); err != nil {
		return nil, err
	}
	return []*Prompt{p}, nil
}

// encoded returns the prompt as text and as tokens. Thoughts that the client left out are in it,
// where the template keeps them. If they would take the room of the answer, they stay out. If a
// conversation may be truncated and does not fit, its earliest turns are left out.
func (c *Conversation) encoded(ctx context.Context, m model.Model) (string, []int32, error) {
	given := c.Messages
	c.putBackThoughts(ctx, m)
	text, ids, err := c.encodedOnce(ctx, m)
	if c.putBack.Thoughts > 0 && (err != nil || !c.leavesRoom(m, len(ids))) {
		c.Messages, c.putBack = given, putBack{}
		text, ids, err = c.encodedOnce(ctx, m)
	}
	if c.Truncate && isTooLong(m, ids, err) {
		c.Messages = given // a template without a place for the system's made them the user's
		if text, ids, ok := c.truncated(ctx, m); ok {
			return text, ids, c.checkLimits(len(ids))
		}
		if err == nil && len(ids) > m.ContextLength() {
			err = ContextError(c.PromptParam, m, "", len(ids))
		}
		err = c.cannotTruncate(err)
	}
	if err == nil {
		err = c.checkLimits(len(ids))
	}
	return text, ids, err
}

func (c *Conversation) encodedOnce(ctx context.Context, m model.Model) (string, []int32, error) {
	text, err := c.Rendered(ctx, m)
	if err != nil {
		return "", nil, err
	}
	ids, err := EncodeChat(m, c.PromptParam, text)
	return text, ids, err
}

// answerShare is the part of the context that thoughts leave to the answer: a quarter.
const answerShare = 4

// leavesRoom reports whether a prompt leaves room for the answer: what it asks for, or its share of
// the context if that is less.
func (c *Conversation) leavesRoom(m model.Model, prompt int) bool {
	room := m.ContextLength() / answerShare
	if c.MaxTokens != nil {
		room = min(room, *c.MaxTokens)
	}
	return prompt+room <= m.ContextLength()
}

// putBackThoughts gives earlier answers the thoughts that the client left out, if the template
// prints them there. Without them the prompt would part from what the model's checkpoints have. An
// answer that comes with a thought stays as it is.
func (c *Conversation) putBackThoughts(ctx context.Context, m model.Model) {
	c.past, c.putBack = nil, putBack{}
	if c.thoughts == nil || !m.Dialect().Reasons() {
		return
	}
	pasts := c.readPasts(m.ID())
	if len(pasts) == 0 {
		return
	}
	found := c.thoughts.find(ctx, m.ID(), pasts)
	if len(found) == 0 {
		return
	}
	list := slices.Clone(c.Messages)
	for _, d := range c.printed(ctx, m, found) {
		list[d.at].set(thoughtName, string(wire.AppendString(nil, d.text)))
		c.putBack.Thoughts++
		c.putBack.Tokens += d.tokens
	}
	c.Messages = list
}

// readPasts returns the past up to each answer without a thought, by the number of its message. It
// notes the past before the answer to come.
func (c *Conversation) readPasts(modelID string) map[int]past {
	pasts := map[int]past{}
	p := newPast(c.thoughts.owner, modelID, c.Tools.List)
	for i := range c.Messages {
		msg := &c.Messages[i]
		if c.begun != "" && i == len(c.Messages)-1 {
			c.past = new(p.clone())
		}
		p.add(msg)
		if msg.Role == "assistant" && msg.raw(thoughtName) == "" {
			pasts[i] = p // it only names and opens
		}
	}
	if c.begun == "" {
		c.past = &p
	}
	return pasts
}

// printed returns the thoughts that the template would print. A rendering with marks in the place of
// thoughts shows that.
func (c *Conversation) printed(ctx context.Context, m model.Model,
	found []droppedThought) []droppedThought {
	ctx, cancel := context.WithTimeout(ctx, boundaryTime)
	defer cancel()
	marked := *c
	marked.Messages = slices.Clone(c.Messages)
	marks := make([]string, len(found))
	for i, d := range found {
		marks[i] = rand.Text()
		marked.Messages[d.at].set(thoughtName, `"`+marks[i]+`"`)
	}
	text, err := marked.Rendered(ctx, m)
	if err != nil {
		return nil
	}
	var list []droppedThought
	for i, d := range found {
		if strings.Contains(text, marks[i]) {
			list = append(list, d)
		}
	}
	return list
}
