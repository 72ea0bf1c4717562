package jsonschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A value is a JSON value. Objects keep the order of their members, and numbers their spelling.
type value struct {
	kind    kind
	text    string // the text of a string, or the spelling of a number
	list    []*value
	keys    []string // of an object, each once
	members map[string]*value

	at *place // of a schema: its place, for errors
}

// A kind is a type of JSON values.
type kind byte

const (
	null      kind = 'n'
	trueKind  kind = 't'
	falseKind kind = 'f'
	number    kind = '0'
	text      kind = '"'
	list      kind = '['
	object    kind = '{'
)

// maxNesting bounds the levels of a schema. llguidance reads 128.
const maxNesting = 500

var errNesting = errors.New("it has too many levels")

// read reads one JSON value.
func read(b json.RawMessage) (*value, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v, err := readValue(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("it has more than one JSON value")
	}
	return v, nil
}

func readValue(d *json.Decoder, level int) (*value, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	if level > maxNesting {
		return nil, errNesting
	}
	switch t := t.(type) {
	case nil:
		return &value{kind: null}, nil
	case bool:
		if t {
			return &value{kind: trueKind}, nil
		}
		return &value{kind: falseKind}, nil
	case json.Number:
		return &value{kind: number, text: t.String()}, nil
	case string:
		return newText(t), nil
	case json.Delim:
		if t == '[' {
			return readList(d, level)
		}
	}
	return readObject(d, level)
}

func readList(d *json.Decoder, level int) (*value, error) {
	v := &value{kind: list}
	for d.More() {
		x, err := readValue(d, level+1)
		if err != nil {
			return nil, err
		}
		v.list = append(v.list, x)
	}
	_, err := d.Token() // the bracket
	return v, err
}

func readObject(d *json.Decoder, level int) (*value, error) {
	v := newObject()
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		x, err := readValue(d, level+1)
		if err != nil {
			return nil, err
		}
		v.set(t.(string), x)
	}
	_, err := d.Token() // the brace
	return v, err
}

func newText(s string) *value          { return &value{kind: text, text: s} }
func newNumber(spelling string) *value { return &value{kind: number, text: spelling} }
func newList(of ...*value) *value      { return &value{kind: list, list: of} }

// newObject returns an object without members.
func newObject() *value { return &value{kind: object, members: map[string]*value{}} }

// get returns a member of an object, or nil.
func (v *value) get(key string) *value { return v.members[key] }

// set sets a member. A new one comes last.
func (v *value) set(key string, to *value) {
	if _, ok := v.members[key]; !ok {
		v.keys = append(v.keys, key)
	}
	v.members[key] = to
}

// remove removes a member.
func (v *value) remove(key string) {
	if _, ok := v.members[key]; ok {
		delete(v.members, key)
		v.keys = slices.DeleteFunc(v.keys, func(k string) bool { return k == key })
	}
}

// clone returns a copy whose own members can be changed.
func (v *value) clone() *value {
	c := *v
	c.keys, c.members = slices.Clone(v.keys), maps.Clone(v.members)
	return &c
}

// isBool reports whether v is true or false.
func (v *value) isBool() bool { return v.kind == trueKind || v.kind == falseKind }

// size returns the least number of bytes of the value's text.
func (v *value) size() int {
	n := 1 + len(v.text)
	for _, x := range v.list {
		n += x.size()
	}
	for _, key := range v.keys {
		n += len(key) + v.members[key].size()
	}
	return n
}

// append appends the value as JSON.
func (v *value) append(dst []byte) []byte {
	switch v.kind {
	case null:
		return append(dst, "null"...)
	case trueKind:
		return append(dst, "true"...)
	case falseKind:
		return append(dst, "false"...)
	case number:
		return append(dst, v.text...)
	case text:
		return appendText(dst, v.text)
	case list:
		dst = append(dst, '[')
		for i, x := range v.list {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = x.append(dst)
		}
		return append(dst, ']')
	}
	dst = append(dst, '{')
	for i, key := range v.keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendText(dst, key), ':')
		dst = v.members[key].append(dst)
	}
	return append(dst, '}')
}

// appendText appends a JSON string. It escapes only what JSON requires.
func appendText(dst []byte, s string) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string
	}
	return append(dst, strings.TrimSuffix(b.String(), "\n")...)
}

// A place is the position of a value in a schema.
type place struct {
	up  *place // nil at the root
	key string
}

// under returns the place of a member.
func (p *place) under(keys ...string) *place {
	for _, key := range keys {
		p = &place{p, key}
	}
	return p
}

// item returns the place of an element.
func (p *place) item(i int) *place { return p.under(strconv.Itoa(i)) }

// String returns the place as a JSON Pointer.
func (p *place) String() string {
	if p == nil || p.up == nil {
		return ""
	}
	return p.up.String() + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(p.key)
}
