package anthropic_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tandem/app/roomtest"
)

// offered returns the functions that a template got, by name.
func offered(t *testing.T, vars string) map[string]function {
	t.Helper()
	var got struct{ Tools []struct{ Function function } }
	if err := json.Unmarshal([]byte(vars), &got); err != nil {
		t.Fatal(err)
	}
	byName := map[string]function{}
	for _, tool := range got.Tools {
		byName[tool.Function.Name] = tool.Function
	}
	return byName
}

type function struct {
	Name, Description string
	Strict            bool
	Parameters        struct {
		Properties           map[string]struct{ Enum []string }
		Required             []string
		AdditionalProperties *bool
	}
}

// TestClientToolsAreFunctions: the model gets each of Anthropic's client tools with the parameters
// that Anthropic publishes, its calls are tool_use blocks, and tool_choice can ask for one.
func TestClientToolsAreFunctions(t *testing.T) {
	const (
		editor = "command file_text insert_line new_str old_str path view_range"
		newer  = "command file_text insert_line insert_text new_str old_str path view_range"
		edits  = "view create str_replace insert"
	)
	for kind, c := range map[string]struct{ name, parameters, required, commands string }{
		"bash_20241022":        {"bash", "command restart", "command", ""},
		"bash_20250124":        {"bash", "command restart", "command", ""},
		"text_editor_20241022": {"str_replace_editor", editor, "command path", edits + " undo_edit"},
		"text_editor_20250124": {"str_replace_editor", editor, "command path", edits + " undo_edit"},
		"text_editor_20250429": {"str_replace_based_edit_tool", newer, "command path", edits},
		"text_editor_20250728": {"str_replace_based_edit_tool", newer, "command path", edits},
		"memory_20250818": {"memory", "command file_text insert_line insert_text new_path new_str " +
			"old_path old_str path view_range", "command", edits + " delete rename"},
	} {
		for _, tool := range []string{
			fmt.Sprintf(`{"type":%q,"name":%q}`, kind, c.name),
			fmt.Sprintf(`{"type":%q}`, kind), // the AI SDK sends the memory tool with a name, others without
			fmt.Sprintf(`{"type":%q,"name":%q,"max_characters":10,"cache_control":{"type":"ephemeral"},`+
				`"allowed_callers":["direct"],"strict":true}`, kind, c.name),
		} {
			fake := roomtest.Speaking(fmt.Sprintf("<tool_call>\n{\"name\": %q, \"arguments\": "+
				"{\"command\": \"view\", \"path\": \"/a\"}}\n</tool_call>", c.name))
			body := roomtest.MessageBody(`"tools":[` + tool + `]`)
			got := messageWith(t, fake, body) // also as events
			if want := "tool_use " + c.name + `{"command": "view", "path": "/a"}|tool_use`; got.String() != want {
				t.Errorf("%s: %s, want %s", tool, got, want)
			}
			f, ok := offered(t, fake.Model.Vars[0])[c.name]
			p := f.Parameters
			if names := strings.Join(slices.Sorted(maps.Keys(p.Properties)), " "); !ok ||
				names != c.parameters || strings.Join(p.Required, " ") != c.required ||
				strings.Join(p.Properties["command"].Enum, " ") != c.commands || f.Description == "" || p.AdditionalProperties == nil || *p.AdditionalProperties ||
				f.Strict {
				t.Errorf("%s: the template gets %+v", tool, f)
			}
			if run := fake.LastRun(); run.LeftOut != "" || got.Timings.LeftOut != "" {
				t.Errorf("%s: %q is left out", tool, run.LeftOut)
			}
			for _, choice := range []string{`{"type":"any"}`, fmt.Sprintf(`{"type":"tool","name":%q}`, c.name)} {
				w := postMessages(t, fake, roomtest.MessageBody(`"tools":[`+tool+`]`, `"tool_choice":`+choice))
				if list := fake.Model.Grammars; w.Code != 200 || len(list) == 0 ||
					!strings.Contains(list[len(list)-1].Lark, c.name) {
					t.Errorf("%s: %s: %d %s", tool, choice, w.Code, w.Body)
				}
			}
			if with, without := countTokens(t, body), countTokens(t, roomtest.MessageBody()); with <= without {
				t.Errorf("%s: %d tokens, and %d without it", tool, with, without)
			}
		}
	}
}

// countTokens returns the count of a body's prompt, by a template that prints all it gets.
func countTokens(t *testing.T, body string) int {
	t.Helper()
	fake := roomtest.Speaking("")
	fake.Model.Template = func(vars []byte) (string, error) { return string(vars), nil }
	w := roomtest.Post(serve(fake), "/v1/messages/count_tokens", body)
	var counted struct {
		Tokens int `json:"input_tokens"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &counted); err != nil || w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return counted.Tokens
}

// TestBlocksThatAreLeftOutAreTold: of the tools that Anthropic's servers run the model gets the text.
func TestBlocksThatAreLeftOutAreTold(t *testing.T) {
	for blocks, want := range map[string]string{
		`{"type":"server_tool_use","id":"1","name":"web_search","input":{"query":"a"}},{"type":"web_search_tool_result","tool_use_id":"1","content":[{"type":"web_search_result","title":"t","url":"u"}]}`: "server_tool_use",
		`{"type":"mcp_tool_use","id":"1","name":"n","server_name":"s","input":{}},{"type":"mcp_tool_result","tool_use_id":"1","content":[{"type":"text","text":"r"}]}`:                                     "mcp_tool_use",
		`{"type":"tool_search_tool_result","tool_use_id":"1","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"go"}]}}`:                          "tool_search_tool_result",
		`{"type":"compaction","content":null,"encrypted_content":"e"}`: "compaction",
		`{"type":"fallback","from":{},"to":{}},{"type":"fallback"},{"type":"my_secret_block"},{"type":"my_secret_tool_result"},{"type":"bash_code_execution_tool_result"}`: "fallback, bash_code_execution_tool_result; blocks of unknown types: my_secret_block, my_secret_tool_result",
		`{"type":"compaction","content":"We talked."}`: "",
		`{"type":"code_execution_tool_result","tool_use_id":"1","content":{"type":"code_execution_result","stdout":"4","stderr":""}}`:         "",
		`{"type":"tool_addition","tool":{"type":"tool_reference","name":"look"}},{"type":"thinking","thinking":""},{"type":"text","text":""}`: "",
	} {
		if want != "" {
			want = "blocks of Anthropic's servers: " + want
		}
		fake := roomtest.Speaking("ok")
		got := messageWith(t, fake, `{"model":"tandem","max_tokens":9,"messages":[{"role":"user","content":"x"},`+
			`{"role":"assistant","content":[`+blocks+`,{"type":"text","text":"so"}]},{"role":"user","content":"y"}],"tools":[{"name":"look","input_schema":{"type":"object"}}]}`)
		if run := fake.LastRun(); run.LeftOut != want || got.Timings.LeftOut != want {
			t.Errorf("%s: %q is told, and in the run %q, want %q", blocks, got.Timings.LeftOut, run.LeftOut, want)
		}
	}
}

// TestToolsThatAreLeftOutAreTold: the answer and the run name the tools that Anthropic's servers run.
func TestToolsThatAreLeftOutAreTold(t *testing.T) {
	const mine = `{"name":"look","input_schema":{"type":"object"}}`
	for fields, want := range map[string]string{
		`"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":5},` + mine + `]`:          "web_search_20250305",
		`"tools":[` + mine + `,{"type":"web_search_20260318","name":"web_search"}]`:                       "web_search_20260318",
		`"tools":[` + mine + `,{"type":"web_fetch_20250910","name":"web_fetch"}]`:                         "web_fetch_20250910",
		`"tools":[` + mine + `,{"type":"code_execution_20250825","name":"code_execution"}]`:               "code_execution_20250825",
		`"tools":[` + mine + `,{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"}]`: "tool_search_tool_bm25_20251119",
		`"tools":[` + mine + `,{"type":"tool_search_tool_regex","name":"tool_search_tool_regex"}]`:        "tool_search_tool_regex",
		`"tools":[` + mine + `,{"type":"advisor_20260301","name":"advisor","model":"x"}]`:                 "advisor_20260301",
		`"tools":[` + mine + `,{"type":"web_search_29991231","name":"web_search"}]`:                       "web_search_29991231",
		`"tools":[{"type":"mcp_toolset","mcp_server_name":"private"},` + mine +
			`],"mcp_servers":[{"type":"url","name":"private","url":"https://a.b"}]`: "mcp_servers, mcp_toolset",
		`"tools":[` + mine + `],"mcp_servers":[{"type":"url","name":"private","url":"https://a.b"}]`: "mcp_servers",
		`"tools":[` + mine + `],"mcp_servers":[]`:                                                    "",
		`"tools":[` + mine + `]`: "",
		`"tools":[{"type":"web_search_20250305","name":"web_search"},` +
			`{"type":"web_search_20250305","name":"web_search"},{"type":"web_fetch_20250910","name":"f"},` + mine + `]`: "web_fetch_20250910, web_search_20250305",
	} {
		if want != "" {
			want = "tools of Anthropic's servers: " + want
		}
		fake := roomtest.Speaking("ok")
		got := messageWith(t, fake, roomtest.MessageBody(fields))
		if run := fake.LastRun(); run.LeftOut != want || got.Timings == nil || got.Timings.LeftOut != want {
			t.Errorf("%s: the run tells %q, the answer %+v, want %q", fields, run.LeftOut, got.Timings, want)
		}
		if tools := offered(t, fake.Model.Vars[0]); len(tools) != 1 || tools["look"].Name == "" {
			t.Errorf("%s: the template gets %v", fields, tools)
		}
	}
}

func TestOtherToolsAreRefused(t *testing.T) {
	const images = "whose results are images: this endpoint takes text only; leave this tool out"
	for tool, want := range map[string]string{
		`{"type":"computer_20241022","name":"computer","display_width_px":1,"display_height_px":1}`: `tools[0].type is "computer_20241022", ` + images,
		`{"type":"computer_20250124","name":"computer"}`:                                            `tools[0].type is "computer_20250124", ` + images,
		`{"type":"computer_20251124","name":"computer"}`:                                            `tools[0].type is "computer_20251124", ` + images,
		`{"type":"computer_toolset_20260801"}`:                                                      `tools[0].type is "computer_toolset_20260801", ` + images,
		`{"type":"browser_toolset_20260801"}`:                                                       `tools[0].type is "browser_toolset_20260801", ` + images,
		`{"type":"bash_20990101","name":"bash"}`:                                                    `tools[0].type "bash_20990101" is not known here`,
		`{"type":"memory","name":"memory"}`:                                                         `tools[0].type "memory" is not known here; leave this tool out, or give the tool a name and an input_schema`,
		`{"type":"function","function":{"name":"look"}}`:                                            `tools[0].type "function" is for OpenAI's APIs (POST /v1/chat/completions)`,
		`{"type":"web_search","name":1}`:                                                            "",
		`{"type":"web_searches_20250305","name":"w"}`:                                               "is not known here",
		`{"type":"bash_20250124","name":"bash","defer_loading":"x"}`:                                "tools[0].defer_loading must be true or false",
		`{"name":"a","input_schema":{}},{"name":"a","input_schema":{"type":"object"}}`:              `tools[1].name and another tool are both "a" for the model; rename one of them`,
		`{"name":"a","input_schema":{},"defer_loading":true},{"name":"b","input_schema":{}},{"type":"custom","name":"a","input_schema":{}}`: `tools[2].name and another tool are both "a"`,
		`{"type":"bash_20250124"},{"name":"bash","input_schema":{}}`:                                                                        `tools[1].name and another tool are both "bash"`,
		`{"name":"look","input_schema":{},"input_examples":"x"}`:                                                                            "tools[0].input_examples must be a list of objects",
		`{"name":"look","input_schema":{},"input_examples":[1]}`:                                                                            "tools[0].input_examples[0] must be an object",
	} {
		for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
			w := roomtest.Post(serve(roomtest.Speaking("ok")), path, roomtest.MessageBody(`"tools":[`+tool+`]`))
			if want == "" {
				if w.Code != 200 {
					t.Errorf("%s: %d %s", tool, w.Code, w.Body)
				}
			} else if e := roomtest.DecodeAnthropic(t, w); w.Code != 400 || !strings.Contains(e.Error.Message, want) {
				t.Errorf("%s: %d %s, want %s", tool, w.Code, w.Body, want)
			}
		}
	}
}

// TestDeferredToolsWaitForAReference: a tool with defer_loading is offered once a result refers to it.
// Where nothing can find it, it is offered at once.
func TestDeferredToolsWaitForAReference(t *testing.T) {
	const (
		find   = `{"name":"find","input_schema":{"type":"object"}}`
		a      = `{"name":"a","input_schema":{"type":"object"},"defer_loading":true}`
		b      = `{"type":"bash_20250124","name":"bash","defer_loading":true}`
		search = `{"type":"tool_search_tool_regex_20251119","name":"tool_search_tool_regex"}`
		call   = `{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"find","input":{}}]},`
	)
	found := func(names ...string) string {
		var refs []string
		for _, name := range names {
			refs = append(refs, `{"type":"tool_reference","tool_name":"`+name+`"}`)
		}
		return call + `{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[` +
			strings.Join(refs, ",") + `]}]}`
	}
	for _, c := range []struct{ name, tools, messages, more, want, left string }{
		{"before", find + "," + a + "," + b, `{"role":"user","content":"x"}`, "", "find", "deferred tools that no tool_reference names: 2"},
		{"one is found", find + "," + a + "," + b, found("a"), "", "a find", "deferred tools that no tool_reference names: 1"},
		{"both are found", a + "," + b + "," + find, found("bash", "a"), "", "a bash find", ""},
		{"one was called before", find + "," + a + "," + b, strings.Replace(call, "find", "a", 1) + `{"role":"user","content":"y"}`, "", "a find", "deferred tools that no tool_reference names: 1"},
		{"an unknown one is found", find + "," + a, found("c"), "", "find", "deferred tools that no tool_reference names: 1"},
		{"none but deferred ones", a + "," + b, `{"role":"user","content":"x"}`, "", "a bash", ""},
		{"the server would search", search + "," + find + "," + a, `{"role":"user","content":"x"}`, "", "a find", "tools of Anthropic's servers: tool_search_tool_regex_20251119"},
		{"tool_choice names it", find + "," + a + "," + b, `{"role":"user","content":"x"}`, `,"tool_choice":{"type":"tool","name":"a"}`, "a find", "deferred tools that no tool_reference names: 1"},
		{"false", find + "," + strings.Replace(a, "true", "false", 1), `{"role":"user","content":"x"}`, "", "a find", ""},
	} {
		fake := roomtest.Speaking("ok")
		w := postMessages(t, fake, `{"model":"tandem","max_tokens":9,"tools":[`+c.tools+`],"messages":[`+c.messages+`]`+c.more+`}`)
		if w.Code != 200 {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
			continue
		}
		got := strings.Join(slices.Sorted(maps.Keys(offered(t, fake.Model.Vars[0]))), " ")
		if run := fake.LastRun(); got != c.want || run.LeftOut != c.left {
			t.Errorf("%s: %s is offered, want %s; %q is left out, want %q", c.name, got, c.want, run.LeftOut, c.left)
		}
	}
}

// TestMessagesChangeTheTools: blocks of messages add tools and withdraw them; the last change counts.
func TestMessagesChangeTheTools(t *testing.T) {
	const (
		tools  = `{"name":"a","input_schema":{"type":"object"}},{"name":"b","input_schema":{"type":"object"},"defer_loading":true}`
		addB   = `{"type":"tool_addition","tool":{"type":"tool_reference","name":"b"}}`
		addC   = `{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"c","input_schema":{"type":"object"}}}}`
		addA   = `{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"a","description":"new","input_schema":{"type":"object"}}}}`
		shell  = `{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"type":"bash_20250124","name":"bash"}}}`
		web    = `{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"type":"web_search_20250305","name":"w"}}}`
		screen = `{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"type":"computer_20251124","name":"computer"}}}`
		dropA  = `{"type":"tool_removal","tool":{"type":"tool_reference","name":"a"}}`
		dropC  = `{"type":"tool_removal","tool":{"type":"tool_reference","name":"c"}}`
		mcp    = `{"type":"tool_removal","tool":{"type":"mcp_toolset_reference","server_name":"m"}}`
		x      = `{"type":"text","text":"x"}`
	)
	for _, c := range []struct{ name, content, want string }{
		{"none", x, "a"},
		{"a reference", x + "," + addB, "a b"},
		{"a definition", addC + "," + x, "a c"},
		{"a client tool", shell + "," + x, "a bash"},
		{"a removal", addB + "," + dropA + "," + x, "b"},
		{"added and removed", addC + "," + dropC + "," + x, "a"},
		{"removed and added", addC + "," + dropC + "," + addC + "," + x, "a c"},
		{"defined anew", addA + "," + x, "a"},
		{"of a server", web + "," + x, "a"},
		{"of an MCP server", mcp + "," + x, "a"},
	} {
		for _, messages := range []string{
			`{"role":"user","content":[` + c.content + `]}`,
			`{"role":"system","content":[` + c.content + `]},{"role":"user","content":"x"}`,
			`{"role":"user","content":"x"},{"role":"assistant","content":[` + c.content + `]},{"role":"user","content":"x"}`,
		} {
			fake := roomtest.Speaking("ok")
			w := postMessages(t, fake, `{"model":"tandem","max_tokens":9,"tools":[`+tools+`],"messages":[`+messages+`]}`)
			if w.Code != 200 {
				t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
				continue
			}
			all := offered(t, fake.Model.Vars[0])
			if got := strings.Join(slices.Sorted(maps.Keys(all)), " "); got != c.want ||
				strings.Contains(c.content, `"new"`) != (all["a"].Description == "new") ||
				strings.Count(fake.Model.Vars[0], `"name":"a"`) > 1 {
				t.Errorf("%s: %v is offered, want %s", c.name, all, c.want)
			}
		}
	}
	fake := roomtest.Speaking("ok")
	w := postMessages(t, fake, `{"model":"tandem","max_tokens":9,"tools":[`+tools+`],"messages":[`+
		`{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"compaction","content":"so far","tool_changes":[`+
		addC+`,`+dropA+`]}]},{"role":"user","content":[`+addB+`]},{"role":"user","content":"y"}]}`)
	if w.Code != 200 || !strings.Contains(fake.Model.Vars[0], `{"role":"user","content":"y"}]`) {
		t.Errorf("%d %s: %s", w.Code, w.Body, fake.Model.Vars)
	} else if got := strings.Join(slices.Sorted(maps.Keys(offered(t, fake.Model.Vars[0]))), " "); got != "b c" {
		t.Errorf("after a compaction %s is offered", got)
	}
	var many []string
	for i := range 2001 {
		many = append(many, strings.ReplaceAll(addC, `"c"`, fmt.Sprintf(`"c%d"`, i)))
	}
	for content, want := range map[string]string{
		strings.Join(many, ","):    "tool is one too many: a request may hold 2000 tools",
		screen:                     `tool.definition.type is "computer_20251124"`,
		`{"type":"tool_addition"}`: "tool is missing",
		`{"type":"tool_addition","tool":{"type":"tool_definition"}}`: "tool.definition is missing",
		`{"type":"tool_removal","tool":{"type":"tool_reference"}}`:   "tool.name is missing",
		`{"type":"tool_removal","tool":{"type":"x"}}`:                "tool.type is",
	} {
		w := postMessages(t, roomtest.Speaking("ok"), `{"model":"tandem","max_tokens":9,"messages":[{"role":"user","content":[`+content+`]}]}`)
		if e := roomtest.DecodeAnthropic(t, w); w.Code != 400 || !strings.Contains(e.Error.Message, want) {
			t.Errorf("%s: %d %s", content, w.Code, w.Body)
		}
	}
}

// TestInputExamplesReachTheModel: templates have no place for examples beside the description.
func TestInputExamplesReachTheModel(t *testing.T) {
	for tool, want := range map[string]string{
		`{"name":"a","description":"Looks.","input_schema":{"type":"object"},"input_examples":[{"z":1},{"z":"é"}]}`: "Looks.\n\nExamples of the input:\n{\"z\":1}\n{\"z\":\"é\"}",
		`{"name":"a","input_schema":{"type":"object"},"input_examples":[{"z": {"y":[1]}}]}`:                         "Examples of the input:\n{\"z\":{\"y\":[1]}}",
		`{"name":"a","description":"Looks.","input_schema":{"type":"object"},"input_examples":[]}`:                  "Looks.",
		`{"name":"a","input_schema":{"type":"object"}}`:                                                             "",
	} {
		fake := roomtest.Speaking("ok")
		w := postMessages(t, fake, roomtest.MessageBody(`"tools":[`+tool+`]`))
		if w.Code != 200 {
			t.Errorf("%s: %d %s", tool, w.Code, w.Body)
		} else if got := offered(t, fake.Model.Vars[0])["a"].Description; got != want {
			t.Errorf("%s: the description is %q, want %q", tool, got, want)
		}
	}
}

// TestResultOfAClientToolReturns: a turn of bash goes on with its result under the tool's name.
func TestResultOfAClientToolReturns(t *testing.T) {
	fake := roomtest.Speaking("done")
	w := postMessages(t, fake, `{"model":"tandem","max_tokens":9,"tools":[{"type":"bash_20250124","name":"bash"}],"messages":[`+
		`{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"bash","input":{"command":"ls"}}]},`+
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a.go"}]}]}`)
	const want = `"tool_calls":[{"id":"toolu_1","type":"function","function":{"name":"bash","arguments":{"command":"ls"}}}]},` +
		`{"role":"tool","content":"a.go","tool_call_id":"toolu_1","name":"bash"}`
	if w.Code != 200 || !strings.Contains(fake.Model.Vars[0], want) {
		t.Errorf("%d %s: the template gets %s", w.Code, w.Body, fake.Model.Vars)
	}
}
