package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/roomtest"
	"tandem/app/wire"
	"tandem/engine"
)

// Memory grows with the bytes that arrive, not with the length that the client states.
func TestMemoryFollowsReceivedBytes(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := roomtest.LocalRequest(http.MethodPost, "/v1/completions",
		io.MultiReader(strings.NewReader(`{"model":`), errReader{io.ErrUnexpectedEOF}))
	r.Host, r.ContentLength = "localhost", wire.MaxBody
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.Endpoint().ServeHTTP(w, r)
	runtime.ReadMemStats(&after)
	if w.Code != http.StatusBadRequest {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
		t.Errorf("%d bytes were allocated for a body of 9", n)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// The number of large bodies read at once is limited, in all and for one client. Clients above it
// are told to try again. Small bodies need no place.
func TestLargeBodiesAreLimited(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{})
	srv := httptest.NewServer(s.Endpoint())
	defer srv.Close()
	post := func(client string, body io.Reader) (*http.Response, error) {
		r, err := http.NewRequest(http.MethodPost, srv.URL+"/v1/completions", body)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("User-Agent", client)
		resp, err := http.DefaultClient.Do(r)
		if err == nil {
			resp.Body.Close()
		}
		return resp, err
	}
	// A body of unknown length takes twice what has come.
	half := `{"model":"tandem","prompt":"x","user":"` + strings.Repeat("y", wire.LargeBytes/16-100)
	var bodies []*io.PipeWriter
	answers := make(chan int)
	// hold makes a client send the first half of some bodies.
	hold := func(client string, n int) {
		for range n {
			body, rest := io.Pipe()
			bodies = append(bodies, rest)
			go func() {
				resp, err := post(client, body)
				if err != nil {
					answers <- 0
					return
				}
				answers <- resp.StatusCode
			}()
			if _, err := io.WriteString(rest, half); err != nil {
				t.Fatal(err)
			}
		}
		for s.api.BytesTaken() < len(bodies)*wire.LargeBytes/16 {
			time.Sleep(time.Millisecond)
		}
	}
	refused := func(client string, status int) {
		t.Helper()
		resp, err := post(client, strings.NewReader(half+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != status || resp.Header.Get("Retry-After") != "1" {
			t.Errorf("one more of %s: %s, Retry-After %q",
				client, resp.Status, resp.Header.Get("Retry-After"))
		}
	}
	hold("greedy", 12)
	refused("greedy", http.StatusTooManyRequests)
	hold("modest", 4)
	refused("another", http.StatusServiceUnavailable)
	if resp, err := post("another",
		strings.NewReader(`{"model":"tandem","prompt":"x"}`)); err != nil ||
		resp.StatusCode != http.StatusOK {
		t.Errorf("a small one: %+v, %v", resp, err)
	}
	for _, b := range bodies {
		io.WriteString(b, `"}`)
		b.Close()
	}
	for range bodies {
		if status := <-answers; status != http.StatusOK {
			t.Errorf("a large one: %d", status)
		}
	}
	if n := s.api.BytesTaken(); n != 0 {
		t.Errorf("%d bytes are still taken", n)
	}
}

// TestLongTextIsRefusedBeforeTokenizing: a text that cannot fit is refused before it is tokenized.
func TestLongTextIsRefusedBeforeTokenizing(t *testing.T) {
	fake := roomtest.NewBackend()
	long := strings.Repeat("x", 64*len("<bos>")+1)
	for path, body := range map[string]string{
		"/v1/completions": `{"model":"tandem","prompt":"` + long + `"}`,
		"/v1/chat/completions": `{"model":"tandem","messages":[{"role":"user","content":"` + long +
			`"}]}`,
	} {
		w := roomtest.Post(New(services(fake), Options{}).Endpoint(), path, body)
		if e := roomtest.DecodeError(t, w); w.Code != 400 || e.Code != string(engine.CodeContextLength) ||
			!strings.Contains(e.Message, "you requested at least 65 tokens") {
			t.Errorf("%s: %d %+v", path, w.Code, e)
		}
	}
	if fake.Model.EncodedTexts != 0 {
		t.Errorf("%d texts were tokenized", fake.Model.EncodedTexts)
	}
}

// A body that stalls times out. So does a half-sent body when the server drains.
func TestStalledBodyTimesOut(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{})
	for want, s := range map[int]*Server{http.StatusRequestTimeout: s,
		http.StatusServiceUnavailable: New(services(roomtest.NewBackend()), Options{})} {
		if want == http.StatusServiceUnavailable {
			s.Drain()
		}
		r := roomtest.LocalRequest(http.MethodPost, "/v1/completions",
			errReader{fmt.Errorf("read: %w", os.ErrDeadlineExceeded)})
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.Endpoint().ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%d, want %d: %s", w.Code, want, w.Body)
		}
	}
	srv := httptest.NewServer(s.Endpoint())
	defer srv.Close()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	for len(s.api.Active()) == 0 {
		time.Sleep(time.Millisecond)
	}
	s.Drain()
	head := make([]byte, len("HTTP/1.1 503"))
	if _, err := io.ReadFull(conn, head); err != nil || string(head) != "HTTP/1.1 503" {
		t.Errorf("%q %v", head, err)
	}
}

// The client gets general words, and the log has the error.
func TestUnknownErrorsAreLoggedNotTold(t *testing.T) {
	for _, stream := range []bool{false, true} {
		fake := roomtest.NewBackend()
		fake.Model.Script = func(context.Context, engine.Request) iter.Seq2[engine.Token, error] {
			return func(yield func(engine.Token, error) bool) {
				if stream && !yield(engine.Token{ID: 'a', Text: "a"}, nil) {
					return
				}
				yield(engine.Token{}, errors.New("open /home/somebody: no"))
			}
		}
		var log bytes.Buffer
		s := New(services(fake), Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		w := roomtest.Post(s.Endpoint(), "/v1/completions", fmt.Sprintf(`{"model":"tandem","prompt":"x","stream":%t}`, stream))
		if strings.Contains(w.Body.String(), "somebody") ||
			!strings.Contains(w.Body.String(), "its log tells more") {
			t.Errorf("stream %t: %s", stream, w.Body)
		}
		if !strings.Contains(log.String(), "somebody") {
			t.Errorf("stream %t: the log has %s", stream, log.String())
		}
		if r := fake.LastRun(); r.Error != string(engine.CodeInternal) {
			t.Errorf("stream %t: the history has %q", stream, r.Error)
		}
	}
}

// TestHistoryHoldsNoText: the row of an error quotes nothing that a client wrote.
func TestHistoryHoldsNoText(t *testing.T) {
	for _, body := range []string{
		`{"model":"tandem","messages":[{"role":"secret","content":"x"}]}`,
		`{"model":"tandem","secret":1,"secret":2}`,
		`{"model":"tandem","messages":[{"role":"user","secret":1,"secret":2}]}`,
		`{"model":"tandem","messages":[{"role":"user","content":[{"type":"secret"}]}]}`,
		`{"model":"tandem","messages":[{"role":"user","content":"x"}],"logit_bias":{"secret":1}}`,
		`{"model":"tandem","messages":[{"role":"user","content":"x"}],"chat_template_kwargs":{"messages":"secret"}}`,
	} {
		fake := roomtest.NewBackend()
		if w := roomtest.Post(New(services(fake), Options{}).Endpoint(), "/v1/chat/completions",
			body); w.Code != 400 {
			t.Errorf("%s: %d", body, w.Code)
		}
		if r := fake.LastRun(); r.Error == "" || strings.Contains(r.Error, "secret") {
			t.Errorf("%s: the history has %q", body, r.Error)
		}
	}
}

// If a run is cancelled before its model is in memory, the client is told so.
func TestCancelEndsWaitForModel(t *testing.T) {
	s := New(services(roomtest.NewBackend().Lend(waitForever)), Options{})
	answered := make(chan *httptest.ResponseRecorder)
	go func() {
		answered <- roomtest.Post(s.Endpoint(), "/v1/completions", `{"model":"tandem","prompt":"x"}`)
	}()
	for !s.api.CancelRun("1") {
		time.Sleep(time.Millisecond)
	}
	w := <-answered
	if e := roomtest.DecodeError(t, w); w.Code != wire.StatusClientGone ||
		e.Code != string(control.CodeCancelled) ||
		!strings.Contains(e.Message, "run was cancelled") {
		t.Errorf("%d %+v", w.Code, e)
	}
}

// waitForever lends a model that is never ready.
func waitForever(ctx context.Context) (model.Model, error) {
	<-ctx.Done()
	return nil, fmt.Errorf("waiting: %w", ctx.Err())
}

// TestPullEndsOnDrainOrStuckClient: a pull ends when the server drains, and when its client does
// not read.
func TestPullEndsOnDrainOrStuckClient(t *testing.T) {
	fake := roomtest.NewBackend()
	fake.OnPull = func(ctx context.Context, progress func(control.Progress)) (control.Model, error) {
		<-ctx.Done()
		return control.Model{}, ctx.Err()
	}
	pull := func(s *Server, w http.ResponseWriter) {
		r := roomtest.LocalRequest(http.MethodPost, "/app/pull", strings.NewReader(`{"id":"a/b"}`))
		r.Header.Set("Content-Type", "application/json")
		s.Socket().ServeHTTP(w, r)
	}
	s := New(services(fake), Options{})
	s.Drain()
	w := httptest.NewRecorder()
	pull(s, w)
	if !strings.Contains(w.Body.String(), "stopping") {
		t.Errorf("%d %s", w.Code, w.Body)
	}

	fake.OnPull = func(ctx context.Context, progress func(control.Progress)) (control.Model, error) {
		progress(control.Progress{Done: 1})
		<-ctx.Done()
		return control.Model{}, ctx.Err()
	}
	pull(New(services(fake), Options{}), stuckWriter{httptest.NewRecorder()})
}

// A stuckWriter is a writer whose client does not read.
type stuckWriter struct{ *httptest.ResponseRecorder }

func (stuckWriter) Write([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// A timedWriter records whether each write had a deadline, and which deadline is left at the end.
type timedWriter struct {
	*httptest.ResponseRecorder
	deadline time.Time
	untimed  bool
}

func (w *timedWriter) SetWriteDeadline(d time.Time) error { w.deadline = d; return nil }

func (w *timedWriter) Write(b []byte) (int, error) {
	w.untimed = w.untimed || w.deadline.IsZero()
	return w.ResponseRecorder.Write(b)
}

// No answer waits for its client forever, and no answer leaves its deadline to the next.
func TestWritesHaveDeadlines(t *testing.T) {
	for _, path := range []string{"/", "/page.js", "/health", "/metrics", "/v1/models", "/nowhere",
		"/app/state"} {
		r := roomtest.LocalRequest(http.MethodGet, path, nil)
		r.Host = "localhost"
		w := &timedWriter{ResponseRecorder: httptest.NewRecorder()}
		New(services(roomtest.NewBackend()), Options{}).Endpoint().ServeHTTP(w, r)
		if w.Body.Len() == 0 || w.untimed || !w.deadline.IsZero() {
			t.Errorf("%s: %d bytes, untimed %t, deadline left %v",
				path, w.Body.Len(), w.untimed, w.deadline)
		}
	}
}

// TestPromptProgressCountsSharedPromptOnce: choices share a prompt, so it is restored and read once.
func TestPromptProgressCountsSharedPromptOnce(t *testing.T) {
	fake := roomtest.NewBackend()
	var s *Server
	most := make(chan control.Active, 8)
	fake.Model.Script = func(_ context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
		return func(yield func(engine.Token, error) bool) {
			r.Restored(2)
			r.Progress(len(r.Prompt), len(r.Prompt))
			most <- s.api.Active()[0]
			yield(engine.Token{ID: 'a', Text: "a", Finish: engine.FinishStop}, nil)
		}
	}
	s = New(services(fake), Options{})
	if w := roomtest.Post(s.Endpoint(), "/v1/completions", `{"model":"tandem","prompt":["abc","de"],"n":4}`); w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	for range 8 {
		if a := <-most; a.PromptDone > 7 || a.PromptRestored > 4 || a.PromptRestored > a.PromptDone {
			// with a BOS each
			t.Errorf("%d of 7 prompt tokens are done, %d of them restored", a.PromptDone,
				a.PromptRestored)
		}
	}
}

// TestReadingBeginsBeforeItsFirstTokens: a request waits until the engine begins to restore, and reads
// after that, even if nothing was restored.
func TestReadingBeginsBeforeItsFirstTokens(t *testing.T) {
	fake := roomtest.NewBackend()
	var s *Server
	var does []string
	look := func() {
		switch a := s.api.Active()[0]; {
		case a.Waits():
			does = append(does, "waits")
		case a.Restores():
			does = append(does, "restores")
		default:
			does = append(does, "reads")
		}
	}
	fake.Model.Script = func(_ context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
		return func(yield func(engine.Token, error) bool) {
			look()
			r.Restoring()
			look()
			r.Restored(0)
			look()
			yield(engine.Token{ID: 'a', Text: "a", Finish: engine.FinishStop}, nil)
		}
	}
	s = New(services(fake), Options{})
	if w := roomtest.Post(s.Endpoint(), "/v1/completions", `{"model":"tandem","prompt":"abc"}`); w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	if !slices.Equal(does, []string{"waits", "restores", "reads"}) {
		t.Errorf("it %q", does)
	}
}

// TestServedContextIsReported: clients get the context length that will be served.
func TestServedContextIsReported(t *testing.T) {
	fake := roomtest.NewBackend()
	to := services(fake)
	to.Status = limitedStatus{fake}
	w := roomtest.Get(New(to, Options{}).Endpoint(), "/v1/models/other")
	if !strings.Contains(w.Body.String(), `"context_length":100,"max_model_len":100`) ||
		strings.Contains(w.Body.String(), "short_context") {
		t.Error(w.Body)
	}
}

// TestContextThatCannotBeHadIsReported: clients are told why a model has less than was asked for.
func TestContextThatCannotBeHadIsReported(t *testing.T) {
	fake := roomtest.NewBackend()
	to := services(fake)
	to.Status = greedyStatus{fake}
	w := roomtest.Get(New(to, Options{}).Endpoint(), "/v1/models/other")
	if !strings.Contains(w.Body.String(),
		`"short_context":"--context asks for 1,000,000 tokens, and the model was made for `) {
		t.Error(w.Body)
	}
}

type greedyStatus struct{ *roomtest.Backend }

func (b greedyStatus) State() control.State {
	s := b.Backend.State()
	s.ContextLimit = 1_000_000
	return s
}

type limitedStatus struct{ *roomtest.Backend }

func (b limitedStatus) State() control.State {
	s := b.Backend.State()
	s.ContextLimit = 100
	return s
}
