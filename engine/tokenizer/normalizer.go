package tokenizer

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A piece is a part of the text on its way to the model. first says that it begins where the
// original text begins; Metaspace's scheme "first" needs that. left is the time that remains to cut
// it.
type piece struct {
	text  string
	first bool
	left  *meter
}

// cut returns the part of the piece between two offsets.
func (p piece) cut(start, end int) piece {
	return piece{p.text[start:end], p.first && start == 0, p.left}
}

type normalizer interface {
	normalize(p piece) piece
}

// parseNormalizer returns the stages in order, sequences flattened.
func parseNormalizer(raw json.RawMessage) ([]normalizer, error) {
	stages, err := appendNormalizers(nil, raw, 0)
	if err != nil {
		return nil, err
	}
	growth := 1
	for _, n := range stages {
		if r, ok := n.(replace); ok {
			growth *= r.growth()
		}
		if growth > maxGrowth {
			return nil, tooLarge("normalizer Replace",
				"it makes a text more than %d times longer", maxGrowth)
		}
	}
	return stages, nil
}

func appendNormalizers(dst []normalizer, raw json.RawMessage, depth int) ([]normalizer, error) {
	if absent(raw) {
		return dst, nil
	}
	name, err := typeOf("normalizer", raw)
	if err != nil {
		return nil, err
	}
	where := "normalizer " + name
	if depth > maxDepth || len(dst) >= maxStages {
		return nil, tooLarge(where,
			"there are more than %d stages or %d sequences in each other", maxStages, maxDepth)
	}
	switch name {
	case "Sequence":
		var c struct {
			Normalizers []json.RawMessage `json:"normalizers"`
		}
		if err := component(where, raw, &c); err != nil {
			return nil, err
		}
		for _, sub := range c.Normalizers {
			if dst, err = appendNormalizers(dst, sub, depth+1); err != nil {
				return nil, err
			}
		}
		return dst, nil
	case "NFC":
		return append(dst, nfc{}), nil
	case "NFD":
		return append(dst, normalForm{norm.NFD, false}), nil
	case "NFKC":
		return append(dst, normalForm{norm.NFKD, true}), nil
	case "NFKD":
		return append(dst, normalForm{norm.NFKD, false}), nil
	case "Lowercase":
		return append(dst, lowercase{}), nil
	case "StripAccents":
		return append(dst, stripAccents{}), nil
	case "ByteLevel":
		return append(dst, byteAlphabet{}), nil
	case "Replace":
		r, err := parseNormalizerReplace(where, raw)
		if err != nil {
			return nil, err
		}
		return append(dst, r), nil
	case "Prepend":
		var c struct {
			Prepend *string `json:"prepend"`
		}
		if err := component(where, raw, &c); err != nil {
			return nil, err
		}
		if c.Prepend == nil || len(*c.Prepend) > maxPrepend {
			return nil, invalid(where, "it needs a text of at most %d bytes", maxPrepend)
		}
		return append(dst, prepend(*c.Prepend)), nil
	case "Strip":
		var c struct {
			Left  *bool `json:"strip_left"`
			Right *bool `json:"strip_right"`
		}
		if err := component(where, raw, &c); err != nil {
			return nil, err
		}
		if c.Left == nil || c.Right == nil {
			return nil, invalid(where, "strip_left or strip_right is missing")
		}
		return append(dst, strip{*c.Left, *c.Right}), nil
	}
	return nil, unsupported("normalizer", name)
}

// replace is a stage of the normalizer and of the decoder.
type replace struct{ old, new string }

func parseReplace(where string, raw json.RawMessage) (replace, error) {
	var c struct {
		Pattern patternJSON `json:"pattern"`
		Content *string     `json:"content"`
	}
	if err := component(where, raw, &c); err != nil {
		return replace{}, err
	}
	if c.Pattern.Regex != nil {
		return replace{}, unsupported(where, "a Regex pattern")
	}
	if c.Pattern.String == nil || *c.Pattern.String == "" || c.Content == nil {
		return replace{}, invalid(where, "pattern or content is missing or empty")
	}
	return replace{*c.Pattern.String, *c.Content}, nil
}

// parseNormalizerReplace reads a Replace whose pattern may be a Regex.
func parseNormalizerReplace(where string, raw json.RawMessage) (normalizer, error) {
	var c struct {
		Pattern patternJSON `json:"pattern"`
		Content *string     `json:"content"`
	}
	if err := component(where, raw, &c); err != nil {
		return nil, err
	}
	if c.Pattern.Regex == nil {
		return parseReplace(where, raw)
	}
	if *c.Pattern.Regex == "" || c.Content == nil {
		return nil, invalid(where, "pattern or content is missing or empty")
	}
	if len(*c.Content) >= maxGrowth {
		return nil, tooLarge(where, "it makes a text more than %d times longer", maxGrowth)
	}
	m, err := newRegexMatcher(where, *c.Pattern.Regex)
	return replaceRegex{m, *c.Content}, err
}

// replaceRegex replaces each match of a pattern.
type replaceRegex struct {
	matcher regexMatcher
	content string
}

func (r replaceRegex) normalize(p piece) piece {
	if p.text == "" {
		return p
	}
	var b strings.Builder
	for i, s := range r.matcher.spans(p.text, p.left) {
		switch {
		case !s.match:
			b.WriteString(p.text[s.start:s.end])
		case i == 0 && r.content == "" && s.end > 0:
			p.first = false // the rest begins later in the original text
		default:
			b.WriteString(r.content)
		}
	}
	p.text = b.String()
	return p
}

func (r replace) normalize(p piece) piece {
	if r.new == "" && strings.HasPrefix(p.text, r.old) {
		p.first = false // the rest begins later in the original text
	}
	p.text = strings.ReplaceAll(p.text, r.old, r.new)
	return p
}

// growth returns how many times longer the replacement can make a text, rounded up.
func (r replace) growth() int {
	return max(1, (len(r.new)+len(r.old)-1)/len(r.old))
}

type prepend string

func (s prepend) normalize(p piece) piece {
	if p.text != "" {
		p.text = string(s) + p.text
	}
	return p
}

type strip struct{ left, right bool }

func (s strip) normalize(p piece) piece {
	if s.left {
		text := strings.TrimLeftFunc(p.text, unicode.IsSpace)
		p.first = p.first && len(text) == len(p.text)
		p.text = text
	}
	if s.right {
		p.text = strings.TrimRightFunc(p.text, unicode.IsSpace)
	}
	return p
}

type lowercase struct{}

func (lowercase) normalize(p piece) piece {
	p.text = toLower(p.text)
	return p
}

type stripAccents struct{}

func (stripAccents) normalize(p piece) piece {
	r, _ := utf8.DecodeRuneInString(p.text)
	p.first = p.first && !isAccent(r) // else the rest begins later in the original text
	p.text = strings.Map(func(r rune) rune {
		if isAccent(r) {
			return -1
		}
		return r
	}, p.text)
	return p
}

// byteAlphabet writes the bytes of a text as characters of the byte-level alphabet. It is a
// normalizer, and what ByteLevel leaves to the stages after it.
type byteAlphabet struct{}

func (byteAlphabet) normalize(p piece) piece {
	var b strings.Builder
	for i := range len(p.text) {
		b.WriteString(byteChars[p.text[i]])
	}
	p.text = b.String()
	return p
}

func (a byteAlphabet) split(p piece, yield func(piece)) { yield(a.normalize(p)) }

// nfc composes characters by Unicode 9, as the reference does. norm.NFC.String would also break up
// runs of more than 30 marks.
type nfc struct{}

func (nfc) normalize(p piece) piece {
	if !norm.NFC.IsNormalString(p.text) {
		p.text = composeNFC(p.text)
	}
	return p
}

type markedRune struct {
	r   rune
	ccc uint8 // canonical combining class, 0 for a starter
}

func composeNFC(text string) string { return string(compose(decompose(text, norm.NFD))) }

// decompose breaks up a text by NFD or NFKD, and puts its marks in canonical order.
func decompose(text string, form norm.Form) []markedRune {
	rs := make([]markedRune, 0, len(text))
	for _, r := range text {
		if r < 0xA0 {
			rs = append(rs, markedRune{r, 0})
			continue
		}
		parts := form.String(string(r))
		if strings.ContainsFunc(parts, isYoungMark) || unicode.Is(compatibleAfter9, r) {
			parts = string(r) // Unicode 9 has no parts of it
		}
		for _, d := range parts {
			rs = append(rs, markedRune{d, combiningClass(d)})
		}
	}
	// Canonical order sorts the marks between two starters by class, and keeps the order of equals.
	for i := 0; i < len(rs); i++ {
		if rs[i].ccc == 0 {
			continue
		}
		start := i
		for i < len(rs) && rs[i].ccc != 0 {
			i++
		}
		slices.SortStableFunc(rs[start:i],
			func(a, b markedRune) int { return int(a.ccc) - int(b.ccc) })
	}
	return rs
}

// compose joins what decompose broke up.
func compose(rs []markedRune) []rune {
	out := make([]rune, 0, len(rs))
	starter := -1     // index in out of the last starter
	var last uint8    // class of the last rune kept after it
	adjacent := false // no rune was kept after it
	for _, m := range rs {
		if starter >= 0 && (adjacent || last < m.ccc) {
			if c, ok := composePair(out[starter], m.r); ok {
				out[starter] = c
				continue
			}
		}
		if m.ccc == 0 {
			starter, adjacent = len(out), true
		} else {
			adjacent = false
		}
		last = m.ccc
		out = append(out, m.r)
	}
	return out
}

// normalForm is NFD, NFKD or NFKC by Unicode 9.
type normalForm struct {
	form    norm.Form // that breaks up: NFD or NFKD
	compose bool
}

func (f normalForm) normalize(p piece) piece {
	rs := decompose(p.text, f.form)
	out := make([]rune, len(rs))
	if f.compose {
		out = compose(rs)
	} else {
		for i, m := range rs {
			out[i] = m.r
		}
	}
	p.text = string(out)
	return p
}

func combiningClass(r rune) uint8 {
	if r < 0x300 || isYoungMark(r) {
		return 0
	}
	return norm.NFC.PropertiesString(string(r)).CCC()
}

// composePair returns the primary composite of a starter and a later rune.
func composePair(a, b rune) (rune, bool) {
	if b < 0x300 || norm.NFC.PropertiesString(string(b)).BoundaryBefore() ||
		isYoungMark(a) || isYoungMark(b) {
		return 0, false
	}
	pair := string(a) + string(b)
	rs := []rune(norm.NFC.String(pair))
	// b composes with a only if the parts keep their order. Otherwise b belongs under another mark.
	if len(rs) != 1 || norm.NFD.String(string(rs)) != norm.NFD.String(string(a))+norm.NFD.String(string(b)) {
		return 0, false
	}
	return rs[0], true
}
