package openai_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"tandem/app/roomtest"
)

// byOpenAI are the headers of the package openai for JavaScript, which several clients use.
const byOpenAI = "Accept: application/json\nUser-Agent: OpenAI/JS 7.57.0\nX-Stainless-Lang: js\nX-Stainless-Package-Version: 7.57.0\nX-Stainless-Os: MacOS\n" +
	"X-Stainless-Arch: arm64\nX-Stainless-Runtime: node\nX-Stainless-Runtime-Version: v24.9.0\nX-Stainless-Retry-Count: 0\nX-Stainless-Timeout: 600"

// readTool is a tool as clients declare one.
const readTool = `{"type":"function","function":{"name":"read_file","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}}`

// A recording is a request in the form in which a client sends it. The texts are ours. The names,
// kinds and nesting around them are the client's.
type recording struct {
	client, path string
	headers      string   // one a line, besides the content type and the key
	body         string   // empty for GET
	prompt       []string // parts of the prompt that the model gets
	vars         []string // parts of the variables that its template gets
	ends         string   // the end of the answer
}

// wholeChat and streamedChat are the ends of answers to chats.
const wholeChat, streamedChat = `}`, "data: [DONE]\n\n"

// recordings are requests of the clients that the Connect page names. They follow the sources of
// these clients in late 2026. The clients themselves are not run in tests.
func recordings() []recording {
	return []recording{
		{
			client: "Continue, models", path: "/v1/models", headers: "Api-Key: tandem\n" + byOpenAI,
			ends: wholeChat,
		},
		{
			client: "Continue, agent", path: "/v1/chat/completions", headers: byOpenAI,
			ends: streamedChat,
			body: `{"messages":[{"role":"system","content":"You are in agent mode."},{"role":"user","content":"Look at a.go."},
				{"role":"assistant","content":" ","tool_calls":[{"id":"call_1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a.go\"}"}}]},
				{"role":"tool","tool_call_id":"call_1","content":"package a"},{"role":"user","content":[{"type":"text","text":"And "},{"type":"text","text":"b.go?"}]}],
				"model":"tandem","max_tokens":4096,"temperature":0.5,"stream":true,"stream_options":{"include_usage":true},"tools":[` +
				readTool + `],"parallel_tool_calls":false}`,
			prompt: []string{"You are in agent mode.", "package a", "And b.go?"},
			vars:   []string{`"arguments":{"path":"a.go"}`, `"name":"read_file"`},
		},
		{
			client: "Continue, apply", path: "/v1/chat/completions", headers: byOpenAI,
			ends: streamedChat,
			body: `{"messages":[{"role":"user","content":"Rewrite it."},{"role":"assistant","content":"` +
				"```go" + `\n"}],"model":"tandem","max_tokens":2048,
				"stream":true,"stop":["` + "```" +
				`"],"prediction":{"type":"content","content":"package a\n"},"stream_options":{"include_usage":true}}`,
			prompt: []string{"Rewrite it."},
		},
		{
			client: "Continue, autocomplete", path: "/v1/completions", headers: byOpenAI,
			ends: streamedChat,
			body: `{"prompt":"<|fim_prefix|>func a() {<|fim_suffix|>}<|fim_middle|>","model":"tandem","max_tokens":256,"temperature":0.01,"stream":true,
				"stop":["<|endoftext|>","<|fim_prefix|>","<|fim_middle|>","<|fim_suffix|>","<|fim_pad|>","<|repo_name|>","<|file_sep|>","<|im_start|>","<|im_end|>","/src/","#- coding: utf-8","` +
				"```" + `"]}`,
			prompt: []string{"func a() {"},
		},
		{
			client: "Continue, the gap's own route", path: "/v1/fim/completions",
			headers: "Accept: application/json\nX-Api-Key: tandem", ends: streamedChat,
			body:   `{"model":"tandem","prompt":"func a() {","suffix":"}","max_tokens":256,"temperature":0.01,"stop":["\n\n"],"stream":true}`,
			prompt: []string{"<pre>func a() {", "<suf>}"},
		},
		{
			client: "Zed, agent", path: "/v1/chat/completions",
			headers: "User-Agent: Zed/1.9.0 (macos; aarch64)", ends: streamedChat,
			body: `{"model":"tandem","messages":[{"role":"system","content":"You are in an editor."},{"role":"user","content":[{"type":"text","text":"Look at a.go."},{"type":"text","text":"<context/>"}]},
				{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a.go\"}"}},
				{"id":"call_2","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"b.go\"}"}}]},
				{"role":"tool","content":"package a","tool_call_id":"call_1"},{"role":"tool","content":[],"tool_call_id":"call_2"}],
				"stream":true,"stream_options":{"include_usage":true},"temperature":1.0,"tool_choice":"auto","parallel_tool_calls":true,"tools":[` +
				readTool + `]}`,
			prompt: []string{"Look at a.go.<context/>", "package a"},
			vars:   []string{`"arguments":{"path":"b.go"}`, `"tool_call_id":"call_2"`},
		},
		{
			client: "Zed, a thread's title", path: "/v1/chat/completions",
			headers: "User-Agent: Zed/1.9.0 (macos; aarch64)", ends: streamedChat,
			body: `{"model":"tandem","messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":"Good day"},{"role":"user","content":"Name this."}],
				"stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":64,"stop":["\n"],"temperature":1.0,"tool_choice":"none","tools":[` +
				readTool + `],"reasoning_effort":"low"}`,
			prompt: []string{"Name this."},
		},
		{
			client: "Zed, edit prediction", path: "/v1/completions",
			headers: "User-Agent: Zed/1.9.0 (macos; aarch64)", ends: wholeChat,
			body:   `{"model":"tandem","prompt":"<fim_prefix>func a() {<fim_suffix>}<fim_middle>","max_tokens":256,"temperature":0.0,"stop":[],"environment":"production"}`,
			prompt: []string{"func a() {"},
		},
		{
			client: "Cline, a task", path: "/v1/chat/completions", headers: byOpenAI +
				"\nHttp-Referer: https://cline.bot\nX-Title: Cline", ends: streamedChat,
			body: `{"model":"tandem","messages":[{"role":"system","content":"You are a skilled engineer."},{"role":"user","content":[{"type":"text","text":"<task>Look</task>"},{"type":"text","text":"<environment/>"}]},
				{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a.go\"}"}}],
				"reasoning_details":[{"type":"reasoning.text","text":"First read.","format":"unknown","index":0}]},
				{"role":"tool","tool_call_id":"call_1","content":"package a"},{"role":"user","content":[{"type":"text","text":"<environment/>"}]},{"role":"assistant"},{"role":"user","content":"Go on."}],
				"temperature":0,"stream":true,"stream_options":{"include_usage":true},"tools":[` +
				readTool + `],"tool_choice":"auto","parallel_tool_calls":false}`,
			prompt: []string{"<task>Look</task><environment/>", "package a", "Go on."},
			vars:   []string{`"arguments":{"path":"a.go"}`},
		},
		{
			client: "OpenCode, a session", path: "/v1/chat/completions",
			headers: "User-Agent: ai-sdk/openai-compatible/1.0.30 ai-sdk/provider-utils/3.0.20 runtime/bun/1.3.9",
			ends:    streamedChat,
			body: `{"model":"tandem","max_tokens":2048,"temperature":0.55,"top_p":1,"messages":[{"role":"system","content":"You are opencode.","cache_control":{"type":"ephemeral"}},{"role":"system","content":"<env/>"},
				{"role":"user","content":[{"type":"text","text":"Look at a.go.","cache_control":{"type":"ephemeral"}},{"type":"text","text":"<file/>"}]},
				{"role":"assistant","content":"","reasoning_content":"First read.","tool_calls":[{"id":"call_1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a.go\"}"}}]},
				{"role":"tool","tool_call_id":"call_1","content":"package a","cache_control":{"type":"ephemeral"}}],
				"tools":[{"type":"function","function":{"name":"read_file","description":"Reads.","parameters":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}}}],
				"tool_choice":"auto","stream":true,"stream_options":{"include_usage":true}}`,
			prompt: []string{"You are opencode.", "<env/>", "Look at a.go.<file/>", "package a"},
			vars:   []string{`"reasoning_content":"First read."`, `"additionalProperties":false`},
		},
		{
			client: "OpenCode, with options", path: "/v1/chat/completions",
			headers: "User-Agent: ai-sdk/openai-compatible/1.0.30", ends: wholeChat,
			body: `{"model":"tandem","messages":[{"role":"user","content":"Name this."}],"max_tokens":32000,"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"object","properties":{"title":{"type":"string"}}},"name":"response"}},
				"reasoning_effort":"high","verbosity":"low","promptCacheKey":"ses_1","seed":1,"frequency_penalty":0.1,"presence_penalty":0.1,"user":"me"}`,
			prompt: []string{"Name this."},
		},
		{
			client: "OpenAI for Python, every word", path: "/v1/chat/completions",
			headers: strings.NewReplacer("JS", "Python", "js", "python", "node",
				"CPython").Replace(byOpenAI), ends: wholeChat,
			body: `{"model":"tandem","messages":[{"role":"developer","content":"Be brief.","name":"dev"},{"role":"user","content":"Hello","name":"me"},
				{"role":"assistant","content":[{"type":"text","text":"Good day"}],"refusal":null,"annotations":[],"audio":null,"function_call":null,"tool_calls":null},{"role":"user","content":"Again"}],
				"max_completion_tokens":100,"n":1,"logit_bias":{},"logprobs":false,"top_logprobs":0,"metadata":{"a":"b"},"modalities":["text"],"store":true,"service_tier":"auto","safety_identifier":"x","user":"x",
				"prompt_cache_key":"k","prompt_cache_retention":"24h","verbosity":"medium","reasoning_effort":"minimal","parallel_tool_calls":true,"response_format":{"type":"text"},"stop":null,"seed":null,"stream":false,"stream_options":null,"tool_choice":"auto","tools":[]}`,
			prompt: []string{"sBe brief.", "Good day", "Again"},
		},
	}
}

// recordedAnswer returns the answer to a recording.
func recordedAnswer(fake *roomtest.Backend, c recording) *httptest.ResponseRecorder {
	r := roomtest.Request(c.path, c.body)
	if c.body == "" {
		r = roomtest.LocalRequest("GET", c.path, nil)
		r.Host = "127.0.0.1:8263"
	}
	r.Header.Set("Authorization", "Bearer tandem")
	for line := range strings.SplitSeq(c.headers, "\n") {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	s, w := serve(fake), httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// The server answers what clients always send. The model and its template get everything that was
// said.
func TestRecordedRequestsAreAnswered(t *testing.T) {
	for _, c := range recordings() {
		t.Run(c.client, func(t *testing.T) {
			fake := roomtest.Speaking(`{"title": "x"}`)
			fake.Model.Context = 1 << 16
			w := recordedAnswer(fake, c)
			if w.Code != 200 || !strings.HasSuffix(w.Body.String(), c.ends) ||
				strings.Contains(w.Body.String(), `"error"`) {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			if c.ends == streamedChat != strings.HasPrefix(w.Header().Get("Content-Type"),
				"text/event-stream") {
				t.Errorf("it is of the type %s", w.Header().Get("Content-Type"))
			}
			if usage := strings.Contains(c.body, `"include_usage":true`); usage &&
				!strings.Contains(w.Body.String(), `"choices":[],`) {
				t.Errorf("no chunk has the usage alone: %s", w.Body)
			}
			var prompt string
			for _, r := range fake.Model.Requests {
				prompt += fake.Model.Decode(r.Prompt)
			}
			for _, part := range c.prompt {
				if !strings.Contains(prompt, part) {
					t.Errorf("the model reads %q, without %q", prompt, part)
				}
			}
			vars := strings.Join(fake.Model.Vars, "\n")
			for _, part := range c.vars {
				if !strings.Contains(vars, part) {
					t.Errorf("the template gets %s, without %s", vars, part)
				}
			}
			if fake.Held != 0 {
				t.Errorf("%d models were not released", fake.Held)
			}
		})
	}
}

// A picture is refused by name, in each form that clients send. The client shows the refusal to the
// person who attached it.
func TestRecordedImagesAreRefused(t *testing.T) {
	for client, part := range map[string]string{
		"Continue":            `{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo=","detail":"auto"}}`,
		"Zed, Cline, AI SDK":  `{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}`,
		"by address":          `{"type":"image_url","image_url":{"url":"http://127.0.0.1:1/x.png"}}`,
		"OpenAI, with a file": `{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}}`,
	} {
		fake := roomtest.Speaking("x")
		w := recordedAnswer(fake, recording{path: "/v1/chat/completions", headers: byOpenAI,
			body: `{"model":"tandem","messages":[{"role":"user","content":[{"type":"text","text":"See"},` +
				part + `]}]}`})
		if e := roomtest.DecodeError(t, w); w.Code != 400 ||
			!strings.Contains(e.Message, "takes text only") || len(fake.Model.Requests) != 0 {
			t.Errorf("%s: %d %s", client, w.Code, w.Body)
		}
	}
}
