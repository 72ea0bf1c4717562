package app

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
)

// person is a schema with what schemas mostly have.
const person = `{"type":"object","properties":{"name":{"type":"string","maxLength":12},"age":{"type":"integer","minimum":0,"maximum":150},
	"tags":{"type":"array","items":{"enum":["a","b","c"]},"maxItems":3},"home":{"anyOf":[{"type":"null"},{"type":"object","properties":{"street":{"type":"string","maxLength":8}},"required":["street"],"additionalProperties":false}]}},
	"required":["name","age","tags","home"],"additionalProperties":false}`

func schemaFormat(schema string) map[string]any {
	return map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "answer", "strict": true, "schema": json.RawMessage(schema)}}
}

// TestSchemas: the built-in model, which knows nothing of JSON, answers with it, and
// the same however it is decoded, in the arithmetic in which that holds to the bit.
func TestSchemas(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	r := start(t, Options{Model: "pocket"}, "127.0.0.1:0")
	drafted, accepted := 0, 0
	for name, sampling := range map[string]map[string]any{
		"greedy":  {"temperature": 0},
		"sampled": {"temperature": 1, "seed": 11},
	} {
		request := maps.Clone(sampling)
		maps.Copy(request, map[string]any{"prompt": repeats + "x := `{\"name\": \"Len\"}`\ny := `", "max_tokens": 200, "response_format": schemaFormat(person)})
		request["speculation"] = map[string]any{"drafter": "none"}
		plain := r.Ask(t, request, false)
		isPerson(t, name, plain)
		r.Ask(t, request, true).same(t, name+", streamed", plain)
		r.Run(t, plain.Timings.RunID)
		if v, err := r.client(t).VerifyRun(t.Context(), plain.Timings.RunID); err != nil || v.Same != v.Tokens || v.Tokens != len(plain.IDs) {
			t.Errorf("%s, computed again: %+v, %v", name, v, err)
		}
		for _, how := range []any{
			nil,
			map[string]any{"drafter": "dflash", "depth": 7},
			map[string]any{"drafter": "dflash", "depth": 3, "rollback": "snapshot"},
			map[string]any{"drafter": "ngram", "depth": 5},
		} {
			request["speculation"] = how
			got := r.Ask(t, request, false)
			got.same(t, name, plain)
			drafted, accepted = drafted+got.Timings.DraftN, accepted+got.Timings.Accepted
		}
		request["speculation"] = map[string]any{"drafter": "dflash", "depth": 5, "rule": "rejection"} // other draws
		isPerson(t, name+", by rejection", r.Ask(t, request, false))
	}
	if accepted == 0 || accepted == drafted {
		t.Errorf("%d of %d drafts stood", accepted, drafted)
	}
}

func isPerson(t *testing.T, what string, c completed) {
	t.Helper()
	var p struct {
		Name string
		Age  *int
		Tags []string
		Home *struct{ Street string }
	}
	d := json.NewDecoder(strings.NewReader(c.Text))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil || c.Finish != "stop" || p.Age == nil || *p.Age > 150 {
		t.Fatalf("%s: %q, %s: %v", what, c.Text, c.Finish, err)
	}
}

// TestGrammars: what else response_format takes.
func TestGrammars(t *testing.T) {
	r := start(t, Options{Model: "pocket"}, "127.0.0.1:0")
	for name, c := range map[string]struct {
		format map[string]any
		whole  func(text string) bool
	}{
		"an object": {map[string]any{"type": "json_object"}, func(text string) bool {
			var object map[string]any
			return json.Unmarshal([]byte(text), &object) == nil
		}},
		"a regular expression": {map[string]any{"type": "grammar", "grammar": map[string]any{"syntax": "regex", "definition": "(yes|no)/[0-9]{2}"}}, func(text string) bool {
			return len(text) == len("no/12") && strings.HasPrefix(text, "no/") || len(text) == len("yes/12") && strings.HasPrefix(text, "yes/")
		}},
		"rules": {map[string]any{"type": "grammar", "grammar": map[string]any{"syntax": "lark", "definition": "start: \"<\" word \">\"\nword: \"a\" | \"b\" word"}}, func(text string) bool {
			return strings.Trim(text, "<b>") == "a"
		}},
	} {
		got := r.Ask(t, map[string]any{"prompt": "x := ", "max_tokens": 300, "temperature": 0, "response_format": c.format}, false)
		if got.Finish == "stop" && !c.whole(got.Text) {
			t.Errorf("%s: %q", name, got.Text)
		}
		if got.Finish != "stop" && name != "an object" { // which may have no end
			t.Errorf("%s: %q ends with %s", name, got.Text, got.Finish)
		}
	}
	for name, format := range map[string]map[string]any{
		"a type there is not":  schemaFormat(`{"type":"number","properties":7}`),
		"what nobody can meet": schemaFormat(`{"type":"string","minLength":5,"maxLength":2}`),
		"an open bracket":      {"type": "grammar", "grammar": map[string]any{"syntax": "regex", "definition": "(a"}},
		"a missing rule":       {"type": "grammar", "grammar": map[string]any{"syntax": "lark", "definition": "start: word"}},
		"what has no end":      schemaFormat(`{"$ref":"#"}`),
		"no character at all":  {"type": "grammar", "grammar": map[string]any{"syntax": "regex", "definition": `[^\s\S]`}},
	} {
		body, err := json.Marshal(map[string]any{"model": control.Alias, "prompt": "x := ", "response_format": format})
		if err != nil {
			t.Fatal(err)
		}
		if a := r.Send("/v1/completions", string(body)); a.status != 400 || !strings.Contains(a.body, `"param":"response_format"`) {
			t.Errorf("%s: %+v", name, a)
		}
	}
	r.Ask(t, map[string]any{"prompt": "x := ", "max_tokens": 3}, false)
}
