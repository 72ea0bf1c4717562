package engine

import (
	"runtime/debug"
	"slices"
	"time"
)

// accept takes a token that was read: it is recorded, then emitted, and may end the task. A panic
// on the way, in a tokenizer's decoder say, ends this task only. advance is as in addToken.
func (r *runner) accept(t *task, tok Token, advance bool) {
	defer func() {
		if v := recover(); v != nil {
			r.log.Error("panic while taking a token",
				"token", tok.ID, "panic", v, "stack", string(debug.Stack()))
			r.finish(t, &Error{
				Code:    CodeInternal,
				Message: "a generated token could not be decoded; the request was given up",
			})
		}
	}()
	if tok.isInvalid() {
		t.broken = true // its caches hold rows that are no numbers
		r.finish(t, errNoNumbers)
		return
	}
	now := time.Now()
	if t.first.IsZero() {
		t.first = now
		t.stats.FirstToken = now.Sub(t.arrived)
		t.stats.Prefill = now.Sub(t.begun)
	}
	t.last = now
	if last, err := t.addToken(tok, advance); last || err != nil {
		r.finish(t, err)
	}
}

// addToken records and emits a token, and reports whether it is the last one. It advances the
// task's grammar if advance is set. A grammar that has failed refuses everything, but the tokens it
// allowed before are kept.
func (t *task) addToken(tok Token, advance bool) (last bool, err error) {
	t.tokens = append(t.tokens, tok.ID)
	eos := slices.Contains(t.eos, tok.ID)
	hit, complete := false, false
	if !eos {
		if advance {
			if complete, err = t.advanceGrammar(tok.ID); err != nil {
				return false, err
			}
		}
		tok.Text, hit = t.findStop(t.stream.Push(tok.ID))
	}
	switch {
	case eos || hit || complete:
		tok.Finish = FinishStop
	case t.generated() >= t.limit:
		tok.Finish = FinishLength
	}
	if tok.Finish != "" && !hit {
		// What was held back is certain now; it may itself complete a stop.
		rest, late := t.findStop(t.stream.Flush())
		tok.Text += rest
		if late {
			tok.Finish = FinishStop
		} else {
			tok.Text += t.stops.Flush()
		}
	}
	tok.Stop = t.stops.Found
	t.mail.post(tok)
	t.stats.Finish = tok.Finish
	return tok.Finish != "", nil
}
