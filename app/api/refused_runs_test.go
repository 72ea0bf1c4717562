package api_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/roomtest"
	"tandem/engine"
)

// A request may continue a checkpoint, or a run that was cut off. If it is refused before anything
// is computed, it leaves nothing in the history. Any other end leaves a row.
func TestRefusedContinuationLeavesNoRow(t *testing.T) {
	const branch, resume = "/app/checkpoints/abc/branch", "/app/runs/1/resume"
	full := func(context.Context, engine.Request) iter.Seq2[engine.Token, error] {
		return func(yield func(engine.Token, error) bool) {
			yield(engine.Token{}, &engine.Error{Code: engine.CodeQueueFull,
				Message: "the queue is full"})
		}
	}
	failing := func(code engine.Code, tokens int) func(context.Context,
		engine.Request) iter.Seq2[engine.Token, error] {
		return func(_ context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
			return func(yield func(engine.Token, error) bool) {
				r.Progress(len(r.Prompt), len(r.Prompt))
				for range tokens {
					if !yield(engine.Token{ID: 'a', Text: "a"}, nil) {
						return
					}
				}
				yield(engine.Token{}, &engine.Error{Code: code, Message: "it failed"})
			}
		}
	}
	for _, c := range []struct {
		name, path, body string
		change           func(*roomtest.Backend)
		status           int
		kept             string // finish reason of its row; empty if there is no row
	}{
		{"in the midst of a message", branch, `{"prompt":"more"}`, nil, 400, ""},
		{"without a prompt", branch, `{}`, nil, 400, ""},
		{"no JSON", branch, `{"prompt":`, nil, 400, ""},
		{"a bad field", branch, `{"prompt":"more","raw":true,"temperature":-1}`, nil, 400, ""},
		{"no room", branch, fmt.Sprintf(`{"prompt":%q,"raw":true}`, strings.Repeat("x", 100)), nil, 400, ""},
		{"a full queue", branch, `{"prompt":"more","raw":true}`, func(f *roomtest.Backend) { f.Model.Script = full }, 503, ""},
		{"no such model", branch, `{"prompt":"more","raw":true}`, func(f *roomtest.Backend) { f.OnDisk.Model = "gone" }, 404, ""},
		{"an embedding model", branch, `{"prompt":"more","raw":true}`, func(f *roomtest.Backend) { f.Model.Purpose = control.KindEmbedding }, 400, ""},
		{"another model", resume, `{}`, func(f *roomtest.Backend) { f.Model.CacheKey = "another" }, 409, ""},
		{"a bad field of a resumption", resume, `{"stream":7}`, nil, 400, ""},

		{"a defect", branch, `{"prompt":"more","raw":true}`, func(f *roomtest.Backend) { f.Model.Script = failing(engine.CodeInternal, 0) }, 500, control.FinishError},
		{"a failure after the prompt", branch, `{"prompt":"more","raw":true}`, func(f *roomtest.Backend) { f.Model.Script = failing(engine.CodeClosed, 0) }, 503, control.FinishError},
		{"a failure after a token", branch, `{"prompt":"more","raw":true}`, func(f *roomtest.Backend) { f.Model.Script = failing(engine.CodeClosed, 1) }, 503, control.FinishError},
		{"an answer", branch, `{"prompt":"more","raw":true}`, nil, 200, "stop"},
		{"a resumed answer", resume, `{}`, nil, 200, "stop"},
		{"a request of a program", "/v1/completions", `{"model":"tandem","prompt":"x","n":-1}`, nil, 400, control.FinishError},
	} {
		fake := roomtest.Lettered("prompt")
		fake.Rows = []control.Run{{ID: 1, Endpoint: "/v1/completions", EndedAt: roomtest.Ended,
			FinishReason: control.FinishInterrupted}}
		fake.Texts = map[int64]control.RunText{1: {Run: 1, Model: fake.Model.Name,
			Request: []byte(`{"model":"gone","prompt":"x"}`), Prompt: 2,
			Replay: []byte(`{"seed":77}`)}}
		if c.change != nil {
			c.change(fake)
		}
		w := roomtest.Post(serve(fake), c.path, c.body)
		if w.Code != c.status {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
		header := w.Header().Get(api.RunHeader)
		switch {
		case c.kept == "":
			if !slices.Equal(fake.Dropped, []int64{2}) || header != "" {
				t.Errorf("%s: its run %q stays, %v are dropped", c.name, header, fake.Dropped)
			}
		case len(fake.Dropped) > 0 || header != "2" || fake.LastRun().FinishReason != c.kept:
			t.Errorf("%s: run %q ends by %q, %v are dropped",
				c.name, header, fake.Rows[1].FinishReason, fake.Dropped)
		}
	}
	// A run that a person stops is not refused.
	fake := roomtest.Lettered("prompt")
	s := serve(fake)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.ServeHTTP(httptest.NewRecorder(),
		roomtest.Request(branch, `{"prompt":"more","raw":true}`).WithContext(ctx))
	if r := fake.LastRun(); r.FinishReason != control.FinishCancel || len(fake.Dropped) > 0 {
		t.Errorf("stopped it ends by %q, %v are dropped", r.FinishReason, fake.Dropped)
	}
}

// The history has the words that the client got, and nothing that the client wrote.
func TestRefusalKeepsItsSentence(t *testing.T) {
	for _, c := range []struct{ route, body, want string }{
		{"/v1/completions", `{"model":"tandem","prompt":"secret","n":-1}`, "n must be between 1 and 8, not -1."},
		{"/v1/completions", `{"model":"tandem","prompt":"secret","temperature":"secret"}`, "temperature must be a number."},
		{"/v1/completions", `{"model":"secret","prompt":"x"}`, "The model … is not installed."},
		{"/v1/completions", `{"secret":1,"secret":2}`, "The body names … twice."},
		{"/v1/completions", `{"secret`, "The body is not a valid JSON object: it ends early."},
		{"/v1/completions", `secret`, "The body is not a valid JSON object: …."},
		{"/v1/completions", `["secret"]`, "The body is not a valid JSON object: it does not start with {."},
		{"/v1/completions", `{"model":"secret"} secret`, "The body is not a valid JSON object: something follows it at byte 19."},
		{"/v1/completions", `{"model":"tandem","prompt":"secret secret secret secret secret secret secret secret secret secret"}`,
			"This model's maximum context length is 64 tokens. However, you requested 70 tokens in the prompt. Please shorten it."},
		{"/v1/completions", `{"model":"tandem","prompt":"secret","speculation":{"drafter":"secret"}}`,
			`speculation.drafter must be auto, none, dflash, dspark, ngram, memory, prediction, model or mtp, not ….`},
		{"/v1/completions", `{"model":"tandem","prompt":"secret","logit_bias":{"secret":1}}`, "logit_bias must map token ids to numbers; … is no token id."},
		{"/v1/chat/completions",
			`{"model":"tandem","messages":[{"role":"secret","content":"secret"}]}`,
			"messages[0].role must be system, developer, user, assistant, tool or function, not …."},
		{"/v1/chat/completions", `{"model":"tandem","messages":[{"role":"user","content":[{"type":"secret"}]}]}`, "messages[0].content[0].type cannot be … here: such a part has no text; send a part of the type \"text\"."},
		{"/v1/chat/completions",
			`{"model":"tandem","messages":[{"role":"user","content":"secret"}],"reasoning_effort":"secret"}`,
			`reasoning_effort must be none, minimal, low, medium, high, xhigh or max, not ….`},
		{"/v1/chat/completions", `{"model":"tandem","messages":7}`, "messages must be a list of at least one message."},
		{"/v1/messages", `{"model":"tandem","max_tokens":1,"messages":[{"role":"user","content":"x"}],"tools":7}`, "tools must be a list of objects."},
		{"/v1/chat/completions", `{"model":"tandem","messages":[{"role":"user","content":"x"}],"tool_choice":"required"}`,
			"tool_choice asks for a call, and tools offers nothing to call: offer a tool, or leave out tool_choice."},
		{"/v1/chat/completions", `{"model":"tandem","messages":[{"role":"user","content":"x"}],"tools":[{"type":"shell"}]}`,
			`tools[0].type "shell" is for the Responses API (POST /v1/responses): send the request there, or offer it as a function.`},
		{"/v1/chat/completions", `{"model":"tandem","messages":[{"role":"user","content":"x"}],"guided_regex":"secret"}`,
			`guided_regex is not read here; send it as response_format of the type "grammar".`},
		{"/v1/embeddings", `{"model":"tandem","input":"secret"}`, ""},
	} {
		fake := roomtest.NewBackend()
		s := serve(fake)
		w := roomtest.Post(s, c.route, c.body)
		r := fake.LastRun()
		if w.Code == http.StatusOK || r.Error == "" || strings.Contains(r.Message, "secret") {
			t.Errorf("%s %s: %d, kept as %q: %q", c.route, c.body, w.Code, r.Error, r.Message)
		}
		if c.want != "" && r.Message != c.want {
			t.Errorf("%s %s: kept as %q, want %q", c.route, c.body, r.Message, c.want)
		}
		report, err := control.NewReport(r)
		if err != nil || report.Facts[1].Name != "told" || report.Facts[1].Text != r.Message {
			t.Errorf("%s %s: the report has %v, %v", c.route, c.body, report.Facts, err)
		}
	}
	// An answered run is not refused.
	fake := roomtest.NewBackend()
	if roomtest.Post(serve(fake), "/v1/completions",
		`{"model":"tandem","prompt":"x"}`); fake.LastRun().Message != "" {
		t.Errorf("of an answer %q is kept", fake.LastRun().Message)
	}
}

// TestRefusedRunNamesTheModelThatWasAsked: the alias and no name stand for the chosen one.
func TestRefusedRunNamesTheModelThatWasAsked(t *testing.T) {
	for _, c := range []struct{ route, model, want string }{
		{"/v1/chat/completions", `"model":"tandem",`, "acme/coder"},
		{"/v1/chat/completions", ``, "acme/coder"},
		{"/v1/chat/completions", `"model":null,`, "acme/coder"},
		{"/v1/completions", `"model":"tandem:latest",`, "acme/coder"},
		{"/v1/responses", `"model":"tandem",`, "acme/coder"},
		{"/v1/messages", `"model":"tandem",`, "acme/coder"},
		{"/v1/embeddings", `"model":"tandem",`, "acme/coder"},
		{"/v2/rerank", `"model":"tandem",`, "acme/coder"},
		{"/api/chat", `"model":"Tandem:latest",`, "acme/coder"},
		{"/api/generate", `"model":"tandem",`, "acme/coder"},
		{"/v1/chat/completions", `"model":"gone/model",`, "gone/model"},
		{"/v1/chat/completions", `"model":"Tandem",`, "Tandem"}, // no alias there
		{"/v1/chat/completions", `"model":"acme/coder",`, "acme/coder"},
		{"/v1/chat/completions", `"model":`, ""}, // no JSON
	} {
		fake := roomtest.NewBackend()
		body := "{" + c.model + `"messages":7,"prompt":7,"input":7,"query":7}`
		w := roomtest.Post(serve(fake), c.route, body)
		if got := fake.LastRun().Model; w.Code < 400 || got != c.want {
			t.Errorf("%s %s: %d %s, the run is of %q, want %q", c.route, body, w.Code, w.Body, got, c.want)
		}
	}
}
