package native

/*
#include "native.h"
*/
import "C"

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// A GrammarError tells why a grammar cannot be followed: it does not compile, it is too large, or a
// mask takes too much work.
//
// The limits:
//
//   - 1 MiB for all grammars, 65,525 symbols, ten seconds to compile
//   - 128 levels of a schema, multipleOf up to 100,000
//   - 2,000 names and 100 patterns of names in an object
//   - the defaults of llguidance's ParserLimits, some milliseconds for a mask
type GrammarError struct {
	Kind    ErrorKind // KindSyntax, KindLimit or KindRender
	Message string
}

func (e *GrammarError) Error() string { return "grammar: " + e.Message }

// A Vocabulary holds the bytes of a model's tokens. Grammars are compiled against it. Any number of
// goroutines may call its methods. It takes some 100 bytes a token until Close.
type Vocabulary struct {
	size int

	turns chan struct{}                         // one element for each grammar that compiles
	build func(source []byte) (*Matcher, error) // the method matcher, or a test's

	mu     sync.Mutex
	handle *C.tandem_vocabulary // nil when closed and without users
	users  int
	closed bool
}

// NewVocabulary returns the vocabulary of a model. size is the number of the model's logits. token
// returns the bytes of a token and whether it is special. An id without bytes is never allowed. A
// grammar allows a special token only by its name, never as part of a text. eos are the tokens that
// end a text, at least one.
func NewVocabulary(
	size int, token func(id int32) (text []byte, special bool), eos []int32,
) (*Vocabulary, error) {
	var text []byte
	ends, last := make([]uint32, size), make([]uint32, len(eos))
	for id := range size {
		b, special := token(int32(id))
		if special && len(b) > 0 {
			text = append(text, 0xff) // no text has this byte
		}
		text = append(text, b...)
		ends[id] = uint32(len(text))
	}
	for i, id := range eos {
		last[i] = uint32(id)
	}
	v := &Vocabulary{size: size, turns: make(chan struct{}, compilers)}
	v.build = v.matcher
	var message C.tandem_buffer
	kind := C.tandem_vocabulary_new(
		(*C.uint8_t)(unsafe.SliceData(text)), C.size_t(len(text)),
		(*C.uint32_t)(unsafe.SliceData(ends)), C.size_t(size),
		(*C.uint32_t)(unsafe.SliceData(last)), C.size_t(len(last)), &v.handle, &message)
	runtime.KeepAlive(text)
	if kind != C.TANDEM_OK {
		return nil, grammarError(kind, message)
	}
	return v, nil
}

// Close frees the vocabulary, after the compilations that still use it. Its matchers stay usable. A
// second Close is an error.
func (v *Vocabulary) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return errors.New("close vocabulary: already closed")
	}
	v.closed = true
	v.free()
	return nil
}

// A Grammar says which texts are allowed. One of JSON, Lark and Regex is set.
type Grammar struct {
	Name  string          // the Lark grammars of a list refer to it as @Name
	JSON  json.RawMessage // a JSON schema
	Lark  string          // rules in llguidance's dialect of Lark
	Regex string          // a regular expression for the whole text
}

// A Matcher follows one text by a grammar, token by token. One goroutine at a time uses it. It
// holds memory of the library until Close.
type Matcher struct {
	size   int
	handle *C.tandem_matcher
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
	return v.compile(ctx, source)
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
			list[i].Lark = "start: /" + delimited(g.Regex) + "/"
		}
	}
	return json.Marshal(map[string]any{"grammars": list})
}

// delimited returns a regular expression that can stand between slashes, in one line.
func delimited(regex string) string {
	var b strings.Builder
	escaped := false
	for _, r := range regex {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '/' && !escaped:
			b.WriteString(`\/`)
		default:
			b.WriteRune(r)
		}
		escaped = r == '\\' && !escaped
	}
	return b.String()
}

// Words returns the number of elements of a mask, which has a bit for each token.
func (m *Matcher) Words() int { return (m.size + 31) / 32 }

// Mask sets the bits of the tokens that may follow. Token i is bit i%32 of element i/32. If nothing
// else may follow, these are the tokens that end a text. bits has Words elements.
func (m *Matcher) Mask(bits []uint32) error {
	var message C.tandem_buffer
	words := (*C.uint32_t)(unsafe.SliceData(bits))
	kind := C.tandem_matcher_mask(m.handle, words, C.size_t(len(bits)), &message)
	return m.result(kind, message)
}

// Accept moves on by a token that the mask allows. Any other token breaks the matcher, and all
// later calls fail.
func (m *Matcher) Accept(id int32) error {
	var message C.tandem_buffer
	return m.result(C.tandem_matcher_accept(m.handle, C.uint32_t(id), &message), message)
}

// Rollback takes the last n tokens back.
func (m *Matcher) Rollback(n int) error {
	var message C.tandem_buffer
	return m.result(C.tandem_matcher_rollback(m.handle, C.size_t(n), &message), message)
}

// Stopped reports whether the text is at its end, so that nothing may follow.
func (m *Matcher) Stopped() bool { return C.tandem_matcher_stopped(m.handle) != 0 }

// Close frees the matcher. A second Close is an error.
func (m *Matcher) Close() error {
	if m.handle == nil {
		return errors.New("close matcher: already closed")
	}
	C.tandem_matcher_free(m.handle)
	m.handle = nil
	return nil
}

func (m *Matcher) result(kind C.int32_t, message C.tandem_buffer) error {
	runtime.KeepAlive(m)
	if kind != C.TANDEM_OK {
		return grammarError(kind, message)
	}
	return nil
}

func grammarError(kind C.int32_t, message C.tandem_buffer) *GrammarError {
	return &GrammarError{Kind: errorKind(kind), Message: take(message)}
}
