package jsonschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// LarkString returns Lark rules of the texts of rules as they are written inside a JSON string,
// without its quotes. Each literal and each regular expression is replaced by one of its escaped
// characters. A character is written in one way: as itself, or else by its shortest escape.
//
// Regular expressions are read as those of schemas are. An error says what cannot be escaped.
func LarkString(rules string) (string, error) {
	var b strings.Builder
	for rest := rules; rest != ""; {
		size, part, err := escapePart(rest)
		if err != nil {
			return "", err
		}
		b.WriteString(part)
		rest = rest[size:]
	}
	return b.String(), nil
}

// escapePart returns what takes the place of the part that rules begin with, and the part's length.
func escapePart(rules string) (size int, escaped string, err error) {
	size, _ = nextPart(rules)
	part := rules[:size]
	switch {
	case size > 1 && part[0] == '"':
		return escapeLiteral(rules, size)
	case size > 1 && part[0] == '/' && part[1] != '/':
		flags := leading(rules[size:], "imslux")
		escaped, err = escapeRegex(part[1:size-1], flags)
		return size + len(flags), escaped, err
	case part[0] == '%':
		return escapeStatement(rules)
	case part[0] == '#':
		return len(firstLine(rules)), "", nil
	case part[0] == '~' && !repeats.MatchString(rules):
		return 0, "", errors.New("~ before an expression cannot be used in this model's calls")
	case part[0] == '<':
		return 0, "", errors.New("a text has no special tokens")
	}
	return size, part, nil
}

// repeats matches the ~ of a repetition.
var repeats = regexp.MustCompile(`^~[ \t]*[0-9]`)

// leading returns the beginning of a text that has only some characters.
func leading(text, characters string) string {
	return text[:len(text)-len(strings.TrimLeft(text, characters))]
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// escapeLiteral returns a literal, or a range of two, that rules begin with. size is the length of the
// first.
func escapeLiteral(rules string, size int) (int, string, error) {
	text, err := literalText(rules[:size])
	if err != nil {
		return 0, "", err
	}
	after := strings.TrimLeft(rules[size:], " \t")
	if next, ok := strings.CutPrefix(after, ".."); ok {
		next = strings.TrimLeft(next, " \t")
		if next == "" || next[0] != '"' {
			return 0, "", errors.New("a range has no end")
		}
		n, _ := nextPart(next)
		to, err := literalText(next[:n])
		low, high := []rune(text), []rune(to)
		if err != nil || len(low) != 1 || len(high) != 1 || low[0] > high[0] {
			return 0, "", errors.New("a range needs two characters in their order")
		}
		p := pattern{op: opSet, set: newSet(low[0], high[0])}
		return len(rules) - len(next) + n, p.escapedRegex(), nil
	}
	if strings.HasPrefix(rules[size:], "i") {
		escaped, err := escapeRegex(regexp.QuoteMeta(text), "i")
		return size + 1, escaped, err
	}
	inner := quoted(text)
	return size, quoted(inner[1 : len(inner)-1]), nil
}

// literalText returns the text of a literal of Lark, which is spelled as JSON or with \x.
func literalText(literal string) (text string, err error) {
	spelled := escapes.ReplaceAllStringFunc(literal, func(escape string) string {
		return strings.Replace(escape, `\x`, `\u00`, 1)
	})
	if json.Unmarshal([]byte(spelled), &text) != nil {
		return "", fmt.Errorf("the literal %.80s cannot be read", literal)
	}
	return text, nil
}

// escapes matches the escapes of a literal.
var escapes = regexp.MustCompile(`\\.`)

// quoted returns a text as JSON.
func quoted(text string) string { return string(newText(text).append(nil)) }

// LarkRegex returns Lark rules of the texts that a regular expression matches whole.
func LarkRegex(source string) (string, error) {
	p, err := readPattern(source)
	if err != nil {
		return "", err
	}
	return "start: /" + p.String() + "/", nil
}

func escapeRegex(source, flags string) (string, error) {
	if flags != "" {
		source = "(?" + flags + ")" + source
	}
	p, err := readPattern(strings.ReplaceAll(source, `\/`, "/"))
	if err != nil {
		return "", fmt.Errorf("in the regular expression /%.80s/: %w", source, err)
	}
	return p.escapedRegex(), nil
}

// escapedRegex returns a regular expression of Lark for the escaped texts of a pattern.
func (p *pattern) escapedRegex() string { return "/(?:" + p.escaped().String() + ")/" }

// escaped returns a pattern of the escaped texts of p. It leaves out anchors: they are only at the
// ends.
func (p *pattern) escaped() *pattern {
	switch p.op {
	case opStart, opEnd:
		return &pattern{op: opSequence}
	case opSet:
		return p.set.escaped()
	}
	out := *p
	out.parts = make([]*pattern, len(p.parts))
	for i, x := range p.parts {
		out.parts[i] = x.escaped()
	}
	return &out
}

// escaped returns a pattern of the characters of a set inside a JSON string.
func (s set) escaped() *pattern {
	var class strings.Builder
	s.write(&class)
	has := regexp.MustCompile("^(?:" + class.String() + ")$")
	all := &pattern{op: opChoice}
	for _, c := range escapedCharacters {
		if !has.MatchString(string(c)) {
			continue
		}
		escape := &pattern{op: opSequence}
		inner := quoted(string(c))
		for _, x := range inner[1 : len(inner)-1] {
			escape.parts = append(escape.parts, &pattern{op: opSet, set: newSet(x, x)})
		}
		all.parts = append(all.parts, escape)
	}
	switch {
	case all.parts == nil:
		return &pattern{op: opSet, set: s}
	case s.named == nil && !s.not:
		rest := set{ranges: s.ranges}
		for _, c := range escapedCharacters {
			rest = rest.negated().with(newSet(c, c)).negated()
		}
		if rest.ranges == nil {
			return all
		}
		s.ranges = rest.ranges
	default: // an intersection, which Rust can write
		inner := set{ranges: s.ranges, named: s.named, not: s.not}
		class.Reset()
		inner.write(&class)
		s = set{fold: s.fold, named: []string{class.String() + `&&[^\x{0}-\x{1F}"\\]`}}
	}
	all.parts = append(all.parts, &pattern{op: opSet, set: s})
	return all
}

// escapedCharacters are those that a JSON string has only as escapes.
var escapedCharacters = func() (list []rune) {
	for c := range ' ' {
		list = append(list, c)
	}
	return append(list, '"', '\\')
}()

// escapeStatement returns a statement, or its beginning. A terminal of Lark's own library that has
// characters to escape is defined in place of its import.
func escapeStatement(rules string) (size int, escaped string, err error) {
	for _, key := range []string{"%json", "%regex", "%lark"} {
		if strings.HasPrefix(rules, key) {
			return 0, "", fmt.Errorf("%s cannot be used in this model's calls", key)
		}
	}
	if after, ok := strings.CutPrefix(rules, "%llguidance"); ok {
		if options, ok := firstValue(after); ok {
			size = len(rules) - len(after) + strings.Index(after, string(options)) + len(options)
			return size, rules[:size], nil
		}
	}
	m := imports.FindStringSubmatch(rules)
	if m == nil {
		return 1, "%", nil
	}
	var b strings.Builder
	for name := range strings.SplitSeq(strings.Trim(m[1], "()"), ",") {
		name = strings.TrimSpace(name)
		as := name
		if m[2] != "" {
			as = m[2]
		}
		if source, ok := commonTerminals[name]; ok {
			regex, err := escapeRegex(source, "")
			if err != nil {
				return 0, "", err
			}
			fmt.Fprintf(&b, "%s: %s\n", as, regex)
		} else if m[2] != "" {
			fmt.Fprintf(&b, "%%import common.%s -> %s\n", name, as)
		} else {
			fmt.Fprintf(&b, "%%import common.%s\n", name)
		}
	}
	return len(m[0]), b.String(), nil
}

// imports matches an import from Lark's own library: of one name, maybe under another, or of a list.
var imports = regexp.MustCompile(
	`^%import[ \t]+common[ \t]*(?:\.[ \t]*)?(\([^()]*\)|[A-Z_]+)(?:[ \t]*->[ \t]*([A-Z_0-9-]+))?`)

// commonTerminals are the terminals of Lark's own library that have characters to escape.
var commonTerminals = map[string]string{
	"ESCAPED_STRING": `"([^"\\]|\\.)*"`,
	"WS_INLINE":      `[ \t]+`,
	"WS":             `[ \t\f\r\n]+`,
	"CR":             `\r`,
	"LF":             `\n`,
	"NEWLINE":        `(\r?\n)+`,
	"SH_COMMENT":     `#[^\n]*`,
	"CPP_COMMENT":    `//[^\n]*`,
	"C_COMMENT":      `/\*[^*]*\*+([^/*][^*]*\*+)*/`,
	"SQL_COMMENT":    `--[^\n]*`,
}
