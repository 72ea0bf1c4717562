package server

import (
	"context"
	"slices"
	"strings"
	"sync"

	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/engine"
)

// A prompt is what one or more choices continue.
type prompt struct {
	ids  []int32
	text string // for echo

	boundaries []int // see engine.Request
	lead       int   // runes that the ids have before text: a BOS the tokenizer added

	parsing *dialect.Options // how an answer is read; nil where all of it is text

	mu   sync.Mutex
	done int // tokens that the furthest of its choices has evaluated
}

// advance notes how far a choice has come with the prompt they share, and
// returns by how much it is now the furthest.
func (p *prompt) advance(done int) (more int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	more = int64(max(0, done-p.done))
	p.done += int(more)
	return more
}

// A choice is one continuation in the making. One goroutine at a time owns it.
type choice struct {
	index   int // in the reply
	prompt  *prompt
	echo    bool
	req     engine.Request
	matcher model.Matcher   // of req; nil for any text
	parser  *dialect.Parser // nil where all is text
	stops   stopper         // of what it reads
	answer  answer
	told    int // of answer.toks: those whose log-probabilities were told
	thought thought
	single  bool           // one call at most
	ids     []int32        // generated
	toks    []engine.Token // without a stream: all of them
	scored  []engine.Token // the prompt's, under PromptLogprobs
	runes   int            // of this choice's text so far, for text_offset; below 0 in what precedes it
	began   bool           // its first chunk is out
	buf     []byte         // its event in the making, under a stream
	draft   draftInfo      // since its last chunk, under a stream
	finish  engine.Finish
	stopped string // the stop text that it met
	stats   engine.Stats
	parted  *control.Parted // nil if the prompt leaves no text that was kept

	enough bool // it said all that was asked for, and was stopped there

	last  [1]engine.Token // for events.add
	parts []dialect.Part
}

// hear reads a token, and tells out of it.
func (c *choice) hear(t engine.Token, out events) {
	c.last[0], c.parts = t, c.parts[:0]
	switch {
	case c.parser != nil:
		before := c.parser.Thinking()
		c.take(c.stops.push(c.parser, t.Text))
		if before && c.parser.Thinking() && len(c.ids) > c.thought.put() {
			c.thought.tokens++
		}
	case t.Text != "":
		c.take(append(c.parts, dialect.Part{Kind: dialect.Text, Text: t.Text}))
	}
	if c.req.Logprobs {
		c.answer.score(c.last[:], c.parts)
	}
	out.add(c, c.last[:], c.parts)
}

// hush tells out of what was held back until the end.
func (c *choice) hush(out events) {
	if c.parser == nil || c.enough {
		return
	}
	rest := c.parser.Cut
	if c.finish == engine.FinishStop && c.stopped == "" {
		rest = c.parser.Flush
	}
	parts := c.stops.end(c.parser, rest)
	if c.stops.Found != "" {
		c.finish, c.stopped = engine.FinishStop, c.stops.Found
	}
	c.parts = c.parts[:0]
	c.take(parts)
	c.answer.score(nil, c.parts)
	if len(c.parts) > 0 {
		out.add(c, nil, c.parts)
	}
}

// take makes parts a part of the answer, as far as they are asked for.
func (c *choice) take(parts []dialect.Part) {
	for _, p := range parts {
		switch {
		case p.Kind == dialect.Reasoning && c.thought.hidden:
			continue
		case c.single && (p.Kind == dialect.Call || p.Kind == dialect.Arguments) && p.Index > 0:
			continue
		}
		c.answer.add(p)
		c.parts = append(c.parts, p)
	}
}

// heard returns the tokens of the text since the last time.
func (c *choice) heard() []engine.Token {
	toks := c.answer.toks[c.told:]
	c.told = len(c.answer.toks)
	return toks
}

// calls reports whether the model waits for what its calls return, also where a stop text is what marks them.
func (c *choice) calls() bool {
	return c.finish == engine.FinishStop && c.stopped == c.stops.marks.Found && c.answer.called()
}

// tokenText is the text of a token for a person.
func tokenText(tk model.Tokenizer, id int32) string {
	return clip(strings.ToValidUTF8(string(tk.TokenBytes(id)), "\uFFFD"))
}

// choices lays out the continuations: those of the first prompt, then those
// of the second, as OpenAI numbers them.
func (a *API) choices(ctx context.Context, m model.Model, req request) ([]*choice, error) {
	p := req.common()
	prompts, err := req.prompts(m)
	if err != nil {
		return nil, err
	}
	prediction, err := predicted(m, p.prediction)
	if err != nil {
		return nil, err
	}
	var all []*choice
	for _, prompt := range prompts {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		switch n, limit := len(prompt.ids), m.ContextLength(); {
		case n == 0:
			return nil, invalid(p.promptParam, "The field %s holds no tokens at all; send some text.", p.promptParam)
		case n > limit:
			return nil, contextError(p.promptParam, m, "", n)
		}
		if i := slices.IndexFunc(prompt.ids, func(id int32) bool { return int(id) >= m.VocabSize() }); i >= 0 {
			id := prompt.ids[i]
			return nil, invalid(p.promptParam, "The prompt holds the token %q, whose id %d the model %s does not know: its ids are below %d. Leave the token out.",
				m.Tokenizer().TokenBytes(id), id, m.ID(), m.VocabSize())
		}
		for k := range max(p.n, p.bestOf) {
			c := &choice{index: len(all), prompt: prompt, echo: p.keepPrompt, runes: -prompt.lead, req: p.request(prompt.ids, m.Defaults(), k)}
			c.req.Boundaries = prompt.boundaries
			c.req.Logprobs = c.req.Logprobs || p.ranked()
			c.req.Prediction = prediction
			if prompt.parsing != nil {
				c.parser, c.req.Special = m.Dialect().Parser(*prompt.parsing), m.Special()
				c.stops, c.req.Stopper = newStopper(p.stop, m.Dialect()), p.stopper(m.Dialect(), *prompt.parsing)
				c.single, c.thought.limit, c.thought.hidden = p.single, p.thinking.budget, p.thinking.hidden
			}
			all = append(all, c)
		}
	}
	if p.grammar != nil {
		for _, c := range all {
			if ctx.Err() != nil { // making one takes time
				return all, context.Cause(ctx)
			}
			if c.matcher, err = m.Matcher(ctx, *p.grammar); err != nil {
				return all, badGrammar(err, p.grammarParam)
			}
			c.req.Grammar = c.matcher
		}
	}
	if p.resumes != nil {
		return all, p.resumes.apply(m, all[0])
	}
	return all, nil
}

// predicted returns the tokens of a prediction, which is plain text. Ids that
// the model does not know cannot come.
func predicted(m model.Model, text string) ([]int32, error) {
	if text == "" {
		return nil, nil
	}
	limit := m.ContextLength()
	tooLong := invalid("prediction.content", "prediction.content is longer than the model's whole context of %d tokens; send a shorter one, or none.", limit)
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

// countPrompts counts the tokens of each prompt once.
func countPrompts(choices []*choice) int {
	n, last := 0, (*prompt)(nil)
	for _, c := range choices {
		if c.prompt != last {
			n, last = n+len(c.prompt.ids), c.prompt
		}
	}
	return n
}

// draftInfo is what return_draft_info adds: to a chunk what was proposed and
// accepted since the one before, to a whole choice, and to a choice's last
// chunk, its rounds too.
type draftInfo struct {
	Proposed int `json:"proposed"`
	Accepted int `json:"accepted"`
	*rounds
}

// rounds are parallel lists, plain rounds 0.
type rounds struct {
	Depths  []int `json:"depths"`
	Accepts []int `json:"accepts"`
}

func (c *choice) rounds() *rounds {
	return &rounds{append([]int{}, c.stats.Depths...), append([]int{}, c.stats.Accepts...)}
}

// text is that of a choice, behind its prompt if it was asked for.
func (c *choice) text() string {
	if c.echo {
		return c.prompt.text + c.answer.joined(dialect.Text)
	}
	return c.answer.joined(dialect.Text)
}
