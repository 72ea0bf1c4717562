package responses_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
	"tandem/app/wire"
)

// called returns a call as the model writes it.
func called(name, arguments string) string {
	return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + arguments + "}\n</tool_call>"
}

// kindCases has for each kind of tools that clients run: the tool, what the model writes, the item that
// it becomes, the item while it is in progress, the kinds of events between, and the result that the
// client sends.
var kindCases = []struct{ tool, says, item, begun, events, result, told string }{
	{
		`{"type":"function","name":"look"}`, called("look", `{"a": 1}`),
		`"type":"function_call","status":"completed","call_id":"ID","name":"look","arguments":"{\"a\": 1}"`,
		`"type":"function_call","status":"in_progress","call_id":"ID","name":"look","arguments":""`,
		"function_call_arguments.delta function_call_arguments.done",
		`"type":"function_call_output","call_id":"ID","output":"ok"`, "ok",
	},
	{
		`{"type":"custom","name":"ap","description":"d","format":{"type":"grammar","syntax":"regex","definition":"a{3}b"}}`, called("ap", `{"input": "aaab"}`),
		`"type":"custom_tool_call","status":"completed","call_id":"ID","name":"ap","input":"aaab"`,
		`"type":"custom_tool_call","status":"in_progress","call_id":"ID","name":"ap","input":""`,
		"custom_tool_call_input.delta custom_tool_call_input.done",
		`"type":"custom_tool_call_output","call_id":"ID","output":[{"type":"input_text","text":"ok"}]`, "ok",
	},
	{
		`{"type":"custom","name":"ap"}`, called("ap", `{"input": ""}`),
		`"type":"custom_tool_call","status":"completed","call_id":"ID","name":"ap","input":""`,
		`"type":"custom_tool_call","status":"in_progress","call_id":"ID","name":"ap","input":""`,
		"custom_tool_call_input.done",
		`"type":"custom_tool_call_output","call_id":"ID","output":""`, "",
	},
	{
		`{"type":"namespace","name":"functions","description":"d","tools":[{"type":"custom","name":"exec","format":{"type":"text"}},{"type":"function","name":"wait"}]}`,
		called("functions__exec", `{"input": "a\n\"b\""}`),
		`"type":"custom_tool_call","status":"completed","call_id":"ID","namespace":"functions","name":"exec","input":"a\n\"b\""`,
		`"type":"custom_tool_call","status":"in_progress","call_id":"ID","namespace":"functions","name":"exec","input":""`,
		"custom_tool_call_input.delta custom_tool_call_input.done",
		`"type":"custom_tool_call_output","call_id":"ID","output":"ok"`, "ok",
	},
	{
		`{"type":"shell"}`, called("shell", `{"commands": ["ls", "pwd"], "timeout_ms": 1000}`),
		`"type":"shell_call","status":"completed","call_id":"ID","action":{"commands":["ls","pwd"],"timeout_ms":1000}`,
		`"type":"shell_call","status":"in_progress","call_id":"ID","action":{"commands":[]}`,
		"shell_call_command.added shell_call_command.delta shell_call_command.done shell_call_command.added shell_call_command.delta shell_call_command.done",
		`"type":"shell_call_output","call_id":"ID","output":[{"stdout":"a\n","stderr":"b","outcome":{"type":"exit","exit_code":2}},{"stdout":"","stderr":"","outcome":{"type":"timeout"}}]`,
		"a\nb\n[exit code 2]\n[timeout]",
	},
	{
		`{"type":"shell","environment":{"type":"local"}}`, called("shell", `{"commands": "ls"}`),
		`"type":"shell_call","status":"completed","call_id":"ID","action":{"commands":["ls"]}`,
		`"type":"shell_call","status":"in_progress","call_id":"ID","action":{"commands":[]}`,
		"shell_call_command.added shell_call_command.delta shell_call_command.done",
		`"type":"shell_call_output","call_id":"ID","output":[]`, "",
	},
	{
		`{"type":"local_shell"}`, called("local_shell", `{"command": ["bash", "-lc", "ls"], "env": {"A": "b"}, "user": null, "working_directory": "/x"}`),
		`"type":"local_shell_call","status":"completed","call_id":"ID","action":{"type":"exec","command":["bash","-lc","ls"],"env":{"A":"b"},"working_directory":"/x"}`,
		`"type":"local_shell_call","status":"in_progress","call_id":"ID","action":{"type":"exec","command":[],"env":{}}`,
		"",
		`"type":"local_shell_call_output","id":"ID","output":"{\"output\":\"ok\"}"`, `{"output":"ok"}`,
	},
	{
		`{"type":"apply_patch"}`, called("apply_patch", `{"type": "update_file", "path": "a.go", "diff": "@@\n-a\n+b\n"}`),
		`"type":"apply_patch_call","status":"completed","call_id":"ID","operation":{"type":"update_file","path":"a.go","diff":"@@\n-a\n+b\n"}`,
		`"type":"apply_patch_call","status":"in_progress","call_id":"ID","operation":{"type":"update_file","path":"a.go","diff":""}`,
		"",
		`"type":"apply_patch_call_output","call_id":"ID","status":"failed","output":"no such line"`, "failed\nno such line",
	},
	{
		`{"type":"apply_patch"}`, called("apply_patch", `{"type": "delete_file", "path": "a.go", "diff": ""}`),
		`"type":"apply_patch_call","status":"completed","call_id":"ID","operation":{"type":"delete_file","path":"a.go"}`,
		`"type":"apply_patch_call","status":"in_progress","call_id":"ID","operation":{"type":"delete_file","path":"a.go"}`,
		"",
		`"type":"apply_patch_call_output","call_id":"ID","status":"completed"`, "completed",
	},
	{
		`{"type":"tool_search","execution":"client","description":"d","parameters":{"type":"object","properties":{"query":{"type":"string"}}}}`,
		called("tool_search", `{"query": "mail"}`),
		`"type":"tool_search_call","status":"completed","call_id":"ID","execution":"client","arguments":{"query":"mail"}`,
		`"type":"tool_search_call","status":"in_progress","call_id":"ID","execution":"client","arguments":{}`,
		"",
		`"type":"tool_search_output","call_id":"ID","tools":[{"type":"function","name":"send"},{"type":"namespace","name":"mail","tools":[{"type":"custom","name":"read"}]}]`,
		"These tools can be called now: send, mail__read.",
	},
}

// bareItem returns an item without its id, with ID in place of its call's.
func bareItem(t *testing.T, item json.RawMessage) (bare, id string) {
	t.Helper()
	var v struct {
		ID     string
		CallID string `json:"call_id"`
	}
	if err := json.Unmarshal(item, &v); err != nil || !strings.HasPrefix(v.CallID, "call_") || v.ID == "" {
		t.Fatalf("%s: %v", item, err)
	}
	bare = strings.Replace(string(item), `{"id":"`+v.ID+`",`, "", 1)
	return strings.TrimSuffix(strings.Replace(bare, v.CallID, "ID", 1), "}"), v.CallID
}

// Each kind of tool that the client runs is a function for the model. Its call is an item of its kind,
// whole and streamed. A later request reads the call and its result, sent again or continued.
func TestCallOfEachKindIsItsOwnItem(t *testing.T) {
	for _, c := range kindCases {
		body := `"input":"x","tools":[` + c.tool + `]`
		fake := roomtest.Speaking(c.says)
		s := serve(fake)
		w := roomtest.Post(s, "/v1/responses", roomtest.ResponseBody(body))
		var whole struct {
			ID     string
			Output []json.RawMessage
			Tools  []json.RawMessage
		}
		if err := json.Unmarshal(w.Body.Bytes(), &whole); err != nil || len(whole.Output) != 1 || len(whole.Tools) != 1 {
			t.Fatalf("%s: %d %s", c.tool, w.Code, w.Body)
		}
		got, id := bareItem(t, whole.Output[0])
		if got != c.item {
			t.Errorf("%s:\ngot  %s\nwant %s", c.tool, got, c.item)
		}

		fake.Model.Output = "done"
		prompts := []string{}
		result := strings.Replace("{"+c.result+"}", "ID", id, 1)
		for _, next := range []string{
			`"input":[{"role":"user","content":"x"},` + string(whole.Output[0]) + `,` + result + `]`,
			`"previous_response_id":"` + whole.ID + `","input":[` + result + `]`,
		} {
			if w := roomtest.Post(s, "/v1/responses", roomtest.ResponseBody(next, `"tools":[`+c.tool+`]`)); w.Code != 200 {
				t.Fatalf("%s: %d %s", next, w.Code, w.Body)
			}
			prompts = append(prompts, fake.Model.Vars[len(fake.Model.Vars)-1])
		}
		name, arguments := callIn(t, c.says)
		bare := strings.TrimPrefix(id, "call_")
		told, _ := json.Marshal(c.told)
		for _, part := range []string{
			`"tool_calls":[{"id":"` + bare + `","type":"function","function":{"name":"` + name + `","arguments":` + arguments + `}}]`,
			`{"role":"tool","content":` + string(told) + `,"tool_call_id":"` + bare + `","name":"` + name + `"}`,
		} {
			if !strings.Contains(prompts[0], part) || prompts[0] != prompts[1] {
				t.Errorf("%s: the template gets\n%s and\n%s, want\n%s", c.tool, prompts[0], prompts[1], part)
			}
		}

		w = roomtest.Post(serve(roomtest.Speaking(c.says)), "/v1/responses", roomtest.ResponseBody(body, `"stream":true`))
		var kinds []string
		for data, err := range control.Events(w.Body) {
			if err != nil {
				t.Fatal(err)
			}
			var e struct {
				Type string
				Item json.RawMessage
			}
			if err := json.Unmarshal(data, &e); err != nil {
				t.Fatal(err)
			}
			switch kind := strings.TrimPrefix(e.Type, "response."); kind {
			case "created", "in_progress", "completed":
			case "output_item.added", "output_item.done":
				want := c.begun
				if kind == "output_item.done" {
					want = c.item
				}
				if got, _ := bareItem(t, e.Item); got != want {
					t.Errorf("%s: %s\ngot  %s\nwant %s", c.tool, kind, got, want)
				}
			default:
				kinds = append(kinds, kind)
			}
		}
		if got := strings.Join(kinds, " "); got != c.events {
			t.Errorf("%s: events %s, want %s", c.tool, got, c.events)
		}
	}
}

// A number or a bool in the place of a text is its spelling. A call without what its kind needs, or with
// another type in its place, is text as the model wrote it.
func TestCallOfAKindHasWhatTheModelWrote(t *testing.T) {
	for _, c := range []struct{ tool, arguments, part string }{ // part of the item; empty for text
		{"local_shell", `{"command": ["head", "-n", 5, "a"]}`, `"command":["head","-n","5","a"]`},
		{"local_shell", `{"command": ["test", true, 1.50]}`, `"command":["test","true","1.50"]`},
		{"local_shell", `{"command": "ls"}`, `"command":["ls"]`},
		{"local_shell", `{"command": ["ls"], "env": {"PORT": 8080, "A": "b", "C": false}}`, `"env":{"A":"b","C":"false","PORT":"8080"}`},
		{"local_shell", `{"command": ["ls"], "env": null, "user": 7}`, `"user":"7"`},
		{"local_shell", `{"command": ["ls"], "timeout_ms": "1000"}`, `"timeout_ms":1000`},
		{"local_shell", `{"command": ["ls", ["a"]]}`, ""},
		{"local_shell", `{"command": ["ls", null]}`, ""},
		{"local_shell", `{"command": {"a": "b"}}`, ""},
		{"local_shell", `{"command": []}`, ""},
		{"local_shell", `{"cmd": ["ls"]}`, ""},
		{"local_shell", `{"command": ["ls"], "env": {"A": ["b"]}}`, ""},
		{"local_shell", `{"command": ["ls"], "env": ["A=b"]}`, ""},
		{"local_shell", `{"command": ["ls"], "env": {"A": null}}`, ""},
		{"local_shell", `{"command": ["ls"], "working_directory": ["/x"]}`, ""},
		{"local_shell", `{"command": ["ls"], "timeout_ms": "soon"}`, ""},
		{"shell", `{"commands": [1, "ls"]}`, `"commands":["1","ls"]`},
		{"shell", `{"commands": ["ls"], "timeout_ms": null}`, `"commands":["ls"]}`},
		{"shell", `{"command": "ls"}`, ""},
		{"shell", `{"commands": null}`, ""},
		{"shell", `{"commands": [{"command": "ls"}]}`, ""},
		{"shell", `{}`, ""},
		{"apply_patch", `{"type": "update_file", "path": 7, "diff": "+a"}`, `"path":"7","diff":"+a"`},
		{"apply_patch", `{"type": "create_file", "path": "a", "diff": ""}`, `"path":"a","diff":""`},
		{"apply_patch", `{"type": "delete_file", "path": "a"}`, `"operation":{"type":"delete_file","path":"a"}`},
		{"apply_patch", `{"operation": {"type": "update_file", "path": "a", "diff": "+a"}}`, ""},
		{"apply_patch", `{"type": "create_file", "path": "a", "content": "x"}`, ""},
		{"apply_patch", `{"type": "create_file", "path": "a", "diff": null}`, ""},
		{"apply_patch", `{"type": "update_file", "path": "a", "diff": ["+a"]}`, ""},
		{"apply_patch", `{"type": "move_file", "path": "a", "diff": "+a"}`, ""},
		{"apply_patch", `{"type": "delete_file"}`, ""},
	} {
		says := called(c.tool, c.arguments)
		for _, stream := range []string{"false", "true"} {
			w := roomtest.Post(serve(roomtest.Speaking(says)), "/v1/responses", roomtest.ResponseBody(
				`"input":"x","tools":[{"type":"`+c.tool+`"}]`, `"stream":`+stream))
			text := w.Body.String()
			isCall := strings.Contains(text, `"type":"`+c.tool+`_call"`)
			want := c.part
			if want == "" {
				want = `"text":` + string(wire.Quote(says))
			}
			if w.Code != 200 || isCall != (c.part != "") || !strings.Contains(text, want) {
				t.Errorf("%s, stream %s: %d %s, want %s", says, stream, w.Code, w.Body, want)
			}
		}
	}
}

// A call of each kind that a limit cut is an incomplete item of its kind, with what is whole of it. A text
// is as long as it came.
func TestCutCallOfAKindIsIncomplete(t *testing.T) {
	type answer struct {
		Status string
		Output []json.RawMessage
	}
	for _, c := range kindCases {
		begun := strings.Index(c.says, `": {"`) + len(`": {"`)
		for limit := begun; limit < len(c.says)-len("}\n</tool_call>"); limit++ {
			if json.Valid([]byte(c.says[begun-2 : limit])) {
				continue
			}
			for _, choice := range []string{"auto", "required"} {
				body := roomtest.ResponseBody(`"input":"x","tools":[`+c.tool+`]`,
					fmt.Sprintf(`"max_output_tokens":%d,"tool_choice":"%s"`, limit, choice))
				w := roomtest.Post(serve(roomtest.Speaking(c.says)), "/v1/responses", body)
				var whole, streamed answer
				if err := json.Unmarshal(w.Body.Bytes(), &whole); err != nil || whole.Status != "incomplete" || len(whole.Output) != 1 {
					t.Fatalf("%s, %d tokens: %d %s", c.says, limit, w.Code, w.Body)
				}
				state := "incomplete"
				if strings.Contains(c.item, `"apply_patch_call"`) {
					// OpenAI's API has no incomplete one, and none without a path. A client would execute a deletion.
					if state = "in_progress"; strings.Contains(c.item, "delete_file") || !strings.Contains(c.says[:limit], `"path": "a.go"`) {
						state = ""
					}
				}
				w = roomtest.Post(serve(roomtest.Speaking(c.says)), "/v1/responses", strings.Replace(body, "{", `{"stream":true,`, 1))
				events := w.Body.String()
				if state == "" {
					for _, text := range []string{string(whole.Output[0]), events} {
						if strings.Contains(text, `"apply_patch_call"`) || !strings.Contains(text, `"type":"message","status":"incomplete"`) {
							t.Errorf("%s, %d tokens: %s", c.says, limit, text)
						}
					}
					continue
				}
				got, _ := bareItem(t, whole.Output[0])
				head, rest, _ := strings.Cut(c.item, `"completed","call_id"`)
				if !strings.HasPrefix(got, head+`"`+state+`","call_id"`) {
					t.Errorf("%s, %d tokens: the item is %s", c.says, limit, got)
				}
				rest, input, isText := strings.Cut(rest, `"input":`)
				var wrote, all string
				if isText && (json.Unmarshal([]byte(got[strings.Index(got, `"input":`)+len(`"input":`):]), &wrote) != nil ||
					json.Unmarshal([]byte(input), &all) != nil || !strings.HasPrefix(all, wrote) || !strings.Contains(got, rest)) {
					t.Errorf("%s, %d tokens: the item is %s", c.says, limit, got)
				}
				for data, err := range control.Events(strings.NewReader(events)) {
					var e struct {
						Type     string
						Item     json.RawMessage
						Response answer
					}
					if err != nil || json.Unmarshal(data, &e) != nil {
						t.Fatal(string(data), err)
					}
					switch e.Type {
					case "response.output_item.done":
						streamed.Output = append(streamed.Output, e.Item)
					case "response.incomplete":
						streamed.Status = e.Response.Status
					}
				}
				if len(streamed.Output) != 1 || streamed.Status != "incomplete" {
					t.Fatalf("%s, %d tokens, streamed: %+v", c.says, limit, streamed)
				}
				if item, _ := bareItem(t, streamed.Output[0]); item != got {
					t.Errorf("%s, %d tokens, streamed: %s, want %s", c.says, limit, item, got)
				}
			}
		}
	}
}

// A call that was cut has no value that its kind does not have: a client reads it.
func TestCutCallOfAKindHasItsForm(t *testing.T) {
	for _, c := range []struct{ tool, cut, want string }{
		{"shell", `{"commands": ["ls", "pwd"], "timeout_ms": 10`, `"action":{"commands":["ls","pwd"]}`},
		{"shell", `{"commands": ["ls", "rm -r`, `"action":{"commands":[]}`},
		{"shell", `{"commands": [{}], "timeout_ms": 10`, `"action":{"commands":[]}`},
		{"shell", `{"commands": [], "timeout_ms": 10`, `"action":{"commands":[]}`},
		{"local_shell", `{"command": ["ls"], "env": {"A": []}, "user": "a`, `"action":{"type":"exec","command":["ls"],"env":{}}`},
		{"local_shell", `{"timeout_ms": "soon", "command": ["ls"`, `"action":{"type":"exec","command":[],"env":{}}`},
		{"local_shell", `{"user": [], "command": ["ls"`, `"action":{"type":"exec","command":[],"env":{}}`},
		{"apply_patch", `{"type": "update_file", "path": "a", "diff": "+a`, `"operation":{"type":"update_file","path":"a","diff":""}`},
		{"apply_patch", `{"diff": "+a", "type": "update_file", "path": "a"`, `"operation":{"type":"update_file","path":"a","diff":""}`},
	} {
		says := "<tool_call>\n{\"name\": \"" + c.tool + "\", \"arguments\": " + c.cut
		w := roomtest.Post(serve(roomtest.Speaking(says+strings.Repeat(" ", 9))), "/v1/responses", roomtest.ResponseBody(
			`"input":"x","tools":[{"type":"`+c.tool+`"}]`, fmt.Sprintf(`"max_output_tokens":%d`, len(says))))
		if text := w.Body.String(); w.Code != 200 || !strings.Contains(text, `_call","status":"in`) || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %s, want %s", says, w.Code, w.Body, c.want)
		}
	}
}

// A tool of a namespace may be called by its own name, as models often do, where no other tool has that.
func TestToolOfANamespaceIsCalledByItsOwnName(t *testing.T) {
	const codex = `{"type":"namespace","name":"functions","tools":[{"type":"custom","name":"exec"},{"type":"function","name":"wait"}]}`
	const mail = `{"type":"namespace","name":"mcp__mail__","tools":[{"type":"function","name":"send"},{"type":"custom","name":"wait"}]}`
	const post = `{"type":"namespace","name":"post","tools":[{"type":"custom","name":"send"}]}`
	custom := func(space, name string) string {
		if space != "" {
			space = `"namespace":"` + space + `",`
		}
		return `"type":"custom_tool_call","status":"completed","call_id":"ID",` + space + `"name":"` + name + `","input":"ls"`
	}
	function := func(name string) string {
		return `"type":"function_call","status":"completed","call_id":"ID",` + name + `,"arguments":"{\"input\": \"ls\"}"`
	}
	for _, c := range []struct{ tools, name, item string }{
		{codex, "functions__exec", custom("functions", "exec")},
		{codex, "exec", custom("functions", "exec")},
		{codex, "functions.exec", custom("functions", "exec")},
		{codex, "wait", function(`"namespace":"functions","name":"wait"`)},
		{codex, "functions.wait", function(`"namespace":"functions","name":"wait"`)},
		{codex + "," + mail, "send", function(`"namespace":"mcp__mail__","name":"send"`)},
		{codex + "," + mail, "mcp__mail.wait", custom("mcp__mail__", "wait")},
		{codex + "," + mail, "wait", function(`"namespace":"functions","name":"wait"`)}, // the default namespace has it
		{codex + "," + mail, "functions/exec", custom("functions", "exec")},
		{codex + "," + mail, "mcp__mail/send", function(`"namespace":"mcp__mail__","name":"send"`)},
		{mail + "," + post, "send", function(`"name":"send"`)}, // the client reports an unknown tool
		{mail + "," + post, "post.send", custom("post", "send")},
		{mail + "," + post, "mcp__mail/send", function(`"namespace":"mcp__mail__","name":"send"`)},
		{`{"type":"custom","name":"exec"}`, "functions.exec", custom("", "exec")},
		{`{"type":"function","name":"exec"},` + mail, "functions/exec", function(`"name":"exec"`)},
		{codex + `,{"type":"function","name":"exec"}`, "exec", function(`"name":"exec"`)},
		{codex + `,{"type":"custom","name":"functions.exec"}`, "functions.exec",
			`"type":"custom_tool_call","status":"completed","call_id":"ID","name":"functions.exec","input":"ls"`},
		{codex, "other", function(`"name":"other"`)},
	} {
		for _, body := range []string{
			`"input":"x","tools":[` + c.tools + `]`,
			`"input":[{"type":"additional_tools","role":"developer","tools":[` + c.tools + `]},{"role":"user","content":"x"}]`,
		} {
			for template, says := range map[string]string{
				"": called(c.name, `{"input": "ls"}`),
				"<|channel|> <|message|>": `<|channel|>commentary to=` + strings.TrimPrefix(c.name, "functions.") +
					`<|message|>{"input": "ls"}<|call|>`,
			} {
				if template != "" && strings.Contains(c.tools, `"functions.exec"`) {
					continue // the namespace of all tools there
				}
				fake := roomtest.Speaking(says)
				if template != "" {
					fake.Model.TemplateSource = template
				}
				var whole struct{ Output []json.RawMessage }
				w := roomtest.Post(serve(fake), "/v1/responses", roomtest.ResponseBody(body))
				if err := json.Unmarshal(w.Body.Bytes(), &whole); err != nil || len(whole.Output) != 1 {
					t.Fatalf("%s: %d %s", says, w.Code, w.Body)
				}
				if got, _ := bareItem(t, whole.Output[0]); got != c.item {
					t.Errorf("%s:\ngot  %s\nwant %s", says, got, c.item)
				}
				w = roomtest.Post(serve(fake), "/v1/responses", roomtest.ResponseBody(body, `"stream":true`))
				for data, err := range control.Events(w.Body) {
					var e struct {
						Type string
						Item json.RawMessage
					}
					if err != nil || json.Unmarshal(data, &e) != nil {
						t.Fatal(string(data), err)
					}
					if e.Type != "response.output_item.done" {
						continue
					}
					if got, _ := bareItem(t, e.Item); got != c.item {
						t.Errorf("%s, streamed:\ngot  %s\nwant %s", says, got, c.item)
					}
				}
			}
		}
	}
}

// callIn returns the name of a call and its arguments without null, as a template gets them.
func callIn(t *testing.T, says string) (name, arguments string) {
	t.Helper()
	var v struct {
		Name      string
		Arguments json.RawMessage
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(says, "<tool_call>"), "</tool_call>")
	if err := json.Unmarshal([]byte(inner), &v); err != nil {
		t.Fatal(err)
	}
	if v.Name == "look" {
		return v.Name, string(v.Arguments)
	}
	for _, change := range [][2]string{{`": `, `":`}, {`, "`, `,"`}, {`"user":null,`, ""}, {`"commands":"ls"`, `"commands":["ls"]`}} {
		v.Arguments = json.RawMessage(strings.ReplaceAll(string(v.Arguments), change[0], change[1]))
	}
	return v.Name, string(v.Arguments)
}

// A tool that an item brings counts as one of tools: in the prompt, in its count, for a choice, and in a
// response that is continued.
func TestToolsOfItemsCountFromThereOn(t *testing.T) {
	const tool = `{"type":"function","name":"go","parameters":{"type":"object"}}`
	user := `{"role":"user","content":"x"}`
	plain := roomtest.ResponseBody(`"input":[`+user+`]`, `"tools":[`+tool+`],"tool_choice":"required"`)
	for _, item := range []string{
		`{"type":"additional_tools","role":"developer","tools":[` + tool + `]}`,
		`{"type":"additional_tools","role":"developer","tools":[` + tool + `]},{"type":"additional_tools","tools":[` + tool + `]}`,
		`{"type":"additional_tools","tools":[{"type":"function","name":"go"}]},{"type":"additional_tools","tools":[` + tool + `,{"type":"web_search"}]}`,
	} {
		want, fake := roomtest.Speaking(roomtest.GoCall), roomtest.Speaking(roomtest.GoCall)
		roomtest.Post(serve(want), "/v1/responses", plain)
		s := serve(fake)
		w := roomtest.Post(s, "/v1/responses", roomtest.ResponseBody(`"input":[`+item+`,`+user+`]`, `"tool_choice":"required"`))
		if w.Code != 200 || fake.Model.Vars[0] != want.Model.Vars[0] || len(fake.Model.Grammars) != 1 {
			t.Fatalf("%s: %d %s\ngot  %s\nwant %s", item, w.Code, w.Body, fake.Model.Vars, want.Model.Vars)
		}
		var v struct{ ID string }
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		w = roomtest.Post(s, "/v1/responses", roomtest.ResponseBody(`"input":"go on","previous_response_id":"`+v.ID+`"`,
			`"tool_choice":{"type":"function","name":"go"}`))
		if w.Code != 200 || len(fake.Model.Grammars) != 2 {
			t.Errorf("%s, continued: %d %s", item, w.Code, w.Body)
		}
		counts := []string{}
		for _, body := range []string{
			`{"model":"tandem","input":[` + item + `,` + user + `]}`, `{"model":"tandem","input":[` + user + `],"tools":[` + tool + `]}`,
		} {
			fake := roomtest.Speaking("")
			if w := roomtest.Post(serve(fake), "/v1/responses/input_tokens", body); w.Code != 200 {
				t.Fatalf("%s: %d %s", body, w.Code, w.Body)
			}
			counts = append(counts, fake.Model.Vars[0])
		}
		if counts[0] != counts[1] {
			t.Errorf("%s: counts %s and %s", item, counts[0], counts[1])
		}
	}
}

// What a search found can be called, and a choice may ask for it.
func TestFoundToolsCanBeCalled(t *testing.T) {
	fake := roomtest.Speaking(roomtest.GoCall)
	w := roomtest.Post(serve(fake), "/v1/responses", roomtest.ResponseBody(
		`"input":[{"role":"user","content":"x"},{"type":"tool_search_call","call_id":null,"execution":"server","arguments":{"q":"a"}},`+
			`{"type":"tool_search_output","call_id":null,"execution":"server","tools":[{"type":"function","name":"go"},{"type":"mcp","server_label":"m"}]}]`,
		`"tool_choice":"required"`))
	if w.Code != 200 || len(fake.Model.Grammars) != 1 || !strings.Contains(w.Body.String(), `"left_out":"tools of OpenAI's servers: mcp"`) {
		t.Errorf("%d %s, held to %+v", w.Code, w.Body, fake.Model.Grammars)
	}
}

// The history of a tool that the model cannot have is read: its screenshots are lines.
func TestScreenshotsOfAHistoryAreLines(t *testing.T) {
	const line = `"content":"[image omitted: this model reads text only]","tool_call_id":"c","name":"computer"}`
	for items, want := range map[string][]string{
		`{"type":"computer_call","id":"cu_1","call_id":"c","action":{"type":"click","x":1,"y":2,"button":"left"},"pending_safety_checks":[],"status":"completed"},` +
			`{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,AA=="}}`: {
			`"function":{"name":"computer","arguments":{"action":{"type":"click","x":1,"y":2,"button":"left"}}}`, line},
		`{"type":"computer_call","id":"cu_1","call_id":"c","actions":[{"type":"screenshot"},{"type":"wait"}],"status":"completed"},` +
			`{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","file_id":"f"},"acknowledged_safety_checks":[{"id":"s"}]}`: {
			`"arguments":{"actions":[{"type":"screenshot"},{"type":"wait"}]}`, line},
		`{"type":"computer_call","call_id":"c"},{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot"}}`: {
			`"arguments":{}`, line},
	} {
		for _, after := range []string{``, `,{"role":"user","content":"go on"}`} {
			fake := roomtest.Speaking("ok")
			w := roomtest.Post(serve(fake), "/v1/responses", roomtest.ResponseBody(`"input":[{"role":"user","content":"x"},`+items+after+`]`))
			if w.Code != 200 || !strings.Contains(w.Body.String(), `"left_out":"what the model cannot read: 1 image in tool results"`) {
				t.Errorf("%s: %d %s", items, w.Code, w.Body)
				continue
			}
			for _, part := range want {
				if !strings.Contains(fake.Model.Vars[0], part) {
					t.Errorf("%s: the template gets %s, want %s", items, fake.Model.Vars[0], part)
				}
			}
		}
	}
	for item, want := range map[string]string{
		`{"type":"computer_call","call_id":"c","action":7}`:                                         "input[1].action must be",
		`{"type":"computer_call","call_id":"c","actions":{}}`:                                       "input[1].actions must be",
		`{"type":"computer_call_output","call_id":"c"}`:                                             "input[1].output is missing",
		`{"type":"computer_call_output","output":{"type":"computer_screenshot"}}`:                   "input[1].call_id is missing",
		`{"type":"computer_call_output","call_id":"c","output":"x"}`:                                "input[1].output must be",
		`{"type":"computer_call_output","call_id":"c","output":{"type":"hologram","image_url":""}}`: "input[1].output.type must be",
		`{"type":"compaction_trigger"}`:                                                             "send the input without it to /v1/responses/compact",
	} {
		w := roomtest.Post(serve(roomtest.Speaking("ok")), "/v1/responses", roomtest.ResponseBody(`"input":[{"role":"user","content":"x"},`+item+`]`))
		if w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", item, w.Code, w.Body, want)
		}
	}
}

// A choice of a tool of each kind holds the answer to its parameters.
func TestChoiceOfEachKindHoldsTheAnswer(t *testing.T) {
	const tools = `"input":"x","tools":[{"type":"shell"},{"type":"local_shell"},{"type":"apply_patch"},{"type":"function","name":"go"},` +
		`{"type":"custom","name":"ap","format":{"type":"grammar","syntax":"lark","definition":"start: \"a\\n\""}},` +
		`{"type":"namespace","name":"n","tools":[{"type":"custom","name":"ap"},{"type":"function","name":"look"}]},{"type":"tool_search","execution":"client","parameters":{"type":"object"}}]`
	for choice, names := range map[string]string{
		`{"type":"shell"}`:                              "shell",
		`{"type":"local_shell"}`:                        "local_shell",
		`{"type":"apply_patch"}`:                        "apply_patch",
		`{"type":"tool_search"}`:                        "tool_search",
		`{"type":"custom","name":"ap"}`:                 "ap",
		`{"type":"custom","custom":{"name":"ap"}}`:      "ap",
		`{"type":"custom","namespace":"n","name":"ap"}`: "n__ap",
		`{"type":"function","name":"look"}`:             "n__look",
		`{"type":"function","name":"n.look"}`:           "n__look",
		`"required"`:                                    "shell local_shell apply_patch go ap n__ap n__look tool_search",
		`{"type":"allowed_tools","mode":"required","tools":[{"type":"custom","name":"ap"},{"type":"shell"},{"type":"web_search"}]}`: "shell ap",
		`{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"go"},{"type":"apply_patch"}]}`:               "apply_patch go",
	} {
		fake := roomtest.Speaking("ok")
		w := roomtest.Post(serve(fake), "/v1/responses", roomtest.ResponseBody(tools, `"tool_choice":`+choice))
		if w.Code != 200 || len(fake.Model.Grammars) != 1 {
			t.Errorf("%s: %d %s", choice, w.Code, w.Body)
			continue
		}
		var got []string
		for _, name := range strings.Fields("shell local_shell apply_patch go ap n__ap n__look tool_search") {
			if strings.Contains(fake.Model.Grammars[0].Lark, `{\"name\": \"`+name+`\"`) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != names {
			t.Errorf("%s: held to %s, want %s", choice, got, names)
		}
		if ruled := strings.Contains(fake.Model.Grammars[0].Lark, "%lark {\nstart: \"a\\\\n\"\n}"); ruled != strings.Contains(" "+names+" ", " ap ") {
			t.Errorf("%s: held to %s", choice, fake.Model.Grammars[0].Lark)
		}
	}
}

// A namespace in allowed_tools allows all its tools. A name that no tool has is refused.
func TestAllowedToolsAreThoseThatItNames(t *testing.T) {
	const tools = `"input":"x","tools":[{"type":"function","name":"go"},{"type":"web_search"},{"type":"shell","environment":{"type":"container_auto"}},` +
		`{"type":"namespace","name":"n","tools":[{"type":"custom","name":"ap"},{"type":"function","name":"look"}]},` +
		`{"type":"namespace","name":"m_","tools":[{"type":"function","name":"go"}]}]`
	for allowed, names := range map[string]string{
		`{"type":"namespace","name":"n"}`:                                        "n__ap n__look",
		`{"type":"namespace","name":"m_"},{"type":"function","name":"go"}`:       "m_go go",
		`{"type":"function","namespace":"n","name":"look"}`:                      "n__look",
		`{"type":"web_search"},{"type":"function","name":"go"},{"type":"shell"}`: "go",
		`{"type":"namespace","name":"o"}`:                                        "",
		`{"type":"namespace","name":""}`:                                         "",
		`{"type":"function","name":"goo"}`:                                       "",
		`{"type":"function","name":"look"}`:                                      "n__look",
		`{"type":"custom","name":"n.ap"}`:                                        "n__ap",
		`{"type":"apply_patch"}`:                                                 "",
		`{"type":"computer"}`:                                                    "",
		`{"type":"teapot"}`:                                                      "",
		`{"type":"function","name":"go"},{"type":"custom","name":"ap"}`:          "go n__ap",
		`{"type":"function","name":"go"},{"type":"custom","name":"a"}`:           "",
	} {
		fake := roomtest.Speaking("ok")
		w := roomtest.Post(serve(fake), "/v1/responses", roomtest.ResponseBody(tools,
			`"tool_choice":{"type":"allowed_tools","mode":"required","tools":[`+allowed+`]}`))
		if names == "" {
			if w.Code != 400 || !strings.Contains(w.Body.String(), `tool_choice`) {
				t.Errorf("%s: %d %s", allowed, w.Code, w.Body)
			}
			continue
		}
		if w.Code != 200 {
			t.Errorf("%s: %d %s", allowed, w.Code, w.Body)
			continue
		}
		for _, name := range strings.Fields("go n__ap n__look m_go") {
			if strings.Contains(fake.Model.Grammars[0].Lark, `{\"name\": \"`+name+`\"`) != strings.Contains(" "+names+" ", " "+name+" ") {
				t.Errorf("%s: %s is held to %s", allowed, name, fake.Model.Grammars[0].Lark)
			}
		}
	}
}

// The tools of a request count before those of the items that it continues. No list has two of one name.
func TestToolsOfARequestCountBeforeThoseOfItems(t *testing.T) {
	offered := func(tool string) string { return `{"type":"additional_tools","tools":[` + tool + `]}` }
	const user, old = `{"role":"user","content":"x"}`, `{"type":"function","name":"go","description":"old"}`
	for tool, want := range map[string]string{
		`{"type":"function","name":"go","description":"new"}`:            `"name":"go","description":"new"`,
		`{"type":"custom","name":"go","description":"new"}`:              `"name":"go","description":"new"`,
		`{"type":"function","name":"go","parameters":{"type":"object"}}`: `"name":"go","parameters"`,
	} {
		fake := roomtest.Speaking("ok")
		s := serve(fake)
		w := roomtest.Post(s, "/v1/responses", roomtest.ResponseBody(`"input":[`+offered(old)+`,`+user+`]`))
		var v struct{ ID string }
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		for _, input := range []string{
			`"input":"x","previous_response_id":"` + v.ID + `"`, `"input":[` + offered(old) + `,` + offered(old) + `,` + user + `]`,
		} {
			w = roomtest.Post(s, "/v1/responses", roomtest.ResponseBody(input, `"tools":[`+tool+`]`))
			vars := fake.Model.Vars[len(fake.Model.Vars)-1]
			if w.Code != 200 || !strings.Contains(vars, want) || strings.Contains(vars, `"old"`) {
				t.Errorf("%s, %s: %d %s, the template gets %s", tool, input, w.Code, w.Body, vars)
			}
		}
		for _, body := range []string{`"input":"x","tools":[` + old + `,` + tool + `]`, `"input":[` + offered(old+`,`+tool) + `,` + user + `]`} {
			w := roomtest.Post(s, "/v1/responses", roomtest.ResponseBody(body))
			if w.Code != 400 || !strings.Contains(w.Body.String(), "rename one of them") {
				t.Errorf("%s: %d %s", body, w.Code, w.Body)
			}
		}
	}
}

// Tools that cannot be offered are refused by name, or left out and told.
func TestToolOfAnotherKindIsToldOrRefused(t *testing.T) {
	for tools, want := range map[string]string{
		`{"type":"computer"}`:                                           `tools[0].type \"computer\" needs a model that sees`,
		`{"type":"computer_use_preview"}`:                               `needs a model that sees`,
		`{"type":"shell"},{"type":"teapot"}`:                            `tools[1].type \"teapot\" is not known here`,
		`{"name":"x"}`:                                                  `tools[0].type \"\" is not known here`,
		`{"type":"custom","name":"a","format":7}`:                       `tools[0].format`,
		`{"type":"namespace","name":"n","tools":[{"type":"shell"}]}`:    `tools[0].tools[0].type`,
		`{"type":"namespace","tools":[]}`:                               `tools[0].name is missing`,
		`{"type":"function","name":"shell"},{"type":"shell"}`:           `rename one of them`,
		`{"type":"function","name":"ap"},{"type":"custom","name":"ap"}`: `rename one of them`,
		`{"type":"function","name":"n__a"},{"type":"namespace","name":"n","tools":[{"type":"custom","name":"a"}]}`: `rename one of them`,
	} {
		for _, body := range []string{`"input":"x","tools":[` + tools + `]`, `"input":[{"type":"additional_tools","tools":[` + tools + `]}]`} {
			w := roomtest.Post(serve(roomtest.Speaking("ok")), "/v1/responses", roomtest.ResponseBody(body))
			if w.Code != 400 || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s: %d %s, want %s", body, w.Code, w.Body, want)
			}
		}
	}
	for tools, want := range map[string]string{
		`{"type":"web_search"},{"type":"web_search"},{"type":"file_search"}`:                     "web_search, file_search",
		`{"type":"code_interpreter","container":{"type":"auto"}},{"type":"function","name":"f"}`: "code_interpreter",
		`{"type":"image_generation"},{"type":"mcp","server_label":"s"}`:                          "image_generation, mcp",
		`{"type":"shell","environment":{"type":"container_auto"}},{"type":"tool_search"}`:        "shell, tool_search",
		`{"type":"tool_search","execution":"server"}`:                                            "tool_search",
	} {
		w := roomtest.Post(serve(roomtest.Speaking("ok")), "/v1/responses", roomtest.ResponseBody(`"input":"x","tools":[`+tools+`]`))
		if w.Code != 200 || !strings.Contains(w.Body.String(), fmt.Sprintf(`"left_out":"tools of OpenAI's servers: %s"`, want)) {
			t.Errorf("%s: %d %s, want %s", tools, w.Code, w.Body, want)
		}
	}
	const user = `,{"role":"user","content":"x"}]`
	for item, told := range map[string]bool{
		`{"type":"reasoning","encrypted_content":"gAAAA"}`:                                                                   true,
		`{"type":"reasoning","id":"rs_1","summary":[],"content":null,"encrypted_content":"x"}`:                               true,
		`{"type":"reasoning","summary":[{"type":"summary_text","text":""}],"encrypted_content":"eA==","status":"completed"}`: true,
		`{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"x"}`:                       false,
		`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}`:                                false,
		`{"type":"reasoning","summary":[],"encrypted_content":null}`:                                                         false,
		`{"type":"reasoning","summary":[],"encrypted_content":""}`:                                                           false,
	} {
		w := roomtest.Post(serve(roomtest.Speaking("ok")), "/v1/responses", roomtest.ResponseBody(`"input":[`+item+user))
		if w.Code != 200 || strings.Contains(w.Body.String(), `"left_out":"items of OpenAI's servers: reasoning"`) != told {
			t.Errorf("%s: %d %s, told %t", item, w.Code, w.Body, told)
		}
	}
}

// TestItemsThatAreLeftOutAreNamed: those of OpenAI's servers, and others that are no part of the dialogue. A
// message, a call or a result of an unknown type is refused, and so is an input of nothing else.
func TestItemsThatAreLeftOutAreNamed(t *testing.T) {
	const user = `{"role":"user","content":"x"}`
	for items, want := range map[string]string{
		`{"type":"web_search_call","id":"w"},{"type":"mcp_list_tools"},{"type":"teapot"},{"type":"web_search_call"},` + user: "items of OpenAI's servers: web_search_call, mcp_list_tools; items of unknown types: teapot",
		user + `,{"type":"x_search_call","id":"x","status":"completed"}`:                                                     "items of unknown types: x_search_call",
		user + `,{"type":"a b\u001b[2J","role":null}`:                                                                        `items of unknown types: "a b\x1b[2J"`,
		`{"type":"program_output","call_id":"c"},` + user:                                                                    "items of OpenAI's servers: program_output",
		`{"type":"reasoning","content":[{"type":"redacted_thinking","data":"x"}]},` + user:                                   "items of OpenAI's servers: reasoning",
		user + `,{"type":"reasoning","content":[{"type":"redacted_thinking","data":"x"}]}`:                                   "items of OpenAI's servers: reasoning",
	} {
		for _, stream := range []string{"", `,"stream":true`} {
			fake := roomtest.Speaking("ok")
			w := roomtest.Post(serve(fake), "/v1/responses", roomtest.ResponseBody(`"input":[`+items+`]`+stream))
			told, _ := json.Marshal(want)
			if w.Code != 200 || fake.LastRun().LeftOut != want || !strings.Contains(w.Body.String(), `"left_out":`+string(told)) {
				t.Errorf("%s: %d %s, the run tells %q", items, w.Code, w.Body, fake.LastRun().LeftOut)
			}
		}
	}
	for items, want := range map[string]string{
		user + `,{"type":"mesage","role":"user","content":"x"}`:                          `input[1].type \"mesage\" is not known here`,
		user + `,{"type":"input_image","image_url":"https://a.b"}`:                       `input[1].type \"input_image\" is the type of a part; send it in the content of a message`,
		user + `,{"type":"text","text":"x"}`:                                             `input[1].type \"text\" is the type of a part`,
		`{"type":"input_text","text":"x"}`:                                               `input[0].type \"input_text\" is the type of a part`,
		`{"type":"input_file","file_id":"f"},` + user:                                    `input[0].type \"input_file\" is the type of a part`,
		`{"type":"functioncall","call_id":"c","name":"f"},` + user:                       `input[0].type \"functioncall\" is not known here`,
		user + `,{"type":"function_call_ouput","call_id":"c","output":"x"}`:              `input[1].type \"function_call_ouput\" is not known here`,
		`{"type":"` + strings.Repeat("m", 300) + `","role":"user","content":"x"}`:        `mmm...\" is not known here; leave this item out`,
		`{"type":"web_search_call"},{"type":"teapot"},{"type":"web_search_call"}`:        "input holds nothing to answer, only items that are left out here (web_search_call, teapot); send a message too.",
		`{"type":"compaction","encrypted_content":"x"}`:                                  "only items that are left out here (compaction)",
		`{"type":"reasoning","encrypted_content":"x"},{"type":"mcp_call","call_id":"c"}`: "only items that are left out here (reasoning, mcp_call)",
		``: "input holds nothing to answer; send a message.",
	} {
		for _, path := range []string{"/v1/responses", "/v1/responses/input_tokens", "/v1/responses/compact"} {
			w := roomtest.Post(serve(roomtest.Speaking("ok")), path, roomtest.ResponseBody(`"input":[`+items+`]`))
			if w.Code != 400 || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s: %s: %d %s, want %s", path, items, w.Code, w.Body, want)
			}
		}
	}
}

// The model gets the description of a namespace before that of each of its tools, and no member of a
// function that is for servers.
func TestModelGetsWhatToolsSayOfThemselves(t *testing.T) {
	for tool, want := range map[string]string{
		`{"type":"namespace","name":"n","description":"Mail.","tools":[{"type":"function","name":"a","description":"Sends.","parameters":{}}]}`: `"function":{"name":"n__a","description":"Mail.\n\nSends.","parameters":{}}`,
		`{"type":"namespace","name":"n","description":"Mail.","tools":[{"type":"function","name":"a"}]}`:                                        `"function":{"name":"n__a","description":"Mail."}`,
		`{"type":"namespace","name":"n","tools":[{"type":"function","name":"a","description":"Sends."}]}`:                                       `"function":{"name":"n__a","description":"Sends."}`,
		`{"type":"namespace","name":"n","description":"Mail.","tools":[{"type":"custom","name":"a","description":"Sends."}]}`:                   `"function":{"name":"n__a","description":"Mail.\n\nSends.","parameters"`,
		`{"type":"function","name":"a","defer_loading":true,"allowed_callers":["direct"],"strict":true,"parameters":{},"description":"Sends."}`: `"function":{"name":"a","parameters":{},"description":"Sends."}`,
	} {
		fake := roomtest.Speaking("ok")
		w := roomtest.Post(serve(fake), "/v1/responses", roomtest.ResponseBody(`"input":"x","tools":[`+tool+`]`))
		if w.Code != 200 || !strings.Contains(fake.Model.Vars[0], want) {
			t.Errorf("%s: %d, the template gets %s, want %s", tool, w.Code, fake.Model.Vars, want)
		}
	}
}

// A function in an answer has the members that typed clients need.
func TestFunctionIsShownWithAllItsMembers(t *testing.T) {
	for tool, want := range map[string]string{
		`{"type":"function","name":"w","parameters":{}}`:                                             `{"type":"function","name":"w","parameters":{},"description":null,"strict":null}`,
		`{"type":"function","name":"w"}`:                                                             `{"type":"function","name":"w","description":null,"parameters":null,"strict":null}`,
		`{"type":"function","function":{"name":"w","strict":true}}`:                                  `{"type":"function","name":"w","strict":true,"description":null,"parameters":null}`,
		`{"name":"w","type":"function","description":"d","strict":false,"parameters":{"z":1,"a":2}}`: `{"name":"w","type":"function","description":"d","strict":false,"parameters":{"z":1,"a":2}}`,
		`{"type":"custom","name":"c"}`:                                                               `{"type":"custom","name":"c"}`,
		`{"type":"custom","custom":{"name":"c","format":{"type":"text"}}}`:                           `{"type":"custom","name":"c","format":{"type":"text"}}`,
		`{"type":"namespace","name":"n","tools":[{"type":"function","name":"w"},{"type":"custom","custom":{"name":"c"}}]}`: `{"type":"namespace","name":"n","tools":[` +
			`{"type":"function","name":"w","description":null,"parameters":null,"strict":null},{"type":"custom","name":"c"}],"description":""}`,
		`{"type":"namespace","name":"n","description":"d","tools":[{"type":"function","name":"w","strict":true,"parameters":{"a":1}}]}`: `{"type":"namespace","name":"n","description":"d","tools":[` +
			`{"type":"function","name":"w","strict":true,"parameters":{"a":1},"description":null}]}`,
	} {
		w := roomtest.Post(serve(roomtest.Speaking("ok")), "/v1/responses", roomtest.ResponseBody(`"input":"x","tools":[`+tool+`]`))
		if !strings.Contains(w.Body.String(), `"tools":[`+want+`]`) {
			t.Errorf("%s: %s", tool, w.Body)
		}
	}
}
