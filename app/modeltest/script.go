package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"tandem/app/model"
	"tandem/engine"
)

// A Script holds the answers of a program that tests clients. Template, tokenizer, queue, limits,
// stop texts and checkpoints work as ever, so that the protocol is tested. The first cue that
// matches a prompt counts. Without a script the model answers.
type Script []Cue

// A Cue is an answer to some prompts.
type Cue struct {
	// When is a regular expression over the prompt's text after the template.
	When string `json:"when"`
	// Say is the answer. Special tokens are written out. $1 and ${name} are groups of When.
	Say string `json:"say"`
	// Bound is the answer to a request whose form does not allow Say's first token: a forced call,
	// or a schema. With it a check sees that the server heard of the form. Without it the model
	// chooses.
	Bound string `json:"bound"`

	Wait int  `json:"wait_ms"` // before the engine hears of the request
	Pace int  `json:"pace_ms"` // after each token
	Fail bool `json:"fail"`    // with an error, instead of the end
	Full int  `json:"full"`    // the queue is full so many times before each answer

	when  *regexp.Regexp
	asked *atomic.Int64
}

// full reports whether the queue is full for this request.
func (c Cue) full() bool { return (c.asked.Add(1)-1)%int64(c.Full+1) < int64(c.Full) }

// ReadScript reads a list of cues in JSON.
func ReadScript(text []byte) (Script, error) {
	var s Script
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("the script: %w", err)
	}
	for i := range s {
		s[i].asked = new(atomic.Int64)
		var err error
		if s[i].when, err = regexp.Compile(s[i].When); err != nil {
			return nil, fmt.Errorf("cue %d of the script: %w", i+1, err)
		}
	}
	return s, nil
}

// find returns the cue for a prompt, with its answers for this prompt.
func (s Script) find(prompt string) (Cue, bool) {
	for _, c := range s {
		if m := c.when.FindStringSubmatchIndex(prompt); m != nil {
			c.Say = string(c.when.ExpandString(nil, c.Say, prompt, m))
			c.Bound = string(c.when.ExpandString(nil, c.Bound, prompt, m))
			return c, true
		}
	}
	return Cue{}, false
}

// Generate is the engine's method of that name, held to the script as to a grammar that has one text. eos
// are the tokens that end a text. It is a pool.Generator.
func (s Script) Generate(ctx context.Context, m model.Model, eos []int32, e *engine.Engine,
	r engine.Request) iter.Seq2[engine.Token, error] {
	if r.MaxTokens != nil && *r.MaxTokens == 0 {
		return e.Generate(ctx, r)
	}
	return func(yield func(engine.Token, error) bool) {
		prompt := m.Tokenizer().Decode(r.Prompt)
		cue, ok := s.find(prompt)
		if !ok {
			if r.Done != nil {
				r.Done(engine.Stats{})
			}
			end := prompt[max(0, len(prompt)-300):]
			yield(engine.Token{}, &engine.Error{Code: engine.CodeInvalid,
				Message: fmt.Sprintf("The script knows no answer to a prompt that ends in %q.",
					end)})
			return
		}
		if cue.full() {
			if r.Done != nil {
				r.Done(engine.Stats{})
			}
			yield(engine.Token{}, &engine.Error{Code: engine.CodeQueueFull,
				Message: "The script has the queue full here; try again in a second."})
			return
		}
		r.Grammar = &scriptMatcher{ids: answer(m, r, cue.Say), bound: answer(m, r, cue.Bound),
			from: len(r.Generated), ends: eos, words: (m.VocabSize() + 31) / 32,
			form: r.Grammar}
		pause(ctx, cue.Wait)
		for t, err := range e.Generate(ctx, r) {
			if cue.Fail && t.Finish != "" {
				t, err = engine.Token{}, &engine.Error{Code: engine.CodeInternal,
					Message: "The script has an error here."}
			}
			if !yield(t, err) {
				return
			}
			pause(ctx, cue.Pace)
		}
	}
}

// answer returns the tokens of an answer, the generated ones included.
func answer(m model.Model, r engine.Request, say string) []int32 {
	ids, err := m.Tokenizer().Encode(rest(say, m.Tokenizer().Decode(r.Generated)), false)
	if err != nil {
		panic(err) // the script is ours
	}
	return slices.Concat(r.Generated, ids)
}

// rest returns what is left of say after the beginning of an answer. If the server ended a thought
// early, that is the text after the thought.
func rest(say, said string) string {
	const end = "</think>"
	if left, ok := strings.CutPrefix(say, said); ok {
		return left
	}
	_, left, _ := strings.Cut(say, end)
	_, said, _ = strings.Cut(said, end)
	return strings.TrimPrefix(left, said)
}

func pause(ctx context.Context, ms int) {
	if ms > 0 {
		select {
		case <-time.After(time.Duration(ms) * time.Millisecond):
		case <-ctx.Done(): // the engine's own loop ends with it
		}
	}
}

// A scriptMatcher is an engine.Matcher of one text. If the request has a form that does not allow
// the text's next token, the form counts.
type scriptMatcher struct {
	ids, ends []int32
	bound     []int32 // in place of ids, if the form does not allow the first new one
	from, at  int     // of ids: the first new one, the next one; past them the text is complete
	words     int
	form      engine.Matcher // nil if there is none
}

func (c *scriptMatcher) Words() int { return c.words }

func (c *scriptMatcher) Mask(bits []uint32) error {
	allowed := slices.Repeat([]uint32{^uint32(0)}, c.words)
	if c.form != nil {
		if err := c.form.Mask(allowed); err != nil {
			return err
		}
	}
	if c.next(bits, allowed) {
		return nil
	}
	if c.at == c.from && len(c.bound) > c.from {
		c.ids = c.bound
		if c.next(bits, allowed) {
			return nil
		}
	}
	copy(bits, allowed)
	return nil
}

// next puts the text's next token into bits, or the tokens that end it. It reports whether one of
// them is allowed.
func (c *scriptMatcher) next(bits, allowed []uint32) bool {
	next := c.ends
	if c.at < len(c.ids) {
		next = c.ids[c.at : c.at+1]
	}
	clear(bits)
	some := false
	for _, id := range next {
		bit := uint32(1) << (id % 32)
		if allowed[id/32]&bit != 0 {
			bits[id/32] |= bit
			some = true
		}
	}
	return some
}

func (c *scriptMatcher) Accept(id int32) error {
	c.at++
	if c.form != nil {
		return c.form.Accept(id)
	}
	return nil
}

func (c *scriptMatcher) Rollback(n int) error {
	c.at -= n
	if c.form != nil {
		return c.form.Rollback(n)
	}
	return nil
}

func (c *scriptMatcher) Stopped() bool {
	if c.form != nil {
		return c.form.Stopped()
	}
	return c.at > len(c.ids)
}
