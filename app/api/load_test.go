package api_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tandem/app/api"
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
	{"/api/embed", `{"model":"tandem","input":"x"}`, control.KindEmbedding, "", ""},
	{"/api/embeddings", `{"model":"tandem","prompt":"x"}`, control.KindEmbedding, "", ""},
}

// idle are the routes with a body that do not use the engine.
var idle = []string{"/v1/messages/count_tokens", "/v1/responses/input_tokens", "/api/show", "/tokenize",
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
func checkAgain(t *testing.T, what, path string, w *httptest.ResponseRecorder, status int, code,
	says string) {
	t.Helper()
	message := ""
	switch wire.ProtocolOf(httptest.NewRequest(http.MethodPost, path, nil)).(type) {
	case wire.Anthropic:
		kind := "rate_limit_error"
		if status == http.StatusServiceUnavailable {
			status, kind = wire.StatusOverloaded, "overloaded_error"
		}
		e := roomtest.DecodeAnthropic(t, w)
		if message = e.Error.Message; e.Error.Type != kind {
			t.Errorf("%s: %s: type %q, want %q", path, what, e.Error.Type, kind)
		}
	case wire.Ollama:
		message = roomtest.DecodeOllama(t, w)
	default:
		kind := map[int]string{http.StatusServiceUnavailable: "server_error",
			http.StatusTooManyRequests: "rate_limit_error"}[status]
		e := roomtest.DecodeError(t, w)
		if message = e.Message; e.Code != code || e.Type != kind {
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
						http.StatusServiceUnavailable, f.Body.Code, f.Body.Message)
					if fake.Held != 0 || len(s.API.Active()) != 0 {
						t.Errorf("%s: %d models are held, %d runs in flight",
							a.path, fake.Held, len(s.API.Active()))
					}
				}
			}
		}
	}
}

// A greedy server answers its client "greedy" only after let is closed.
type greedy struct {
	*roomtest.Served
	fake  *roomtest.Backend
	began chan engine.Request
	let   chan struct{}
	ended sync.WaitGroup
	codes [600]atomic.Int32
	loads atomic.Int32
}

func newGreedy() *greedy {
	g := &greedy{fake: roomtest.NewBackend(), began: make(chan engine.Request), let: make(chan struct{})}
	g.fake.Model.Context = 4096
	g.Served = serve(g.fake.Lend(func(ctx context.Context) (model.Model, error) {
		g.loads.Add(1)
		m, err := g.fake.Acquire(ctx, control.Alias)
		return worker{Model: m, match: func() {},
			generate: func(ctx context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
				return func(yield func(engine.Token, error) bool) {
					if strings.HasSuffix(r.Client, "greedy") {
						g.began <- r
						<-g.let
					}
					r.Done(engine.Stats{PromptTokens: len(r.Prompt), CompletionTokens: 1})
					yield(engine.Token{ID: 'a', Text: "a", Finish: engine.FinishStop}, nil)
				}
			}}, err
	}))
	return g
}

// ask sends a request in the name of a client.
func (g *greedy) ask(client, path, body string, header ...string) *httptest.ResponseRecorder {
	r := roomtest.Request(path, body)
	r.Header.Set("User-Agent", client)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w
}

// Hold begins n continuations of the client "greedy" with one request.
func (g *greedy) Hold(n int) {
	g.ended.Go(func() {
		g.codes[g.ask("greedy", "/v1/completions",
			fmt.Sprintf(`{"model":"tandem","prompt":"x","n":%d}`, n)).Code].Add(1)
	})
	for range n {
		<-g.began
	}
}

// A client at its limit of requests is refused on each route, in the route's form. Other clients
// are served.
func TestClientLimitRefusesOnlyThatClient(t *testing.T) {
	g := newGreedy()
	for range api.MaxPerClient {
		g.Hold(1)
	}
	says := fmt.Sprintf("would have %d requests in flight and waiting, where %d are allowed",
		api.MaxPerClient+1, api.MaxPerClient)
	for _, a := range askings {
		for _, stream := range a.streams() {
			body := a.with("", stream)
			checkAgain(t, fmt.Sprint("stream ", stream), a.path, g.ask("greedy", a.path, body),
				http.StatusTooManyRequests, "rate_limit_exceeded", says)
			if r := g.fake.LastRun(); r.FinishReason != "error" ||
				r.Error != "rate_limit_exceeded" || r.Client != "greedy" {
				t.Errorf("%s: the history has %+v", a.path, r)
			}
			if a.kind != "" {
				continue
			}
			if w := g.ask("modest", a.path, body); w.Code != http.StatusOK {
				t.Errorf("%s: another client: %d %s", a.path, w.Code, w.Body)
			}
			// A client with a key is another client, whatever name it uses. So is another name.
			g.fake.Keyed = true
			if w := g.ask("greedy", a.path, body, "Authorization",
				"Bearer "+roomtest.Key); w.Code != http.StatusOK {
				t.Errorf("%s: with a key: %d %s", a.path, w.Code, w.Body)
			}
			g.fake.Keyed = false
			if w := g.ask("greedy", a.path, body, wire.ClientHeader,
				"window"); w.Code != http.StatusOK {
				t.Errorf("%s: the window: %d %s", a.path, w.Code, w.Body)
			}
		}
	}
	close(g.let)
	g.ended.Wait()
	if n := g.codes[http.StatusOK].Load(); n != api.MaxPerClient {
		t.Errorf("%d requests within the limit were answered", n)
	}
	go func() { <-g.began }()
	if w := g.ask("greedy", "/v1/completions",
		`{"model":"tandem","prompt":"x"}`); w.Code != http.StatusOK {
		t.Errorf("when they have ended: %d %s", w.Code, w.Body)
	}
	if n := len(g.API.Active()); n != 0 {
		t.Errorf("%d runs are in flight", n)
	}
}

// Each continuation of a request counts, up to the number that runs at once. A refused request
// counts for nothing.
func TestClientLimitCountsContinuations(t *testing.T) {
	g := newGreedy()
	for range api.MaxPerClient/api.MaxN - 1 {
		g.Hold(api.MaxN)
	}
	g.Hold(5)
	loads := g.loads.Load()
	for range 3 {
		for n := 4; n <= api.MaxN; n++ {
			body := fmt.Sprintf(`{"model":"tandem","messages":[{"role":"user","content":"x"}],"n":%d}`, n)
			checkAgain(t, fmt.Sprint("n ", n), "/v1/chat/completions",
				g.ask("greedy", "/v1/chat/completions", body), http.StatusTooManyRequests,
				"rate_limit_exceeded", fmt.Sprintf("would have %d requests", api.MaxPerClient-3+n))
		}
		for what, n := range map[string]int{
			`"prompt":["a","b","c","d"]`: 4, `"prompt":[[1],[2],[3]],"n":2`: 6,
			`"prompt":["a","b"],"best_of":3`:           6,
			`"prompt":["a","b","c","d","e","f"],"n":2`: api.MaxParallel,
		} {
			body := fmt.Sprintf(`{"model":"tandem",%s}`, what)
			checkAgain(t, what, "/v1/completions", g.ask("greedy", "/v1/completions", body),
				http.StatusTooManyRequests, "rate_limit_exceeded",
				fmt.Sprintf("would have %d requests", api.MaxPerClient-3+n))
		}
	}
	if n := g.loads.Load() - loads; n != 0 {
		t.Errorf("refused requests acquired %d models", n)
	}
	if g.fake.Held != api.MaxPerClient/api.MaxN {
		t.Errorf("%d models are held", g.fake.Held)
	}
	g.Hold(3)
	close(g.let)
	g.ended.Wait()
}

// A client that sends a large body also hears of its limit, although the server does not read that
// body.
func TestClientLimitAnswersDespiteUnreadBody(t *testing.T) {
	g := newGreedy()
	srv := httptest.NewServer(g)
	defer srv.Close()
	for range api.MaxPerClient {
		g.Hold(1)
	}
	for range 5 {
		r, err := http.NewRequest(http.MethodPost, srv.URL+"/v1/completions",
			strings.NewReader(`{"model":"tandem","prompt":"`+strings.Repeat("x", 8<<20)+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("User-Agent", "greedy")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "1" {
			t.Errorf("%s %v", resp.Status, resp.Header)
		}
	}
	close(g.let)
	g.ended.Wait()
}
