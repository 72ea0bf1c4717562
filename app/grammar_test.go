package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/engine/enginetest"
)

// person is a schema with the keywords that most schemas have.
const person = `{"type":"object","properties":{"name":{"type":"string","maxLength":12},"age":{"type":"integer","minimum":0,"maximum":150},
	"tags":{"type":"array","items":{"enum":["a","b","c"]},"maxItems":3},"home":{"anyOf":[{"type":"null"},{"type":"object","properties":{"street":{"type":"string","maxLength":8}},"required":["street"],"additionalProperties":false}]}},
	"required":["name","age","tags","home"],"additionalProperties":false}`

// schemaFormat is a response_format that holds an answer to a schema.
func schemaFormat(schema string) map[string]any {
	return map[string]any{"type": "json_schema",
		"json_schema": map[string]any{"name": "answer", "strict": true,
			"schema": json.RawMessage(schema)}}
}

// The built-in model does not know JSON. A schema makes it answer with JSON, and with the same
// JSON however the answer is decoded. In the bit tier the answers agree to the bit. Each way of
// decoding runs once, because grammar and drafter meet in the same code whatever the sampling.
func TestSchemaAnswerIsTheSameHoweverItIsDecoded(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	r := start(t, Options{Model: "pocket"}, "127.0.0.1:0")
	drafted, accepted := 0, 0
	for name, c := range map[string]struct {
		sampling map[string]any
		ways     []any
	}{
		"greedy": {map[string]any{"temperature": 0}, []any{
			nil, map[string]any{"drafter": "ngram", "depth": 5},
		}},
		"sampled": {map[string]any{"temperature": 1, "seed": 11}, []any{
			map[string]any{"drafter": "dflash", "depth": 7},
			map[string]any{"drafter": "dflash", "depth": 3, "rollback": "snapshot"},
		}},
	} {
		request := maps.Clone(c.sampling)
		maps.Copy(request, map[string]any{
			"prompt":     repeats + "x := `{\"name\": \"Len\"}`\ny := `",
			"max_tokens": 200, "response_format": schemaFormat(person),
		})
		request["speculation"] = map[string]any{"drafter": "none"}
		plain := r.Ask(t, request, false)
		isPerson(t, name, plain)
		if name == "greedy" {
			r.Ask(t, request, true).same(t, name+", streamed", plain)
		} else {
			r.Run(t, plain.Timings.RunID)
			v, err := control.Call(t.Context(), r.client(t), control.VerifyRun,
				control.RunVerification{Run: plain.Timings.RunID})
			if err != nil || v.Same != v.Tokens || v.Tokens != len(plain.IDs) {
				t.Errorf("%s, computed a second time: %+v, %v", name, v, err)
			}
		}
		for _, way := range c.ways {
			request["speculation"] = way
			got := r.Ask(t, request, false)
			got.same(t, name, plain)
			drafted, accepted = drafted+got.Timings.DraftN, accepted+got.Timings.Accepted
		}
		if name == "sampled" { // the rejection rule draws other tokens
			request["speculation"] = map[string]any{"drafter": "dflash", "depth": 5,
				"rule": "rejection"}
			isPerson(t, name+", by rejection", r.Ask(t, request, false))
		}
	}
	if accepted == 0 || accepted == drafted {
		t.Errorf("%d of %d drafts were accepted, want some and not all", accepted, drafted)
	}
}

// isPerson checks that a completion ended by itself and is a person.
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
		t.Fatalf("%s: %q is not a person, or its end %q is not stop: %v", what, c.Text, c.Finish, err)
	}
}

// response_format takes json_object, regular expressions and Lark rules. A grammar that is
// malformed or that no text can meet gets status 400. After such a refusal the model still
// answers.
func TestResponseFormatTakesGrammarsAndRefusesImpossibleOnes(t *testing.T) {
	r := start(t, Options{Model: "pocket"}, "127.0.0.1:0")
	for name, c := range map[string]struct {
		format map[string]any
		whole  func(text string) bool
	}{
		"an object": {map[string]any{"type": "json_object"}, func(text string) bool {
			var object map[string]any
			return json.Unmarshal([]byte(text), &object) == nil
		}},
		"a regular expression": {map[string]any{"type": "grammar",
			"grammar": map[string]any{"syntax": "regex", "definition": "(yes|no)/[0-9]{2}"}},
			func(text string) bool {
				return len(text) == len("no/12") && strings.HasPrefix(text, "no/") ||
					len(text) == len("yes/12") && strings.HasPrefix(text, "yes/")
			}},
		"rules": {map[string]any{"type": "grammar",
			"grammar": map[string]any{"syntax": "lark",
				"definition": "start: \"<\" word \">\"\nword: \"a\" | \"b\" word"}},
			func(text string) bool {
				return strings.Trim(text, "<b>") == "a"
			}},
	} {
		got := r.Ask(t, map[string]any{"prompt": "x := ", "max_tokens": 300, "temperature": 0,
			"response_format": c.format}, false)
		if got.Finish == "stop" && !c.whole(got.Text) {
			t.Errorf("%s: the answer is %q", name, got.Text)
		}
		if got.Finish != "stop" && name != "an object" { // an object may have no end
			t.Errorf("%s: the answer %q ends with %s", name, got.Text, got.Finish)
		}
	}
	for name, format := range map[string]map[string]any{
		"a keyword of the wrong type": schemaFormat(`{"type":"number","properties":7}`),
		"bounds that contradict":      schemaFormat(`{"type":"string","minLength":5,"maxLength":2}`),
		"an open bracket": {"type": "grammar",
			"grammar": map[string]any{"syntax": "regex", "definition": "(a"}},
		"a missing rule": {"type": "grammar",
			"grammar": map[string]any{"syntax": "lark", "definition": "start: word"}},
		"a schema without an end": schemaFormat(`{"$ref":"#"}`),
		"a set of no characters": {"type": "grammar",
			"grammar": map[string]any{"syntax": "regex", "definition": `[^\s\S]`}},
	} {
		body, err := json.Marshal(map[string]any{"model": control.Alias, "prompt": "x := ",
			"response_format": format})
		if err != nil {
			t.Fatal(err)
		}
		if a := r.Send("/v1/completions", string(body)); a.status != 400 ||
			!strings.Contains(a.body, `"param":"response_format`) {
			t.Errorf("%s: %+v", name, a)
		}
	}
	r.Ask(t, map[string]any{"prompt": "x := ", "max_tokens": 3}, false)
}

// TestFaultInTheRulesOfAToolNamesTheTool: wherever the fault is, before the model is asked: where it may call the
// tool, in a forced call and beside a format.
func TestFaultInTheRulesOfAToolNamesTheTool(t *testing.T) {
	r := start(t, Options{Model: "pocket"}, "127.0.0.1:0")
	tool := func(name, syntax, rules string) string {
		return fmt.Sprintf(`{"type":"custom","name":%q,"format":{"type":"grammar","syntax":%q,"definition":%q}}`, name, syntax, rules)
	}
	good := tool("good", "lark", "start: \"a\"")
	for _, c := range []struct{ syntax, rules, want string }{
		{"lark", "start foo", `the format of the tool "patch": line 1, column 7: `},
		{"lark", "start: foo", `the format of the tool "patch": line 1, column 8: unknown name`},
		{"lark", "start: a\na: \"b", `the format of the tool "patch": line 2, column 6: lexer error`},
		{"lark", "a: \"b\"", `the format of the tool "patch": `},
		{"lark", "%import common.WIBBLE\nstart: WIBBLE", `the format of the tool "patch": `},
		{"lark", "start: /(a/", `the format of the tool "patch": line 1, column 8: regular expression: unclosed group`},
		{"lark", `start: %json {"multipleOf": 1.00000000000000000001}`, `the format of the tool "patch": `},
		{"regex", "(a", `the format of the tool "patch": the regular expression (a cannot be followed: unclosed group`},
		{"regex", "(?=a)b", `the format of the tool "patch": the regular expression (?=a)b cannot be followed: look-around`},
		{"regex", "[^\\s\\S]", `the format of the tool "patch": the regular expression [^\\s\\S] cannot be followed: no text matches it`},
	} {
		tools := `"tools":[` + good + "," + tool("patch", c.syntax, c.rules) + "," + tool("last", "regex", "a+") + "]"
		for _, how := range []struct{ route, body string }{
			{"/v1/chat/completions", `"messages":[{"role":"user","content":"x"}]`},
			{"/v1/chat/completions", `"messages":[{"role":"user","content":"x"}],"tool_choice":"required"`},
			{"/v1/chat/completions", `"messages":[{"role":"user","content":"x"}],"tool_choice":{"type":"custom","custom":{"name":"patch"}}`},
			{"/v1/chat/completions", `"messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_object"}`},
			{"/v1/responses", `"input":"x","stream":true`},
			{"/v1/responses", `"input":"x","tool_choice":"required"`},
			{"/v1/responses", `"input":"x","stream":true,"tool_choice":{"type":"custom","name":"patch"}`},
			{"/api/chat", `"messages":[{"role":"user","content":"x"}],"stream":false,"tool_choice":"required"`},
		} {
			a := r.Send(how.route, `{"model":"tandem","max_tokens":5,`+how.body+","+tools+"}")
			if text := strings.ReplaceAll(a.body, `\"`, `"`); !strings.Contains(text, c.want) ||
				how.route == "/v1/chat/completions" && !strings.Contains(text, `"param":"tools[1].format.definition"`) {
				t.Errorf("%s %s %s: %d %s, want %s", how.route, how.body, c.rules, a.status, text, c.want)
			}
		}
	}
	// So is one behind many, in bounded time.
	many := tool("t", "lark", "start: \"a\" /[a-z]{1,200}/")
	for i := range 150 {
		many += "," + tool(fmt.Sprint("t", i), "lark", "start: \"a\" /[a-z]{1,200}/")
	}
	began := time.Now()
	a := r.Send("/v1/chat/completions", `{"model":"tandem","messages":[{"role":"user","content":"x"}],"tool_choice":"required","tools":[`+
		many+","+tool("patch", "lark", "start foo")+"]}")
	if took := time.Since(began); a.status != 400 || took > 20*time.Second {
		t.Errorf("of many tools: %+v after %v", a, took)
	}
}

// The text of a forced call matches the regular expression of its custom tool, read as Rust's.
func TestForcedCallFollowsTheRegexOfItsTool(t *testing.T) {
	r := start(t, Options{Model: "pocket"}, "127.0.0.1:0")
	for source, want := range map[string]string{ // for Go
		`[[:digit:]]{2}`: `[0-9]{2}`, `[a-d&&[^b-c]]{4}`: `[ad]{4}`, `(?i:abc)"`: `(?i:abc)"`, `(?m)^a$`: `a`,
		`(?s).{3}`: `(?s).{3}`, `(?x) [a-c--b]{3} # a comment`: `[ac]{3}`, `[[:^print:]]\/x`: `[^ -~]/x`,
		`(?P<stop>b)\x{41}`: `bA`,
	} {
		tool, err := json.Marshal(map[string]any{"type": "custom", "name": "pick",
			"format": map[string]any{"type": "grammar", "syntax": "regex", "definition": source}})
		if err != nil {
			t.Fatal(err)
		}
		a := r.Send("/v1/responses", `{"model":"tandem","input":"x","max_output_tokens":200,"tool_choice":"required",`+
			`"parallel_tool_calls":false,"tools":[`+string(tool)+`]}`)
		var said struct {
			Output []struct{ Type, Input string }
		}
		if err := json.Unmarshal([]byte(a.body), &said); err != nil || a.status != 200 || len(said.Output) == 0 {
			t.Fatalf("%s: %d %s", source, a.status, a.body)
		}
		call := said.Output[len(said.Output)-1]
		if call.Type != "custom_tool_call" || !regexp.MustCompile("^(?:"+want+")$").MatchString(call.Input) {
			t.Errorf("%s: %+v, want %s", source, call, want)
		}
	}
}

// A schema reaches the answer as its client wrote it: numbers keep their digits, properties make an
// object, a reference is decoded, and a name that a pattern matches too ends no stream. It does so
// in the forms of all vendors, for a text and for a call.
func TestSchemaReachesTheAnswerAsItWasWritten(t *testing.T) {
	const messages = `"max_tokens":80,"messages":[{"role":"user","content":"hi"}]`
	r := start(t, Options{Model: "pocket"}, "127.0.0.1:0")
	for schema, want := range map[string]string{
		`{"properties":{"id":{"enum":[2512292042121000001]}},"required":["id"],"additionalProperties":false}`:                                                      `2512292042121000001`,
		`{"$ref":"#/definitions/Partial%3CFoo%3E","definitions":{"Partial<Foo>":{"properties":{"a":{"const":"x"}},"required":["a"]}}}`:                             `x`,
		`{"properties":{"score":{"const":5,"multipleOf":5}},"required":["score"],"additionalProperties":false,"patternProperties":{"^score$":{"type":"integer"}}}`: `5`,
	} {
		for _, c := range []struct{ path, body, limit string }{
			{"/v1/chat/completions", `{"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":SCHEMA}}`, messages},
			{"/v1/chat/completions", `{"tool_choice":"required","parallel_tool_calls":false,"tools":[{"type":"function","function":{"name":"go","strict":true,"parameters":SCHEMA}}]`, messages},
			{"/v1/responses", `{"input":"hi","text":{"format":{"type":"json_schema","name":"a","schema":SCHEMA}}`, `"max_output_tokens":80`},
			{"/v1/responses", `{"input":"hi","tool_choice":"required","tools":[{"type":"function","name":"go","parameters":SCHEMA}]`, `"max_output_tokens":80`},
			{"/v1/messages", `{"output_config":{"format":{"type":"json_schema","schema":SCHEMA}}`, messages},
			{"/v1/messages", `{"tool_choice":{"type":"any","disable_parallel_tool_use":true},"tools":[{"name":"go","input_schema":SCHEMA}]`, messages},
			{"/api/chat", `{"format":SCHEMA,"options":{"num_predict":80}`, messages},
		} {
			for _, stream := range []string{"true", "false"} {
				if stream == "true" && want != "5" {
					continue
				}
				body := strings.ReplaceAll(c.body, "SCHEMA", schema) + `,"stream":` + stream +
					`,"model":"tandem","temperature":0,` + c.limit + "}"
				a := r.Send(c.path, body)
				if a.status != 200 || stream == "false" && !strings.Contains(a.body, want) {
					t.Errorf("%s %s: %+v", c.path, body, a)
				}
				if strings.Contains(a.body, `"error":{`) || strings.Contains(a.body, "event: error") {
					t.Errorf("%s %s, streamed: %s", c.path, body, a.body)
				}
			}
		}
	}
}
