package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"tandem/app/control"
	"tandem/engine"
	"tandem/engine/enginetest"
)

// An answer is a response, read to its end, or the error that prevented that.
type answer struct {
	status int
	header http.Header
	body   string
	err    error
}

// Send posts a body as the client "test", and returns the answer. Any goroutine may call it.
func (r *running) Send(route, body string) (a answer) { return r.sendAs("test", route, body) }

// sendAs is Send in the name of a client.
func (r *running) sendAs(client, route, body string) (a answer) {
	req, err := http.NewRequest(http.MethodPost, r.url+route, strings.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", client)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(text), err}
}

// One client takes all places of the engine and its whole queue. One more request of it gets status
// 503, queue_full and a Retry-After. One of another client waits like the rest, and all are answered.
func TestFullQueueRefusesOneMoreAndAnswersTheRest(t *testing.T) {
	const places = engine.MaxActive + engine.MaxShort // all requests are short
	r := start(t, Options{Model: longModel(t)}, "127.0.0.1:0")
	c := r.client(t)
	if _, err := control.Call(t.Context(), c, control.LoadModel,
		control.LoadRequest{Model: "long"}); err != nil {
		t.Fatal(err)
	}
	thread := enginetest.Hold(t, r.thread)
	var clients sync.WaitGroup
	defer func() {
		thread.Free()
		clients.Wait()
	}()
	// The first request must not end before the last has its place. So there are no drafts:
	// one round with drafts can produce a whole answer.
	const body = `{"model":"tandem","prompt":"abc","max_tokens":64,"ignore_eos":true,"temperature":0,"speculation":{"drafter":"none"},"stream":%t}`
	answers := make(chan answer, places+engine.MaxQueue+1)
	post := func(client string, n int) {
		for i := range n {
			clients.Go(func() { answers <- r.sendAs(client, "/v1/completions", fmt.Sprintf(body, i%2 == 0)) })
		}
	}
	post("test", places)
	await(t, c, func(s control.State) bool {
		n := 0
		for _, a := range s.Active {
			if a.PromptTokens > 0 {
				n++
			}
		}
		return n == places
	})
	// A request has a place once the engine has read of its prompt.
	for {
		s := await(t, c, func(control.State) bool { return true })
		if len(s.Active) < places {
			t.Fatalf("a request ended before all had a place: %+v", s.Active)
		}
		if placed(s) == places {
			break
		}
		thread.Step()
	}
	post("test", engine.MaxQueue)
	await(t, c, func(s control.State) bool { return s.Loaded.Queued == engine.MaxQueue })
	for _, stream := range []bool{false, true} {
		a := r.Send("/v1/completions", fmt.Sprintf(body, stream))
		if a.err != nil || a.status != http.StatusServiceUnavailable ||
			a.header.Get("Retry-After") != "1" || !strings.Contains(a.body, `"code":"queue_full"`) {
			t.Errorf("one more request, stream %t: %+v, want 503 and queue_full", stream, a)
		}
	}
	post("another", 1)
	await(t, c, func(s control.State) bool { return s.Loaded.Queued == engine.MaxQueue+1 })
	thread.Free()
	clients.Wait()
	for range cap(answers) {
		if a := <-answers; a.err != nil || a.status != http.StatusOK ||
			!strings.Contains(a.body, `"finish_reason":"length"`) {
			t.Errorf("a request with a place was answered %+v", a)
		}
	}
}

// placed counts the requests that the engine has begun.
func placed(s control.State) (n int) {
	for _, a := range s.Active {
		if a.PromptDone > 0 {
			n++
		}
	}
	return n
}

// A prompt beyond the context gets status 400, with the length of the context and of the prompt,
// in every form. A prompt that cannot fit whatever its tokens are is not counted in full.
func TestPromptBeyondTheContextIsRefusedWithBothLengths(t *testing.T) {
	r := start(t, Options{Model: writeModel(t, "tiny"), ContextLength: 64}, "127.0.0.1:0")
	long, longer := strings.Repeat("a", 100), strings.Repeat("a", 100_000)
	for _, c := range []struct {
		route, field, prompt, got string
	}{
		{"/v1/completions", "prompt", fmt.Sprintf(`%q`, long), "100 tokens"},
		{"/v1/completions", "prompt", fmt.Sprintf(`%q`, longer), "at least "},
		{"/v1/chat/completions", "messages", fmt.Sprintf(`[{"role":"user","content":%q}]`, long), "118 tokens"},
		{"/v1/chat/completions", "messages", fmt.Sprintf(`[{"role":"user","content":%q}]`, longer), "at least "},
	} {
		for _, stream := range []bool{false, true} {
			a := r.Send(c.route, fmt.Sprintf(`{"model":"tandem",%q:%s,"stream":%t}`, c.field,
				c.prompt, stream))
			var e struct {
				Error struct{ Message, Type, Param, Code string }
			}
			if err := errors.Join(a.err, json.Unmarshal([]byte(a.body), &e)); err != nil {
				t.Errorf("%s: %v: %.300s", c.route, err, a.body)
				continue
			}
			if a.status != http.StatusBadRequest {
				t.Errorf("%s: a.status = %v, want %v", c.route, a.status, http.StatusBadRequest)
			}
			if e.Error.Code != "context_length_exceeded" {
				t.Errorf(`%s: e.Error.Code = %q, want "context_length_exceeded"`,
					c.route, e.Error.Code)
			}
			if e.Error.Param != c.field {
				t.Errorf("%s: e.Error.Param = %v, want %v", c.route, e.Error.Param, c.field)
			}
			if !strings.Contains(e.Error.Message, "64 tokens") {
				t.Errorf(`%s: e.Error.Message = %q, want it to have "64 tokens"`,
					c.route, e.Error.Message)
			}
			if !strings.Contains(e.Error.Message, c.got) {
				t.Errorf("%s: e.Error.Message = %q, want it to have %q",
					c.route, e.Error.Message, c.got)
			}
		}
	}
	if status, body := r.complete(t, control.Alias,
		strings.Repeat("a", 50)); status != http.StatusOK {
		t.Errorf("a prompt that fits: %d %s", status, body)
	}
}

// A drain closes a connection without a request at once. The request in flight goes on to its
// end.
func TestDrainClosesIdleConnectionsAtOnce(t *testing.T) {
	r := start(t, Options{Model: writeModel(t, "tiny")}, "127.0.0.1:0")
	if err := r.pool.Load(t.Context(), "tiny"); err != nil {
		t.Fatal(err)
	}
	thread := enginetest.Hold(t, r.thread)
	idle, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	answered := make(chan answer, 1)
	go func() {
		answered <- r.Send("/v1/completions", `{"model":"tandem","prompt":"abc","max_tokens":4}`)
	}()
	// A listener accepts in order. So idle is accepted once the request is.
	await(t, r.client(t), func(s control.State) bool { return active(s, 3) != nil })
	r.stop()
	if n, err := idle.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("the idle connection read %d bytes, %v, want it closed", n, err)
	}
	select {
	case a := <-answered:
		t.Errorf("the request in flight ended before the idle connection: %+v", a)
	default:
		thread.Free()
		if a := <-answered; a.err != nil || a.status != http.StatusOK {
			t.Errorf("the request in flight was answered %+v", a)
		}
	}
}
