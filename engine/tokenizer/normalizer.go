package tokenizer

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

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
			Type        string            `json:"type"`
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
		var c struct {
			Type string `json:"type"`
		}
		if err := component(where, raw, &c); err != nil {
			return nil, err
		}
		return append(dst, nfc{}), nil
	case "Replace":
		r, err := parseReplace(where, raw)
		if err != nil {
			return nil, err
		}
		return append(dst, r), nil
	case "Prepend":
		var c struct {
			Type    string  `json:"type"`
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
			Type  string `json:"type"`
			Left  *bool  `json:"strip_left"`
			Right *bool  `json:"strip_right"`
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
		Type    string      `json:"type"`
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

func composeNFC(text string) string {
	rs := make([]markedRune, 0, len(text))
	for _, r := range text {
		if r < 0xC0 {
			rs = append(rs, markedRune{r, 0})
			continue
		}
		parts := norm.NFD.String(string(r))
		if strings.ContainsFunc(parts, isYoungMark) {
			parts = string(r) // Unicode 9 has no composite
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
	return string(out)
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
