package dialect

import (
	"bytes"
	"encoding/json"
	"slices"
)

// An object reads the JSON of one call: {"name": NAME, "arguments": {...}}, the members in any
// order. The call begins as soon as its name is known and its arguments have begun.
type object struct {
	bare   bool // only the members of a call are allowed, and arguments are required
	silent bool // no tag precedes the object, so that it is a call only if it names a tool

	at    place
	value scanner   // the key or value being read
	text  []byte    // its spelling, where it is needed
	key   string    // the key of the member being read
	name  string    // the tool's name
	args  arguments // the arguments read so far
	early []byte    // the arguments of a call whose name has not come yet
	given bool      // the arguments have begun
	whole bool      // the arguments have ended
	tail  []byte    // the text of a call after its arguments
}

// A place says how far an object has been read.
type place int

const (
	atStart place = iota
	atFirst       // before the first key, or the end
	atKey
	inKey
	atColon
	atValue
	inValue
	inArguments
	atEnd // after a member
)

// A verdict says how reading continues after a byte.
type verdict int

const (
	more  verdict = iota
	ended         // the byte is the last one
	wrong         // the byte is not allowed here
)

// argumentKeys are the keys that hold arguments. bareKeys are all the keys of a bare object.
var (
	argumentKeys = []string{"arguments", "parameters"}
	bareKeys     = []string{"name", "arguments", "parameters", "type", "id"}
)

// read takes the next byte of the call in a. It keeps the bytes after whole arguments in tail: they
// are text if the object has no end.
func (o *object) read(p *Parser, a *attempt, c byte) verdict {
	if a.called && o.whole {
		if o.tail = append(o.tail, c); len(o.tail) > maxHeld {
			return wrong
		}
	}
	return o.advance(p, a, c)
}

// advance takes the next byte without keeping it in tail.
func (o *object) advance(p *Parser, a *attempt, c byte) verdict {
	switch o.at {
	case inKey:
		if !o.value.read(c) || len(o.text) == maxHeld {
			return wrong
		}
		if o.text = append(o.text, c); o.value.state == done {
			return o.endKey()
		}
		return more
	case inValue:
		if !o.value.read(c) {
			if !o.value.numberComplete() {
				return wrong
			}
			o.at = atEnd // c is the first byte after a number
			return o.advance(p, a, c)
		}
		if !a.called && o.valueCounts() {
			o.text = append(o.text, c)
		}
		if o.value.state != done {
			return more
		}
		o.at = atEnd
		return o.endValue(p, a)
	case inArguments:
		return o.readArgument(p, a, c)
	}
	if isSpace(c) {
		return more
	}
	switch {
	case o.at == atStart && c == '{':
		o.at = atFirst
	case (o.at == atFirst || o.at == atKey) && c == '"':
		o.beginToken(inKey, c)
	case o.at == atColon && c == ':':
		o.at = atValue
	case o.at == atValue && c == '{' && slices.Contains(argumentKeys, o.key):
		if o.given {
			return wrong
		}
		o.at, o.given = inArguments, true
		if o.name != "" {
			o.beginCall(p, a)
		}
		return o.readArgument(p, a, c)
	case o.at == atValue:
		if o.beginToken(inValue, c); o.value.state == value {
			return wrong
		}
	case o.at == atEnd && c == ',':
		o.at = atKey
	case (o.at == atEnd || o.at == atFirst) && c == '}':
		return o.close(p, a)
	default:
		return wrong
	}
	return more
}

// beginToken reads the first byte of a key or a value.
func (o *object) beginToken(at place, c byte) {
	o.at, o.value, o.text = at, scanner{}, append(o.text[:0], c)
	o.value.read(c)
}

// valueCounts reports whether the value being read is the name or the arguments.
func (o *object) valueCounts() bool {
	return o.key == "name" || slices.Contains(argumentKeys, o.key)
}

// endKey checks a key that is whole and expects its colon.
func (o *object) endKey() verdict {
	o.at, o.key = atColon, ""
	if json.Unmarshal(o.text, &o.key) != nil || o.bare && !slices.Contains(bareKeys, o.key) {
		return wrong
	}
	return more
}

// endValue takes a whole value that is not an object of arguments: a name, or arguments in a
// string.
func (o *object) endValue(p *Parser, a *attempt) verdict {
	if !o.valueCounts() {
		return more
	}
	if a.called { // a second name, or second arguments
		return wrong
	}
	text := string(bytes.TrimSpace(o.text))
	if o.key == "name" {
		if o.name != "" || json.Unmarshal(o.text, &o.name) != nil || o.name == "" {
			return wrong
		}
		if o.silent && !p.hasTool(o.name) {
			return wrong
		}
	} else {
		if o.given {
			return wrong
		}
		// A string may hold the object.
		if text != "null" && json.Unmarshal(o.text, &text) != nil {
			return wrong
		}
		if text == "null" || text == "" {
			text = "{}"
		}
		if !json.Valid([]byte(text)) || text[0] != '{' {
			return wrong
		}
		o.early, o.given, o.whole = []byte(text), true, true
	}
	if o.name != "" && o.given {
		o.beginCall(p, a)
	}
	return more
}

// readArgument reads a byte of the arguments.
func (o *object) readArgument(p *Parser, a *attempt, c byte) verdict {
	out, end, ok := o.args.read(o.early, c)
	if !ok {
		return wrong
	}
	if o.early = out; end {
		o.at, o.whole = atEnd, true
	}
	if a.called {
		p.emit(Arguments, o.early...)
		o.early = o.early[:0]
	}
	return more
}

// beginCall begins the call.
func (o *object) beginCall(p *Parser, a *attempt) {
	a.accept(p, o.name)
	p.emit(Arguments, o.early...)
	o.early = nil
}

// close reads the last brace. It makes a call without arguments one with an empty object.
func (o *object) close(p *Parser, a *attempt) verdict {
	if !a.called {
		if o.bare || o.given || o.name == "" {
			return wrong
		}
		o.early, o.whole = []byte("{}"), true
		o.beginCall(p, a)
	}
	return ended
}
