package tokenizer

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A preTokenizer cuts a piece, which is not empty, into smaller ones. It may yield empty ones,
// which are dropped.
type preTokenizer interface {
	split(p piece, yield func(piece))
}

// preTokenizers has the stages of the file's pre_tokenizer in order, sequences flattened. byteLevel
// says that the model sees bytes in place of characters.
type preTokenizers struct {
	stages    []preTokenizer
	byteLevel bool
}

func (p *preTokenizers) parse(raw json.RawMessage, depth int) error {
	if absent(raw) {
		return nil
	}
	name, err := typeOf("pre_tokenizer", raw)
	if err != nil {
		return err
	}
	where := "pre_tokenizer " + name
	if depth > maxDepth || len(p.stages) >= maxStages {
		return tooLarge(where,
			"there are more than %d stages or %d sequences in each other", maxStages, maxDepth)
	}
	if name == "Sequence" {
		var c struct {
			PreTokenizers []json.RawMessage `json:"pretokenizers"`
		}
		if err := component(where, raw, &c); err != nil {
			return err
		}
		for _, sub := range c.PreTokenizers {
			if err := p.parse(sub, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	if p.byteLevel { // the stages after it see its alphabet, and so does the model
		p.stages = append(p.stages, byteAlphabet{})
		p.byteLevel = false
	}
	if name == "ByteLevel" {
		return p.parseByteLevel(where, raw)
	}
	stages, err := parseStages(name, where, raw)
	p.stages = append(p.stages, stages...)
	return err
}

func (p *preTokenizers) parseByteLevel(where string, raw json.RawMessage) error {
	c, err := parseByteLevel(where, raw)
	if err != nil {
		return err
	}
	p.byteLevel = true
	if c.AddPrefixSpace {
		p.stages = append(p.stages, prefixSpace{})
	}
	if c.UseRegex == nil || *c.UseRegex {
		p.stages = append(p.stages, scanSplit{scanGPT2})
	}
	return nil
}

// parseStages returns what one component of the pre-tokenizer does, in order.
func parseStages(name, where string, raw json.RawMessage) ([]preTokenizer, error) {
	switch name {
	case "Split":
		s, err := parseSplit(where, raw)
		return []preTokenizer{s}, err
	case "Digits":
		var c struct {
			Individual bool `json:"individual_digits"`
		}
		err := component(where, raw, &c)
		s := split{matcher: runeMatcher(isNumber), behavior: contiguous}
		if c.Individual {
			s.behavior = isolated
		}
		return []preTokenizer{s}, err
	case "Metaspace":
		m, err := parseMetaspace(where, raw)
		return []preTokenizer{m}, err
	case "Punctuation":
		c := struct {
			Behavior behavior `json:"behavior"`
		}{isolated}
		err := component(where, raw, &c)
		if err == nil {
			err = c.Behavior.check(where)
		}
		return []preTokenizer{split{matcher: runeMatcher(isPunctuation), behavior: c.Behavior}}, err
	case "Whitespace":
		return []preTokenizer{scanSplit{scanWhitespace}, notSpace{}}, nil
	case "WhitespaceSplit":
		return []preTokenizer{split{matcher: runeMatcher(unicode.IsSpace), behavior: removed}}, nil
	case "BertPreTokenizer":
		return []preTokenizer{
			split{matcher: runeMatcher(unicode.IsSpace), behavior: removed},
			split{matcher: runeMatcher(isPunctuation), behavior: isolated},
		}, nil
	case "CharDelimiterSplit":
		var c struct {
			Delimiter string `json:"delimiter"`
		}
		err := component(where, raw, &c)
		if err == nil && utf8.RuneCountInString(c.Delimiter) != 1 {
			err = invalid(where, "delimiter %.20q is not one character", c.Delimiter)
		}
		return []preTokenizer{split{matcher: literalMatcher(c.Delimiter), behavior: removed}}, err
	case "FixedLength":
		c := struct {
			Length int `json:"length"`
		}{5}
		err := component(where, raw, &c)
		if err == nil && c.Length < 1 {
			err = invalid(where, "length %d is not above 0", c.Length)
		}
		return []preTokenizer{fixedLength(c.Length)}, err
	}
	return nil, unsupported("pre_tokenizer", name)
}

// notSpace drops pieces of white space.
type notSpace struct{}

func (notSpace) split(p piece, yield func(piece)) {
	if r, _ := utf8.DecodeRuneInString(p.text); !unicode.IsSpace(r) {
		yield(p)
	}
}

// fixedLength cuts after so many characters.
type fixedLength int

func (n fixedLength) split(p piece, yield func(piece)) {
	start, count := 0, 0
	for i := range p.text {
		if count == int(n) {
			yield(p.cut(start, i))
			start, count = i, 0
		}
		count++
	}
	yield(p.cut(start, len(p.text)))
}

// each runs the stages from i on and yields the words for the model.
func (p *preTokenizers) each(i int, in piece, yield func(piece)) {
	if in.text == "" || in.left.take(in.text) {
		return
	}
	if i == len(p.stages) {
		yield(in)
		return
	}
	p.stages[i].split(in, func(q piece) { p.each(i+1, q, yield) })
}

// byteLevelJSON leaves out trim_offsets, which has no effect on ids.
type byteLevelJSON struct {
	AddPrefixSpace bool  `json:"add_prefix_space"`
	UseRegex       *bool `json:"use_regex"`
}

func parseByteLevel(where string, raw json.RawMessage) (byteLevelJSON, error) {
	var c byteLevelJSON
	err := component(where, raw, &c)
	return c, err
}

// prefixSpace is ByteLevel's add_prefix_space.
type prefixSpace struct{}

func (prefixSpace) split(p piece, yield func(piece)) {
	if p.text[0] != ' ' {
		p.text = " " + p.text
	}
	yield(p)
}

// scanSplit isolates the pieces that a scanner finds. They cover the text.
type scanSplit struct{ scan scanner }

func (s scanSplit) split(p piece, yield func(piece)) {
	for at := 0; at < len(p.text); {
		end := at + s.scan(p.text[at:])
		yield(p.cut(at, end))
		at = end
	}
}

type behavior string

const (
	removed            behavior = "Removed"
	isolated           behavior = "Isolated"
	mergedWithPrevious behavior = "MergedWithPrevious"
	mergedWithNext     behavior = "MergedWithNext"
	contiguous         behavior = "Contiguous"
)

func (b behavior) check(where string) error {
	switch b {
	case removed, isolated, mergedWithPrevious, mergedWithNext, contiguous:
		return nil
	}
	return unsupported(where, "behavior "+string(b))
}

// split cuts at the matches of a pattern. invert swaps the matches and the text between.
type split struct {
	matcher  matcher
	behavior behavior
	invert   bool
}

func parseSplit(where string, raw json.RawMessage) (preTokenizer, error) {
	var c struct {
		Pattern  patternJSON `json:"pattern"`
		Behavior behavior    `json:"behavior"`
		Invert   bool        `json:"invert"`
	}
	if err := component(where, raw, &c); err != nil {
		return nil, err
	}
	s := split{behavior: c.Behavior, invert: c.Invert}
	if err := c.Behavior.check(where); err != nil {
		return nil, err
	}
	switch {
	case c.Pattern.String != nil && *c.Pattern.String != "":
		s.matcher = literalMatcher(*c.Pattern.String)
	case c.Pattern.Regex != nil && *c.Pattern.Regex != "":
		// A scanner matches every character. All behaviors but these two then leave the pieces
		// alone, or drop all or none. They take the general path.
		if scan := scannerFor(*c.Pattern.Regex); scan != nil &&
			(c.Behavior == isolated || c.Behavior == removed && c.Invert) {
			return scanSplit{scan}, nil
		}
		m, err := newRegexMatcher(where, *c.Pattern.Regex)
		if err != nil {
			return nil, err
		}
		s.matcher = m
	default:
		return nil, invalid(where, "the pattern is missing or empty")
	}
	return s, nil
}

func (s split) split(p piece, yield func(piece)) {
	spans := s.matcher.spans(p.text, p.left)
	if s.invert {
		for i := range spans {
			spans[i].match = !spans[i].match
		}
	}
	emit := func(start, end int) { yield(p.cut(start, end)) }
	switch s.behavior {
	case isolated:
		for _, sp := range spans {
			emit(sp.start, sp.end)
		}
	case removed:
		for _, sp := range spans {
			if !sp.match {
				emit(sp.start, sp.end)
			}
		}
	case contiguous:
		// Neighbours of one kind become one piece.
		for i := 0; i < len(spans); {
			j := i + 1
			for j < len(spans) && spans[j].match == spans[i].match {
				j++
			}
			emit(spans[i].start, spans[j-1].end)
			i = j
		}
	case mergedWithPrevious:
		// A match joins the piece before it, unless that is a match too.
		for i := 0; i < len(spans); {
			j := i + 1
			if !spans[i].match && j < len(spans) && spans[j].match {
				j++
			}
			emit(spans[i].start, spans[j-1].end)
			i = j
		}
	case mergedWithNext:
		// A match joins the piece after it, unless that is a match too.
		for i := 0; i < len(spans); {
			j := i + 1
			if spans[i].match && j < len(spans) && !spans[j].match {
				j++
			}
			emit(spans[i].start, spans[j-1].end)
			i = j
		}
	}
}

// metaspace writes spaces as a visible character, as SentencePiece does. It is a stage of the
// pre-tokenizer and of the decoder.
type metaspace struct {
	replacement string // one character
	scheme      string // always, first or never
	cut         bool
}

func parseMetaspace(where string, raw json.RawMessage) (metaspace, error) {
	var c struct {
		Replacement    string  `json:"replacement"`
		StrRep         *string `json:"str_rep"` // the same text in older files
		AddPrefixSpace *bool   `json:"add_prefix_space"`
		PrependScheme  string  `json:"prepend_scheme"`
		Split          *bool   `json:"split"`
	}
	if err := component(where, raw, &c); err != nil {
		return metaspace{}, err
	}
	if utf8.RuneCountInString(c.Replacement) != 1 {
		return metaspace{}, invalid(where, "replacement %q is not one character", c.Replacement)
	}
	scheme := c.PrependScheme
	if c.AddPrefixSpace != nil && !*c.AddPrefixSpace {
		if scheme != "" && scheme != "never" {
			return metaspace{}, invalid(where,
				"add_prefix_space is false but prepend_scheme is %q", scheme)
		}
		scheme = "never"
	}
	switch scheme {
	case "":
		scheme = "always"
	case "always", "first", "never":
	default:
		return metaspace{}, unsupported(where, "prepend_scheme "+scheme)
	}
	return metaspace{c.Replacement, scheme, c.Split == nil || *c.Split}, nil
}

func (m metaspace) split(p piece, yield func(piece)) {
	p.text = strings.ReplaceAll(p.text, " ", m.replacement)
	if !strings.HasPrefix(p.text, m.replacement) &&
		(m.scheme == "always" || m.scheme == "first" && p.first) {
		p.text = m.replacement + p.text
	}
	if !m.cut {
		yield(p)
		return
	}
	split{matcher: literalMatcher(m.replacement), behavior: mergedWithNext}.split(p, yield)
}
