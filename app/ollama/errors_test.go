package ollama_test

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"tandem/app/roomtest"
	"tandem/engine"
)

// TestOllamaMistakeNamesItsField: each mistake gets one sentence that names the field, and a row in
// the history.
func TestOllamaMistakeNamesItsField(t *testing.T) {
	const gen, chat = "/api/generate", "/api/chat"
	for _, c := range []struct{ path, body, says string }{
		{gen, ``, "empty"},
		{gen, `{`, "ends early"},
		{gen, `[]`, "{"},
		{gen, `{"prompt":"x"}`, "model is missing"},
		{gen, `{"model":7,"prompt":"x"}`, "model must be"},
		{gen, `{"model":"tandem","prompt":7}`, "prompt must be"},
		{gen, `{"model":"tandem","prompt":"x","template":"{{ .Prompt }}"}`, "template is not"},
		{gen, `{"model":"tandem","prompt":"x","context":[1,2]}`, "context is not"},
		{gen, `{"model":"tandem","prompt":"x","images":["aGk="]}`, "images is not"},
		{gen, `{"model":"tandem","prompt":"x","images":"aGk="}`, "images is not"},
		{gen, `{"model":"tandem","prompt":"x","raw":true,"system":"s"}`, "system cannot"},
		{gen, `{"model":"tandem","prompt":"x","format":"yaml"}`, "format must be"},
		{gen, `{"model":"tandem","prompt":"x","format":{"required":["impossible"]}}`, "refuses"},
		{gen, `{"model":"tandem","prompt":"x","think":"deeply"}`, "think must be "},
		{gen, `{"model":"tandem","prompt":"x","think":3}`, "think must be"},
		{gen, `{"model":"tandem","prompt":"x","keep_alive":"soon"}`, "keep_alive must be"},
		{gen, `{"model":"tandem","prompt":"x","keep_alive":[]}`, "keep_alive must be"},
		{gen, `{"model":"tandem","prompt":"x","options":[]}`, "options"},
		{gen, `{"model":"tandem","prompt":"x","options":{"temperature":"hot"}}`, "options.temperature must be"},
		{gen, `{"model":"tandem","prompt":"x","options":{"top_p":2}}`, "options.top_p must"},
		{gen, `{"model":"tandem","prompt":"x","options":{"repeat_penalty":0}}`, "options.repeat_penalty must"},
		{gen, `{"model":"tandem","prompt":"x","options":{"num_predict":1.5}}`, "options.num_predict must"},
		{gen, `{"model":"tandem","prompt":"x","options":{"stop":7}}`, "options.stop must"},
		{gen, `{"model":"tandem","prompt":"x","stream":"no"}`, "stream must be"},
		{gen, `{"model":"tandem","prompt":"x","top_logprobs":21}`, "top_logprobs must"},
		{gen, `{"model":"tandem","prompt":"` + strings.Repeat("x", 64) + `"}`, "maximum context length is 64 tokens"},
		{chat, `{"model":"tandem","messages":"hi"}`, "messages must be"},
		{chat, `{"model":"tandem","messages":["hi"]}`, "messages[0]"},
		{chat, `{"model":"tandem","messages":[{"role":"user","content":"x","images":["aGk="]}]}`, "messages[0].images is not"},
		{chat, `{"model":"tandem","messages":[{"role":"wizard","content":"x"}]}`, "messages[0].role"},
		{chat, `{"model":"tandem","messages":[{"role":"user","content":"x","content":"y"}]}`, "twice"},
		{chat, `{"model":"tandem","messages":[{"role":"tool","content":"x","name":"a","tool_name":"b"}]}`, "twice"},
		{chat, `{"model":"tandem","messages":[{"role":"user","content":"x"}],"tools":{}}`, "tools must be"},
		{chat, `{"model":"tandem","messages":[{"role":"user","content":"forbidden"}]}`, "no such talk"},
	} {
		fake := roomtest.NewBackend()
		s := serve(fake)
		w := roomtest.Post(s, c.path, c.body)
		if text := roomtest.DecodeOllama(t, w); w.Code != http.StatusBadRequest ||
			!strings.Contains(text, c.says) {
			t.Errorf("%.90s: %d %s, want %q", c.body, w.Code, text, c.says)
		}
		if r := fake.LastRun(); r.Endpoint != c.path || r.Error == "" || fake.Held != 0 ||
			len(s.API.Active()) != 0 {
			t.Errorf("%.90s: %d held, %d in flight, the history has %+v",
				c.body, fake.Held, len(s.API.Active()), r)
		}
	}
	if w := roomtest.PostAs(serve(roomtest.NewBackend()), gen, "text/plain",
		`{"model":"tandem"}`); w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// After the first line an error is a line of its own. Before it the error is the whole answer.
func TestOllamaErrorAfterFirstLineIsALine(t *testing.T) {
	for _, after := range []int{0, 1} {
		fake := roomtest.NewBackend()
		fake.Model.Script = func(_ context.Context, r engine.Request) iter.Seq2[engine.Token,
			error] {
			return func(yield func(engine.Token, error) bool) {
				for range after {
					if !yield(engine.Token{ID: 'a', Text: "a"}, nil) {
						return
					}
				}
				yield(engine.Token{}, &engine.Error{Code: engine.CodeQueueFull,
					Message: "Too many requests wait."})
			}
		}
		w := roomtest.Post(serve(fake), "/api/generate", `{"model":"tandem","prompt":"x"}`)
		list := roomtest.ReadOllamaLines(t, w.Body)
		if last := list[len(list)-1]; last.Error != "Too many requests wait." ||
			len(list) != after+1 || (w.Code == http.StatusOK) != (after == 1) {
			t.Errorf("%d: %d %s", after, w.Code, w.Body)
		}
	}
}

// The route reports once that a body does not arrive.
func TestOllamaBodyFailureIsToldOnce(t *testing.T) {
	for _, err := range []error{os.ErrDeadlineExceeded, io.ErrUnexpectedEOF} {
		fake := roomtest.NewBackend()
		r := roomtest.LocalRequest(http.MethodPost, "/api/chat",
			&failsOnce{strings.NewReader(`{"model":"tandem"`), err})
		r.Host, r.ContentLength = "localhost", 200
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		serve(fake).ServeHTTP(w, r)
		if text := roomtest.DecodeOllama(t, w); !strings.Contains(text, "did not arrive") ||
			len(fake.Rows) != 1 {
			t.Errorf("%v: %d %s", err, w.Code, w.Body)
		}
	}
}

// A failsOnce reader fails where r ends. A later read returns what would complete the body.
type failsOnce struct {
	r   io.Reader
	err error
}

func (f *failsOnce) Read(b []byte) (int, error) {
	n, err := f.r.Read(b)
	if err == io.EOF && f.err != nil {
		err, f.err = f.err, nil
		f.r = strings.NewReader("}")
	}
	return n, err
}
