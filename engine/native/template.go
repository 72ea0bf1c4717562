package native

/*
#cgo LDFLAGS: -L${SRCDIR}/.deps/0.3.1 -ltandem_native
#cgo linux LDFLAGS: -ldl -lpthread -lm
#include "native.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"
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
// The limits are constants in src/json.rs and src/template:
//
//   - source 1 MiB, 4,000 tokens in one tag, 1,000 elif branches
//   - output 4 MiB, texts and lists made on the way 128 MiB
//   - 20 million instructions, 10 s
//   - variables nested 64 deep, values made by the template 100 deep, macros 200 deep
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

// A Template is a compiled chat template. Render may be called from any number of goroutines;
// Close waits for them.
type Template struct {
	// Now returns the time that strftime_now prints, in the time's own location. nil means
	// time.Now. Set it before the first Render.
	Now func() time.Time

	mu     sync.RWMutex // held for reading by Render, for writing by Close
	handle *C.tandem_template
}

// NewTemplate compiles a chat template. A *TemplateError names the line and the reason. The
// Template holds memory of the library until Close.
func NewTemplate(source string) (*Template, error) {
	t := new(Template)
	var message C.tandem_buffer
	kind := C.tandem_template_new(
		(*C.uint8_t)(unsafe.StringData(source)), C.size_t(len(source)), &t.handle, &message)
	runtime.KeepAlive(source)
	if kind != C.TANDEM_OK {
		return nil, templateError(kind, message)
	}
	return t, nil
}

// Render returns the text of the template with the variables of one JSON object: messages, tools,
// add_generation_prompt, bos_token, eos_token and others that the template reads. Objects keep
// their key order, 1.0 stays a float, integers may have any length. A variable hides a function of
// the same name.
func (t *Template) Render(varsJSON []byte) (string, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.handle == nil {
		return "", fmt.Errorf("render chat template: the template is closed")
	}
	now := time.Now
	if t.Now != nil {
		now = t.Now
	}
	var out C.tandem_buffer
	vars := (*C.uint8_t)(unsafe.SliceData(varsJSON))
	kind := C.tandem_template_render(t.handle, vars, C.size_t(len(varsJSON)), clock(now()), &out)
	runtime.KeepAlive(varsJSON)
	if kind != C.TANDEM_OK {
		return "", templateError(kind, out)
	}
	return take(out), nil
}

// Close frees the template. A second Close is an error.
func (t *Template) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.handle == nil {
		return fmt.Errorf("close chat template: already closed")
	}
	C.tandem_template_free(t.handle)
	t.handle = nil
	return nil
}

func clock(now time.Time) C.tandem_clock {
	return C.tandem_clock{
		year:    C.int32_t(now.Year()),
		month:   C.int32_t(now.Month()),
		day:     C.int32_t(now.Day()),
		hour:    C.int32_t(now.Hour()),
		minute:  C.int32_t(now.Minute()),
		second:  C.int32_t(now.Second()),
		weekday: C.int32_t(now.Weekday()),
	}
}

func templateError(kind C.int32_t, message C.tandem_buffer) *TemplateError {
	return &TemplateError{Kind: errorKind(kind), Message: take(message)}
}

func errorKind(kind C.int32_t) ErrorKind {
	switch kind {
	case C.TANDEM_SYNTAX:
		return KindSyntax
	case C.TANDEM_RAISE:
		return KindRaise
	case C.TANDEM_LIMIT:
		return KindLimit
	}
	return KindRender
}

// take returns a copy of a buffer and frees it.
func take(b C.tandem_buffer) string {
	s := string(unsafe.Slice((*byte)(b.ptr), int(b.len)))
	C.tandem_buffer_free(b)
	return s
}

// live counts the objects and buffers that the library handed out and did not get back.
func live() int64 {
	return int64(C.tandem_native_live())
}
