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

	json    scanner
	at      place
	text    []byte   // of the key or value being read, where it is needed
	key     string   // of the member being read
	name    string   // the tool's name
	early   []byte   // arguments that were not passed on yet
	quoted  *string  // the string that holds them; nil for none
	given   bool     // the arguments have begun
	others  []string // the keys that no call has
	schema  *schema  // of the tool's parameters, once others has a key
	doubled bool     // the first brace came twice
	whole   bool     // the arguments have ended
	tail    []byte   // the text of a call after its arguments
}

// A place says what of the object itself is being read.
type place int

const (
	atMember place = iota // before, between or after keys and values
	inKey
	inValue
	inArguments
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
	before, depth, to := o.json.state, o.json.depth(), &o.text
	switch {
	case o.at == inArguments && a.called:
		p.emit(Arguments)
		to = &p.run
	case o.at == inArguments:
		to = &o.early
	case o.at == atMember:
		o.text = o.text[:0]
	}
	if c == '{' && o.json.state == firstKey && depth == 1 && !o.doubled && o.at == atMember {
		o.doubled, o.json.slipped = true, true // the first brace came twice
		return more
	}
	var ok bool
	if *to, ok = o.json.read(*to, c); !ok || depth == 0 && c != '{' && !isSpace(c) {
		return wrong
	}
	p.slipped = p.slipped || a.called && o.json.slipped
	if depth == 1 && before.inNumber() && !o.json.state.inNumber() {
		if o.at = atMember; o.valueCounts() { // no name or arguments are a number
			return wrong
		}
	}
	switch {
	case o.at == inArguments:
		if o.json.depth() == 1 {
			o.at, o.whole = atMember, true
		}
	case o.at == inKey:
		if o.json.state == colon {
			return o.endKey(p, a)
		}
	case o.at == inValue:
		if o.json.depth() == 1 && o.json.state == after {
			return o.endValue(p, a)
		}
	case depth == 1 && o.json.depth() == 0:
		return o.close(p, a)
	case isSpace(c):
	case before == firstKey || before == nextKey:
		o.at = inKey
	case before == value && depth == 1 && c == '{' && slices.Contains(argumentKeys, o.key):
		if o.given {
			return wrong
		}
		o.at, o.given, o.early = inArguments, true, append(o.early, c)
		if o.name != "" {
			o.beginCall(p, a)
		}
	case before == value && depth == 1:
		o.at = inValue
	}
	return more
}

// valueCounts reports whether the value being read is the name or the arguments.
func (o *object) valueCounts() bool {
	return o.key == "name" || slices.Contains(argumentKeys, o.key)
}

// endKey checks a key that is whole.
func (o *object) endKey(p *Parser, a *attempt) verdict {
	o.at, o.key = atMember, ""
	if json.Unmarshal(o.text, &o.key) != nil {
		return wrong
	}
	if slices.Contains(bareKeys, o.key) {
		return more
	}
	if o.others = append(o.others, o.key); a.called {
		o.refuseMisplaced(p)
	}
	if o.bare {
		return wrong
	}
	return more
}

// endValue takes a whole value that is not an object of arguments: a name, or arguments in a
// string.
func (o *object) endValue(p *Parser, a *attempt) verdict {
	o.at = atMember
	if !o.valueCounts() {
		return more
	}
	if a.called { // a second name, or second arguments
		return wrong
	}
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
		o.given, o.whole = true, true
		if string(bytes.TrimSpace(o.text)) == "null" {
			o.early = []byte("{}")
		} else if json.Unmarshal(o.text, &o.quoted) != nil {
			return wrong
		}
	}
	if o.name == "" || !o.given {
		return more
	}
	if o.quoted != nil && !o.readQuoted(p) {
		return wrong
	}
	o.beginCall(p, a)
	return more
}

// readQuoted reads the arguments in a string, which may hold the object, or the text that the tool takes.
func (o *object) readQuoted(p *Parser) (ok bool) {
	text := *o.quoted
	if text == "" || text == "null" {
		text = "{}"
	}
	var inner scanner
	o.early, ok = inner.readObject(text)
	o.json.slipped = o.json.slipped || inner.slipped
	if tool := p.tools[o.name]; tool.takesText() && !(ok && slices.Contains(memberNames(o.early), TextParameter)) {
		o.early, o.json.slipped = textArguments(*o.quoted), true
		return true
	}
	return ok
}

// beginCall begins the call.
func (o *object) beginCall(p *Parser, a *attempt) {
	a.accept(p, o.name)
	p.slipped = p.slipped || o.json.slipped
	p.emit(Arguments, o.early...)
	o.refuseMisplaced(p)
}

// refuseMisplaced makes a call with a misplaced parameter text, however its object ends.
func (o *object) refuseMisplaced(p *Parser) {
	p.refused = p.refused || o.misplaced(p)
	o.others = nil
}

// misplaced reports whether a parameter of the tool is beside its arguments, not among them.
func (o *object) misplaced(p *Parser) bool {
	if len(o.others) > 0 && o.schema == nil {
		s := readParameters(p.tools[o.name].Parameters)
		o.schema = &s
	}
	return slices.ContainsFunc(o.others, func(key string) bool { return o.schema.Properties[key] != nil })
}

// close reads the last brace. It makes a call without arguments one with an empty object.
func (o *object) close(p *Parser, a *attempt) verdict {
	switch {
	case a.called:
	case o.misplaced(p) || o.bare || o.given || o.name == "":
		return wrong
	default:
		o.early, o.whole = []byte("{}"), true
		o.beginCall(p, a)
	}
	return ended
}
