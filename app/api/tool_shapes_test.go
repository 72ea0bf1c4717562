package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tandem/app/roomtest"
)

// TestToolsAndChoiceAreReadInBothOfOpenAIsShapes: chats write a function within an object, and
// responses beside its type. Clients mix the two.
func TestToolsAndChoiceAreReadInBothOfOpenAIsShapes(t *testing.T) {
	const (
		parameters = `"description":"d","parameters":{"type":"object","properties":{"a":{}}}`
		nested     = `{"type":"function","function":{"name":"%s",` + parameters + `,"strict":true}}`
		flat       = `{"type":"function","name":"%s",` + parameters + `,"strict":true}`
	)
	choices := []string{
		`{"type":"function","function":{"name":"go"}}`,
		`{"type":"function","name":"go"}`,
		`{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"go"}]}`,
		`{"type":"allowed_tools","mode":"required","tools":[{"type":"function","function":{"name":"go"}}]}`,
		`{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","name":"go"}]}}`,
		`{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"go"}}]}}`,
	}
	for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/api/chat"} {
		for _, tool := range []string{nested, flat} {
			for _, choice := range choices {
				fake := roomtest.Speaking(roomtest.GoCall)
				fields := fmt.Sprintf(`"tools":[`+tool+`,`+tool+`],"tool_choice":%s`,
					"look", "go", choice)
				w := roomtest.Post(serve(fake), path, fmt.Sprintf(formBodies[path], fields))
				if w.Code != 200 || len(fake.Model.Grammars) != 1 ||
					!strings.Contains(fake.Model.Grammars[0].Lark, `\"go\"`) ||
					strings.Contains(fake.Model.Grammars[0].Lark, `\"look\"`) {
					t.Errorf("%s %s: %d %s, held to %+v", path, fields, w.Code, w.Body,
						fake.Model.Grammars)
					continue
				}
				var vars struct {
					Tools []struct {
						Type     string
						Function struct {
							Name, Description string
							Parameters        json.RawMessage
						}
					}
				}
				if err := json.Unmarshal([]byte(fake.Model.Vars[0]), &vars); err != nil {
					t.Fatal(err)
				}
				last := vars.Tools[len(vars.Tools)-1]
				if last.Type != "function" || last.Function.Name != "go" ||
					last.Function.Description != "d" ||
					!strings.Contains(string(last.Function.Parameters), `"a"`) {
					t.Errorf("%s %s: the template gets %+v", path, fields, vars.Tools)
				}
			}
		}
	}
}

// TestChoiceWithoutNameIsRefused: there is nothing to hold the answer to.
func TestChoiceWithoutNameIsRefused(t *testing.T) {
	const tools = `"tools":[{"type":"function","function":{"name":"go"}}],"tool_choice":`
	for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/api/chat"} {
		for choice, want := range map[string]string{
			`{"type":"function"}`:                            "tool_choice.function is missing",
			`{"type":"function","function":{}}`:              "tool_choice.function.name is missing",
			`{"type":"function","name":""}`:                  "tool_choice.name must not be empty",
			`{"type":"function","name":"stay"}`:              `tool_choice names \"stay\"`,
			`{"type":"allowed_tools","tools":"go"}`:          "tool_choice.tools must be a list",
			`{"type":"function","function":"go"}`:            "tool_choice.function must be an object",
			`{"type":"allowed_tools","mode":"x","tools":[]}`: "tool_choice.mode must be ",
		} {
			w := roomtest.Post(serve(roomtest.Speaking("ok")), path,
				fmt.Sprintf(formBodies[path], tools+choice))
			if w.Code != 400 || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s %s: %d %s", path, choice, w.Code, w.Body)
			}
		}
	}
}

// TestToolsInOtherWordsAreRefused: a tool without its parameters, or none at all, would be offered in silence.
func TestToolsInOtherWordsAreRefused(t *testing.T) {
	const (
		go1     = `"tools":[{"type":"function","name":"go","parameters":{"type":"object"}}]`
		message = `{"model":"tandem","max_tokens":9,"messages":[{"role":"user","content":"x"}],%s}`
		schema  = `"input_schema":{"type":"object"}`
	)
	for _, c := range []struct{ path, fields, want string }{ // an empty want is a 200
		{"/v1/chat/completions", `"tools":[{"name":"go",` + schema + `}]`, "tools[0].input_schema is not read here; send it as parameters"},
		{"/v1/chat/completions", `"tools":[{"type":"function","function":{"name":"go",` + schema + `}}]`, "tools[0].function.input_schema is not read"},
		{"/v1/chat/completions", `"functions":[{"name":"go",` + schema + `}]`, "functions[0].input_schema is not read"},
		{"/api/chat", `"tools":[{"type":"function","function":{"name":"go",` + schema + `}}]`, "tools[0].function.input_schema is not read"},
		{"/v1/responses", `"tools":[{"type":"function","name":"go",` + schema + `}]`, "tools[0].input_schema is not read"},
		{"/v1/responses", `"tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"go",` + schema + `}]}]`, "tools[0].tools[0].input_schema is not read"},
		{"/v1/chat/completions", `"tools":[{"type":"function","name":"go","parameters":{},` + schema + `}]`, "tools[0].input_schema is not read"},
		{"/api/chat", `"tools":[{"type":"function","function":{` + schema + `,"name":"go","parameters":{"type":"object"}}}]`, "tools[0].function.input_schema is not read"},
		{"/v1/responses", `"tools":[{"type":"function","name":"go","parameters":null,` + schema + `}]`, "tools[0].input_schema is not read"},
		{"/v1/responses", `"tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"go","parameters":{},` + schema + `}]}]`, "tools[0].tools[0].input_schema is not read"},
		{"/v1/chat/completions", `"tools":[{"type":"function","name":"go","parameters":{},"input_schema":null}]`, ""},
		{"/v1/chat/completions", `"tools":[{"type":"function","function":{"name":"go"}},{"type":"custom","custom":{"name":"go"}}]`, `tools[1].custom.name and another tool are both \"go\" for the model; rename one of them.`},
		{"/v1/chat/completions", `"tools":[{"type":"custom","name":"ap","format":{"type":"text"}},{"type":"function","name":"x"},{"type":"function","name":"ap"}]`, `tools[2].name and another tool are both \"ap\"`},
		{"/v1/chat/completions", `"tools":[{"type":"custom","custom":{"name":"a b"}},{"function":{"name":"a b"}}],"tool_choice":"none"`, `tools[1].function.name and another tool are both \"a b\"`},
		{"/api/chat", `"tools":[{"type":"function","function":{"name":"go"}},{"type":"custom","name":"go"}]`, `tools[1].name and another tool are both`},
		{"/v1/chat/completions", `"tools":[{"type":"function","function":{"name":"go"}},{"type":"function","function":{"name":"go","description":"d"}}]`, ""},
		{"/v1/chat/completions", `"tools":[{"type":"custom","name":"go"},{"type":"custom","custom":{"name":"go"}},{"type":"function","name":"Go"}]`, ""},
		{"/v1/responses", `"functions":[{"name":"go"}]`, "functions is not read here; send it as tools"},
		{"/v1/responses", go1 + `,"functions":[{"name":"go"}]`, "functions is not read here"},
		{"/v1/messages", `"functions":[{"name":"go"}]`, "functions is not read here"},
		{"/v1/chat/completions", go1 + `,"functions":[{"name":"look"}]`, "functions is not read here"},
		{"/api/chat", go1 + `,"functions":[{"name":"look"}]`, "functions is not read here"},
		{"/v1/chat/completions", go1 + `,"functions":[]`, ""},
		{"/v1/chat/completions", `"tools":[],"functions":[{"name":"go"}]`, ""},
		{"/v1/responses", go1 + `,"functions":null`, ""},
		{"/v1/messages", `"functions":[]`, ""},
	} {
		form := formBodies[c.path]
		if c.path == "/v1/messages" {
			form = message
		}
		w := roomtest.Post(serve(roomtest.Speaking("ok")), c.path, fmt.Sprintf(form, c.fields))
		if c.want == "" && w.Code != 200 || c.want != "" && (w.Code != 400 || !strings.Contains(w.Body.String(), c.want)) {
			t.Errorf("%s %s: %d %s, want %s", c.path, c.fields, w.Code, w.Body, c.want)
		}
	}
}
