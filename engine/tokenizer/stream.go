package tokenizer

import "slices"

// A Stream turns ids into text one at a time. Each piece is valid UTF-8 and ends where a character
// ends, and the pieces together are Decode of all the ids.
//
// A decoder that drops the space a text begins with drops it at the beginning of the stream. To
// continue a prompt, push its last token first and discard what that returns.
//
// A Stream belongs to one goroutine.
type Stream struct {
	t           *Tokenizer
	skipSpecial bool
	keep        []int32
	head        sink
	out         collector
}

// collector is the end of every chain of sinks.
type collector struct{ text []byte }

func (c *collector) push(token string) { c.text = append(c.text, token...) }
func (c *collector) flush()            {}

// NewStream begins a text. If skipSpecial is set, special tokens leave no trace in it, except those
// of keep.
func (t *Tokenizer) NewStream(skipSpecial bool, keep ...int32) *Stream {
	s := &Stream{t: t, skipSpecial: skipSpecial, keep: keep}
	s.head = t.decoder.chain(&s.out)
	return s
}

// Push returns the text that id completes, which may be empty. It skips an id outside the
// vocabulary.
func (s *Stream) Push(id int32) string {
	s.push(id)
	return s.take()
}

// Flush ends the text and returns what was held back; an incomplete character comes out as U+FFFD.
// The Stream is then ready for a new text.
func (s *Stream) Flush() string {
	s.head.flush()
	text := s.take()
	s.head = s.t.decoder.chain(&s.out)
	return text
}

func (s *Stream) push(id int32) {
	if !s.t.known(id) {
		return
	}
	token := &s.t.tokens[id]
	if s.skipSpecial && token.special && !slices.Contains(s.keep, id) {
		return
	}
	s.head.push(token.decoded)
}

func (s *Stream) take() string {
	text := string(s.out.text)
	s.out.text = s.out.text[:0]
	return text
}

// Decode returns the text of ids. Ids outside the vocabulary are passed over, special tokens too if
// skipSpecial is set.
func (t *Tokenizer) Decode(ids []int32, skipSpecial bool) string {
	s := t.NewStream(skipSpecial)
	for _, id := range ids {
		s.push(id)
	}
	s.head.flush()
	return s.take()
}
