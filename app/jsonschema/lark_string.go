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
// characters, see package native. An error says what cannot be escaped.
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
	case larkRegex.MatchString(part):
		flags := leading(rules[size:], "imslux")
		return size + len(flags), escapedRegex(part[1:size-1], flags), nil
	case part[0] == '%':
		return escapeStatement(rules)
	case part[0] == '#':
		return size, "", nil
	case part[0] == '~' && !repeats.MatchString(rules):
		return 0, "", errors.New("~ before an expression cannot be used in this model's calls")
	case part[0] == '<':
		return 0, "", errors.New("a text has no special tokens")
	}
	return size, part, nil
}

// larkRegex matches a regular expression of Lark without its flags.
var larkRegex = regexp.MustCompile(`(?s)^/([^/\\]|\\.)+/$`)

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
		class := fmt.Sprintf(`[\x{%X}-\x{%X}]`, low[0], high[0])
		return len(rules) - len(next) + n, escapedRegex(class, ""), nil
	}
	if strings.HasPrefix(rules[size:], "i") {
		return size + 1, escapedRegex(regexp.QuoteMeta(text), "i"), nil
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

// LarkRegex returns Lark rules of the texts that a regular expression matches whole. It has the syntax of
// Rust's regex crate, which package native reads.
func LarkRegex(source string) string { return "start: " + regexOpen + quoted(source) + "}" }

// Regex returns the Lark expression of rules that consist of a single regular expression.
func Regex(rules string) (expression string, ok bool) {
	expression, ok = strings.CutPrefix(rules, "start: ")
	return expression, ok && oneRegex.MatchString(expression)
}

// oneRegex matches a regular expression in either form.
var oneRegex = regexp.MustCompile(`^(/([^/\\\n]|\\.)+/[imslux]*|` + regexp.QuoteMeta(regexOpen) +
	`"([^"\\\n]|\\.)*"})$`)

// What regular expressions begin with that package native reads: one of texts, and one of texts inside a
// JSON string.
const (
	regexOpen   = `%regex {"regex": `
	escapedOpen = `%regex {"regex_in_json": `
)

// escapedRegex returns what takes the place of a regular expression of Lark.
func escapedRegex(source, flags string) string {
	if flags != "" {
		source = "(?" + flags + ")" + source
	}
	return escapedOpen + quoted(source) + "}"
}

// escapeStatement returns a statement, or its beginning. A terminal of Lark's own library that has
// characters to escape is defined in place of its import.
func escapeStatement(rules string) (size int, escaped string, err error) {
	if after, ok := strings.CutPrefix(rules, regexOpen); ok {
		if source, ok := firstValue(after); ok {
			return len(regexOpen) + len(source), escapedOpen + string(source), nil
		}
	}
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
			fmt.Fprintf(&b, "%s: %s\n", as, escapedRegex(source, ""))
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
