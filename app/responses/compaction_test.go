package responses_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"tandem/app/roomtest"
)

// A compaction is the answer of /v1/responses/compact.
type compaction struct {
	ID, Object string
	Output     []json.RawMessage
	Usage      *struct {
		InputTokens int `json:"input_tokens"`
		TotalTokens int `json:"total_tokens"`
	}
}

// compactionOf reads such an answer.
func compactionOf(t *testing.T, w *httptest.ResponseRecorder) (c compaction) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil || w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return c
}

// TestCompactionIsTheInputOfWhatFollows: the model sums up the whole conversation. The answer has
// the user's messages and the summary, and a later prompt has both.
func TestCompactionIsTheInputOfWhatFollows(t *testing.T) {
	fake := roomtest.Speaking("<think>hm</think>They talk about é.")
	s := serve(fake)
	post := func(path, body string) *httptest.ResponseRecorder {
		return roomtest.Post(s, path, body)
	}
	c := compactionOf(t, post("/v1/responses/compact", `{"model":"tandem","instructions":"Be brief.",`+
		`"input":[{"role":"user","content":"\u003aone"},`+ // in a client's own spelling
		`{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},`+
		`{"type":"function_call_output","call_id":"c","output":"r"},`+
		`{"role":"assistant","content":"two"},{"role":"user","content":"three"}]}`))
	asked := fake.Model.Decode(fake.Model.Requests[0].Prompt)
	for _, said := range []string{"sBe brief.\n", "u:one\n", "tr\n", "atwo\n", "uthree\n", "uSum up"} {
		if !strings.Contains(asked, said) {
			t.Errorf("the model is to sum up %q, without %q", asked, said)
		}
	}
	if c.Object != "response.compaction" {
		t.Fatalf(`c.Object = %q, want "response.compaction"`, c.Object)
	}
	if !strings.HasPrefix(c.ID, "resp_") {
		t.Fatalf(`c.ID = %q, want it to start with "resp_"`, c.ID)
	}
	if c.Usage == nil {
		t.Fatal("c.Usage is nil")
	}
	if c.Usage.TotalTokens <= c.Usage.InputTokens {
		t.Fatalf("c.Usage.TotalTokens = %v, want more than %v",
			c.Usage.TotalTokens, c.Usage.InputTokens)
	}
	if len(c.Output) != 3 {
		t.Fatalf("len(c.Output) = %v, want 3", len(c.Output))
	}
	if !strings.Contains(string(c.Output[0]), "one") {
		t.Fatalf(`string(c.Output[0]) = %q, want it to have "one"`, string(c.Output[0]))
	}
	if !strings.Contains(string(c.Output[1]), "three") {
		t.Fatalf(`string(c.Output[1]) = %q, want it to have "three"`, string(c.Output[1]))
	}
	if !strings.Contains(string(c.Output[2]), `"type":"compaction"`) {
		t.Fatalf("string(c.Output[2]) = %q, want it to have %q",
			string(c.Output[2]), `"type":"compaction"`)
	}
	next := `[` + string(c.Output[0]) + `,` + string(c.Output[1]) + `,` + string(c.Output[2]) +
		`,{"role":"user","content":"four"}]`
	if w := post("/v1/responses", roomtest.ResponseBody(`"input":`+next)); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	got := fake.Model.Decode(fake.Model.Requests[1].Prompt)
	if !strings.HasPrefix(got, "u:one\nuthree\nu") || !strings.HasSuffix(got, "\nufour\n") ||
		!strings.Contains(got, "They talk about é.") || strings.Contains(got, "hm") {
		t.Errorf("the next prompt is %q", got)
	}
}

// TestCompactionContinuesAResponse: a client names the response in place of its conversation.
func TestCompactionContinuesAResponse(t *testing.T) {
	fake := roomtest.Speaking("hello")
	s := serve(fake)
	first := respond(t, s, roomtest.ResponseBody(`"input":"one"`))
	for path, tokens := range map[string]string{"/v1/responses/compact": "", "/v1/responses/input_tokens": "x"} {
		w := roomtest.Post(s, path, roomtest.ResponseBody(`"previous_response_id":"`+first.ID+`"`))
		if w.Code != 200 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		if tokens == "" && !strings.Contains(string(compactionOf(t, w).Output[0]), "one") {
			t.Errorf("%s", w.Body)
		}
	}
}

// Only the other server can read its summary. The rest of the input still counts.
func TestCompactionOfAnotherServerIsSkipped(t *testing.T) {
	for item, want := range map[string]string{
		`{"type":"compaction","encrypted_content":"gAAAAB"}`:        "",
		`{"type":"compaction","id":"cmp_1","encrypted_content":""}`: "",
		`{"type":"compaction"}`:                                     "",
		`{"type":"compaction","encrypted_content":7}`:               "must be a string",
		`{"type":"compaction","encrypted_content":"tandem.!"}`:      "no summary of this server",
	} {
		w := roomtest.Post(serve(roomtest.Speaking("ok")), "/v1/responses",
			roomtest.ResponseBody(`"input":[`+item+`,{"role":"user","content":"x"}]`))
		if (w.Code == 400) != (want != "") || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", item, w.Code, w.Body)
		}
		if want == "" && !strings.Contains(w.Body.String(), `"left_out":"items of OpenAI's servers: compaction"`) {
			t.Errorf("%s is not told: %s", item, w.Body)
		}
	}
}

// Tools that items brought can be called after a compaction, and after another.
func TestCompactionKeepsToolsOfItems(t *testing.T) {
	const added = `{"type":"additional_tools","role":"developer","tools":[{"type":"custom","name":"exec"},{"type":"web_search"}]}`
	const found = `{"type":"tool_search_call","call_id":"c","arguments":{}},{"type":"tool_search_output","call_id":"c","tools":[` +
		`{"type":"namespace","name":"mail","description":"d","tools":[{"type":"function","name":"send","parameters":{"type":"object"}}]}]}`
	const user = `{"role":"user","content":"x"}`
	for _, c := range []struct{ items, tools string }{ // as the template gets them
		{added + "," + user, "exec"},
		{user + "," + found, "mail__send"},
		{added + "," + user + "," + found, "exec mail__send"},
		{user + `,{"type":"tool_search_output","call_id":"c","tools":[]}`, ""},
		{added + "," + user + "," + added + `,{"type":"additional_tools","tools":[{"type":"function","name":"exec"},{"type":"shell"}]}`, "exec shell"},
		{added + "," + user + `,{"type":"compaction","encrypted_content":"gAAA"}`, "exec"},
	} {
		fake := roomtest.Speaking("They talk.")
		fake.Model.Context = 4096
		s := serve(fake)
		input := c.items
		for range 2 {
			var list []string
			for _, item := range compactionOf(t, roomtest.Post(s, "/v1/responses/compact", roomtest.ResponseBody(`"input":[`+input+`]`))).Output {
				var v struct {
					ID, Type, Role string
				}
				if err := json.Unmarshal(item, &v); err != nil || v.ID == "" || v.Type == "tool_search_output" {
					t.Errorf("%s: %s", c.items, item)
				}
				list = append(list, string(item))
			}
			input = strings.Join(list, ",")
			w := roomtest.Post(s, "/v1/responses", roomtest.ResponseBody(`"input":[`+input+`]`))
			if w.Code != 200 {
				t.Fatalf("%s: %d %s", input, w.Code, w.Body)
			}
			var got struct {
				Tools []struct{ Function struct{ Name string } }
			}
			if err := json.Unmarshal([]byte(fake.Model.Vars[len(fake.Model.Vars)-1]), &got); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range got.Tools {
				names = append(names, tool.Function.Name)
			}
			if strings.Join(names, " ") != c.tools {
				t.Errorf("%s: after it the model gets the tools %s, want %s", c.items, names, c.tools)
			}
		}
	}
}

// TestCompactionReadsPicturesAsHistory: a line takes the place of each picture, in the last message too,
// since the model sums up what was said. The answer keeps the message.
func TestCompactionReadsPicturesAsHistory(t *testing.T) {
	const picture = `{"type":"input_image","image_url":"data:image/png;base64,AA=="}`
	for _, items := range []string{
		`{"role":"user","content":[{"type":"input_text","text":"look"},` + picture + `]}`,
		`{"role":"user","content":[` + picture + `]}`,
		`{"role":"user","content":[` + picture + `]},{"role":"assistant","content":"a cat"},{"role":"user","content":[` + picture + `]}`,
		`{"role":"user","content":"x"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},` +
			`{"type":"function_call_output","call_id":"c","output":[` + picture + `]}`,
		`{"role":"user","content":[{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERg=="}]}`,
	} {
		fake := roomtest.Speaking("They look at a picture.")
		fake.Model.Context = 4096
		w := roomtest.Post(serve(fake), "/v1/responses/compact", roomtest.ResponseBody(`"input":[`+items+`]`))
		if w.Code != 200 {
			t.Errorf("%s: %d %s", items, w.Code, w.Body)
			continue
		}
		refused := strings.HasPrefix(items, `{"role":"user","content":[`)
		counted := roomtest.Post(serve(fake), "/v1/responses/input_tokens", roomtest.ResponseBody(`"input":[`+items+`]`))
		if (counted.Code == 400) != refused || refused != strings.Contains(counted.Body.String(), "takes text only") {
			t.Errorf("%s: as a request: %d %s", items, counted.Code, counted.Body)
		}
		prompt := fake.Model.Decode(fake.Model.Requests[0].Prompt)
		if n := strings.Count(items, "base64,"); strings.Count(prompt, " omitted: ") != n {
			t.Errorf("%s: the prompt is %q", items, prompt)
		}
		if kept := strings.Count(w.Body.String(), `"role":"user"`); kept != strings.Count(items, `"role":"user"`) {
			t.Errorf("%s: %d messages are kept: %s", items, kept, w.Body)
		}
	}
}

// TestCompactionThatWouldBeDueIsRefused: a response does not compact its input. It is refused above the
// threshold, with what to do, and is as always up to it.
func TestCompactionThatWouldBeDueIsRefused(t *testing.T) {
	for management, want := range map[string]string{
		`[]`:                      "",
		`null`:                    "",
		`[{"type":"compaction"}]`: "",
		`[{"type":"compaction","compact_threshold":null}]`:                                           "",
		`[{"type":"compaction","compact_threshold":32}]`:                                             "",
		`[{"type":"compaction","compact_threshold":31}]`:                                             "The prompt has 32 tokens, more than the 31 of context_management[0].compact_threshold",
		`[{"type":"compaction","compact_threshold":99},{"type":"compaction","compact_threshold":1}]`: "context_management[1].compact_threshold",
		`[{"type":"compaction","compact_threshold":0}]`:                                              "must be between 1",
		`[{"type":"compaction","compact_threshold":"9"}]`:                                            "compact_threshold must be",
		`[{"type":"clear_tool_uses"}]`:                                                               "must be compaction",
		`[{}]`:                                                                                       "context_management[0].type",
		`["compaction"]`:                                                                             "context_management[0] must be an object",
		`{"type":"compaction"}`:                                                                      "must be a list",
	} {
		fake := roomtest.Speaking("ok")
		w := roomtest.Post(serve(fake), "/v1/responses",
			roomtest.ResponseBody(`"input":"`+strings.Repeat("x", 30)+`","context_management":`+management))
		if (w.Code == 400) != (want != "") || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", management, w.Code, w.Body)
		}
		if strings.Contains(want, "The prompt has") && !strings.Contains(w.Body.String(), "send the input to /v1/responses/compact") {
			t.Errorf("%s: %s", management, w.Body)
		}
	}
}

// TestCountOfInputIsThatOfItsPrompt: it counts what a response would read, with its tools and its
// instructions, and runs nothing.
func TestCountOfInputIsThatOfItsPrompt(t *testing.T) {
	for _, fields := range []string{
		`"input":"hello"`,
		`"input":"hello","instructions":"Be brief.","reasoning":{"effort":"low"}`,
		`"input":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]`,
		`"input":"x","tools":[{"type":"function","name":"f"}],"tool_choice":"auto","parallel_tool_calls":false`,
	} {
		fake := roomtest.Speaking("ok")
		s := serve(fake)
		r := respond(t, s, roomtest.ResponseBody(fields))
		for _, body := range []string{roomtest.ResponseBody(fields), `{` + fields + `}`} {
			w := roomtest.Post(s, "/v1/responses/input_tokens", body)
			var count struct {
				Object      string
				InputTokens int `json:"input_tokens"`
			}
			err := json.Unmarshal(w.Body.Bytes(), &count)
			if err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			if w.Code != 200 {
				t.Errorf("%s: w.Code = %v, want 200: %s", body, w.Code, w.Body)
			}
			if count.Object != "response.input_tokens" {
				t.Errorf(`%s: count.Object = %q, want "response.input_tokens"`, body, count.Object)
			}
			if count.InputTokens != r.Usage.InputTokens {
				t.Errorf("%s: count.InputTokens = %v, want %v",
					body, count.InputTokens, r.Usage.InputTokens)
			}
			if count.InputTokens == 0 {
				t.Errorf("%s: count.InputTokens is 0", body)
			}
		}
		if len(fake.Model.Requests) != 1 || len(fake.Rows) != 1 || fake.Held != 0 {
			t.Errorf("%s: %d requests, %d runs, %d held", fields, len(fake.Model.Requests),
				len(fake.Rows), fake.Held)
		}
	}
}

// TestCountAndCompactionRefuseWhatAResponseRefuses: each names the field.
func TestCountAndCompactionRefuseWhatAResponseRefuses(t *testing.T) {
	for _, path := range []string{"/v1/responses/input_tokens", "/v1/responses/compact"} {
		for fields, want := range map[string]string{
			`"user":"x"`:                         "input is missing",
			`"input":7`:                          "input must be a text or a list of items",
			`"input":[]`:                         "input holds nothing to answer",
			`"previous_response_id":"resp_none"`: "not found",
		} {
			w := roomtest.Post(serve(roomtest.Speaking("ok")), path, roomtest.ResponseBody(fields))
			if w.Code < 400 || w.Code > 404 || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s %s: %d %s", path, fields, w.Code, w.Body)
			}
		}
	}
}
