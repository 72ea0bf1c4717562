package ollama_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/ollama"
	"tandem/app/roomtest"
)

// checkEnd checks the counts and times of an answer, which the fake sets.
func checkEnd(t *testing.T, a roomtest.OllamaAnswer, prompt, generated int, reason string) {
	t.Helper()
	if a.TotalDuration == nil {
		t.Fatal("a.TotalDuration is nil")
	}
	if a.LoadDuration == nil {
		t.Fatal("a.LoadDuration is nil")
	}
	if a.PromptEvalCount == nil {
		t.Fatal("a.PromptEvalCount is nil")
	}
	if a.PromptEvalDuration == nil {
		t.Fatal("a.PromptEvalDuration is nil")
	}
	if a.EvalCount == nil {
		t.Fatal("a.EvalCount is nil")
	}
	if a.EvalDuration == nil {
		t.Fatal("a.EvalDuration is nil")
	}
	if !strings.HasPrefix(a.Model, "tandem") {
		t.Errorf(`a.Model = %q, want it to start with "tandem"`, a.Model)
	}
	if time.Since(a.CreatedAt).Abs() > time.Hour {
		t.Errorf("time.Since(a.CreatedAt).Abs() = %v, want at most %v",
			time.Since(a.CreatedAt).Abs(), time.Hour)
	}
	if !*a.Done {
		t.Error("*a.Done = false, want true")
	}
	if a.DoneReason != reason {
		t.Errorf("a.DoneReason = %v, want %v", a.DoneReason, reason)
	}
	if *a.TotalDuration <= 0 {
		t.Errorf("*a.TotalDuration = %v, want more than 0", *a.TotalDuration)
	}
	if *a.PromptEvalCount != prompt {
		t.Errorf("*a.PromptEvalCount = %v, want %v", *a.PromptEvalCount, prompt)
	}
	if *a.PromptEvalDuration != 2e6 {
		t.Errorf("*a.PromptEvalDuration = %v, want 2e6", *a.PromptEvalDuration)
	}
	if *a.EvalCount != generated {
		t.Errorf("*a.EvalCount = %v, want %v", *a.EvalCount, generated)
	}
	if *a.EvalDuration != int64(generated)*1e6 {
		t.Errorf("*a.EvalDuration = %v, want %v", *a.EvalDuration, int64(generated)*1e6)
	}
}

// The model gets the prompts of Ollama's requests.
func TestOllamaPromptsReachModel(t *testing.T) {
	long := strings.Repeat("x", ollama.MaxLoadBody)
	for _, c := range []struct{ path, body, prompt string }{
		// Ollama's Python library sends these.
		{"/api/generate", `{"model":"tandem","prompt":"hi","stream":false}`, "uhi\n"},
		{"/api/generate", `{"model":"tandem:latest","prompt":"hi","stream":true,"options":{}}`, "uhi\n"},
		{"/api/generate", `{"model":"acme/coder:latest","prompt":"hi","suffix":"","system":"","template":"","context":[],"images":[],"raw":false,"stream":false}`, "uhi\n"},
		{"/api/generate", `{"model":"acme/coder","prompt":"hi","system":"be brief"}`, "sbe brief\nuhi\n"},
		{"/api/generate", `{"model":"tandem","prompt":"hi","raw":true}`, "<bos>hi"},
		{"/api/generate", `{"model":"tandem","prompt":"<pre>a<suf>b<mid>","raw":true,"keep_alive":1800}`, "<bos><pre>a<suf>b<mid>"},
		{"/api/generate", `{"model":"tandem","prompt":"a","suffix":"b"}`, "<bos><pre>a<suf>b<mid>"},
		{"/api/generate", `{"model":"tandem","prompt":"","suffix":"b"}`, "<bos><pre><suf>b<mid>"},
		{"/api/chat", `{"model":"tandem","messages":[{"role":"user","content":"hi"}],"tools":[],"stream":false}`, "uhi\n"},
		{"/api/chat", `{"model":"tandem","messages":[{"role":"system","content":"s"},{"role":"user","content":"hi","images":null},{"role":"assistant","content":"","thinking":"hm","tool_calls":[{"function":{"name":"f","arguments":{"b":1,"a":2}}}]},{"role":"tool","content":"7","tool_name":"f"}]}`, "ss\nuhi\na\nt7\n"},
		{"/api/chat", `{"model":"tandem","messages":[{"role":"user","content":"hi"}],"filler":"` + long + `"}`, "uhi\n"},
	} {
		fake := roomtest.NewBackend()
		w := roomtest.Post(serve(fake), c.path, c.body)
		if w.Code != http.StatusOK || len(fake.Model.Requests) != 1 {
			t.Errorf("%.90s: %d %s", c.body, w.Code, w.Body)
			continue
		}
		if got := fake.Model.Decode(fake.Model.Requests[0].Prompt); got != c.prompt {
			t.Errorf("%.90s: prompt %q, want %q", c.body, got, c.prompt)
		}
		if r := fake.LastRun(); !strings.Contains(c.path, r.Endpoint) || r.Model != "acme/coder" ||
			fake.Held != 0 || len(fake.Unloaded) != 0 {
			t.Errorf("%.90s: %d held, %d unloads, the history has %+v",
				c.body, fake.Held, len(fake.Unloaded), r)
		}
		if v := strings.Join(fake.Model.Vars, ""); strings.Contains(c.body, "tool_name") &&
			!strings.Contains(v, `"reasoning_content":"hm"`) ||
			strings.Contains(c.body, "tool_name") &&
				(!strings.Contains(v, `"name":"f"`) || !strings.Contains(v, `{"b":1,"a":2}`)) ||
			strings.Contains(v, "images") {
			t.Errorf("%.90s: the template gets %s", c.body, v)
		}
	}
	// A model without a template gets the prompt unchanged, as long as nothing is lost.
	fake := roomtest.NewBackend()
	fake.Model.Template = nil
	roomtest.Post(serve(fake), "/api/generate", `{"model":"tandem","prompt":"hi"}`)
	if got := fake.Model.Decode(fake.Model.Requests[0].Prompt); got != "<bos>hi" {
		t.Errorf("prompt %q", got)
	}
	w := roomtest.Post(serve(fake), "/api/generate",
		`{"model":"tandem","prompt":"hi","system":"s"}`)
	if text := roomtest.DecodeOllama(t, w); w.Code != http.StatusBadRequest ||
		!strings.Contains(text, "no chat template") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Ollama's names of options become the engine's.
func TestOllamaOptionsBecomeEngineOptions(t *testing.T) {
	for _, path := range []string{"/api/generate", "/api/chat"} {
		fake := roomtest.NewBackend()
		w := roomtest.Post(serve(fake), path,
			`{"model":"tandem","prompt":"x","messages":[{"role":"user","content":"x"}],"format":"json","logprobs":true,"top_logprobs":2,
			"options":{"temperature":0.5,"top_p":0.9,"top_k":20,"min_p":0.1,"seed":42,"num_predict":3,"repeat_penalty":1.2,"presence_penalty":1.5,"frequency_penalty":1,"stop":["\n","user:"],
			"num_ctx":1024,"num_keep":5,"typical_p":0.7,"repeat_last_n":33,"penalize_newline":true,"numa":false,"num_batch":2,"num_gpu":1,"mirostat":1}}`)
		if w.Code != http.StatusOK {
			t.Fatal(w.Code, w.Body)
		}
		r := fake.Model.Requests[0]
		s := r.Sampling
		if s.Temperature != 0.5 {
			t.Errorf("%s: s.Temperature = %v, want 0.5", path, s.Temperature)
		}
		if s.TopP != 0.9 {
			t.Errorf("%s: s.TopP = %v, want 0.9", path, s.TopP)
		}
		if s.TopK != 20 {
			t.Errorf("%s: s.TopK = %v, want 20", path, s.TopK)
		}
		if s.MinP != 0.1 {
			t.Errorf("%s: s.MinP = %v, want 0.1", path, s.MinP)
		}
		if *r.Seed != 42 {
			t.Errorf("%s: *r.Seed = %v, want 42", path, *r.Seed)
		}
		if *r.MaxTokens != 3 {
			t.Errorf("%s: *r.MaxTokens = %v, want 3", path, *r.MaxTokens)
		}
		if s.RepetitionPenalty != 1.2 {
			t.Errorf("%s: s.RepetitionPenalty = %v, want 1.2", path, s.RepetitionPenalty)
		}
		if s.PresencePenalty != 1.5 {
			t.Errorf("%s: s.PresencePenalty = %v, want 1.5", path, s.PresencePenalty)
		}
		if s.FrequencyPenalty != 1 {
			t.Errorf("%s: s.FrequencyPenalty = %v, want 1", path, s.FrequencyPenalty)
		}
		if !slices.Equal(r.Stop, []string{"\n", "user:"}) {
			t.Errorf("%s: r.Stop = %v, want %v", path, r.Stop, []string{"\n", "user:"})
		}
		if !r.Logprobs {
			t.Errorf("%s: r.Logprobs = false, want true", path)
		}
		if r.TopLogprobs != 2 {
			t.Errorf("%s: r.TopLogprobs = %v, want 2", path, r.TopLogprobs)
		}
		if len(fake.Model.Grammars) != 1 || !strings.Contains(string(fake.Model.Grammars[0].JSON),
			`"type":"object"`) || fake.Model.OpenMatchers != 0 {
			t.Errorf("%s: grammars %+v, %d open", path, fake.Model.Grammars, fake.Model.OpenMatchers)
		}
		for _, none := range []string{`{"num_predict":-1}`, `{"num_predict":0}`,
			`{"num_predict":-2,"seed":-1}`} {
			roomtest.Post(serve(fake), path,
				`{"model":"tandem","prompt":"x","messages":[{"role":"user","content":"x"}],"format":"","options":`+none+`}`)
			if r := fake.Model.Requests[len(fake.Model.Requests)-1]; r.MaxTokens != nil ||
				r.Grammar != nil || *r.Seed == 1<<64-1 {
				t.Errorf("%s: %+v", none, r)
			}
		}
	}
	for think, want := range map[string]string{`true`: `"enable_thinking":true`,
		`false`: `"enable_thinking":false`, `"high"`: `"reasoning_effort":"high"`} {
		fake := roomtest.NewBackend()
		roomtest.Post(serve(fake), "/api/chat",
			`{"model":"tandem","messages":[{"role":"user","content":"x"}],"think":`+think+`}`)
		if !strings.Contains(fake.Model.Vars[0], want) {
			t.Errorf("think %s: %s", think, fake.Model.Vars)
		}
	}
}

// The answer is the same whole and line by line.
func TestOllamaGenerateAnswersWholeAndInLines(t *testing.T) {
	w := roomtest.Post(serve(roomtest.NewBackend()), "/api/generate",
		`{"model":"tandem","prompt":"hi","stream":false}`)
	whole := roomtest.ReadOllamaLines(t, w.Body)
	if len(whole) != 1 || *whole[0].Response != "héllo wörld" || whole[0].Message != nil ||
		w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%+v %v", whole, w.Header())
	}
	checkEnd(t, whole[0], 4, 13, "stop")

	w = roomtest.Post(serve(roomtest.NewBackend()), "/api/generate",
		`{"model":"tandem","prompt":"hi","options":{"num_predict":3}}`)
	list := roomtest.ReadOllamaLines(t, w.Body)
	var text string
	for i, a := range list {
		text += *a.Response
		if *a.Done != (i == len(list)-1) || a.Model != "tandem" || a.Message != nil {
			t.Errorf("%+v", a)
		}
	}
	last := list[len(list)-1]
	if text != "hé" || len(list) != 3 || *last.Response != "" ||
		w.Header().Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("%q in %d lines, %v", text, len(list), w.Header())
	}
	checkEnd(t, last, 4, 3, "length")

	// A token that is part of a rune has a probability and no text.
	for _, stream := range []string{"true", "false"} {
		w = roomtest.Post(serve(roomtest.NewBackend()), "/api/generate",
			`{"model":"tandem","prompt":"hi","options":{"num_predict":3},"logprobs":true,"top_logprobs":1,"stream":`+stream+`}`)
		n := 0
		for _, a := range roomtest.ReadOllamaLines(t, w.Body) {
			for _, l := range a.Logprobs {
				if n++; len(l.Top) != 1 {
					t.Errorf("%+v", l)
				}
			}
		}
		if n != 3 {
			t.Errorf("%d logprobs: %s", n, w.Body)
		}
	}
}

// The answer has text, thoughts and calls. Each call comes in one line.
func TestOllamaChatSendsEachCallWhole(t *testing.T) {
	const said = "<think>\nhm\n</think>\n\nSo:\n<tool_call>\n{\"name\": \"look\", \"arguments\": {\"z\": 1, \"a\": [2]}}\n</tool_call>\n<tool_call>\n{\"name\": \"go\", \"arguments\": {}}\n</tool_call>"
	for _, stream := range []string{"true", "false"} {
		w := roomtest.Post(serve(roomtest.Speaking(said)), "/api/chat",
			`{"model":"tandem","messages":[{"role":"user","content":"x"}],`+roomtest.TwoTools+`,"stream":`+stream+`}`)
		var all roomtest.OllamaMessage
		list := roomtest.ReadOllamaLines(t, w.Body)
		for i, a := range list {
			if a.Message == nil || a.Message.Role != "assistant" || a.Response != nil ||
				*a.Done != (i == len(list)-1) {
				t.Fatalf("%+v", a)
			}
			all.Content += a.Message.Content
			all.Thinking += a.Message.Thinking
			all.Calls = append(all.Calls, a.Message.Calls...)
		}
		if all.Thinking != "hm" {
			t.Errorf(`stream %s: all.Thinking = %q, want "hm"`, stream, all.Thinking)
		}
		if strings.TrimSpace(all.Content) != "So:" {
			t.Errorf(`stream %s: strings.TrimSpace(all.Content) = %q, want "So:"`,
				stream, strings.TrimSpace(all.Content))
		}
		if len(all.Calls) != 2 {
			t.Fatalf("stream %s: len(all.Calls) = %v, want 2", stream, len(all.Calls))
		}
		for i, c := range all.Calls {
			if c.Function.Index == nil || *c.Function.Index != i ||
				len(c.ID) != len(api.CallPrefix)+api.CallID || !strings.HasPrefix(c.ID, "call_") {
				t.Errorf("stream %s: call %d is %+v", stream, i, c)
			}
		}
		if all.Calls[0].Function.Name != "look" {
			t.Errorf(`stream %s: all.Calls[0].Function.Name = %q, want "look"`,
				stream, all.Calls[0].Function.Name)
		}
		if all.Calls[1].Function.Name != "go" {
			t.Errorf(`stream %s: all.Calls[1].Function.Name = %q, want "go"`,
				stream, all.Calls[1].Function.Name)
		}
		if all.Calls[0].Function.Arguments["z"] != 1.0 {
			t.Errorf(`stream %s: all.Calls[0].Function.Arguments["z"] = %v, want 1.0`,
				stream, all.Calls[0].Function.Arguments["z"])
		}
		if all.Calls[1].Function.Arguments == nil {
			t.Errorf("stream %s: all.Calls[1].Function.Arguments is nil", stream)
		}
		if !strings.Contains(w.Body.String(), `{"z": 1, "a": [2]}`) {
			t.Errorf("the arguments are not as they were written: %s", w.Body)
		}
		if last := list[len(list)-1]; last.DoneReason != "stop" || last.EvalCount == nil {
			t.Errorf("%+v", last)
		}
	}
}

// A client that waits gets empty objects. They change nothing in the joined answer.
func TestOllamaKeepAliveObjectsAreEmpty(t *testing.T) {
	for path, body := range map[string]string{"/api/chat": `{"model":"tandem","messages":[{"role":"user","content":"x"}]}`,
		"/api/generate": `{"model":"tandem","prompt":"x"}`} {
		synctest.Test(t, func(t *testing.T) {
			fake := roomtest.NewBackend()
			fake.Model.Script = roomtest.Script(func(_ context.Context, yield func(string, error) bool) {
				time.Sleep(8 * time.Second) // a long prefill
				yield("a", nil)
				time.Sleep(3 * time.Second)
				yield("b", nil)
			})
			w := roomtest.NewWriter()
			serve(fake).ServeHTTP(w,
				roomtest.Request(path, body))
			var told []string
			for _, e := range w.Events {
				at, lines, _ := strings.Cut(e, ": ")
				for _, a := range roomtest.ReadOllamaLines(t, bytes.NewBufferString(lines)) {
					text := a.Message
					if text == nil {
						text = &roomtest.OllamaMessage{Role: "assistant", Content: *a.Response}
					}
					if text.Role != "assistant" || *a.Done != (a.DoneReason != "") ||
						a.Model == "" {
						t.Errorf("%s: %s", path, e)
					}
					told = append(told, fmt.Sprintf("%s %q %v", at, text.Content, *a.Done))
				}
			}
			want := []string{`2s "" false`, `7s "" false`, `8s "a" false`, `10s "" false`,
				`11s "b" false`, `11s "" true`}
			if !slices.Equal(told, want) || w.Headers.Get("Content-Type") != "application/x-ndjson" {
				t.Errorf("%s: %v %q", path, w.Headers, told)
			}
		})
	}
}

// A call that was cut off is text.
func TestOllamaBrokenCallIsText(t *testing.T) {
	const said = "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"z\": \"Par"
	for _, stream := range []string{"true", "false"} {
		w := roomtest.Post(serve(roomtest.Speaking(said)), "/api/chat",
			`{"model":"tandem","messages":[{"role":"user","content":"x"}],`+roomtest.TwoTools+`,"stream":`+stream+`}`)
		text := ""
		for _, a := range roomtest.ReadOllamaLines(t, w.Body) {
			if text += a.Message.Content; len(a.Message.Calls) > 0 {
				t.Errorf("%+v", a)
			}
		}
		if !strings.Contains(text, "look") || !strings.Contains(text, `{"z": "Par`) {
			t.Errorf("stream %s: %q", stream, text)
		}
	}
}

// TestOllamaEmptyRequestLoadsOrUnloads: a request without a prompt loads the model or frees it, and
// is no run.
func TestOllamaEmptyRequestLoadsOrUnloads(t *testing.T) {
	for _, c := range []struct {
		path, body, reason string
		unloads            int
	}{
		{"/api/generate", `{"model":"tandem"}`, "load", 0},
		{"/api/generate", `{"model":"tandem:latest","prompt":"","keep_alive":-1}`, "load", 0},
		{"/api/generate", `{"model":"tandem","keep_alive":"10m"}`, "load", 0},
		{"/api/generate", `{"model":"tandem","keep_alive":0}`, "unload", 1},
		{"/api/generate", `{"model":"acme/coder:latest","keep_alive":"0s","stream":false}`, "unload", 1},
		{"/api/generate", `{"model":"other","keep_alive":0}`, "unload", 0}, // it is not in memory
		{"/api/chat", `{"model":"tandem","messages":[]}`, "load", 0},
		{"/api/chat", `{"model":"tandem"}`, "load", 0},
		{"/api/chat", `{"model":"tandem","messages":[],"keep_alive":"0"}`, "unload", 1},
	} {
		fake := roomtest.NewBackend()
		w := roomtest.Post(serve(fake), c.path, c.body)
		a := roomtest.ReadOllamaLines(t, w.Body)[0]
		if w.Code != http.StatusOK {
			t.Errorf("%s: w.Code = %v, want %v: %s", c.body, w.Code, http.StatusOK, w.Body)
		}
		if !*a.Done {
			t.Errorf("%s: *a.Done = false, want true", c.body)
		}
		if a.DoneReason != c.reason {
			t.Errorf("%s: a.DoneReason = %v, want %v", c.body, a.DoneReason, c.reason)
		}
		if (a.Message != nil) != (c.path == "/api/chat") {
			t.Errorf("%s: %s answers with a.Message = %+v", c.body, c.path, a.Message)
		}
		if (a.Response != nil) == (c.path == "/api/chat") {
			t.Errorf("%s: %s answers with a.Response = %q", c.body, c.path, roomtest.Value(a.Response))
		}
		if len(fake.Unloaded) != c.unloads || fake.Held != 0 || len(fake.Rows) != 0 ||
			len(fake.Model.Requests) != 0 {
			t.Errorf("%s: %d unloads, %d held, %d runs",
				c.body, len(fake.Unloaded), fake.Held, len(fake.Rows))
		}
	}
	for body, status := range map[string]int{
		`{"model":"wibble"}`: 404, `{"model":"wibble","keep_alive":0}`: 404,
		`{"model":"other"}`: 409, `{"model":"tandem","keep_alive":"x"}`: 400,
		`{"keep_alive":0}`: 400,
	} {
		fake := roomtest.NewBackend()
		w := roomtest.Post(serve(fake), "/api/generate", body)
		if roomtest.DecodeOllama(t, w); w.Code != status || len(fake.Unloaded) != 0 {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	// The model is freed after an answer, and not during another one.
	for _, path := range []string{"/api/generate", "/api/chat", "/api/embed", "/api/embeddings"} {
		fake := roomtest.NewBackend()
		fake.SetPurpose(path)
		w := roomtest.Post(serve(fake), path,
			`{"model":"tandem","prompt":"x","input":"x","messages":[{"role":"user","content":"x"}],"keep_alive":0}`)
		if w.Code != http.StatusOK || len(fake.Unloaded) != 1 || len(fake.Rows) != 1 {
			t.Errorf("%s: %d unloads, %d %s", path, len(fake.Unloaded), w.Code, w.Body)
		}
	}
	busy := roomtest.NewBackend()
	busy.OnUnload = func() error {
		return control.Errorf(control.CodeModelBusy, "acme/coder is answering requests.")
	}
	if w := roomtest.Post(serve(busy), "/api/generate",
		`{"model":"tandem","keep_alive":0}`); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func FuzzOllamaGenerate(f *testing.F) {
	f.Add(`{"model":"tandem","prompt":"hi","suffix":"x","options":{"stop":["a"],"seed":-1,"num_predict":2},"keep_alive":"1m","think":"low","format":{}}`)
	f.Add(`{"model":"tandem:latest","prompt":"hi","system":"s","stream":false,"raw":false,"logprobs":true}`)
	fuzzOllama(f, "/api/generate")
}

func FuzzOllamaChat(f *testing.F) {
	f.Add(`{"model":"tandem","messages":[{"role":"assistant","thinking":"x","images":[],"tool_calls":[{"function":{"name":"f","arguments":{}}}]}],"tools":[{"function":{"name":"a"}}],"stream":false}`)
	fuzzOllama(f, "/api/chat")
}

// fuzzOllama is roomtest.FuzzBody for Ollama's routes. Their errors and runs differ.
func fuzzOllama(f *testing.F, path string) {
	f.Fuzz(func(t *testing.T, body string) {
		fake := roomtest.NewBackend()
		s := serve(fake)
		w := roomtest.Post(s, path, body)
		switch {
		case w.Code == 200:
			roomtest.ReadOllamaLines(t, w.Body)
		case w.Code >= 400 && w.Code < 500:
			roomtest.DecodeOllama(t, w)
		default:
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if fake.Held != 0 || fake.Model.OpenMatchers != 0 || len(s.API.Active()) != 0 {
			t.Fatalf("%d models held, %d matchers, %d in flight",
				fake.Held, fake.Model.OpenMatchers, len(s.API.Active()))
		}
	})
}

// The ids of calls come back with the prefix that clients got, and some templates take none but
// those of nine signs.
func TestCallIDOfOllamaReachesTemplateWithoutPrefix(t *testing.T) {
	for id, want := range map[string]string{"call_ABCDEFGH2": "ABCDEFGH2", "call_abc": "call_abc", "ABCDEFGH2": "ABCDEFGH2",
		"call_0123456789abcdef01234567": "call_0123456789abcdef01234567"} {
		fake := roomtest.Speaking("ok")
		w := roomtest.Post(serve(fake), "/api/chat", `{"model":"tandem","stream":false,"messages":[{"role":"user","content":"x"},`+
			`{"role":"assistant","content":"","tool_calls":[{"id":"`+id+`","function":{"index":0,"name":"f","arguments":{}}}]},`+
			`{"role":"tool","tool_name":"f","tool_call_id":"`+id+`","content":"7"}]}`)
		if w.Code != 200 || strings.Count(fake.Model.Vars[0], `:"`+want+`"`) != 2 {
			t.Errorf("%s: %d %s %s", id, w.Code, w.Body, fake.Model.Vars)
		}
	}
}
