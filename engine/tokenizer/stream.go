package tokenizer

import "slices"

// A Stream turns ids into text one at a time. Each piece is valid UTF-8 and ends where a character
// ends. The pieces together equal Decode of all the ids.
//
// Some decoders drop the space at the start of a text; a stream drops it at its start too. To
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

// collector is the last sink of every chain. It keeps the text.
type collector struct{ text []byte }

func (c *collector) push(token string) { c.text = append(c.text, token...) }
func (c *collector) flush()            {}

// NewStream begins a text. If skipSpecial is set, special tokens add nothing to it, except the
// tokens in keep.
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

// Flush ends the text and returns what was held back. An incomplete character becomes U+FFFD. The
// Stream is then ready for a new text.
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

// Decode returns the text of ids. It skips ids outside the vocabulary, and special tokens if
// skipSpecial is set.
func (t *Tokenizer) Decode(ids []int32, skipSpecial bool) string {
	s := t.NewStream(skipSpecial)
	for _, id := range ids {
		s.push(id)
	}
	s.head.flush()
	return s.take()
}
