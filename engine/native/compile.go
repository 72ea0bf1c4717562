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

// llguidance compiles a grammar to its end or to one of its limits, most of which count
// what it makes and not how long that takes. Nobody can stop it meanwhile. So nobody
// waits for it longer than these say, and what goes on unwatched is little.
const (
	mostCompile = 10 * time.Second // that a grammar takes, its turn included
	compilers   = 2                // grammars of a vocabulary that are compiled at once; others wait for their turn
)

// errCompileTime ends what takes too long.
var errCompileTime = &GrammarError{Kind: KindLimit, Message: fmt.Sprintf("it takes more than %v to compile", mostCompile)}

// errSymbols is for what llguidance makes too much of.
var errSymbols = &GrammarError{Kind: KindLimit, Message: "it makes more than 65,525 symbols, of which a property takes four or more"}

// compile makes a matcher of grammars as llguidance reads them. If ctx ends first it
// returns ctx's cause, and what is made nevertheless is freed.
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
				_ = m.Close() // nobody has it
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

// matcher is compile, as long as it takes.
func (v *Vocabulary) matcher(source []byte) (*Matcher, error) {
	if !v.enter() {
		return nil, errors.New("compile grammar: the vocabulary is closed")
	}
	defer v.leave()
	m := &Matcher{size: v.size}
	var message C.tandem_buffer
	kind := C.tandem_matcher_new(v.handle, (*C.uint8_t)(unsafe.SliceData(source)), C.size_t(len(source)), &m.handle, &message)
	runtime.KeepAlive(source)
	if kind != C.TANDEM_OK {
		err := grammarError(kind, message)
		if strings.Contains(err.Message, "symbols.len() <") { // it is checked so late that it panics
			err = errSymbols
		}
		return nil, err
	}
	return m, nil
}

// enter keeps the handle until leave, false if it is gone.
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

// free frees the handle once it is closed and of no use to anybody. It is called with
// v.mu.
func (v *Vocabulary) free() {
	if v.closed && v.users == 0 {
		C.tandem_vocabulary_free(v.handle)
		v.handle = nil
	}
}
