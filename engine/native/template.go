package native

/*
#include "native.h"
*/
import "C"

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// An ErrorKind says what stopped a template or a grammar.
type ErrorKind string

const (
	KindSyntax ErrorKind = "syntax" // it does not compile
	KindRaise  ErrorKind = "raise"  // the template called raise_exception
	KindLimit  ErrorKind = "limit"  // it reached a limit
	KindRender ErrorKind = "render" // anything else, bad variables included
)

// A TemplateError is the failure of a template.
//
// The limits are constants in src/json.rs, src/template and origin.go:
//
//   - source 1 MiB, 4,000 tokens in one tag, 1,000 elif branches
//   - output 4 MiB, texts and lists made on the way 128 MiB
//   - 20 million instructions
//   - variables nested 64 deep, values made by the template 100 deep, macros 200 deep
//   - three seconds of the processor, 192 MiB of memory
type TemplateError struct {
	Kind    ErrorKind
	Message string // for KindRaise the text of raise_exception and nothing else
}

func (e *TemplateError) Error() string {
	if e.Kind == KindRaise {
		return e.Message
	}
	return "chat template: " + e.Message
}

// A Template is a compiled chat template. Any number of goroutines may call its methods. It has a
// process of its own, of some MB, until Close.
type Template struct {
	// Now returns the time that strftime_now prints, in the time's own location. nil means
	// time.Now. Set it before the first Render.
	Now func() time.Time

	origin *origin
}

// NewTemplate compiles a chat template. A *TemplateError names the line and the reason. lane is
// that of the program.
func NewTemplate(source string, lane *Lane) (*Template, error) {
	o, err := newOrigin(lane, func(p *process) error {
		_, err := p.call(context.Background(), 't', []byte(source), heavy)
		return templateError(err)
	})
	if err != nil {
		return nil, err
	}
	return &Template{origin: o}, nil
}

// Render returns the text of the template with the variables of one JSON object: messages, tools,
// add_generation_prompt, bos_token, eos_token and others that the template reads. Objects keep
// their key order, 1.0 stays a float, integers may have any length. A variable hides a function of
// the same name. When ctx ends, Render ends, and returns ctx's cause.
func (t *Template) Render(ctx context.Context, varsJSON []byte) (string, error) {
	now := time.Now
	if t.Now != nil {
		now = t.Now
	}
	p, text, err := t.origin.compute(ctx, 'r', append(clock(now()), varsJSON...))
	if err != nil {
		return "", templateError(err)
	}
	p.Close()
	return string(text), nil
}

// Close frees the template. Renders under way end well. A second Close is an error.
func (t *Template) Close() error {
	if err := t.origin.Close(); err != nil {
		return fmt.Errorf("close chat template: %w", err)
	}
	return nil
}

func clock(now time.Time) []byte {
	var b []byte
	for _, n := range []int{now.Year(), int(now.Month()), now.Day(), now.Hour(), now.Minute(),
		now.Second(), int(now.Weekday())} {
		b = binary.NativeEndian.AppendUint32(b, uint32(n))
	}
	return b
}

// templateError returns what a caller of a template hears of err.
func templateError(err error) error {
	if f, ok := errors.AsType[*failure](err); ok {
		return &TemplateError{f.errorKind(), f.messageFor("render", heavy)}
	}
	return err
}

func (f *failure) errorKind() ErrorKind {
	switch f.kind {
	case C.TANDEM_SYNTAX:
		return KindSyntax
	case C.TANDEM_RAISE:
		return KindRaise
	case C.TANDEM_LIMIT, C.TANDEM_TIME, C.TANDEM_MEMORY, crashed:
		return KindLimit
	}
	return KindRender
}

// messageFor returns the failure's text. doing is a verb for what took the budget b.
func (f *failure) messageFor(doing string, b budget) string {
	switch f.kind {
	case C.TANDEM_TIME:
		return fmt.Sprintf("it takes more than %v of the processor to %s", b.time, doing)
	case C.TANDEM_MEMORY:
		return fmt.Sprintf("it takes more than %d MiB of memory to %s", b.memory>>20, doing)
	case crashed:
		return fmt.Sprintf("the process that was to %s it crashed, twice: simplify it", doing)
	}
	return f.message
}
