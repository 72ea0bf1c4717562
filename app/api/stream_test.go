package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/roomtest"
	"tandem/app/wire"
	"tandem/engine"
)

func streamRequest(ctx context.Context) *http.Request {
	r := roomtest.LocalRequest(http.MethodPost, "/v1/completions",
		strings.NewReader(`{"model":"tandem","prompt":"x","stream":true}`)).WithContext(ctx)
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	return r
}

// An answer in one piece does not wait for its client either.
func TestSlowReaderOfWholeAnswerIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := roomtest.NewBackend()
		r := streamRequest(t.Context())
		r.Body = io.NopCloser(strings.NewReader(`{"model":"tandem","prompt":"x"}`))
		w := roomtest.NewWriter()
		w.Blocked = true
		serve(fake).ServeHTTP(w, r)
		if took := time.Since(w.Start); took != wire.ReaderPatience {
			t.Errorf("the client was cut after %v", took)
		}
		if r := fake.LastRun(); r.FinishReason != "cancel" || r.Error != "" {
			t.Errorf("the history has %+v", r)
		}
	})
}

func TestSilentStreamGetsComments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := roomtest.NewBackend()
		fake.Model.Script = roomtest.Script(func(_ context.Context, yield func(string, error) bool) {
			time.Sleep(8 * time.Second) // a long prefill
			yield("a", nil)
			time.Sleep(time.Second) // too short a silence for a comment
			yield("b", nil)
		})
		w := roomtest.NewWriter()
		serve(fake).ServeHTTP(w, streamRequest(t.Context()))
		var got []string
		for _, e := range w.Events {
			got = append(got, strings.SplitAfter(e, "data: ")[0])
		}
		want := []string{"2s: : keep-alive", "7s: : keep-alive", "8s: data: ", "9s: data: "}
		got = slices.Compact(got) // the end may come with the last token or after it
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("got %q, want %q", got, want)
		}
		if w.Headers.Get("Content-Type") != "text/event-stream" || w.Status != 200 {
			t.Errorf("status %d, headers %v", w.Status, w.Headers)
		}
		if last := w.Events[len(w.Events)-1]; !strings.HasSuffix(last, "data: [DONE]") {
			t.Errorf("the stream ends with %q", last)
		}
	})
}

// TestErrorInStreamIsAnEvent: before the first byte an error is a response with its own status. After
// it the error is an event.
func TestErrorInStreamIsAnEvent(t *testing.T) {
	full := &engine.Error{Code: engine.CodeQueueFull,
		Message: "64 requests wait already; try again in a second."}
	for _, c := range []struct {
		wait   time.Duration
		before string
		status int
		body   string
	}{
		{0, "", 503, `{"error":{"message":"64 requests wait already; try again in a second.","type":"server_error","param":null,"code":"queue_full"}}`},
		{0, "a", 200, `data: {"error":{`},
		{3 * time.Second, "", 200, `: keep-alive data: {"error":{`},
	} {
		synctest.Test(t, func(t *testing.T) {
			fake := roomtest.NewBackend()
			fake.Model.Script = roomtest.Script(func(_ context.Context, yield func(string, error) bool) {
				time.Sleep(c.wait)
				if c.before != "" {
					yield(c.before, nil)
				}
				yield("", full)
			})
			w := roomtest.NewWriter()
			serve(fake).ServeHTTP(w, streamRequest(t.Context()))
			text := w.Pending.String()
			for _, e := range w.Events {
				_, e, _ = strings.Cut(e, ": ")
				text += e + " "
			}
			if w.Status != c.status || !strings.Contains(text, c.body) ||
				strings.Contains(text, "[DONE]") {
				t.Errorf("%+v: %d %s", c, w.Status, text)
			}
			if again := w.Headers.Get("Retry-After"); (again == "1") != (c.status == 503) {
				t.Errorf("%+v: Retry-After %q", c, again)
			}
			if r := fake.LastRun(); r.FinishReason != "error" || r.Error != string(full.Code) {
				t.Errorf("%+v: the history has %+v", c, r)
			}
		})
	}
}

// TestSlowReaderNeverHoldsTheEngine: the engine's iterator runs to its end at its own pace while
// the client reads nothing. The client is cut after its time limit.
func TestSlowReaderNeverHoldsTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tokens = 10_000
		fake := roomtest.NewBackend()
		generated := time.Duration(-1)
		start := time.Now()
		fake.Model.Script = roomtest.Script(func(_ context.Context, yield func(string, error) bool) {
			for range tokens {
				if !yield("token", nil) {
					return
				}
			}
			generated = time.Since(start)
		})
		w := roomtest.NewWriter()
		w.Blocked = true
		serve(fake).ServeHTTP(w, streamRequest(t.Context()))
		if generated != 0 {
			t.Errorf("generating took %v of waiting for the reader", generated)
		}
		if took := time.Since(start); took != wire.ReaderPatience {
			t.Errorf("the client was cut after %v", took)
		}
		if r := fake.LastRun(); r.FinishReason != "cancel" || r.CompletionTokens != tokens {
			t.Errorf("the history has %+v", r)
		}
	})
}

// A client that falls too far behind is cut before its time limit, so the buffer stays bounded.
func TestSlowReaderIsCutWhenBufferIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := roomtest.NewBackend()
		text, sent := strings.Repeat("x", 1<<20), 0
		fake.Model.Script = roomtest.Script(func(ctx context.Context, yield func(string, error) bool) {
			for ctx.Err() == nil && sent < 1000 {
				sent++
				if !yield(text, nil) {
					return
				}
			}
		})
		w := roomtest.NewWriter()
		w.Blocked = true
		serve(fake).ServeHTTP(w, streamRequest(t.Context()))
		if sent > 2*wire.MaxPending/len(text)+2 { // what is being written, and what waits after it
			t.Errorf("%d MiB were generated for a reader that is not there", sent)
		}
	})
}

// Events of several choices may mix. Each choice is whole and ends once, and only the last event
// has the timings.
func TestStreamedChoicesAreWhole(t *testing.T) {
	for _, usage := range []bool{false, true} {
		w := roomtest.Post(serve(roomtest.NewBackend()), "/v1/completions",
			fmt.Sprintf(`{"model":"tandem","prompt":["a","b"],"n":8,"stream":true,"stream_options":{"include_usage":%v}}`, usage))
		var texts, ends [16]string
		var timed []int
		n := 0
		for data, err := range control.Events(w.Body) {
			if err != nil {
				t.Fatal(err)
			}
			var chunk struct {
				Choices []struct {
					Index        int
					Text         string
					FinishReason *string `json:"finish_reason"`
				}
				Timings *api.Timings
			}
			if err := json.Unmarshal(data, &chunk); err != nil {
				t.Fatal(err)
			}
			for _, c := range chunk.Choices {
				texts[c.Index] += c.Text
				if c.FinishReason != nil {
					ends[c.Index] += *c.FinishReason
				}
			}
			if chunk.Timings != nil {
				timed = append(timed, n)
				if chunk.Timings.PredictedN != 16*13 ||
					chunk.Timings.PromptN+chunk.Timings.CacheN != 4 {
					t.Errorf("timings %+v", chunk.Timings)
				}
			}
			n++
		}
		for i := range texts {
			if texts[i] != "héllo wörld" || ends[i] != "stop" {
				t.Errorf("choice %d: %q, ended by %q", i, texts[i], ends[i])
			}
		}
		if len(timed) != 1 || timed[0] != n-1 {
			t.Errorf("of %d events %v have timings", n, timed)
		}
	}
}

// If a client leaves, its generation ends, in a stream or not.
func TestDisconnectEndsGeneration(t *testing.T) {
	for _, stream := range []bool{true, false} {
		t.Run(fmt.Sprint("stream ", stream), func(t *testing.T) {
			fake := roomtest.NewBackend()
			started := make(chan struct{})
			var once sync.Once
			fake.Model.Script = roomtest.Script(func(ctx context.Context, yield func(string, error) bool) {
				for ctx.Err() == nil {
					if !yield("x", nil) {
						return
					}
					once.Do(func() { close(started) })
					time.Sleep(time.Millisecond) // as a model that computes
				}
				yield("", ctx.Err())
			})
			srv := httptest.NewServer(serve(fake))
			defer srv.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				<-started
				cancel()
			}()
			body := fmt.Sprintf(`{"model":"tandem","prompt":"x","stream":%v}`, stream)
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+"/v1/completions",
				strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			resp, err := http.DefaultClient.Do(req)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			if err == nil {
				t.Error("the request came to its end")
			}
			if r := fake.LastRun(); r.FinishReason != "cancel" || r.Error != "" {
				t.Errorf("the history has %+v", r)
			}
		})
	}
}

// When another request cancels a run, the client keeps what was generated.
func TestCancelledRunKeepsItsText(t *testing.T) {
	for _, stream := range []bool{true, false} {
		fake := roomtest.NewBackend()
		s := serve(fake)
		fake.Model.Script = roomtest.Script(func(ctx context.Context, yield func(string, error) bool) {
			yield("kept", nil)
			if !s.API.CancelRun("1") {
				t.Errorf("stream %v: no run 1 is in flight", stream)
			}
			<-ctx.Done()
			yield("", ctx.Err())
		})
		w := roomtest.Post(s, "/v1/completions",
			fmt.Sprintf(`{"model":"tandem","prompt":"x","stream":%v}`, stream))
		body := w.Body.String()
		if w.Code != 200 {
			t.Errorf("stream %v: w.Code = %v, want 200: %s", stream, w.Code, w.Body)
		}
		if !strings.Contains(body, "kept") {
			t.Errorf(`stream %v: body = %q, want it to have "kept"`, stream, body)
		}
		if !strings.Contains(body, `"finish_reason":"length"`) {
			t.Errorf("stream %v: body = %q, want it to have %q",
				stream, body, `"finish_reason":"length"`)
		}
		if strings.Contains(body, `"error"`) {
			t.Errorf("stream %v: body = %q, want none of %q", stream, body, `"error"`)
		}
		if !strings.Contains(body, `"stopped":true`) {
			t.Errorf("stream %v: body = %q, want it to have %q", stream, body, `"stopped":true`)
		}
		if w.Header().Get(api.RunHeader) != "1" {
			t.Errorf(`stream %v: w.Header().Get(api.RunHeader) = %q, want "1"`,
				stream, w.Header().Get(api.RunHeader))
		}
		if r := fake.LastRun(); r.FinishReason != "cancel" || r.CompletionTokens != 1 {
			t.Errorf("stream %v: the history has %+v", stream, r)
		}
	}
}

// Each answer names its run, a refused one too. A run that ends by itself was not stopped.
func TestAnswerNamesItsRun(t *testing.T) {
	s := serve(roomtest.NewBackend())
	for i, c := range []struct {
		body string
		code int
	}{{`{"model":"tandem","prompt":"x"}`, 200},
		{`{"model":"tandem","prompt":"x","stream":true}`, 200},
		{`{"model":"tandem","prompt":7}`, 400}} {
		w := roomtest.Post(s, "/v1/completions", c.body)
		if got := w.Header().Get(api.RunHeader); w.Code != c.code || got != strconv.Itoa(i+1) ||
			strings.Contains(w.Body.String(), `"stopped"`) {
			t.Errorf("%s: %d, run %q: %s", c.body, w.Code, got, w.Body)
		}
	}
}

// A server that stops answers the requests in flight, and new ones.
func TestCloseAnswersRequestsInFlight(t *testing.T) {
	fake := roomtest.NewBackend()
	s := serve(fake)
	fake.Model.Script = roomtest.Script(func(ctx context.Context, yield func(string, error) bool) {
		s.Close()
		<-ctx.Done()
		yield("", ctx.Err())
	})
	for range 2 {
		w := roomtest.Post(s, "/v1/completions", `{"model":"tandem","prompt":"x"}`)
		if e := roomtest.DecodeError(t, w); w.Code != 503 || e.Code != "not_ready" {
			t.Errorf("%d %+v", w.Code, e)
		}
	}
}

// TestCloseEndsStreamWithError: a client in mid-stream is told that the server stops.
func TestCloseEndsStreamWithError(t *testing.T) {
	fake := roomtest.NewBackend()
	s := serve(fake)
	fake.Model.Script = roomtest.Script(func(ctx context.Context, yield func(string, error) bool) {
		yield("kept", nil)
		s.Close()
		<-ctx.Done()
		yield("", ctx.Err())
	})
	w := roomtest.Post(s, "/v1/completions", `{"model":"tandem","prompt":"x","stream":true}`)
	if body := w.Body.String(); strings.Contains(body, "[DONE]") ||
		!strings.Contains(body, `"code":"not_ready"`) {
		t.Errorf("%d %s", w.Code, body)
	}
	if r := fake.LastRun(); r.FinishReason != control.FinishInterrupted || r.Error != "not_ready" ||
		r.CompletionTokens != 1 {
		t.Errorf("the history has %+v", r)
	}
}
