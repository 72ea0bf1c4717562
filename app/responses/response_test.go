package responses_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/modeltest"
	"tandem/app/responses"
	"tandem/app/roomtest"
)

// respond requests a response in one piece and returns it.
func respond(t *testing.T, s *roomtest.Served, body string) roomtest.Response {
	t.Helper()
	w := roomtest.Post(s, "/v1/responses", body)
	var r roomtest.Response
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil || w.Code != 200 {
		t.Fatalf("%s: %d %s %v", body, w.Code, w.Body, err)
	}
	return r
}

// short returns the content of the items, one item a line.
func short(items []roomtest.ResponseItem) string {
	var b strings.Builder
	for _, x := range items {
		fmt.Fprintf(&b, "%s %s", x.Type, x.Status)
		for _, p := range x.Content {
			fmt.Fprintf(&b, " %s %q", p.Type, p.Text)
		}
		if x.Name != "" {
			fmt.Fprintf(&b, " %s %s %s", x.Namespace, x.Name, x.Arguments)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// The template gets the input of the request under its own names.
func TestResponseInputReachesTemplate(t *testing.T) {
	const user = `{"role":"user","content":"hi"}`
	for _, c := range []struct{ name, fields, want string }{
		{"a text", `"input":"hi"`, `"messages":[` + user + `]`},
		{"instructions", `"input":"hi","instructions":"Be brief."`, `"messages":[{"role":"system","content":"Be brief."},` + user + `]`},
		{"parts", `"input":[{"role":"user","content":[{"type":"input_text","text":"h"},{"type":"input_text","text":"i"}]}]`, `"messages":[` + user + `]`},
		{"the system's messages in front are one",
			`"instructions":"A","input":[{"type":"message","role":"developer","content":"B"},{"role":"system","content":"C"},{"role":"user","content":"hi"}]`,
			`"messages":[{"role":"system","content":"A\n\nB\n\nC"},` + user + `]`},
		{"and stand where they are later", `"input":[{"role":"user","content":"hi"},{"role":"developer","content":"B"}]`, `"messages":[` + user + `,{"role":"system","content":"B"}]`},
		{"a billing line", `"instructions":"x-anthropic-billing-header: cch=1\nBe brief.","input":"hi"`, `"messages":[{"role":"system","content":"Be brief."},` + user + `]`},
		{"a turn of the model", `"input":[{"role":"user","content":"hi"},
			{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"hm"}],"encrypted_content":null},
			{"type":"message","role":"assistant","id":"msg_1","status":"completed","content":[{"type":"output_text","text":"I look.","annotations":[]}]},
			{"type":"function_call","id":"fc_1","call_id":"call_abcdefghi","name":"look","arguments":"{\"z\": 1, \"a\": 2}"},
			{"type":"function_call","call_id":"other","name":"go","arguments":"not JSON"},
			{"type":"function_call_output","call_id":"call_abcdefghi","output":"seen"},
			{"type":"function_call_output","call_id":"other","output":[{"type":"input_text","text":"gone"}]}]`,
			`"messages":[` + user + `,{"role":"assistant","content":"I look.","tool_calls":[` +
				`{"id":"abcdefghi","type":"function","function":{"name":"look","arguments":{"z": 1, "a": 2}}},` +
				`{"id":"other","type":"function","function":{"name":"go","arguments":"not JSON"}}],"reasoning_content":"hm"},` +
				`{"role":"tool","content":"seen","tool_call_id":"abcdefghi","name":"look"},{"role":"tool","content":"gone","tool_call_id":"other","name":"go"}]`},
		{"a summary of a thought",
			`"input":[{"role":"user","content":"hi"},{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"x"},{"role":"assistant","content":"A"}]`,
			`"messages":[` + user +
				`,{"role":"assistant","content":"A","reasoning_content":"hm"}]`},
		{"a thought that cannot be read", `"input":[{"type":"reasoning","summary":[],"encrypted_content":"x"},{"role":"user","content":"hi"}]`, `"messages":[` + user + `]`},
		{"two answers", `"input":[{"role":"assistant","content":"A"},{"role":"assistant","content":"B"},{"role":"user","content":"hi"}]`,
			`"messages":[{"role":"assistant","content":"A"},{"role":"assistant","content":"B"},` +
				user + `]`},
		{"other servers' items", `"input":[{"type":"web_search_call","id":"ws_1"},{"type":"mcp_call","id":"m"},{"type":"new"},{"role":"user","content":"hi"}]`, `"messages":[` + user + `]`},
		{"a function", `"input":"hi","tools":[{"type":"function","name":"f","strict":true,"description":null,"parameters":{"z":1,"a":2}}]`,
			`"messages":[` + user +
				`],"tools":[{"type":"function","function":{"name":"f","parameters":{"z":1,"a":2}}}]`},
		{"other tools", `"input":"hi","tools":[{"type":"web_search"},{"type":"mcp","name":1,"tools":1},{"type":"function","name":"f"}]`,
			`"messages":[` + user + `],"tools":[{"type":"function","function":{"name":"f"}}]`},
		{"a namespace", `"input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"c","namespace":"mcp__a__","name":"f","arguments":"{}"}],"tools":[{"type":"namespace","name":"mcp__a__","tools":[{"type":"function","name":"f"},{"type":"mcp"}]}]`,
			`"messages":[` + user +
				`,{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"mcp__a__f","arguments":{}}}]}],"tools":[{"type":"function","function":{"name":"mcp__a__f"}}]`},
		{"no tools", `"input":"hi","tool_choice":"none","tools":[{"type":"function","name":"f"}]`, `"messages":[` + user + `]`},
		{"some tools", `"input":"hi","tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"g"}]},"tools":[{"type":"function","name":"f"},{"type":"function","name":"g"}]`,
			`"messages":[` + user + `],"tools":[{"type":"function","function":{"name":"g"}}]`},
		{"an effort", `"input":"hi","reasoning":{"effort":"low","summary":"auto"}`, `"messages":[` + user + `],"enable_thinking":true,"thinking":true,"reasoning_effort":"low"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := roomtest.Speaking("hello")
			fake.Model.AnyArguments = true
			respond(t, serve(fake), roomtest.ResponseBody(c.fields))
			if want := "{" + c.want + `,"add_generation_prompt":true}`; fake.Model.Vars[0] != want {
				t.Errorf("the template gets\n%s, want\n%s", fake.Model.Vars[0], want)
			}
		})
	}
}

// A template that needs alternating roles gets alternating turns.
func TestTurnsAlternateWhereTemplateInsists(t *testing.T) {
	const body = `{"model":"tandem","instructions":"A","input":[{"role":"user","content":"B"},{"role":"user","content":"C"},{"role":"assistant","content":"D"},{"role":"developer","content":"E"},{"role":"user","content":"F"}]}`
	strict := func(vars []byte) (string, error) {
		var v struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.Unmarshal(vars, &v); err != nil {
			return "", err
		}
		for i, m := range v.Messages {
			if i > 0 && (m.Role == "system" || m.Role == v.Messages[i-1].Role) {
				return "", control.Errorf(control.CodeInvalid, "Roles must alternate.")
			}
		}
		return modeltest.Template(vars)
	}
	fake := roomtest.Speaking("hello")
	fake.Model.Template = strict
	respond(t, serve(fake), body)
	if got, want := fake.Model.Decode(fake.Model.Requests[0].Prompt),
		"sA\nuB\n\nC\naD\nu<system>\nE\n</system>\n\nF\n"; got != want {
		t.Errorf("the prompt is %q, want %q", got, want)
	}
	// If no form of the turns works, the answer has the first error.
	fake.Model.Template = func([]byte) (string, error) {
		return "",
			control.Errorf(control.CodeInvalid, "No talk.")
	}
	w := roomtest.Post(serve(fake), "/v1/responses", body)
	if e := roomtest.DecodeError(t, w); w.Code != 400 || e.Message != "No talk." || e.Param == nil ||
		*e.Param != "input" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// The engine gets the settings of the request, and the response repeats them.
func TestResponseParamsReachEngineAndEcho(t *testing.T) {
	fake := roomtest.Speaking("hello")
	w := roomtest.Post(serve(fake), "/v1/responses",
		roomtest.ResponseBody(`"input":"hi","max_output_tokens":3,"temperature":0.5,"top_p":0.25,"top_logprobs":2,"include":["message.output_text.logprobs","reasoning.encrypted_content"],"n":3,"metadata":{"a":"`+strings.Repeat("ä",
			responses.MaxMetadataValue)+`"},"user":"u","truncation":"auto","service_tier":"flex","prompt_cache_key":"k","client_metadata":{"x":1},"instructions":"Be brief."`,
			`"text":{"verbosity":"low","format":{"type":"json_schema","name":"n","schema":{"type":"object"}}}`))
	r := fake.Model.Requests[0]
	if len(fake.Model.Requests) != 1 {
		t.Errorf("len(fake.Model.Requests) = %v, want 1", len(fake.Model.Requests))
	}
	if *r.MaxTokens != 3 {
		t.Errorf("*r.MaxTokens = %v, want 3", *r.MaxTokens)
	}
	if r.Sampling.Temperature != 0.5 {
		t.Errorf("r.Sampling.Temperature = %v, want 0.5", r.Sampling.Temperature)
	}
	if r.Sampling.TopP != 0.25 {
		t.Errorf("r.Sampling.TopP = %v, want 0.25", r.Sampling.TopP)
	}
	if !r.Logprobs {
		t.Error("r.Logprobs = false, want true")
	}
	if r.TopLogprobs != 2 {
		t.Errorf("r.TopLogprobs = %v, want 2", r.TopLogprobs)
	}
	if r.Grammar == nil {
		t.Error("r.Grammar is nil")
	}
	if g := fake.Model.Grammars; len(g) != 1 ||
		!strings.Contains(string(g[0].JSON), `"lenient":true`) {
		t.Errorf("%+v", g)
	}
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"object": "response", "status": "incomplete", "background": false, "error": nil,
		"instructions": "Be brief.", "max_output_tokens": 3.0, "model": "acme/coder",
		"parallel_tool_calls": true, "previous_response_id": nil, "prompt_cache_key": "k",
		"service_tier": "default", "store": true, "temperature": 0.5, "top_p": 0.25,
		"tool_choice": "auto", "tools": []any{}, "top_logprobs": 2.0, "truncation": "auto",
		"user": "u", "metadata": map[string]any{"a": strings.Repeat("ä",
			responses.MaxMetadataValue)}, "completed_at": nil,
		"incomplete_details": map[string]any{"reason": "max_output_tokens"},
		"reasoning":          map[string]any{"effort": nil, "summary": nil},
		"text": map[string]any{"verbosity": "low",
			"format": map[string]any{"type": "json_schema", "name": "n",
				"schema": map[string]any{"type": "object"}}},
	} {
		if v, ok := got[name]; !ok || !reflect.DeepEqual(v, want) {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	usage := got["usage"].(map[string]any)
	if usage["output_tokens"] != 3.0 ||
		usage["total_tokens"] != usage["input_tokens"].(float64)+3 ||
		usage["input_tokens_details"].(map[string]any)["cached_tokens"] == 0.0 {
		t.Errorf("usage %v", usage)
	}
	if run := fake.LastRun(); run.Endpoint != "/v1/responses" || run.FinishReason != "length" ||
		run.CompletionTokens != 3 {
		t.Errorf("%+v", run)
	}
}

// A request that cannot be served is refused before a model is used.
func TestUnsupportedResponseIsRefused(t *testing.T) {
	for _, c := range []struct{ fields, param, says string }{
		{`"input":null`, "input", "missing"},
		{`"input":7`, "input", "a text or a list"},
		{`"input":[]`, "input", "nothing to answer"},
		{`"input":[7]`, "input[0]", "must be an object"},
		{`"input":[{"type":"web_search_call"}]`, "input", "nothing to answer"},
		{`"input":[{"content":"x"}]`, "input[0].role", "missing"},
		{`"input":[{"role":"robot","content":"x"}]`, "input[0].role", "system, developer"},
		{`"input":[{"role":"user","content":[{"type":"input_image","image_url":"http://x/y"}]}]`, "input[0].content[0].type", "text only"},
		{`"input":[{"role":"user","content":[{"type":"input_text"}]}]`, "input[0].content[0].text", "missing"},
		{`"input":[{"role":"user","content":[{"type":"video","text":"x"}]}]`, "input[0].content[0].type", "text only"},
		{`"input":[{"role":"user","content":7}]`, "input[0].content", "parts"},
		{`"input":[{"content":"HELLO"}]`, "input[0].role", "missing"},
		{`"input":[{"content":"HELLO","role":null}]`, "input[0].role", "null"},
		{`"input":[{"text":"HELLO"}]`, "input[0].type", "missing"},
		{`"input":[{"type":"function_call","call_id":"c","arguments":"{}"}]`, "input[0].name", "missing"},
		{`"input":[{"type":"function_call","call_id":"c","name":"f","arguments":[1]}]`, "input[0].arguments", "string"},
		{`"input":[{"type":"function_call_output","output":"x"}]`, "input[0].call_id", "missing"},
		{`"input":[{"type":"function_call_output","call_id":"c"}]`, "input[0].output", "missing"},
		{`"input":[{"role":"user","content":"x"},{"role":"user","content":["x",{"type":"input_file","file_id":"f"}]}]`, "input[1].content[1].file_id", "text only"},
		{`"input":"x","background":true`, "background", "not supported"},
		{`"input":"x","conversation":"c"`, "conversation", "previous_response_id"},
		{`"input":"x","prompt":{"id":"p"}`, "prompt", "instructions"},
		{`"input":"x","truncation":"some"`, "truncation", "auto"},
		{`"input":"x","max_output_tokens":0`, "max_output_tokens", "at least 1"},
		{`"input":"x","metadata":{"a":1}`, "metadata", "pairs"},
		{`"input":"x","metadata":{"a":"` + strings.Repeat("ä", responses.MaxMetadataValue+1) + `"}`, "metadata", "512"},
		{`"input":"x","reasoning":{"effort":"some"}`, "reasoning.effort", "low"},
		{`"input":"x","text":{"format":{"type":"xml"}}`, "text.format.type", "json_schema"},
		{`"input":"x","text":{"format":{"type":"json_schema"}}`, "text.format.schema", "missing"},
		{`"input":"x","text":{"format":{"type":"json_schema","schema":{"required":["impossible"]}}}`, "text.format", "refuses"},
		{`"input":"x","tools":7`, "tools", "list"},
		{`"input":"x","tools":[{"type":"function"}]`, "tools[0].name", "missing"},
		{`"input":"x","tools":[{"type":"namespace","name":"n","tools":[` + strings.Repeat(`{"type":"function","name":"f"},`, api.MaxTools) + `{"type":"function","name":"f"}]}]`, "tools[0].tools", "may hold 2000"},
		{`"input":"x","tools":[{"type":"web_search"}],"tool_choice":"required"`, "tool_choice", "(web_search) runs on OpenAI's servers"},
		{`"input":"x","tools":[{"type":"web_search"}],"tool_choice":{"type":"web_search"}`, "tool_choice.type", "runs on OpenAI's servers"},
		{`"input":"x","tools":[{"type":"function","name":"computer"}],"tool_choice":{"type":"computer"}`, "tool_choice.type", "another tool that your program runs"},
		{`"input":"x","tools":[{"type":"function","name":"computer"}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"computer"}]}`, "tool_choice.tools[0].type", "sees the screen"},
		{`"input":"x","tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"function","name":"g"}`, "tool_choice", "g"},
		{`"input":"` + strings.Repeat("x", 5000) + `"`, "input", "maximum context length"},
	} {
		fake := roomtest.Speaking("hello")
		for _, stream := range []string{"", `"stream":true,`} {
			w := roomtest.Post(serve(fake), "/v1/responses", roomtest.ResponseBody(stream+c.fields))
			e := roomtest.DecodeError(t, w)
			if w.Code != http.StatusBadRequest || e.Param == nil || *e.Param != c.param ||
				!strings.Contains(e.Message, c.says) {
				t.Errorf("%.100s: %d %s", c.fields, w.Code, w.Body)
			}
		}
		if len(fake.Model.Requests) != 0 || len(fake.KeptResponses) != 0 ||
			fake.LastRun().FinishReason != control.FinishError {
			t.Errorf("%s: %d requests, %d kept", c.fields, len(fake.Model.Requests), len(fake.KeptResponses))
		}
	}
}

// The output of a model becomes items.
func TestModelOutputBecomesItems(t *testing.T) {
	const tools = `"input":"x","tools":[{"type":"function","name":"look"},{"type":"namespace","name":"go","tools":[{"type":"function","name":"far"}]}]`
	far := strings.Replace(roomtest.GoCall, `"go"`, `"go__far"`, 1)
	for _, c := range []struct{ name, says, fields, status, want string }{
		{"text", "hello", tools, responses.Completed, "message completed output_text \"hello\"\n"},
		{"nothing", "", tools, responses.Completed, "message completed output_text \"\"\n"},
		{"a thought", "<think>\nhm\n</think>\n\nyes", tools, responses.Completed, "reasoning completed reasoning_text \"hm\"\nmessage completed output_text \"yes\"\n"},
		{"two calls", "I look.\n" + roomtest.LookCall + "\n" + far, tools, responses.Completed,
			"message completed output_text \"I look.\"\nfunction_call completed  look {\"z\": \"é}\", \"a\": [1]}\nfunction_call completed go far {}\n"},
		{"one call alone", roomtest.LookCall + "\n" + far, tools + `,"parallel_tool_calls":false`, responses.Completed, "function_call completed  look {\"z\": \"é}\", \"a\": [1]}\n"},
		{"a limit", "hello", tools + `,"max_output_tokens":2`, responses.Incomplete, "message incomplete output_text \"he\"\n"},
		{"a limit in a thought", "<think>\nhm", tools + `,"max_output_tokens":9`, responses.Incomplete, "reasoning incomplete reasoning_text \"h\"\n"},
		{"a limit in a call", roomtest.GoCall + "\n" + roomtest.LookCall, strings.Replace(tools, `"look"`, `"go"`, 1) + fmt.Sprintf(`,"max_output_tokens":%d`, len(roomtest.GoCall)-len("}}\n</tool_call>")), responses.Incomplete, "function_call incomplete  go {\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := roomtest.Speaking(c.says)
			if c.says == "" {
				fake.Model.Output, fake.Model.Script = "", silentModel
			}
			r := respond(t, serve(fake), roomtest.ResponseBody(c.fields))
			if got := short(r.Output); got != c.want || r.Status != c.status {
				t.Errorf("%s\n%s, want %s\n%s", r.Status, got, c.status, c.want)
			}
			for i, x := range r.Output {
				if id, ok := responses.ResponseOf(x.ID); !ok || id != r.ID || i > 0 &&
					x.ID == r.Output[i-1].ID {
					t.Errorf("item %d of %s is %s", i, r.ID, x.ID)
				}
				if x.Type == "function_call" &&
					len(x.CallID) != len(api.CallPrefix)+api.CallID {
					t.Errorf("a call's id is %s", x.CallID)
				}
			}
			checkResponseStream(t, fake, roomtest.ResponseBody(c.fields), c.want, c.status)
		})
	}
}

// Log-probabilities are those of the text, and not of a thought or a call.
func TestResponseLogprobsAreOfText(t *testing.T) {
	fake := roomtest.Speaking("<think>\nhm\n</think>\n\nhé\n" + roomtest.GoCall)
	const fields = `"input":"x","include":["message.output_text.logprobs"],"top_logprobs":1,"tools":[{"type":"function","name":"go"}]`
	r := respond(t, serve(fake), roomtest.ResponseBody(fields))
	said := ""
	for _, l := range r.Output[1].Content[0].Logprobs {
		said += l.Token
	}
	// Half a rune is not valid text, so its tokens show another sign.
	if said != "h\ufffd\ufffd" || r.Output[1].Content[0].Text != "hé" {
		t.Errorf("%q are the tokens of %q", said, r.Output[1].Content[0].Text)
	}
	checkResponseStream(t, fake, roomtest.ResponseBody(fields), short(r.Output), responses.Completed)
	if got := respond(t, serve(fake),
		roomtest.ResponseBody(`"input":"x","top_logprobs":1`)); len(got.Output[1].Content[0].Logprobs) != 0 {
		t.Errorf("the request did not ask for %+v", got.Output[1])
	}
}

// If the answer must be a call, a grammar ensures it.
func TestForcedCallHasGrammar(t *testing.T) {
	for _, choice := range []string{`"required"`, `{"type":"function","name":"go"}`,
		`{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"go"}]}`} {
		fake := roomtest.Speaking(roomtest.GoCall)
		r := respond(t, serve(fake),
			roomtest.ResponseBody(`"input":"x","tools":[{"type":"function","name":"go"},{"type":"function","name":"look"}],"tool_choice":`+choice))
		if g := fake.Model.Grammars; len(g) != 1 || !strings.Contains(g[0].Lark, "go") ||
			strings.Contains(g[0].Lark, "look") != (choice == `"required"`) {
			t.Errorf("%s: %v", choice, g)
		}
		if short(r.Output) != "function_call completed  go {}\n" {
			t.Errorf("%s: %+v", choice, r.Output)
		}
	}
}

// Metadata comes back as the client wrote it.
func TestMetadataKeepsItsSpelling(t *testing.T) {
	s := serve(roomtest.Speaking("one"))
	const metadata = `"metadata":{"b": null, "a" :"<x>"}`
	w := roomtest.Post(s, "/v1/responses", roomtest.ResponseBody(`"input":"hi",`+metadata))
	if !strings.Contains(w.Body.String(), metadata) {
		t.Errorf("%s", w.Body)
	}
}
