package jsonschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tandem/engine/native"
)

// endToken ends a text. The tokens before it are single bytes.
const endToken = 256

func newVocabulary(t testing.TB) *native.Vocabulary {
	t.Helper()
	v, err := native.NewVocabulary(endToken+1, func(id int32) ([]byte, bool) {
		return []byte{byte(id)}, id == endToken
	}, []int32{endToken}, native.NewLane())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}

// grammar returns a form as a grammar.
func (f *Form) grammar() native.Grammar {
	if f.JSON != nil {
		return native.Grammar{JSON: f.JSON}
	}
	return native.Grammar{Lark: f.Lark()}
}

// follow writes a text of at most n bytes. It begins like start as far as the grammar allows, and
// rng draws the rest. done says that the text has ended.
func follow(m *native.Matcher, start string, rng *rand.Rand, n int) (text string, done bool,
	err error) {
	bits := make([]uint32, m.Words())
	for len(text) < n && !m.Stopped() {
		if err := m.Mask(bits); err != nil {
			return text, false, fmt.Errorf("after %q: %w", text, err)
		}
		var ids []int32
		for id := range int32(endToken + 1) {
			if bits[id/32]>>(id%32)&1 != 0 {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			return text, false, fmt.Errorf("nothing may follow %q", text)
		}
		id := pick(ids, start, len(text), rng)
		if err := m.Accept(id); err != nil {
			return text, false, fmt.Errorf("after %q: %w", text, err)
		}
		if id < endToken {
			text += string([]byte{byte(id)})
		}
	}
	return text, m.Stopped(), nil
}

// pick draws a token. It prefers the next byte of start, and then a token that ends a text.
func pick(ids []int32, start string, at int, rng *rand.Rand) int32 {
	allowed := map[int32]bool{}
	for _, id := range ids {
		allowed[id] = true
	}
	if at < len(start) {
		if id := int32(start[at]); allowed[id] {
			return id
		}
	}
	if rng.IntN(3) > 0 {
		for _, id := range []int32{endToken, '"', '}', ']', ':', 'a'} {
			if allowed[id] {
				return id
			}
		}
	}
	return ids[rng.IntN(len(ids))]
}

// texts returns whole texts by a schema.
func texts(t *testing.T, v *native.Vocabulary, schema string, o Options) []string {
	t.Helper()
	form, err := Compile(json.RawMessage(schema), o)
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	var list []string
	for seed := range uint64(15) {
		m, err := v.Matcher(t.Context(), form.grammar())
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		text, done, err := follow(m, "", rand.New(rand.NewPCG(seed, 1)), 400)
		m.Close()
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		if done {
			list = append(list, text)
		}
	}
	if list == nil {
		t.Fatalf("%s: no text came to its end", schema)
	}
	return list
}

// FuzzAdmission: any schema is refused with an error of one line that has no words of llguidance,
// or its form can be followed: every text goes on to its end. A text that is not JSON chooses the
// keywords of a schema.
func FuzzAdmission(f *testing.F) {
	for _, schema := range append(admitted, nested...) {
		f.Add(schema, true, uint64(1))
		f.Add(schema, false, uint64(2))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range uint64(300) {
		b := make([]byte, 5+random.IntN(200))
		for j := range b {
			b[j] = byte(random.Uint32())
		}
		f.Add(string(b), i%2 == 0, i)
	}
	v := newVocabulary(f)
	f.Fuzz(func(t *testing.T, schema string, strict bool, seed uint64) {
		if len(schema) > 1<<12 {
			return
		}
		if !json.Valid([]byte(schema)) {
			c := choices{schema}
			schema = c.schema(0)
		}
		form, err := Compile(json.RawMessage(schema), Options{Strict: strict})
		if err != nil {
			isClear(t, schema, err.Error())
			return
		}
		m, err := v.Matcher(t.Context(), form.grammar())
		if e, ok := errors.AsType[*native.GrammarError](err); ok {
			isClear(t, schema, e.Message)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		text, done, err := follow(m, "", rand.New(rand.NewPCG(seed, 1)), 60)
		if e, ok := errors.AsType[*native.GrammarError](err); ok &&
			strings.Contains(e.Message, "to be followed") {
			return // a limit of a mask
		}
		if err != nil || done && !json.Valid([]byte(text)) {
			t.Fatalf("%s: %q, %v", schema, text, err)
		}
	})
}

// isClear checks that an error has one line without words of llguidance.
func isClear(t *testing.T, schema, message string) {
	t.Helper()
	for _, word := range []string{"\n", "x-guidance", "coerce", "whitespace_pattern", "json_",
		"(And", "Unimplemented", "patternProperty regex"} {
		if strings.Contains(message, word) && !strings.Contains(schema, word) {
			t.Errorf("%s: refused with %q, which has %q", schema, message, word)
		}
	}
}

// admitted are schemas of the shapes that clients send. A form follows each.
var admitted = []string{
	`{"type":"object","properties":{"a":{"type":"boolean"}},"patternProperties":{"^a$":{"type":"boolean"}},"additionalProperties":false}`,
	`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"anyOf":[{"type":"null"},{"$ref":"#"}]}},"required":["a"]}`,
	`{"enum":[9007199254740993,1.50000000000000000001,"a",null]}`,
	`{"type":"array","prefixItems":[{"type":"integer","minimum":1e17},{"const":1e30}],"items":false,"minItems":1}`,
	`{"oneOf":[{"type":"object","properties":{"k":{"const":"a"}},"required":["k"]},{"type":"object","properties":{"k":{"const":"b"}},"required":["k"]}]}`,
	`{"allOf":[{"type":"object","properties":{"a":{"type":"string","pattern":"^[\\w-.]+$"}}},{"type":"object","properties":{"b":{"format":"date"}},"minProperties":1}]}`,
	`{"type":"number","exclusiveMinimum":0.1,"maximum":0.30000000000000004,"multipleOf":0.01}`,
}

// nested are schemas that random choices rarely make.
var nested = []string{
	`{"enum":[null,{"a":1}],"allOf":[{"const":{"a":0.3}}],"type":"object"}`,
	`{"exclusiveMaximum":1.5,"minimum":1e18}`,
	`{"oneOf":[{"required":[],"oneOf":[{"anyOf":[{"properties":{"a":{"patternProperties":{"^[\\w-.]+$":true,"^b":{}}}},"type":"object"}],"type":"object"}],"type":"object"}]}`,
	`{"anyOf":[{"required":["a","b"],"additionalProperties":{"type":"null","patternProperties":{"^[ab]{1,3}$":{"required":["a"],"anyOf":[{},{}]}},"additionalProperties":null}},{}],"type":"object"}`,
	`{"anyOf":[{"anyOf":[{"oneOf":[{"oneOf":[{"type":"null"},{"type":"null"}],"items":{}},{"allOf":[{},{}],"type":"object"}],"type":"object"},{}]},{}],"type":"object"}`,
	`{"patternProperties":{"a|^b$":{"type":"null"},"^(?i:a)":{"items":false}},"type":"object"}`,
	`{"patternProperties":{"^(a|b)$":{"const":[5]},"a|^b$":false,"^a$":{}},"type":"object"}`,
	`{"oneOf":[{"anyOf":[{"patternProperties":{"\\bx":{"pattern":"\\bx"}}}],"not":{}}],"allOf":[{"additionalProperties":false,"type":"object"}],"type":"object"}`,
	`{"$ref":"http://a.b/c","anyOf":[{"$ref":"#/nowhere"}]}`, `false`,
}

// isFollowed checks that texts by a form go on to their end.
func isFollowed(t *testing.T, v *native.Vocabulary, schema string, form *Form) {
	t.Helper()
	for seed := range uint64(6) {
		m, err := v.Matcher(t.Context(), form.grammar())
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		start := []string{"", `{"a":null,"`, `{"score":5,"tags":[],"`}[seed%3]
		text, done, err := follow(m, start, rand.New(rand.NewPCG(seed, 1)), 200)
		m.Close()
		if err != nil || done && !json.Valid([]byte(text)) {
			t.Fatalf("%s: %q, %v", schema, text, err)
		}
	}
}
