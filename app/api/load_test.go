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

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/roomtest"
	"tandem/app/wire"
	"tandem/engine"
)

// An asking is a request to a route that runs a model. STREAM in its body stands for true or false.
type asking struct {
	path, body string
	kind       string // of the model
	formed     string // more of the body, for an answer in a form; may be empty
	several    string // more of the body, for three continuations; may be empty
}

var askings = []asking{
	{"/v1/chat/completions", `{"model":"tandem","messages":[{"role":"user","content":"x"}],"stream":STREAM}`, "", `"response_format":{"type":"json_object"}`, `"n":3`},
	{"/v1/completions", `{"model":"tandem","prompt":"x","stream":STREAM}`, "", `"response_format":{"type":"json_object"}`, `"n":3`},
	{"/v1/completions", `{"model":"tandem","prompt":"x","stream":false}`, "", "", `"best_of":3`},
	{"/v1/completions", `{"model":"tandem","prompt":["x","y","z"],"stream":STREAM}`, "", "", ""},
	{"/v1/fim/completions", `{"model":"tandem","prompt":"a","suffix":"b","stream":STREAM}`, "", "", ""},
	{"/v1/messages", `{"model":"tandem","max_tokens":400,"messages":[{"role":"user","content":"x"}],"stream":STREAM}`, "", "", ""},
	{"/v1/responses", `{"model":"tandem","input":"x","stream":STREAM}`, "", `"text":{"format":{"type":"json_object"}}`, ""},
	{"/v1/responses/compact", `{"model":"tandem","input":"x"}`, "", "", ""},
	{"/api/generate", `{"model":"tandem","prompt":"x","stream":STREAM}`, "", `"format":"json"`, ""},
	{"/api/chat", `{"model":"tandem","messages":[{"role":"user","content":"x"}],"stream":STREAM}`, "", `"format":"json"`, ""},
	{"/api/v0/chat/completions", `{"model":"tandem","messages":[{"role":"user","content":"x"}],"stream":STREAM}`, "", `"response_format":{"type":"json_object"}`, `"n":3`},
	{"/api/v0/completions", `{"model":"tandem","prompt":"x","stream":STREAM}`, "", `"response_format":{"type":"json_object"}`, `"n":3`},
	{"/completion", `{"prompt":"x","stream":STREAM}`, "", "", ""},
	{"/infill", `{"input_prefix":"a","input_suffix":"b","stream":STREAM}`, "", "", ""},
	{"/v1/embeddings", `{"model":"tandem","input":["x","y"]}`, control.KindEmbedding, "", ""},
	{"/api/v0/embeddings", `{"model":"tandem","input":["x","y"]}`, control.KindEmbedding, "", ""},
	{"/v1/rerank", `{"model":"tandem","query":"a","documents":["b","c"]}`, control.KindReranker, "", ""},
	{"/v2/rerank", `{"model":"tandem","query":"a","documents":["b","c"]}`, control.KindReranker, "", ""},
	{"/api/embed", `{"model":"tandem","input":"x"}`, control.KindEmbedding, "", ""},
	{"/api/embeddings", `{"model":"tandem","prompt":"x"}`, control.KindEmbedding, "", ""},
}

// idle are the routes with a body that do not use the engine.
var idle = []string{"/v1/messages/count_tokens", "/v1/responses/input_tokens", "/api/show", "/api/pull", "/tokenize",
	"/detokenize"}

// with returns the body with more fields, in a stream or not.
func (a asking) with(more string, stream bool) string {
	body := strings.ReplaceAll(a.body, "STREAM", fmt.Sprint(stream))
	if more != "" {
		body = strings.TrimSuffix(body, "}") + "," + more + "}"
	}
	return body
}

// streams returns the values of stream that make a difference.
func (a asking) streams() []bool {
	if strings.Contains(a.body, "STREAM") {
		return []bool{false, true}
	}
	return []bool{false}
}

// The list has each route that runs a model.
func TestEveryModelRouteIsListed(t *testing.T) {
	for path, methods := range serve(roomtest.NewBackend()).Routes {
		listed := slices.ContainsFunc(askings, func(a asking) bool { return a.path == path })
		if slices.Contains(methods, http.MethodPost) && listed == slices.Contains(idle, path) &&
			!strings.Contains(path, "{") {
			t.Errorf("%s is listed: %t", path, listed)
		}
	}
}

// A worker is a model whose work is a function of the test.
type worker struct {
	model.Model
	generate func(context.Context, engine.Request) iter.Seq2[engine.Token, error]
	read     func(context.Context, engine.EncodeRequest) error
	match    func()
}

func (w worker) Generate(ctx context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
	return w.generate(ctx, r)
}

// Reader returns the model's reader. It does the test's work first.
func (w worker) Reader() model.Reader { return workingReader{w.Model.Reader(), w.read} }

// A workingReader is the Reader of a worker.
type workingReader struct {
	model.Reader
	read func(context.Context, engine.EncodeRequest) error
}

func (w workingReader) Embed(ctx context.Context, r engine.EncodeRequest, n int) ([][]float32,
	engine.Stats, error) {
	if err := w.read(ctx, r); err != nil {
		return nil, engine.Stats{}, err
	}
	return w.Reader.Embed(ctx, r, n)
}

func (w workingReader) Relevance(ctx context.Context, r engine.EncodeRequest) ([]float64, engine.Stats,
	error) {
	if err := w.read(ctx, r); err != nil {
		return nil, engine.Stats{}, err
	}
	return w.Reader.Relevance(ctx, r)
}

func (w worker) Matcher(ctx context.Context, g model.Grammar) (model.Matcher, error) {
	w.match()
	return w.Model.Matcher(ctx, g)
}

// refusing is a model whose work ends with an error at once.
func refusing(m model.Model, err error) model.Model {
	return worker{
		Model: m,
		generate: func(_ context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
			return func(yield func(engine.Token, error) bool) {
				r.Done(engine.Stats{Err: err})
				yield(engine.Token{}, err)
			}
		},
		read: func(context.Context, engine.EncodeRequest) error { return err },
	}
}

// checkAgain checks that a request was refused in the form of its route, and that the answer tells
// the client to send it again.
func checkAgain(t *testing.T, what, path string, w *httptest.ResponseRecorder, code, says string) {
	t.Helper()
	status, message := http.StatusServiceUnavailable, ""
	switch wire.ProtocolOf(httptest.NewRequest(http.MethodPost, path, nil)).(type) {
	case wire.Anthropic:
		status = wire.StatusOverloaded
		e := roomtest.DecodeAnthropic(t, w)
		if message = e.Error.Message; e.Error.Type != "overloaded_error" {
			t.Errorf("%s: %s: type %q", path, what, e.Error.Type)
		}
	case wire.Ollama:
		message = roomtest.DecodeOllama(t, w)
	default:
		e := roomtest.DecodeError(t, w)
		if message = e.Message; e.Code != code || e.Type != "server_error" {
			t.Errorf("%s: %s: code %q, type %q", path, what, e.Code, e.Type)
		}
	}
	if h := w.Header(); w.Code != status || h.Get("Retry-After") != "1" ||
		h.Get("X-Should-Retry") != "" || !strings.HasPrefix(h.Get("Content-Type"),
		"application/json") {
		t.Errorf("%s: %s: %d %v", path, what, w.Code, h)
	}
	if !strings.Contains(message, says) {
		t.Errorf("%s: %s: %q does not say %q", path, what, message, says)
	}
}

// A request that cannot be served now is refused in the form of its route, with a time to retry.
// This check comes before all others.
func TestFullServerSaysWhenToRetry(t *testing.T) {
	full := &engine.Error{Code: engine.CodeQueueFull, Message: "the queue is full"}
	unloaded := &engine.Error{Code: engine.CodeClosed, Message: "the model was unloaded"}
	busy := control.Errorf(control.CodeNotReady, "It is not there yet.")
	for _, a := range askings {
		for _, stream := range a.streams() {
			for _, more := range slices.Compact([]string{"", a.several}) {
				for _, err := range []error{full, unloaded, busy} {
					fake := roomtest.NewBackendOf(a.kind)
					fake.Model.Context = 4096
					s := serve(fake.Lend(func(ctx context.Context) (model.Model, error) {
						if err == error(busy) {
							return nil, err
						}
						m, _ := fake.Acquire(ctx, control.Alias)
						return refusing(m, err), nil
					}))
					f := wire.FailureOf(err)
					w := roomtest.Post(s, a.path, a.with(more, stream))
					checkAgain(t, fmt.Sprintf("stream %t, %s", stream, f.Body.Code), a.path, w,
						f.Body.Code, f.Body.Message)
					if fake.Held != 0 || len(s.API.Active()) != 0 {
						t.Errorf("%s: %d models are held, %d runs in flight",
							a.path, fake.Held, len(s.API.Active()))
					}
				}
			}
		}
	}
}
