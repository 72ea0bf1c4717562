package jsonschema

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Lark returns Lark rules with forms in place of their schemas. A schema without a form stays as it
// is, for llguidance to refuse, unless a number in it would lose digits. An error is an *[Error].
func Lark(rules string) (string, error) {
	var b, more strings.Builder
	n := 0
	for rest := rules; rest != ""; {
		size, schema := nextPart(rest)
		part := rest[:size]
		rest = rest[size:]
		if !schema {
			b.WriteString(part)
			continue
		}
		source, ok := firstValue(rest)
		if !ok {
			b.WriteString(part)
			continue
		}
		n++
		form, err := Compile(source, Options{Strict: true, Rules: fmt.Sprintf("json_%d", n)})
		switch {
		case err != nil && losesDigits(source):
			return "", err
		case err != nil:
			b.WriteString(part)
			continue
		}
		b.WriteString(form.Value)
		more.WriteString("\n" + form.Rules)
		rest = rest[strings.Index(rest, string(source))+len(source):]
	}
	return b.String() + more.String(), nil
}

// nextPart returns the length of the text, regular expression, comment, %json or character that
// rules begin with. schema says that it is %json.
func nextPart(rules string) (size int, schema bool) {
	switch {
	case strings.HasPrefix(rules, "%json"):
		return len("%json"), true
	case rules[0] == '#', strings.HasPrefix(rules, "//"):
		return len(firstLine(rules)), false
	case rules[0] == '"', rules[0] == '/':
		i := 1
		for ; i < len(rules) && (rules[i] != '\n' || rules[0] == '/'); i++ {
			if rules[i] == rules[0] {
				return i + 1, false
			}
			if rules[i] == '\\' {
				i++
			}
		}
		return min(i, len(rules)), false // it has no end, which llguidance refuses
	}
	return 1, false
}

// firstValue returns the JSON value that a text begins with.
func firstValue(text string) (json.RawMessage, bool) {
	var v json.RawMessage
	err := json.NewDecoder(strings.NewReader(text)).Decode(&v)
	return v, err == nil
}

// losesDigits reports whether llguidance would round a number of a schema.
func losesDigits(schema json.RawMessage) bool {
	v, err := read(schema)
	return err == nil && v.losesDigits()
}

func (v *value) losesDigits() bool {
	for _, x := range v.list {
		if x.losesDigits() {
			return true
		}
	}
	for _, key := range v.keys {
		x := v.members[key]
		switch key {
		case "const", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
			"multipleOf":
			if hasRounded(x) {
				return true
			}
		}
		if x.losesDigits() {
			return true
		}
	}
	return false
}
