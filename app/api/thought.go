package api

import (
	"context"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/app/wire"
	"tandem/engine"
)

// Thinking is how a request wants the model to think.
type Thinking struct {
	Effort string // empty for the model's default
	On     *bool  // nil for the template's default
	Budget *int   // tokens; nil for no limit
	Hidden bool   // thoughts are not part of the reply
}

// ReadThinking reads the fields of OpenAI (reasoning_effort), of OpenRouter (reasoning), and of other
// servers, such as vLLM and llama.cpp (enable_thinking, budgetFields).
func ReadThinking(f *wire.Fields) (t Thinking) {
	t.Effort = f.Word("reasoning_effort")
	for _, key := range budgetFields {
		if n := f.Whole(key); n != nil {
			t.Budget = n
		}
	}
	t.On = wire.ReadOptional(f, "enable_thinking", f.Bool)
	if o := f.Object("reasoning"); o != nil {
		if effort := o.Word("effort"); effort != "" {
			t.Effort = effort
		}
		if n := o.Whole("max_tokens"); n != nil {
			t.Budget = n
		}
		if on := wire.ReadOptional(o, "enabled", o.Bool); on != nil {
			t.On = on
		}
		t.Hidden = o.Bool("exclude")
	}
	if t.Budget != nil && *t.Budget < 0 { // no limit, as in other servers
		t.Budget = nil
	}
	if t.On == nil && t.Effort != "" {
		t.On = new(t.Effort != EffortNone)
	}
	return t
}

// variables returns the thinking's variables for a template. Each family's template reads the
// variables that it knows.
func (t Thinking) variables() (list wire.Members) {
	add := func(key string, v any) { list = append(list, wire.Member{Key: key, Value: wire.MustJSON(v)}) }
	if t.On != nil {
		add("enable_thinking", *t.On) // Qwen, GLM, SmolLM
		add("thinking", *t.On)        // DeepSeek, Granite
	}
	if t.Effort != "" && t.Effort != EffortNone {
		add("reasoning_effort", t.Effort) // gpt-oss
	}
	if t.Budget != nil {
		add("thinking_budget", *t.Budget) // Seed
	}
	return list
}

// A thought has what counts against a choice's token limit of thinking.
type thought struct {
	text   []byte // of all thoughts
	tokens int    // in all thoughts; tags do not count if they are tokens of their own
	limit  *int   // of tokens; nil for no limit
	hidden bool
	closed []Span // where the server inserted the end of a thought, because the limit was reached
}

// A Span is a stretch of an answer's tokens.
type Span struct {
	At int `json:"at"` // tokens of the answer before it
	N  int `json:"n"`
}

// insertedEnd returns the position after the last tokens that the server put into the answer.
func (t *thought) insertedEnd() int {
	if n := len(t.closed); n > 0 {
		return t.closed[n-1].At + t.closed[n-1].N
	}
	return 0
}

// MaxClosed limits how often a choice's thoughts are closed. A model may begin another thought
// after each.
const MaxClosed = 8

// thoughtIsUsedUp reports whether the choice is within a thought and has used up its limit.
func (c *Choice) thoughtIsUsedUp() bool {
	t := &c.thought
	return t.limit != nil && c.Parser != nil && t.tokens >= *t.limit && c.Parser.Thinking() &&
		len(c.IDs) >= t.insertedEnd() && len(t.closed) < MaxClosed
}

// closedBefore reports whether this answer resumes one whose thought the server closed at this
// place: then the end of the thought is what comes next in its tokens. It adds that end to closed.
func (c *Choice) closedBefore(m model.Model) (bool, error) {
	closing, err := m.Tokenizer().Encode(m.Dialect().Closing(), false)
	n, end := len(c.IDs), len(c.IDs)+len(closing)
	if err != nil || end > len(c.Req.Generated) || !slices.Equal(c.Req.Generated[n:end], closing) {
		return false, err
	}
	c.thought.closed = append(c.thought.closed, Span{n, len(closing)})
	return true, nil
}

// closeThought puts the end of a thought after the tokens so far. The engine goes on after it as if
// the model had generated it. If there is no room for it, the choice ends.
func (c *Choice) closeThought(rep *Reply) error {
	m := rep.Model
	if there, err := c.closedBefore(m); there || err != nil {
		return err
	}
	closing, err := m.Tokenizer().Encode(m.Dialect().Closing(), false)
	if err != nil {
		return err
	}
	room := m.ContextLength() - len(c.Prompt.IDs)
	if c.Req.MaxTokens != nil {
		room = min(room, *c.Req.MaxTokens)
	}
	if len(c.IDs)+len(closing) > room {
		c.Finish = engine.FinishLength
		return nil
	}
	c.thought.closed = append(c.thought.closed, Span{len(c.IDs), len(closing)})
	c.Req.Generated = slices.Concat(c.IDs, closing)
	if c.matcher == nil {
		return nil
	}
	if err := c.matcher.Close(); err != nil { // its state is within the thought: a new one replaces it
		return err
	}
	c.matcher = nil
	if c.matcher, err = m.Matcher(rep.Run.Ctx, *rep.Params.Grammar); err != nil {
		return err
	}
	c.Req.Grammar = c.matcher
	return nil
}

// keepThought keeps the thought of a choice that has ended, for a client that leaves it out of the
// next request. An answer that says nothing is not sent again, so its thought is not kept.
func (a *API) keepThought(rep *Reply, c *Choice) {
	talk, run := c.Prompt.conversation, rep.Run
	if talk == nil || talk.past == nil || run.Key <= 0 {
		return
	}
	said, thought, tokens := NewMessage("assistant", c.Answer.Joined(dialect.Text)),
		string(c.thought.text), c.thought.tokens
	if talk.begun != "" { // the answer goes on in the last message
		last := &talk.Messages[len(talk.Messages)-1]
		said.Texts[0] = talk.begun + said.Texts[0]
		if before := last.unquoted(thoughtName); before != "" {
			ids, _ := rep.Model.Tokenizer().EncodePlain(before) // it was in the prompt
			thought, tokens = before+thought, len(ids)+tokens
		}
	}
	for _, b := range c.Answer.Calls() {
		said.Call(b.ID, b.Name, wire.AppendString(nil, string(b.Text)))
	}
	if thought == "" || strings.TrimSpace(said.Text()) == "" && said.Calls == nil {
		return
	}
	p := talk.past.clone()
	p.add(&said)
	sealed, err := p.seal(thought)
	if err == nil {
		err = talk.thoughts.keep(context.WithoutCancel(run.Ctx), control.KeptThought{
			Owner: talk.thoughts.owner, Model: rep.Model.ID(), History: p.name(), Run: run.Key,
			Tokens: tokens, Sealed: sealed,
		}, run.Start)
	}
	if err != nil {
		a.Log.Warn("a thought is not kept", "run", run.Key, "error", err)
	}
}
