package dialect

import (
	"bytes"
	"encoding/json"
	"strings"
)

// A memberValue reads the value of one parameter.
type memberValue struct {
	syntax    *memberSyntax
	name      string
	left      map[string]bool // the parameters that may follow
	kind      kind
	lined     bool   // it begins on its own line
	started   bool   // the first byte was read, which may be a line's end that belongs to the tag
	begun     bool   // a byte other than white space was read
	quoted    bool   // the value is a string, and its beginning has been passed on
	text      []byte // bytes held back until the type is clear
	held      []byte // bytes that may be the beginning of the tag at the end
	from      int    // the place of a string in the arguments
	next      string // the parameter that follows, if the tag at the end is missing
	dataEnded bool   // the tags of data have ended
	nested    nestedCall
}

// read takes the next byte. It returns the text that may end the value once it is complete: its tag,
// one that ends the call, or the tags before the next value.
func (v *memberValue) read(p *Parser, c byte) (tag string) {
	if !v.started {
		v.started, v.lined = true, c == '\n' && v.syntax.lines
		if v.lined {
			return ""
		}
	}
	v.held = append(v.held, c)
	if v.nested.parser != nil {
		v.readNested(p, c)
		return ""
	}
	for ; len(v.held) > 0; v.held = v.held[1:] {
		switch text, whole := matchPrefix(v.held, v.syntax.stops); {
		case whole && v.inData(p):
			v.keepState(p)
		case whole:
			v.held = nil
			return text
		case text != "":
			return ""
		}
		switch text, whole := matchPrefix(v.held, v.nested.openers); {
		case whole && !v.inData(p):
			v.beginNested(p)
			return ""
		case text != "" && !whole:
			return ""
		}
		if key, begun := v.readOpening(); (v.left[key] || key == v.name && !v.begun) && !v.inData(p) {
			tags := string(v.held)
			v.held, v.next = nil, key
			return tags
		} else if begun {
			return ""
		}
		switch tags, whole := matchPrefix(v.held, v.syntax.keyEnds); {
		case whole && v.cutKey(p):
			v.held = nil
			return tags
		case tags != "" && !whole:
			return ""
		}
		v.addByte(p, v.held[0])
	}
	v.held = nil
	return ""
}

// readOpening reads the tags before a parameter's value from held, and returns its name. begun says
// that they may go on. Where the values are on lines of their own, so are these tags.
func (v *memberValue) readOpening() (key string, begun bool) {
	f := v.syntax
	text, line := strings.CutPrefix(string(v.held), "\n")
	if line && len(text) <= maxSpace {
		text = strings.TrimLeft(text, " \t")
	}
	if v.lined && v.begun && !line {
		return "", false
	}
	rest, ok := strings.CutPrefix(text, f.parameter)
	if !ok {
		return "", strings.HasPrefix(f.parameter, text)
	}
	name, rest, ok := strings.Cut(rest, f.keyed)
	if !ok {
		at := strings.IndexAny(name, "<\n")
		return "", len(name) < maxName+len(f.keyed) && (at < 0 || strings.HasPrefix(f.keyed, name[at:]))
	}
	if f.valued != "" {
		rest = strings.TrimPrefix(rest, "\n")
	}
	if rest != f.valued {
		return "", strings.HasPrefix(f.valued, rest)
	}
	return unquoted(name), false
}

// cutKey takes the name of the next parameter from the value's end, where the tags between them are missing.
func (v *memberValue) cutKey(p *Parser) bool {
	text := &v.text
	if v.quoted {
		text = &p.run
	}
	for key := range v.left {
		if len(key) > len(v.next) && bytes.HasSuffix(v.written(p), []byte(key)) {
			v.next = key
		}
	}
	*text = (*text)[:len(*text)-len(v.next)]
	return v.next != ""
}

// inData reports whether the value is in the tags of data, and these have not ended.
func (v *memberValue) inData(p *Parser) bool {
	data := v.syntax.data.open
	return data != "" && !v.dataEnded && bytes.HasPrefix(v.written(p), []byte(data))
}

// written returns the value as far as it has been read.
func (v *memberValue) written(p *Parser) []byte {
	if v.quoted {
		return p.run[v.from:]
	}
	return v.text
}

// addByte takes a byte of the value.
func (v *memberValue) addByte(p *Parser, c byte) {
	v.begun = v.begun || !isSpace(c)
	if v.quoted {
		p.run = appendEscaped(p.run, c)
	} else {
		v.text = append(v.text, c)
		if v.kind == kindText || v.kind == kindNullable && !mayBeNull(v.text) || len(v.text) > maxHeld {
			v.beginString(p)
		}
	}
	if c == '>' && v.inData(p) {
		v.dataEnded = bytes.HasSuffix(v.written(p), []byte(v.syntax.data.close))
	}
}

// beginString passes on the held text as the beginning of a string.
func (v *memberValue) beginString(p *Parser) {
	p.emit(Arguments, '"')
	v.from = len(p.run)
	for _, c := range v.text {
		p.run = appendEscaped(p.run, c)
	}
	v.text, v.quoted = nil, true
}

// end passes on the rest of a complete value.
func (v *memberValue) end(p *Parser) {
	v.text = v.syntax.dataOf(v.text)
	if !v.quoted && v.kind != kindText {
		if text, ok := typed(v.text, v.kind); ok {
			p.emit(Arguments, text...)
			return
		}
	}
	if !v.quoted {
		v.beginString(p)
	}
	p.run = append(p.run[:v.from], v.syntax.dataOf(p.run[v.from:])...)
	p.emit(Arguments, '"')
}

// dataOf returns a value without the tags of data around it.
func (f *memberSyntax) dataOf(text []byte) []byte {
	open, close := []byte(f.data.open), []byte(f.data.close)
	data, ok := bytes.CutPrefix(text, open)
	data, closed := bytes.CutSuffix(data, close)
	if !ok || !closed {
		return text
	}
	for bytes.HasPrefix(data, open) && len(open) > 0 { // they came twice
		data = data[len(open):]
	}
	for bytes.HasSuffix(data, close) && len(close) > 0 {
		data = data[:len(data)-len(close)]
	}
	return data
}

// cut ends a value that is not complete. It passes on the rest of a string. It returns the text of
// any other value, since no byte of such a value has been passed on.
func (v *memberValue) cut(p *Parser) []byte {
	if !v.quoted {
		return append(v.text, v.held...)
	}
	for _, c := range v.held {
		v.addByte(p, c)
	}
	return nil
}

// mayBeNull reports whether text begins null or None, or is one of them.
func mayBeNull(text []byte) bool {
	return len(text) <= len("null") &&
		(bytes.HasPrefix([]byte("null"), text) || bytes.HasPrefix([]byte("None"), text))
}

// typed returns the JSON of a value whose type is not a string. It returns false if the text is a
// string. The templates write true, false, null and lists as Python does, so typed reads these
// forms too.
func typed(text []byte, k kind) ([]byte, bool) {
	text = bytes.TrimSpace(text)
	switch string(text) {
	case "None":
		return []byte("null"), true
	case "True":
		return []byte("true"), k != kindNullable
	case "False":
		return []byte("false"), k != kindNullable
	}
	if k == kindNullable {
		return text, string(text) == "null"
	}
	if json.Valid(text) {
		return text, true
	}
	return pythonList(text)
}
