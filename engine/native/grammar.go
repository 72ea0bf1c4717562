package native

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"unsafe"
)

// A GrammarError tells why a grammar cannot be followed: it does not compile, it is too large, or a
// mask takes too much work.
//
// The limits:
//
//   - 1 MiB for all grammars, 65,525 symbols
//   - three seconds of the processor and 192 MiB of memory to compile, one second and 64 MiB to step
//   - 128 levels of a schema, multipleOf up to 100,000
//   - 2,000 names and 100 patterns of names in an object
//   - the defaults of llguidance's ParserLimits, some milliseconds for a mask
type GrammarError struct {
	Kind    ErrorKind // KindSyntax, KindLimit or KindRender
	Message string
	At      string // the place in Lark rules, such as "line 2, column 9"; empty elsewhere
	Rule    string // the rule there, if it is known
}

func (e *GrammarError) Error() string { return "grammar: " + e.Message }

// A Vocabulary holds the bytes of a model's tokens. Grammars are compiled against it. Any number of
// goroutines may call its methods. It has a process of its own until Close, with some 100 bytes a
// token.
type Vocabulary struct {
	size   int
	origin *origin
}

// NewVocabulary returns the vocabulary of a model. size is the number of the model's logits. token
// returns the bytes of a token and whether it is special. An id without bytes is never allowed. A
// grammar allows a special token only by its name, never as part of a text. eos are the tokens that
// end a text, at least one. lane is that of the program.
func NewVocabulary(
	size int, token func(id int32) (text []byte, special bool), eos []int32, lane *Lane,
) (*Vocabulary, error) {
	var text []byte
	source := binary.NativeEndian.AppendUint32(nil, uint32(size))
	source = binary.NativeEndian.AppendUint32(source, uint32(len(eos)))
	for id := range size {
		b, special := token(int32(id))
		if special && len(b) > 0 {
			text = append(text, 0xff) // no text has this byte
		}
		text = append(text, b...)
		source = binary.NativeEndian.AppendUint32(source, uint32(len(text)))
	}
	for _, id := range eos {
		source = binary.NativeEndian.AppendUint32(source, uint32(id))
	}
	source = append(source, text...)
	o, err := newOrigin(lane, func(p *process) error {
		_, err := p.call(context.Background(), 'v', source, load)
		return grammarError(err, "read", load)
	})
	if err != nil {
		return nil, err
	}
	return &Vocabulary{size: size, origin: o}, nil
}

// Close frees the vocabulary. Its matchers stay usable. A second Close is an error.
func (v *Vocabulary) Close() error {
	if err := v.origin.Close(); err != nil {
		return fmt.Errorf("close vocabulary: %w", err)
	}
	return nil
}

// A Grammar says which texts are allowed. One of JSON, Lark and Regex is set.
type Grammar struct {
	Name  string          // the Lark grammars of a list refer to it as @Name
	JSON  json.RawMessage // a JSON schema
	Lark  string          // rules in llguidance's dialect of Lark, with the expressions of src/regex.rs
	Regex string          // a regular expression of Rust's regex crate for the whole text
}

// A Matcher follows one text by a grammar, token by token. One goroutine at a time uses it. It has
// a process of its own until Close. If something ends or stops that, it gets another one.
type Matcher struct {
	size            int
	process         *process // nil after Close
	stopped, broken bool     // broken: a step has failed

	// What another process begins with.
	origin   *origin
	source   []byte
	accepted []int32
}

// Matcher compiles grammars. The text follows the first one, which refers to the others by name. A
// *GrammarError names their fault. When ctx ends, Matcher returns ctx's cause.
func (v *Vocabulary) Matcher(ctx context.Context, grammars ...Grammar) (*Matcher, error) {
	for _, g := range grammars {
		if err := checkSchemas(g); err != nil {
			return nil, err
		}
	}
	source, err := serialised(grammars)
	if err != nil {
		return nil, err
	}
	p, answer, err := v.origin.compute(ctx, 'g', source)
	if err != nil {
		return nil, grammarError(err, "compile", heavy)
	}
	return &Matcher{size: v.size, process: p, stopped: isOne(answer), origin: v.origin, source: source}, nil
}

// serialised returns grammars in llguidance's form.
func serialised(grammars []Grammar) ([]byte, error) {
	type grammar struct {
		Name string          `json:"name,omitempty"`
		JSON json.RawMessage `json:"json_schema,omitempty"`
		Lark string          `json:"lark_grammar,omitempty"`
	}
	list := make([]grammar, len(grammars))
	for i, g := range grammars {
		list[i] = grammar{g.Name, g.JSON, g.Lark}
		if g.Regex != "" {
			source, err := json.Marshal(g.Regex)
			if err != nil {
				return nil, err
			}
			list[i].Lark = `start: %regex {"regex": ` + string(source) + "}"
		}
	}
	return json.Marshal(map[string]any{"grammars": list})
}

// Words returns the number of elements of a mask, which has a bit for each token.
func (m *Matcher) Words() int { return (m.size + 31) / 32 }

// Mask sets the bits of the tokens that may follow. Token i is bit i%32 of element i/32. If nothing
// else may follow, these are the tokens that end a text. bits has Words elements.
func (m *Matcher) Mask(bits []uint32) error { return m.Walk(nil, 0, bits) }

// Walk sets the masks of what may follow the text and each of the drafts, from the row from on, one
// after the other. After a draft that is not allowed, or that ends the text, every token is. Drafts
// before from are taken as allowed. The text stays as it is. It implements engine.Walker.
func (m *Matcher) Walk(drafts []int32, from int, bits []uint32) error {
	body := binary.NativeEndian.AppendUint32(nil, uint32(from))
	for _, id := range drafts {
		body = binary.NativeEndian.AppendUint32(body, uint32(id))
	}
	mask, err := m.step('w', body)
	if err != nil {
		return err
	}
	if len(mask) != 4*len(bits) {
		return &GrammarError{Kind: KindRender,
			Message: "the mask has another size than the vocabulary"}
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(bits))), len(mask)), mask)
	return nil
}

// Accept moves on by a token that the mask allows. Any other token breaks the matcher, and all
// later calls fail.
func (m *Matcher) Accept(id int32) error {
	err := m.move('a', uint32(id))
	if err == nil {
		m.accepted = append(m.accepted, id)
	}
	return err
}

// Rollback takes the last n tokens back.
func (m *Matcher) Rollback(n int) error {
	err := m.move('b', uint32(n))
	if err == nil {
		m.accepted = m.accepted[:len(m.accepted)-n]
	}
	return err
}

// Stopped reports whether nothing may follow: the text is at its end, or the matcher is broken.
func (m *Matcher) Stopped() bool { return m.stopped }

// Close frees the matcher. A second Close is an error.
func (m *Matcher) Close() error {
	if m.process == nil {
		return errors.New("close matcher: already closed")
	}
	p := m.process
	m.process = nil
	return p.Close()
}

// move makes a step to another place in the text.
func (m *Matcher) move(what byte, n uint32) error {
	stopped, err := m.step(what, binary.NativeEndian.AppendUint32(nil, n))
	m.stopped = err != nil || isOne(stopped)
	return err
}

// step returns the answer to one step. A step that fails breaks the matcher.
func (m *Matcher) step(what byte, body []byte) ([]byte, error) {
	answer, err := m.process.step(context.Background(), what, body)
	if first := err; errors.Is(first, ErrProcess) && !m.broken && m.replace() == nil {
		answer, err = m.process.step(context.Background(), what, body)
		err = m.origin.blame(first, err)
	}
	if err != nil {
		m.stopped, m.broken = true, true
	}
	return answer, grammarError(err, "follow", step)
}

// replace gives the matcher another process, which follows the text as far as it was accepted. All of it
// has the time of one call: other requests of the model may wait for this step, and a replay may have
// 100,000 tokens.
func (m *Matcher) replace() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), m.origin.lane.time, ErrProcess)
	defer cancel()
	p, _, err := m.origin.compute(ctx, 'g', m.source)
	if err != nil {
		return err
	}
	m.process.Close()
	m.process = p
	for _, id := range m.accepted {
		if _, err := p.step(ctx, 'a', binary.NativeEndian.AppendUint32(nil, uint32(id))); err != nil {
			return err
		}
	}
	return nil
}

// step is call for a step of a matcher. The processor's time is bounded in the process. The clock counts
// for one that is stopped.
func (p *process) step(ctx context.Context, what byte, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, ErrProcess)
	defer cancel()
	return p.call(ctx, what, body, step)
}

func isOne(answer []byte) bool { return len(answer) == 1 && answer[0] == 1 }

// grammarError returns what a caller of a grammar hears of err. doing is a verb for what took b.
func grammarError(err error, doing string, b budget) error {
	f, ok := errors.AsType[*failure](err)
	if !ok {
		return err
	}
	return explain(f.errorKind(), f.messageFor(doing, b))
}
