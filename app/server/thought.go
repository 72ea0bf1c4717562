package server

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"

	"tandem/app/model"
	"tandem/engine"
)

// efforts are what reasoning_effort takes. The first turns thinking off.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// budgetFields are the names that servers have for the most tokens of a thought.
var budgetFields = []string{"thinking_budget", "thinking_token_budget", "thinking_budget_tokens"}

// thinking is how a request wants the model to think.
type thinking struct {
	effort string // empty for the model's own
	on     *bool  // nil for what the template says
	budget *int   // tokens, nil for any number
	hidden bool   // it is not part of the reply
}

// readThinking takes the names of OpenAI, of OpenRouter (reasoning), and of the
// servers of open models.
func readThinking(f *fields) (t thinking) {
	t.effort = f.oneOf("reasoning_effort", efforts)
	for _, key := range budgetFields {
		if n := f.int(key, -1, math.MaxInt32); n != nil {
			t.budget = n
		}
	}
	t.on = optional(f, "enable_thinking", f.bool)
	if o := f.object("reasoning"); o != nil {
		if effort := o.oneOf("effort", efforts); effort != "" {
			t.effort = effort
		}
		if n := o.int("max_tokens", -1, math.MaxInt32); n != nil {
			t.budget = n
		}
		if on := optional(o, "enabled", o.bool); on != nil {
			t.on = on
		}
		t.hidden = o.bool("exclude")
		f.take(o)
	}
	if t.budget != nil && *t.budget < 0 { // as peers say: no limit
		t.budget = nil
	}
	if t.on == nil && t.effort != "" {
		t.on = new(t.effort != efforts[0])
	}
	return t
}

// into adds the variables by which templates know it to those that the request sets
// itself, which count. Which of them a template reads is its family's.
func (t thinking) into(kwargs json.RawMessage) json.RawMessage {
	set := map[string]json.RawMessage{}
	if kwargs != nil && json.Unmarshal(kwargs, &set) != nil {
		return kwargs // to be refused
	}
	var more []byte
	add := func(key string, v any) {
		if _, ok := set[key]; !ok {
			more = appendMember(more, key, v)
		}
	}
	if t.on != nil {
		add("enable_thinking", *t.on) // Qwen, GLM, SmolLM
		add("thinking", *t.on)        // DeepSeek, Granite
	}
	if t.effort != "" && t.effort != efforts[0] {
		add("reasoning_effort", t.effort) // gpt-oss
	}
	if t.budget != nil {
		add("thinking_budget", *t.budget) // Seed
	}
	switch {
	case more == nil:
		return kwargs
	case len(set) == 0:
		return slices.Concat([]byte{'{'}, more[1:], []byte{'}'})
	}
	kwargs = bytes.TrimRight(kwargs, " \t\r\n")
	return slices.Concat(kwargs[:len(kwargs)-1], more, []byte{'}'})
}

// A thought is what a choice has thought so far.
type thought struct {
	tokens int  // of it, without the tags as far as these are tokens of their own
	limit  *int // of tokens, nil for any number
	hidden bool
	closed []span // where it was closed at its limit
}

// A span are tokens of an answer that the server put there.
type span struct {
	At int `json:"at"` // tokens of the answer before it
	N  int `json:"n"`
}

// put returns how long the answer is behind what the server put there last.
func (t *thought) put() int {
	if n := len(t.closed); n > 0 {
		return t.closed[n-1].At + t.closed[n-1].N
	}
	return 0
}

// maxClosed bounds how often a choice's thoughts are closed: a model may begin
// another one each time.
const maxClosed = 8

// spent reports whether the choice is amid a thought and may think no more.
func (c *choice) spent() bool {
	t := &c.thought
	return t.limit != nil && c.parser != nil && t.tokens >= *t.limit && c.parser.Thinking() && len(c.ids) >= t.put() && len(t.closed) < maxClosed
}

// closedBefore reports whether the end of the thought comes next in what was generated
// until the answer was cut off: the server put it there, where it would put it now.
func (c *choice) closedBefore(m model.Model) (bool, error) {
	closing, err := m.Tokenizer().Encode(m.Dialect().Closing(), false)
	n, end := len(c.ids), len(c.ids)+len(closing)
	if err != nil || end > len(c.req.Generated) || !slices.Equal(c.req.Generated[n:end], closing) {
		return false, err
	}
	c.thought.closed = append(c.thought.closed, span{n, len(closing)})
	return true, nil
}

// closeThought puts the end of a thought behind what was said: the engine goes on
// there as if the model had generated it. Without room for it the choice has come
// to its end.
func (c *choice) closeThought(rep *reply) error {
	m := rep.model
	if there, err := c.closedBefore(m); there || err != nil {
		return err
	}
	closing, err := m.Tokenizer().Encode(m.Dialect().Closing(), false)
	if err != nil {
		return err
	}
	room := m.ContextLength() - len(c.prompt.ids)
	if c.req.MaxTokens != nil {
		room = min(room, *c.req.MaxTokens)
	}
	if len(c.ids)+len(closing) > room {
		c.finish = engine.FinishLength
		return nil
	}
	c.thought.closed = append(c.thought.closed, span{len(c.ids), len(closing)})
	c.req.Generated = slices.Concat(c.ids, closing)
	if c.matcher == nil {
		return nil
	}
	if err := c.matcher.Close(); err != nil { // it stands where the engine left it
		return err
	}
	c.matcher = nil
	if c.matcher, err = m.Matcher(rep.run.ctx, *rep.params.grammar); err != nil {
		return err
	}
	c.req.Grammar = c.matcher
	return nil
}
