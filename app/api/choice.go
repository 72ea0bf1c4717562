package api

import (
	"context"
	"slices"
	"strings"
	"sync"

	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/app/wire"
	"tandem/engine"
)

// A Prompt is what one or more choices continue.
type Prompt struct {
	IDs  []int32
	Text string // for echo
	Lead int    // runes of the ids before Text: of a BOS that the tokenizer added

	boundaries []int   // see engine.Request
	before     []int32 // the same

	Parsing *dialect.Options // how an answer is read; nil if all of it is text

	conversation *Conversation // that it was rendered from; nil for a text

	mu   sync.Mutex
	done int // tokens that the furthest of its choices has evaluated, or restored
}

// advance notes how far a choice has come with the shared prompt. It returns by how much the
// furthest choice has moved.
func (p *Prompt) advance(done int) (more int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	more = int64(max(0, done-p.done))
	p.done += int(more)
	return more
}

// restore notes how many tokens of the shared prompt a choice has restored, and returns how many of
// them count. All do for the first choice. Later ones may restore what others have evaluated.
func (p *Prompt) restore(tokens int) (counted int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done > 0 {
		return 0
	}
	p.done = tokens
	return int64(tokens)
}

// A Choice is one continuation in the making. One goroutine at a time owns it.
type Choice struct {
	Index        int // in the reply
	Prompt       *Prompt
	Echo         bool
	Req          engine.Request
	matcher      model.Matcher   // of Req; nil for any text
	Parser       *dialect.Parser // nil if all is text
	stops        stopper         // of the text that it reads
	Answer       Answer
	logprobsSent int // how many of Answer.toks
	thought      thought
	single       bool           // one call at most
	IDs          []int32        // generated
	Tokens       []engine.Token // without a stream: all of them
	Scored       []engine.Token // the prompt's, under PromptLogprobs
	Finish       engine.Finish
	Stopped      string // the stop text that it met
	Stats        engine.Stats
	divergence   *control.Divergence // nil if the prompt does not depart from a kept text

	enough bool // it said all that was asked for, and was stopped there

	last  [1]engine.Token // for Events.Add
	parts []dialect.Part
}

// readToken reads a token and sends its parts to out.
func (c *Choice) readToken(t engine.Token, out Events) {
	c.last[0], c.parts = t, c.parts[:0]
	switch {
	case c.Parser != nil:
		before := c.Parser.Thinking()
		c.take(c.stops.push(c.Parser, t.Text))
		if before && c.Parser.Thinking() && len(c.IDs) > c.thought.insertedEnd() {
			c.thought.tokens++
		}
	case t.Text != "":
		c.take(append(c.parts, dialect.Part{Kind: dialect.Text, Text: t.Text}))
	}
	if c.Req.Logprobs {
		c.Answer.score(c.last[:], c.parts)
	}
	out.Add(c, c.last[:], c.parts)
}

// flush sends what was held back to out, at the end.
func (c *Choice) flush(out Events) {
	if c.Parser == nil || c.enough {
		return
	}
	rest := c.Parser.Cut
	if c.Finish == engine.FinishStop && c.Stopped == "" {
		rest = c.Parser.Flush
	}
	parts := c.stops.end(c.Parser, rest)
	if c.stops.Found != "" {
		c.Finish, c.Stopped = engine.FinishStop, c.stops.Found
	}
	c.parts = c.parts[:0]
	c.take(parts)
	c.Answer.score(nil, c.parts)
	if len(c.parts) > 0 {
		out.Add(c, nil, c.parts)
	}
}

// take adds the parts that the request wants to the answer.
func (c *Choice) take(parts []dialect.Part) {
	for _, p := range parts {
		switch {
		case p.Kind == dialect.Reasoning:
			c.thought.text = append(c.thought.text, p.Text...)
			if c.thought.hidden {
				continue
			}
		case c.single && (p.Kind == dialect.Call || p.Kind == dialect.Arguments) && p.Index > 0:
			continue
		}
		c.Answer.Add(p)
		c.parts = append(c.parts, p)
	}
}

// NewlyScored returns the scored tokens of the text since the last call.
func (c *Choice) NewlyScored() []engine.Token {
	toks := c.Answer.toks[c.logprobsSent:]
	c.logprobsSent = len(c.Answer.toks)
	return toks
}

// Calls reports whether the model waits for what its calls return. That is also so if a stop text
// is the mark that ends a call.
func (c *Choice) Calls() bool {
	return c.Finish == engine.FinishStop && c.Stopped == c.stops.marks.Found && c.Answer.called()
}

// describeDivergence returns where the prompt differs from the cached sequence that Stats name.
func (c *Choice) describeDivergence(ctx context.Context, m model.Model) *control.Divergence {
	p := c.Stats.Divergence
	out := &control.Divergence{At: c.Stats.Matched, Kept: tokenText(m.Tokenizer(), p.Kept),
		Given: tokenText(m.Tokenizer(), p.Given), Answer: p.Answer, Run: p.Run}
	if talk := c.Prompt.conversation; talk != nil && !p.Answer {
		from := talk.newFrom(ctx, m, c.Prompt.IDs)
		out.New = from >= 0 && out.At >= from
	}
	return out
}

// tokenText is the text of a token, for people to read.
func tokenText(tk model.Tokenizer, id int32) string {
	return wire.Clip(strings.ToValidUTF8(string(tk.TokenBytes(id)), "\uFFFD"))
}

// choices returns the continuations: those of the first prompt, then those of the second, as OpenAI
// numbers them.
func (a *API) choices(ctx context.Context, m model.Model, req Question) ([]*Choice, error) {
	p := req.Common()
	prompts, err := req.Prompts(ctx, m)
	if err != nil {
		return nil, err
	}
	prediction, err := predicted(m, p.Prediction)
	if err != nil {
		return nil, err
	}
	var all []*Choice
	for _, prompt := range prompts {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		switch n, limit := len(prompt.IDs), m.ContextLength(); {
		case n == 0:
			return nil, wire.Invalid(p.PromptParam,
				"The field %s holds no tokens at all; send some text.", p.PromptParam)
		case n > limit:
			return nil, ContextError(p.PromptParam, m, "", n)
		}
		if err := checkIDs(m, p.PromptParam, "The prompt", prompt.IDs); err != nil {
			return nil, err
		}
		for k := range max(p.N, p.bestOf) {
			c := &Choice{Index: len(all), Prompt: prompt, Echo: p.KeepPrompt,
				Req: p.Request(prompt.IDs, m.Defaults(), k)}
			c.Req.Boundaries, c.Req.Before = prompt.boundaries, prompt.before
			c.Req.Logprobs = c.Req.Logprobs || p.ranked()
			c.Req.Prediction = prediction
			if prompt.Parsing != nil {
				c.Parser, c.Req.Special = m.Dialect().Parser(*prompt.Parsing), m.Special()
				c.stops, c.Req.Stopper = newStopper(p.Stop, m.Dialect()),
					p.stopper(m.Dialect(), *prompt.Parsing)
				c.single, c.thought.limit, c.thought.hidden = p.Single, p.Thinking.Budget,
					p.Thinking.Hidden
			}
			all = append(all, c)
		}
	}
	if p.Grammar != nil {
		for _, c := range all {
			if ctx.Err() != nil { // making a matcher takes time
				return all, context.Cause(ctx)
			}
			if c.matcher, err = m.Matcher(ctx, *p.Grammar); err != nil {
				return all, NameParam(err, p.GrammarParam)
			}
			c.Req.Grammar = c.matcher
		}
	}
	if p.Resumes != nil {
		return all, p.Resumes.apply(m, all[0])
	}
	return all, nil
}

// predicted returns the tokens of a prediction, which is plain text. It leaves out ids that the
// model does not know.
func predicted(m model.Model, text string) ([]int32, error) {
	if text == "" {
		return nil, nil
	}
	limit := m.ContextLength()
	tooLong := wire.Invalid("prediction.content",
		"prediction.content is longer than the model's whole context of %d tokens; send a shorter "+
			"one, or none.", limit)
	if len(text) > limit*m.Tokenizer().LongestToken() {
		return nil, tooLong
	}
	ids, err := m.Tokenizer().EncodePlain(text)
	if err != nil {
		return nil, err
	}
	if len(ids) > limit {
		return nil, tooLong
	}
	return slices.DeleteFunc(ids, func(id int32) bool { return int(id) >= m.VocabSize() }), nil
}

// countPrompts returns the tokens of all prompts. It counts a prompt once, however many choices
// continue it.
func countPrompts(choices []*Choice) int {
	n, last := 0, (*Prompt)(nil)
	for _, c := range choices {
		if c.Prompt != last {
			n, last = n+len(c.Prompt.IDs), c.Prompt
		}
	}
	return n
}

// Text is the text of the choice, after its prompt if that was asked for.
func (c *Choice) Text() string {
	if c.Echo {
		return c.Prompt.Text + c.Answer.Joined(dialect.Text)
	}
	return c.Answer.Joined(dialect.Text)
}
