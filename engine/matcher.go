package engine

import (
	"errors"

	"tandem/engine/mlx"
)

// A Matcher follows a text by a grammar, token by token. A request brings it at the beginning of
// the answer; until Request.Done it is the engine's. Package native has one. An error with a method
// Temporary that returns true says nothing of the grammar: the same request may succeed.
type Matcher interface {
	// Words is the length of a mask: a bit for each token of the vocabulary, in words of 32.
	Words() int

	// Mask sets the bits of the tokens that may follow, token i in bit i%32 of word i/32. If
	// nothing else may, these are the tokens that end a text. There is always one.
	Mask(bits []uint32) error

	// Accept advances by a token that may follow.
	Accept(id int32) error

	// Rollback takes the last n tokens back.
	Rollback(n int) error

	// Stopped reports whether the text is complete: nothing may follow.
	Stopped() bool
}

// A Walker is a Matcher that makes the masks of a block in one call, because a call costs more than
// a mask.
type Walker interface {
	Matcher

	// Walk sets the masks of what may follow the text and each draft, from the row from on. After
	// a draft that is forbidden, or that ends the text, every token is allowed. Drafts before
	// from are allowed ones. The text stays as it is.
	Walk(drafts []int32, from int, bits []uint32) error
}

// maskWord is how many tokens a word of a mask covers.
const maskWord = 32

// walk returns the masks of what may follow the text of m and each draft, one after the other, from
// the row from on. It is Walker.Walk, step by step where m has none. m is left as it was, unless it
// fails.
func walk(m Matcher, drafts []int32, from int) ([]uint32, error) {
	words := m.Words()
	bits := make([]uint32, words*(len(drafts)+1-from))
	for i := range bits {
		bits[i] = ^uint32(0)
	}
	var err error
	if w, ok := m.(Walker); ok {
		err = w.Walk(drafts, from, bits)
	} else {
		err = walkBySteps(m, drafts, from, bits)
	}
	if err != nil {
		return nil, grammarError(err)
	}
	return bits, nil
}

// walkBySteps is Walker.Walk for a Matcher that takes one step at a time. All tokens are allowed in
// bits, and stay so in the rows that it does not reach.
func walkBySteps(m Matcher, drafts []int32, from int, bits []uint32) error {
	words, walked := m.Words(), 0
	var err error
	for err == nil && (walked == 0 || !m.Stopped()) {
		if walked >= from {
			row := bits[(walked-from)*words:][:words]
			if err = m.Mask(row); err != nil || walked == len(drafts) ||
				row[drafts[walked]/maskWord]>>(drafts[walked]%maskWord)&1 == 0 {
				break
			}
		}
		if err = m.Accept(drafts[walked]); err == nil {
			walked++
		}
	}
	if walked > 0 {
		err = errors.Join(err, m.Rollback(walked))
	}
	return err
}

// unpackMasks turns n masks into (n, vocab) bool.
func unpackMasks(s *mlx.Scope, bits []uint32, n, vocab int) *mlx.Array {
	words := len(bits) / n
	x := mlx.New(s, bits, n, words, 1)
	x = s.ShiftRight(x, s.Reshape(s.Arange(0, maskWord, mlx.Uint32), 1, 1, maskWord))
	x = s.BitAnd(x, s.Scalar(1, mlx.Uint32))
	return s.AsType(s.Slice(s.Reshape(x, n, words*maskWord), 1, 0, vocab), mlx.Bool)
}

func grammarError(err error) error {
	if t, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err); ok && t.Temporary() {
		return &Error{Code: CodeQueueFull, Err: err,
			Message: "The process that applies grammars stopped; try again in a few seconds."}
	}
	return &Error{
		Code:    CodeInvalid,
		Message: "The answer cannot go on as its grammar has it: simplify the schema or the grammar.",
		Err:     err,
	}
}
