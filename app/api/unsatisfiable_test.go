package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tandem/app/roomtest"
)

// toolBodies write a request that offers a tool named look with a schema, by route. choice may be a word of
// tool_choice, or empty.
var toolBodies = map[string]func(schema, choice, more string) string{
	"/v1/chat/completions": func(schema, choice, more string) string {
		return `{"model":"tandem","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"go"}},` +
			`{"type":"function","function":{"name":"look","parameters":` + schema + more + `}}]` + chosen(choice, `"`+choice+`"`) + `}`
	},
	"/v1/chat/completions older": func(schema, choice, more string) string {
		if choice == "required" {
			choice = `{"name":"look"}`
		} else if choice != "" {
			choice = `"` + choice + `"`
		}
		return `{"model":"tandem","messages":[{"role":"user","content":"x"}],"functions":[{"name":"look","parameters":` + schema + more + `}]` +
			strings.Replace(chosen(choice, choice), "tool_choice", "function_call", 1) + `}`
	},
	"/v1/responses":              responseTool,
	"/v1/responses/input_tokens": responseTool,
	"/v1/responses item": func(schema, choice, more string) string {
		return `{"model":"tandem","input":[{"type":"additional_tools","tools":[{"type":"namespace","name":"a","tools":[{"type":"function","name":"look","parameters":` +
			schema + more + `}]}]},{"role":"user","content":"x"}]` + chosen(choice, `"`+choice+`"`) + `}`
	},
	"/v1/responses search": func(schema, choice, _ string) string {
		return `{"model":"tandem","input":"x","tools":[{"type":"tool_search","execution":"client","parameters":` + schema + `}]` +
			chosen(choice, `"`+choice+`"`) + `}`
	},
	"/v1/messages":              messageTool,
	"/v1/messages/count_tokens": messageTool,
	"/api/chat": func(schema, _, more string) string {
		return `{"model":"tandem","stream":false,"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"look","parameters":` +
			schema + more + `}}]}`
	},
}

func responseTool(schema, choice, more string) string {
	return `{"model":"tandem","input":"x","tools":[{"type":"function","name":"look","parameters":` + schema + more + `}]` +
		chosen(choice, `"`+choice+`"`) + `}`
}

func messageTool(schema, choice, more string) string {
	if choice == "required" {
		choice = "any"
	}
	return `{"model":"tandem","max_tokens":9,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"look","input_schema":` +
		schema + more + `}]` + chosen(choice, `{"type":"`+choice+`"}`) + `}`
}

// chosen returns the member tool_choice, unless there is no choice.
func chosen(choice, value string) string {
	if choice == "" {
		return ""
	}
	return `,"tool_choice":` + value
}

// TestToolThatCanNeverBeCalledIsRefused: no arguments fit its schema. The error names the tool and the place.
// It comes before the model is asked, whether or not the answer must be a call.
func TestToolThatCanNeverBeCalledIsRefused(t *testing.T) {
	wrap := func(s string) string { return `{"type":"object","properties":{"n":` + s + `},"required":["n"]}` }
	for schema, place := range map[string]string{
		wrap(`{"type":"integer","minimum":5,"maximum":3}`):                                " at /properties/n: no number is between its bounds; change one of them.",
		wrap(`{"type":"string","minLength":2,"maxLength":1}`):                             " at /properties/n: minLength",
		wrap(`{"type":"array","minItems":2,"maxItems":1}`):                                " at /properties/n: minItems",
		wrap(`{"type":"string","enum":[1,2]}`):                                            " at /properties/n/enum: ",
		wrap(`{"not":{}}`):                                                                " at /properties/n/not: ",
		wrap(`false`):                                                                     " at /properties/n: ",
		wrap(`{"$ref":"#"}`):                                                              " at /properties/n/$ref: ",
		wrap(wrap(`{"const":1,"enum":[2]}`)):                                              " at /properties/n/properties/n/enum: ",
		wrap(`{"anyOf":[false,{"type":"string","enum":[1]}]}`):                            " at /properties/n/anyOf/1/enum: ",
		`{"type":"object","properties":{},"required":["n"],"additionalProperties":false}`: " at /required/0: ",
		wrap(`{"enum":[]}`):                                                               " at /properties/n/enum: it lists no value",
		wrap(`{"anyOf":[]}`):                                                              " at /properties/n/anyOf: it lists no schema",
		wrap(`{"oneOf":[],"type":"string"}`):                                              " at /properties/n/oneOf: ",
		wrap(`{"type":[]}`):                                                               " at /properties/n/type: ",
		`{"type":"string"}`:                                                               `: it admits no object; let its type be \"object\".`,
		`{"type":"array","items":{}}`:                                                     ": it admits no object",
		`{"enum":["a"]}`:                                                                  ": it admits no object",
		`{"const":7}`:                                                                     ": it admits no object",
		`{"type":["string","null"]}`:                                                      ": it admits no object",
		`{"anyOf":[{"type":"string"},{"type":"integer"}]}`:                                ": it admits no object",
		`{"$ref":"#/$defs/a","$defs":{"a":{"type":"null"}}}`:                              ": it admits no object",
		`{"type":"object","minProperties":2,"maxProperties":1}`:                           ": minProperties is greater",
	} {
		for route, body := range toolBodies {
			path, _, _ := strings.Cut(route, " ")
			for _, choice := range []string{"", "auto", "required"} {
				for _, more := range []string{``, `,"strict":true`, `,"description":"d","strict":false`} {
					for _, stream := range []string{"false", "true"} {
						sent := body(schema, choice, more)
						if !strings.HasSuffix(path, "tokens") && path != "/api/chat" {
							sent = strings.Replace(sent, "{", `{"stream":`+stream+`,`, 1)
						}
						fake := roomtest.Speaking("ok")
						w := roomtest.Post(serve(fake), path, sent)
						text := w.Body.String()
						name := `\"look\"`
						switch route {
						case "/v1/responses search":
							name = `\"tool_search\"`
						case "/v1/responses item":
							name = `\"a__look\"`
						}
						if w.Code != 400 || !strings.Contains(text, "No arguments fit the schema of the tool "+name+place) || len(fake.Model.Vars) > 0 {
							t.Errorf("%s: %d %s, want %s", sent, w.Code, text, place)
						}
					}
				}
			}
		}
	}
}

// TestToolWithAnOddSchemaIsOffered: what is odd or cannot be honoured is no reason to refuse a tool that can be
// called.
func TestToolWithAnOddSchemaIsOffered(t *testing.T) {
	for _, schema := range []string{
		`{}`, `{"type":"object"}`, `{"type":["object","null"]}`, `{"properties":{"n":false}}`,
		`{"type":"object","properties":{"n":{"type":"string","pattern":"(?=a)b","format":"thing"}},"required":["n"]}`,
		`{"type":"object","properties":{"n":{"enum":[]},"m":{"anyOf":[]}}}`,
		`{"type":"OBJECT","properties":{"n":{"type":"ANY","uniqueItems":true,"$ref":"#/nowhere"}},"required":["n","m"]}`,
		`{"type":"object","properties":{"n":{"const":12345678901234567890123.5}},"required":["n"]}`,
		`{"type":"object","properties":{"n":{"anyOf":[false,{"$ref":"#"},{"type":"null"}]}},"required":["n"]}`,
	} {
		for route, body := range toolBodies {
			path, _, _ := strings.Cut(route, " ")
			if w := roomtest.Post(serve(roomtest.Speaking("ok")), path, body(schema, "auto", "")); w.Code != 200 {
				t.Errorf("%s, %s: %d %s", route, schema, w.Code, w.Body)
			}
		}
	}
}

// TestSchemasAreRemembered: the second request with the same tools, and with new ones beside them, is read as
// the first one. A bad one stays bad.
func TestSchemasAreRemembered(t *testing.T) {
	fake := roomtest.Speaking("ok")
	s := serve(fake)
	tool := func(name, schema string) string {
		return `{"type":"function","function":{"name":"` + name + `","parameters":` + schema + `}}`
	}
	good, bad := tool("a", `{"type":"object","properties":{"n":{"type":"integer"}}}`), tool("b", `{"not":{}}`)
	for _, c := range []struct {
		tools string
		code  int
	}{{good, 200}, {good, 200}, {good + "," + bad, 400}, {good + "," + bad, 400}, {good, 200}, {bad, 400}} {
		if w := roomtest.Post(s, "/v1/chat/completions", roomtest.ChatBody(`"tools":[`+c.tools+`]`)); w.Code != c.code {
			t.Errorf("%s: %d %s", c.tools, w.Code, w.Body)
		}
	}
}

// TestHostileSchemasAreCheckedWithinSeconds: no body keeps a processor for long. The number of its values is
// bounded.
func TestHostileSchemasAreCheckedWithinSeconds(t *testing.T) {
	nest := func(open, in, end string) string { return strings.Repeat(open, 18) + in + strings.Repeat(end, 18) }
	refs := `{"title":"%d","$defs":{`
	for i := range 100 {
		refs += fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	refs += `"d100":{}},"properties":{"a":{"$ref":"#/$defs/d0"}},"required":["a"]}`
	for _, c := range []struct {
		tools  int
		schema string
	}{
		{2000, nest(`{"anyOf":[false,`, `{"title":"%d"}`, `]}`)},
		{2000, nest(`{"allOf":[`, `{"enum":[1],"title":"%d"}`, `]}`)},
		{2000, nest(`{"properties":{"a":`, `{"title":"%d"}`, `},"required":["a"]}`)},
		{100, `{"allOf":[{"enum":[%d` + strings.Repeat(",1", 1000) + `]},{"enum":[1` + strings.Repeat(",1", 1000) + `]}]}`},
		{2000, `{"patternProperties":{` + strings.Repeat(`"^(a|b|c){9}$":{},`, 50) + `"x":{}},"required":["a%d"],"additionalProperties":false}`},
		{400, refs},
	} {
		var tools []string
		for i := range c.tools {
			tools = append(tools, fmt.Sprintf(`{"name":"t%d","parameters":%s}`, i, strings.Replace(c.schema, "%d", fmt.Sprint(i), 1)))
		}
		body := roomtest.ChatBody(`"tools":[` + strings.Join(tools, ",") + `]`)
		began := time.Now()
		w := roomtest.Post(serve(roomtest.Speaking("ok")), "/v1/chat/completions", body)
		if took := time.Since(began); took > 20*time.Second || strings.Contains(w.Body.String(), "values") {
			t.Errorf("%.80s, %d bytes, took %s: %d %.200s", c.schema, len(body), took, w.Code, w.Body)
		}
	}
}
