package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tandem/app/roomtest"
	"tandem/app/wire"
)

// pastCalls write a history with a call of f, by route. members are those of the function after its
// name.
var pastCalls = map[string]func(members string) string{
	"/v1/chat/completions": func(members string) string {
		return `"messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,` +
			`"tool_calls":[{"id":"c","type":"function","function":{"name":"f"` + members + `}}]},` +
			`{"role":"tool","tool_call_id":"c","content":"y"}]`
	},
	"/v1/chat/completions older": func(members string) string {
		return `"messages":[{"role":"user","content":"x"},{"role":"assistant",` +
			`"function_call":{"name":"f"` + members + `}},` +
			`{"role":"function","name":"f","content":"y"}]`
	},
	"/v1/chat/completions flat": func(members string) string {
		return `"messages":[{"role":"user","content":"x"},{"role":"assistant",` +
			`"tool_calls":[{"id":"c","type":"function","name":"f"` + members + `}]},` +
			`{"role":"tool","tool_call_id":"c","content":"y"}]`
	},
	"/api/chat": func(members string) string {
		return `"stream":false,"messages":[{"role":"user","content":"x"},{"role":"assistant",` +
			`"tool_calls":[{"function":{"name":"f"` + members + `}}]},` +
			`{"role":"tool","tool_name":"f","content":"y"}]`
	},
	"/v1/messages": func(members string) string {
		return `"max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant",` +
			`"content":[{"type":"tool_use","id":"c","name":"f"` +
			strings.Replace(members, "arguments", "input", 1) + `}]},{"role":"user",` +
			`"content":[{"type":"tool_result","tool_use_id":"c","content":"y"}]}]`
	},
	"/v1/responses": func(members string) string {
		return `"input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"c",` +
			`"name":"f"` + members + `},` +
			`{"type":"function_call_output","call_id":"c","output":"y"}]`
	},
}

// TestPastCallWithoutArgumentsHasAnEmptyObject: a call of a tool without parameters comes back in
// many forms, and templates walk through its arguments. Of a call that was cut the whole members
// stay.
func TestPastCallWithoutArgumentsHasAnEmptyObject(t *testing.T) {
	for members, want := range map[string]string{
		``:                                      `{}`,
		`,"arguments":null`:                     `{}`,
		`,"arguments":""`:                       `{}`,
		`,"arguments":" \n"`:                    `{}`,
		`,"arguments":"null"`:                   `{}`,
		`,"arguments":{}`:                       `{}`,
		`,"arguments":"{}"`:                     `{}`,
		`,"arguments":" {\"a\": 1}\n"`:          `{"a": 1}`,
		`,"arguments":{"b":1,"a":2}`:            `{"b":1,"a":2}`,
		`,"arguments":"{\"a\": 1, \"b\": \"x"`:  `{"a":1}`,
		`,"arguments":"{\"a\": [1], \"b\": 12"`: `{"a":[1]}`,
		`,"arguments":"{"`:                      `{}`,
	} {
		for route, body := range pastCalls {
			path, _, _ := strings.Cut(route, " ")
			seen := seenMessages(t, path, `{"model":"tandem",`+body(members)+`}`)
			if len(seen) != 3 || len(seen[1].ToolCalls) != 1 {
				t.Errorf("%s: %s becomes %+v", route, members, seen)
				continue
			}
			f := seen[1].ToolCalls[0].Function
			if f.Name != "f" || string(f.Arguments) != want {
				t.Errorf("%s: %s becomes %s%s, want %s", route, members, f.Name, f.Arguments, want)
			}
		}
	}
}

// TestBrokenArgumentsAreReadOrTold: arguments that are no JSON object, such as those of a call that was cut,
// reach the template as the client sent them. If it cannot print them, it gets the members that are whole, and
// the answer and the run say so.
func TestBrokenArgumentsAreReadOrTold(t *testing.T) {
	for sent, whole := range map[string]string{
		`{"city":"abc`:            `{}`,
		`{"a": 1, "b": "x`:        `{"a":1}`,
		`{"a": [1], "b": {"c": 2`: `{"a":[1]}`,
		`{"a": 1, "b": tru`:       `{"a":1}`,
		`{`:                       `{}`,
		`{"a": 1}}`:               `{"a":1}`,
		`{"a": 1} and`:            `{"a":1}`,
		`{'a': 1}`:                `{}`,
		`{"a": 1,}`:               `{"a":1}`,
		`ls -l`:                   `{}`,
		`["a"]`:                   `{}`,
		`7`:                       `{}`,
		`"a"`:                     `{}`,
		"{\"a\": \"x\ny\"}":       `{}`,
		strings.Repeat("[", 100):  `{}`,
		`{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `,"b":1}`: `{}`,
	} {
		text, _ := json.Marshal(sent)
		for route, body := range pastCalls {
			path, _, _ := strings.Cut(route, " ")
			for _, prints := range []bool{true, false} {
				for _, stream := range []string{"true", "false"} {
					fake := roomtest.Speaking("ok")
					fake.Model.AnyArguments = prints
					sent := `{"model":"tandem","stream":` + stream + `,` +
						strings.Replace(body(`,"arguments":`+string(text)), `"stream":false,`, "", 1) + `}`
					w := roomtest.Post(serve(fake), path, sent)
					if path == "/v1/messages" && !strings.HasPrefix(unquoted(t, text), "{") {
						if w.Code != 400 || !strings.Contains(w.Body.String(), "messages[1].content[0].input must be an object") {
							t.Errorf("%s %s: %d %s", path, sent, w.Code, w.Body)
						}
						continue
					}
					want, left := `"arguments":`+whole, "what is no JSON object in the arguments of 1 earlier call"
					if prints {
						want, left = `"arguments":`+string(wire.Quote(unquoted(t, text))), ""
					}
					if w.Code != 200 || !strings.Contains(fake.Model.Vars[0], want) {
						t.Errorf("%s %s: %d %s, the template gets %s, want %s", path, sent, w.Code, w.Body, fake.Model.Vars, want)
					}
					if got := fake.LastRun().LeftOut; got != left || strings.Contains(w.Body.String(), `"left_out":"`+left+`"`) != !prints {
						t.Errorf("%s %s: the run says %q, the answer %s", path, sent, got, w.Body)
					}
				}
			}
		}
	}
}

func unquoted(t *testing.T, text []byte) (s string) {
	t.Helper()
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestBrokenArgumentsAreCounted: those of all earlier calls, with others beside them.
func TestBrokenArgumentsAreCounted(t *testing.T) {
	call := func(id, arguments string) string {
		return `{"id":"` + id + `","type":"function","function":{"name":"f","arguments":` + arguments + `}}`
	}
	fake := roomtest.Speaking("ok")
	w := roomtest.Post(serve(fake), "/v1/chat/completions", `{"model":"tandem","messages":[{"role":"user","content":"x"},`+
		`{"role":"assistant","tool_calls":[`+call("a", `"{\"b"`)+`,`+call("b", `"{\"b\": 1}"`)+`]},{"role":"tool","tool_call_id":"a","content":"y"},`+
		`{"role":"assistant","tool_calls":[`+call("c", `"x"`)+`]}]}`)
	const want = "what is no JSON object in the arguments of 2 earlier calls"
	if got := fake.LastRun().LeftOut; w.Code != 200 || got != want || !strings.Contains(w.Body.String(), want) {
		t.Errorf("%d %s, the run says %q", w.Code, w.Body, got)
	}
}

// TestPastCallWithoutNameIsRefusedByItsPlace: no template has a word for it, and the client has to
// know which call it is.
func TestPastCallWithoutNameIsRefusedByItsPlace(t *testing.T) {
	for calls, want := range map[string]string{
		`{"id":"c","function":{"arguments":"{}"}}`: "tool_calls[0].function.name is missing",
		`{"id":"c","function":{"name":null}}`:      "tool_calls[0].function.name must not be null",
		`{"id":"c","function":{"name":7}}`:         "tool_calls[0].function.name must be a string",
		`{"id":"c"}`:                               "tool_calls[0].function is missing",
		`{"id":"c","function":null}`:               "tool_calls[0].function must not be null",
		`{"type":"hologram"}`:                      `tool_calls[0].type is \"function\" or \"custom\", not \"hologram\"`,
		`{"type":"hologram","name":"a"}`:           `tool_calls[0].type is \"function\" or \"custom\", not \"hologram\"`,
		`7`:                                        "tool_calls[0] must be an object",
	} {
		for _, path := range []string{"/v1/chat/completions", "/api/chat"} {
			w := roomtest.Post(serve(roomtest.Speaking("ok")), path,
				fmt.Sprintf(`{"model":"tandem","messages":[{"role":"user","content":"x"},`+
					`{"role":"assistant","tool_calls":[%s]}]}`, calls))
			if w.Code != 400 || !strings.Contains(w.Body.String(), "messages[1]."+want) {
				t.Errorf("%s %s: %d %s", path, calls, w.Code, w.Body)
			}
		}
	}
}

// TestPastCallAndItsResultShareAnID: templates add the type of a call to a text, and test how long
// its id is.
func TestPastCallAndItsResultShareAnID(t *testing.T) {
	const call = `{"function":{"name":"f","arguments":{}}}`
	const other = `{"function":{"name":"g","arguments":{}}}`
	for _, c := range []struct{ calls, results, want string }{
		{call, `{"role":"tool","content":"y"}`, "call00001 function, call00001"},
		{call + "," + call, `{"role":"tool","content":"y"},{"role":"tool","content":"z"}`,
			"call00001 function, call00002 function, call00001, call00002"},
		{call + "," + other,
			`{"role":"tool","name":"g","content":"y"},{"role":"tool","name":"f","content":"z"}`,
			"call00001 function, call00002 function, call00002, call00001"},
		{`{"id":null,"type":null,"function":{"name":"f"}}`,
			`{"role":"tool","tool_call_id":"","content":"y"}`, "call00001 function, call00001"},
		{`{"id":"a","function":{"name":"f"}},` + other, // an id is given, and stays
			`{"role":"tool","content":"y"},{"role":"tool","tool_call_id":"a","content":"z"}`,
			"a function, call00001 function, call00001, a"},
		{call, `{"role":"tool","tool_call_id":"b","content":"y"}`, "b function, b"},
		{`{"id":"a","type":"custom","function":{"name":"f"}}`,
			`{"role":"tool","tool_call_id":"b","content":"y"}`, "a custom, b"},
		{`{"id":"call00001","function":{"name":"f"}}`,
			`{"role":"tool","content":"y"},{"role":"tool","content":"z"}`,
			"call00001 function, call00001, call00002"},
		{`{"id":"call00001","function":{"name":"f"}},` + call, ``,
			"call00001 function, call00002 function"},
	} {
		for _, path := range []string{"/v1/chat/completions", "/api/chat"} {
			list := `{"role":"user","content":"x"},{"role":"assistant","tool_calls":[` + c.calls +
				`]}`
			if c.results != "" {
				list += "," + c.results
			}
			body := `{"model":"tandem","stream":false,"messages":[` + list + `]}`
			var got []string
			for _, m := range seenMessages(t, path, body) {
				for _, call := range m.ToolCalls {
					got = append(got, call.ID+" "+call.Type)
				}
				if m.Role == "tool" {
					got = append(got, m.CallID)
				}
			}
			if seen := strings.Join(got, ", "); seen != c.want {
				t.Errorf("%s %s: %s, want %s", path, list, seen, c.want)
			}
		}
	}
}
