package tokenizer

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// A sink is one stage of decoding with its state. It takes the spellings of the tokens one by one.
// It passes on the text that later tokens cannot change, in whole characters.
type sink interface {
	push(token string)
	flush() // ends the text: passes on what was held back
}

// A stage makes its sink. next is the sink after it.
type stage func(next sink) sink

// decoder has the stages of the file's decoder in order, sequences flattened.
type decoder struct {
	stages []stage
	// fused says that the tokens are already joined into one text. A later stage that asks where a
	// token begins would take the beginning of the text for it.
	fused bool
	// These are for TokenBytes, which decodes one token: the stages that change spellings.
	byteLevel    bool
	byteFallback bool
	spelling     []func(string) string
	growth       int
}

func parseDecoder(raw json.RawMessage) (*decoder, error) {
	d := &decoder{growth: 1}
	if absent(raw) {
		d.stages = []stage{func(next sink) sink { return &spacer{next: next} }}
		return d, nil
	}
	return d, d.parse(raw, 0)
}

func (d *decoder) parse(raw json.RawMessage, depth int) error {
	name, err := typeOf("decoder", raw)
	if err != nil {
		return err
	}
	where := "decoder " + name
	if depth > maxDepth || len(d.stages) >= maxStages {
		return tooLarge(where,
			"there are more than %d stages or %d sequences in each other", maxStages, maxDepth)
	}
	if d.fused && name != "Sequence" && name != "Fuse" && name != "Strip" && name != "Replace" {
		return unsupported("decoder", name+" after Fuse or ByteLevel")
	}
	switch name {
	case "Sequence":
		var c struct {
			Decoders []json.RawMessage `json:"decoders"`
		}
		if err := component(where, raw, &c); err != nil {
			return err
		}
		for _, sub := range c.Decoders {
			if err := d.parse(sub, depth+1); err != nil {
				return err
			}
		}
		return nil
	case "ByteLevel":
		if _, err := parseByteLevel(where, raw); err != nil {
			return err
		}
		d.stages = append(d.stages, func(next sink) sink { return &byteLevelSink{next: next} })
		d.fused, d.byteLevel = true, true
		return nil
	case "ByteFallback", "Fuse":
		if name == "Fuse" {
			d.fused = true // the text passes through unchanged
			return nil
		}
		d.byteFallback = true
		d.stages = append(d.stages, func(next sink) sink { return &byteFallbackSink{next: next} })
		return nil
	case "Replace":
		return d.parseReplace(where, raw)
	case "Metaspace":
		m, err := parseMetaspace(where, raw)
		if err != nil {
			return err
		}
		d.spelling = append(d.spelling,
			func(s string) string { return strings.ReplaceAll(s, m.replacement, " ") })
		d.stages = append(d.stages,
			func(next sink) sink { return &metaspaceSink{metaspace: m, next: next} })
		return nil
	case "Strip":
		return d.parseStrip(where, raw)
	}
	return unsupported("decoder", name)
}

func (d *decoder) parseReplace(where string, raw json.RawMessage) error {
	r, err := parseReplace(where, raw)
	if err != nil {
		return err
	}
	if d.fused && utf8.RuneCountInString(r.old) != 1 {
		return unsupported(where, "a pattern of several characters after Fuse or ByteLevel")
	}
	if d.growth *= r.growth(); d.growth > maxGrowth {
		return tooLarge(where, "it makes a text more than %d times longer", maxGrowth)
	}
	apply := func(s string) string { return strings.ReplaceAll(s, r.old, r.new) }
	d.spelling = append(d.spelling, apply)
	d.stages = append(d.stages, func(next sink) sink { return &mapSink{apply: apply, next: next} })
	return nil
}

func (d *decoder) parseStrip(where string, raw json.RawMessage) error {
	var c struct {
		Content string `json:"content"`
		Start   int    `json:"start"`
		Stop    int    `json:"stop"`
	}
	if err := component(where, raw, &c); err != nil {
		return err
	}
	if utf8.RuneCountInString(c.Content) != 1 || c.Start < 0 {
		return invalid(where, "content is not one character, or start is negative")
	}
	if c.Stop != 0 {
		return unsupported(where, "stop") // the reference fails on short texts
	}
	if c.Start > maxStrip {
		return tooLarge(where, "start is %d; the limit is %d", c.Start, maxStrip)
	}
	if d.fused {
		d.stages = append(d.stages, func(next sink) sink {
			return &stripSink{content: c.Content, start: c.Start, next: next}
		})
		return nil
	}
	apply := func(s string) string {
		for range c.Start {
			s = strings.TrimPrefix(s, c.Content)
		}
		return s
	}
	d.spelling = append(d.spelling, apply)
	d.stages = append(d.stages, func(next sink) sink { return &mapSink{apply: apply, next: next} })
	return nil
}

// chain makes the sinks of one text. The last of them writes to out.
func (d *decoder) chain(out sink) sink {
	for i := len(d.stages) - 1; i >= 0; i-- {
		out = d.stages[i](out)
	}
	return out
}

// tokenBytes returns the bytes of a token, apart from its neighbours.
func (d *decoder) tokenBytes(token string) []byte {
	if d.byteFallback {
		if b, ok := parseByteToken(token); ok {
			return []byte{b}
		}
	}
	if d.byteLevel {
		if raw, ok := appendByteChars(nil, token); ok {
			return raw
		}
	}
	for _, f := range d.spelling {
		token = f(token)
	}
	return []byte(token)
}

// mapSink changes each token by itself.
type mapSink struct {
	apply func(string) string
	next  sink
}

func (s *mapSink) push(token string) { s.next.push(s.apply(token)) }
func (s *mapSink) flush()            { s.next.flush() }

// spacer is the decoding of a file without a decoder. It puts spaces between the tokens.
type spacer struct {
	begun bool
	next  sink
}

func (s *spacer) push(token string) {
	if s.begun {
		token = " " + token
	}
	s.begun = true
	s.next.push(token)
}
func (s *spacer) flush() { s.next.flush() }

// byteLevelSink turns the alphabet of bytes back into bytes, and the bytes into text. Each maximal
// part of an ill-formed sequence becomes one U+FFFD.
type byteLevelSink struct {
	held []byte // the beginning of a character
	next sink
}

func (s *byteLevelSink) push(token string) {
	var ok bool
	if s.held, ok = appendByteChars(s.held, token); !ok {
		s.held = append(s.held, token...)
	}
	s.pass(false)
}

func (s *byteLevelSink) flush() {
	s.pass(true)
	s.next.flush()
}

func (s *byteLevelSink) pass(end bool) {
	var text strings.Builder
	b := s.held
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			whole := utf8.FullRune(b)
			if !whole && !end {
				break
			}
			n = len(b) // cut short by the end of the text
			if whole {
				n = illFormed(b)
			}
		}
		text.WriteRune(r)
		b = b[n:]
	}
	s.held = append(s.held[:0], b...)
	if text.Len() > 0 {
		s.next.push(text.String())
	}
}

// illFormed returns the length of the maximal ill-formed part at the start of b. It is at least one
// byte, and includes all bytes that could begin a character.
func illFormed(b []byte) int {
	n := 1
	for n < len(b) && !utf8.FullRune(b[:n]) {
		n++
	}
	return max(1, n-1)
}

// byteFallbackSink joins runs of byte tokens into text. A byte that belongs to no character becomes
// one U+FFFD.
type byteFallbackSink struct {
	held []byte
	next sink
}

func (s *byteFallbackSink) push(token string) {
	if b, ok := parseByteToken(token); ok {
		s.held = append(s.held, b)
		s.pass(false)
		return
	}
	s.pass(true)
	s.next.push(token)
}

func (s *byteFallbackSink) flush() {
	s.pass(true)
	s.next.flush()
}

func (s *byteFallbackSink) pass(end bool) {
	for len(s.held) > 0 && (end || utf8.FullRune(s.held)) {
		r, n := utf8.DecodeRune(s.held)
		s.held = s.held[n:]
		s.next.push(string(r))
	}
}

// metaspaceSink turns the visible space back into a space. It drops the spaces at the start of the
// first token, unless the scheme is "never".
type metaspaceSink struct {
	metaspace
	begun bool
	next  sink
}

func (s *metaspaceSink) push(token string) {
	space := " "
	if !s.begun && s.scheme != "never" {
		space = ""
	}
	s.begun = true
	s.next.push(strings.ReplaceAll(token, s.replacement, space))
}
func (s *metaspaceSink) flush() { s.next.flush() }

// stripSink removes content from the beginning of the text, at most start times.
type stripSink struct {
	content string
	start   int
	next    sink
}

func (s *stripSink) push(text string) {
	for ; s.start > 0 && text != ""; s.start-- {
		rest, ok := strings.CutPrefix(text, s.content)
		if !ok {
			s.start = 0
			break
		}
		text = rest
	}
	s.next.push(text)
}

func (s *stripSink) flush() { s.next.flush() }
