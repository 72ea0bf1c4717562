package native

/*
#include "native.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
	"unsafe"
)

// llguidance compiles a grammar to its end or to one of its limits. Most of these count symbols and
// no time, and nothing stops a compilation. So callers leave it after mostCompile, and at most
// compilers grammars go on unwatched.
const (
	mostCompile = 10 * time.Second // for one grammar, the wait for its turn included
	compilers   = 2                // grammars of one vocabulary compiled at once
)

// errCompileTime ends a compilation that takes too long.
var errCompileTime = &GrammarError{
	Kind: KindLimit, Message: fmt.Sprintf("it takes more than %v to compile", mostCompile),
}

// errSymbols stands for llguidance's panic about too many symbols.
var errSymbols = &GrammarError{
	Kind:    KindLimit,
	Message: "it makes more than 65,525 symbols, and each property takes at least four",
}

// compile returns a matcher of grammars in llguidance's form. If ctx ends first, it returns ctx's
// cause, and frees a matcher that comes later.
func (v *Vocabulary) compile(ctx context.Context, source []byte) (*Matcher, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, mostCompile, errCompileTime)
	defer cancel()
	select {
	case v.turns <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	var m *Matcher
	var err error
	made := make(chan struct{})
	go func() {
		defer func() { <-v.turns }()
		m, err = v.build(source)
		select {
		case made <- struct{}{}:
		case <-ctx.Done():
			if m != nil {
				_ = m.Close() // the caller is gone
			}
		}
	}()
	select {
	case <-made:
		return m, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// matcher compiles grammars in llguidance's form, without a limit of time.
func (v *Vocabulary) matcher(source []byte) (*Matcher, error) {
	if !v.enter() {
		return nil, errors.New("compile grammar: the vocabulary is closed")
	}
	defer v.leave()
	m := &Matcher{size: v.size}
	var message C.tandem_buffer
	bytes := (*C.uint8_t)(unsafe.SliceData(source))
	kind := C.tandem_matcher_new(v.handle, bytes, C.size_t(len(source)), &m.handle, &message)
	runtime.KeepAlive(source)
	if kind != C.TANDEM_OK {
		err := grammarError(kind, message)
		// llguidance checks it late, by a panic
		if strings.Contains(err.Message, "symbols.len() <") {
			err = errSymbols
		}
		return nil, err
	}
	return m, nil
}

// enter keeps the handle until leave. It returns false if the handle is gone.
func (v *Vocabulary) enter() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return false
	}
	v.users++
	return true
}

func (v *Vocabulary) leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.users--
	v.free()
}

// free frees the handle when the vocabulary is closed and has no users. The caller holds v.mu.
func (v *Vocabulary) free() {
	if v.closed && v.users == 0 {
		C.tandem_vocabulary_free(v.handle)
		v.handle = nil
	}
}
