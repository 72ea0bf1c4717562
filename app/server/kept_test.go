package server

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/roomtest"
	"tandem/engine"
)

// A run in flight keeps what is needed to resume it. A run that ended keeps what is needed to
// repeat it.
func TestRunTextIsKept(t *testing.T) {
	fake := roomtest.NewBackend()
	s := New(services(fake), Options{})
	const body = `{"model":"tandem","prompt":"x","seed":5,"stop":["w"]}`
	w := roomtest.Post(s.Endpoint(), "/v1/completions", strings.Replace(body, "}", `,"stream":true}`, 1))
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	fake.LastRun()
	end := fake.Texts[1]
	if got := api.BytesTokens(end.Tail); end.Request != nil || end.Prompt != 2 ||
		!slices.Equal(got[:2], []int32{256, 'x'}) || len(got) < 5 {
		t.Errorf("at its end %+v, tokens %v", end, got)
	}
	var how api.Replay
	if err := json.Unmarshal(end.Replay, &how); err != nil || how.Seed != 5 {
		t.Errorf("it is repeated by %s", end.Replay)
	}
	// A cancelled run keeps no request.
	ctx, cancel := context.WithCancel(t.Context())
	r := roomtest.Request("/v1/completions", body).WithContext(ctx)
	cancel()
	s.Endpoint().ServeHTTP(httptest.NewRecorder(), r)
	if run := fake.LastRun(); run.FinishReason != control.FinishCancel {
		t.Errorf("it ended by %q", run.FinishReason)
	}
	if got := fake.Texts[2]; got.Request != nil {
		t.Errorf("cancelled it keeps %s", got.Request)
	}
	// An answer that drafts decided cannot be repeated. Several answers of one request are not
	// kept.
	roomtest.Post(s.Endpoint(), "/v1/completions", `{"model":"tandem","prompt":"x","temperature":1,"speculation":{"rule":"rejection"}}`)
	fake.LastRun()
	if got := fake.Texts[3]; !strings.Contains(string(got.Replay), `"drafts":true`) {
		t.Errorf("%+v", got)
	}
	roomtest.Post(s.Endpoint(), "/v1/completions", `{"model":"tandem","prompt":"x","n":2}`)
	fake.LastRun()
	if got, ok := fake.Texts[4]; ok {
		t.Errorf("of two answers %+v is kept", got)
	}
}

// The request is sent again after the generated text, with the same seed.
func TestResumeSendsSameSeed(t *testing.T) {
	fake := roomtest.NewBackend()
	fake.Rows = []control.Run{
		{ID: 1, Endpoint: "/v1/completions", EndedAt: roomtest.Ended, FinishReason: "interrupted"},
		{ID: 2, Endpoint: "/v1/completions", EndedAt: roomtest.Ended, FinishReason: "stop"},
		{ID: 3, Endpoint: "/v1/completions"},
	}
	fake.Texts = map[int64]control.RunText{
		1: {Run: 1, Model: fake.Model.Name, Request: []byte(`{"model":"gone","prompt":"x"}`),
			Prompt: 2, Replay: []byte(`{"seed":77,"sampling":{"TopK":5}}`)},
		2: {Run: 2, Model: fake.Model.Name, Prompt: 2},
	}
	s := New(services(fake), Options{})
	w := roomtest.Post(s.Socket(), "/app/runs/1/resume", `{}`)
	got := fake.Model.Requests[0]
	if w.Code != http.StatusOK || got.Generated != nil || *got.Seed != 77 ||
		got.Sampling.TopK != 5 || string(got.Prompt) != string([]int32{256, 'x'}) {
		t.Errorf("%d %s; asked for %+v", w.Code, w.Body, got)
	}
	if r := fake.LastRun(); r.Resumes != 1 || r.Endpoint != "/v1/completions" {
		t.Errorf("its row is %+v", r)
	}
	fake.Left = []int32{256, 'x', 'h', 'i'}
	w = roomtest.Post(s.Socket(), "/app/runs/1/resume", `{"stream":true}`)
	if got := fake.Model.Requests[1]; !slices.Equal(got.Generated, []int32{'h', 'i'}) ||
		!strings.Contains(w.Body.String(), "data: ") {
		t.Errorf("%d %s, after %v", w.Code, w.Body, got.Generated)
	}
	fake.Model.CacheKey = "another"
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/runs/1/resume", `{}`), http.StatusConflict,
		control.CodeNotKept)
	fake.Model.CacheKey = ""
	fake.Left = []int32{256, 'y', 'h', 'i'}
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/runs/1/resume", `{}`), http.StatusConflict,
		control.CodeNotKept)
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/runs/2/resume", `{}`), http.StatusConflict,
		control.CodeNotKept)
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/runs/3/resume", `{}`), http.StatusBadRequest,
		control.CodeInvalid)
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/runs/99/resume", `{}`), http.StatusNotFound,
		control.CodeRunNotFound)
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/runs/x/resume", `{}`), http.StatusNotFound,
		control.CodeRunNotFound)
}

// When a run resumes another, the text belongs to the new run and its client from its beginning.
// Forgetting the client's runs therefore deletes it too.
func TestResumedRunBelongsToNewRun(t *testing.T) {
	fake := roomtest.NewBackend()
	fake.Rows = []control.Run{{ID: 1, Client: "zed", Endpoint: "/v1/completions", EndedAt: roomtest.Ended,
		FinishReason: "interrupted"}}
	fake.Texts = map[int64]control.RunText{1: {Run: 1, Model: fake.Model.Name,
		Request: []byte(`{"model":"gone","prompt":"x"}`), Prompt: 2, Replay: []byte(`{"seed":77}`)}}
	var s *Server
	s = New(services(fake.Lend(func(ctx context.Context) (model.Model, error) {
		if r := fake.Rows[1]; r.Client != "zed" || r.Resumes != 1 || !r.EndedAt.IsZero() {
			t.Errorf("it begins as %+v", r)
		}
		if list := s.api.Active(); len(list) != 1 || list[0].Client != "zed" {
			t.Errorf("in flight are %+v", list)
		}
		return fake.Acquire(ctx, control.Alias)
	})), Options{})
	if w := roomtest.Post(s.Socket(), "/app/runs/1/resume", `{}`); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if r := fake.LastRun(); r.ID != 2 || r.Client != "zed" || r.Resumes != 1 {
		t.Errorf("it ends as %+v", r)
	}
}

// TestVerifyRunReplaysWithoutDrafts: an answer is computed again without drafts, and compared.
func TestVerifyRunReplaysWithoutDrafts(t *testing.T) {
	fake := roomtest.Lettered("answer")
	fake.Model.Output = "defghij"
	s := New(services(fake), Options{})
	for _, c := range []struct {
		name string
		text control.RunText
		want control.Replayed
	}{
		{"all", control.RunText{Prompt: 3, File: "abc", Tokens: 10, Tail: []byte{}}, control.Replayed{Tokens: 7, Same: 7}},
		{"the tail too", control.RunText{Prompt: 3, File: "abc", Tokens: 8, Tail: api.TokenBytes([]int32{'i', 'j'})}, control.Replayed{Tokens: 7, Same: 7}},
		{"another token", control.RunText{Prompt: 3, File: "abc", Tokens: 5, Tail: api.TokenBytes([]int32{'f', 'x', 'h'})}, control.Replayed{Tokens: 5, Same: 3, Answered: "x", Now: "g"}},
		{"a longer answer", control.RunText{Prompt: 3, File: "abc", Tokens: 10, Tail: api.TokenBytes([]int32{'k'})}, control.Replayed{Tokens: 8, Same: 7}},
		{"no file", control.RunText{Prompt: 1, Tail: api.TokenBytes([]int32{'q', 'd', 'e'})}, control.Replayed{Tokens: 2, Same: 2}},
		{"nothing", control.RunText{Prompt: 1, Tail: api.TokenBytes([]int32{'q'})}, control.Replayed{}},
	} {
		fake.Rows = []control.Run{{ID: 1, Model: fake.Model.Name, EndedAt: roomtest.Ended,
			FinishReason: "stop"}}
		c.text.Run, c.text.Replay, c.want.Run = 1, []byte(`{"seed":1}`), 1
		fake.Texts = map[int64]control.RunText{1: c.text}
		w := roomtest.Post(s.Socket(), "/app/runs/1/verify", `{}`)
		var got control.Replayed
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
			continue
		}
		if got.At.IsZero() {
			t.Errorf("%s: it does not say when", c.name)
		}
		if got.At = c.want.At; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	for _, r := range fake.Model.Requests {
		if !r.Fresh || r.Speculation.Drafter != engine.None {
			t.Errorf("verified by %+v", r)
		}
	}
	for _, text := range []control.RunText{
		// the file is shorter
		{Run: 1, Prompt: 3, File: "abc", Tokens: 40, Tail: []byte{}, Replay: []byte(`{}`)},
		// it never ended
		{Run: 1, Prompt: 3, Replay: []byte(`{}`)},
		// it cannot be repeated
		{Run: 1, Prompt: 3, Tail: []byte{}, Replay: []byte(`{"drafts":true}`)},
		// of other weights
		{Run: 1, Prompt: 3, Tail: []byte{}, Replay: []byte(`{}`), Key: "another"},
	} {
		fake.Texts = map[int64]control.RunText{1: text}
		roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/runs/1/verify", `{}`), http.StatusConflict,
			control.CodeNotKept)
	}
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/runs/1/verify", `{"progres": true}`), http.StatusBadRequest,
		control.CodeInvalid)
	fake.Texts = map[int64]control.RunText{1: {Run: 1, Prompt: 3, File: "gone", Tokens: 4,
		Tail: []byte{}, Replay: []byte(`{}`)}}
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/runs/1/verify", `{}`), http.StatusConflict,
		control.CodeNotKept)
	for run, says := range map[*control.Run]string{
		{ID: 1, Model: fake.Model.Name}: "still running",
		{ID: 1, Model: fake.Model.Name, EndedAt: roomtest.Ended,
			FinishReason: control.FinishCancel}: "no answer to check",
	} {
		fake.Rows = []control.Run{*run}
		w := roomtest.Post(s.Socket(), "/app/runs/1/verify", `{}`)
		roomtest.WantError(t, w, http.StatusConflict, control.CodeNotKept)
		if !strings.Contains(w.Body.String(), says) {
			t.Errorf("%s, want that it is %s", w.Body, says)
		}
	}
}

// TestVerifyStreamsProgressThenVerdict: a client that asks for progress gets it, and the verdict
// last.
func TestVerifyStreamsProgressThenVerdict(t *testing.T) {
	fake := roomtest.Lettered("answer")
	fake.Model.Output = "defghij"
	fake.Rows = []control.Run{{ID: 1, Model: fake.Model.Name, EndedAt: roomtest.Ended,
		CompletionTokens: 7}}
	fake.Texts = map[int64]control.RunText{1: {Run: 1, Prompt: 3, File: "abc", Tokens: 10,
		Tail: []byte{}, Replay: []byte(`{"seed":1}`)}}
	s := New(services(fake), Options{})
	var told []control.VerifyProgress
	for data, err := range control.Events(roomtest.Post(s.Socket(), "/app/runs/1/verify",
		`{"progress":true}`).Body) {
		var p control.VerifyProgress
		if err != nil || json.Unmarshal(data, &p) != nil || p.Tokens != 7 {
			t.Fatalf("%s, %v", data, err)
		}
		told = append(told, p)
	}
	if n := len(told); n < 2 || told[0].Same != 0 || told[0].Verdict != nil ||
		told[n-1].Verdict == nil || told[n-1].Verdict.Same != 7 {
		t.Errorf("%+v", told)
	}
	if fake.Rows[0].Verdict == nil {
		t.Error("the run does not keep the verdict")
	}
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/runs/2/verify", `{"progress":true}`), http.StatusNotFound,
		control.CodeRunNotFound)
}

// The next user message follows as the template writes it, without what the text already has.
func TestBranchFollowsTemplate(t *testing.T) {
	for _, c := range []struct {
		name, kind, template, body string
		want                       string // after a to z
		object                     string
	}{
		{"an answer", "answer", "<%s>", `{"prompt":"more"}`, "><more>", "chat.completion"},
		{"an answer that was closed", "answer", "<%sz", `{"prompt":"more"}`, "<morez", "chat.completion"},
		{"a message", "prompt", "(%sxyz", `{"prompt":"more"}`, "(morexyz", "chat.completion"},
		{"the system's message", "prompt", "system only (%sxyz", `{"prompt":"more"}`, "system only (morexyz", "chat.completion"},
		{"as it is", "prompt", "(%s)", `{"prompt":"more","raw":true}`, "more", "text_completion"},
		{"on and on", "prompt", "(%s)", `{"raw":true}`, "", "text_completion"},
		{"without a template", "answer", "", `{"prompt":"more"}`, "more", "text_completion"},
	} {
		fake := roomtest.Lettered(c.kind)
		fake.Model.Template = nil
		if c.template != "" {
			fake.Model.Template = func(vars []byte) (string, error) {
				var v struct {
					Messages []struct{ Role, Content string }
				}
				err := json.Unmarshal(vars, &v)
				text := ""
				for _, m := range v.Messages {
					text += strings.Replace(c.template, "%s", m.Content, 1)
				}
				if strings.HasPrefix(c.template, "system only") && v.Messages[0].Role != "system" {
					return "", control.Errorf(control.CodeInvalid, "roles must alternate")
				}
				return text, err
			}
		}
		w := roomtest.Post(New(services(fake), Options{}).Socket(), "/app/checkpoints/abc/branch", c.body)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(),
			`"object":"`+c.object+`"`) {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
			continue
		}
		got := fake.Model.Decode(fake.Model.Requests[0].Prompt)
		if want := "abcdefghijklmnopqrstuvwxyz" + c.want; got != want {
			t.Errorf("%s: the prompt is %q, want %q", c.name, got, want)
		}
	}
	s := New(services(roomtest.Lettered("prompt")), Options{})
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/checkpoints/abc/branch", `{"prompt":"more"}`),
		http.StatusBadRequest, control.CodeInvalid)
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/checkpoints/abc/branch", `{}`), http.StatusBadRequest,
		control.CodeInvalid)
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/checkpoints/x/branch", `{"prompt":"more"}`),
		http.StatusNotFound, control.CodeNoCheckpoint)
}

// The routes refuse wrong bodies, and answer right ones.
func TestCheckpointRoutesRefuseBadInput(t *testing.T) {
	fake := roomtest.Lettered("answer")
	s := New(services(fake), Options{})
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{"/app/checkpoints/abc", `{"name":"one","pinned":true}`, 200},
		{"/app/checkpoints/abc", `{}`, 200},
		{"/app/checkpoints/abc", `{"name":7}`, 400},
		{"/app/checkpoints/abc", `{"pinned":"yes"}`, 400},
		{"/app/checkpoints/abc", `{"name":"` + strings.Repeat("x", maxCheckpointName+1) + `"}`, 400},
		{"/app/checkpoints/abc", `{"name":".."}`, 400},
		{"/app/checkpoints/abc", `{"name":"feature/x"}`, 400},
		{"/app/checkpoints/abc", `{"name":""}`, 200},
		{"/app/checkpoints/other", `{"pinned":true}`, 404},
		{"/app/checkpoints/abc/verify", `{}`, 200},
		{"/app/forget", `{}`, 400},
		{"/app/forget", `{"day":"yesterday"}`, 400},
		{"/app/forget", `{"day":"2026-11-22"}`, 200},
		{"/app/forget", `{"client":"zed"}`, 200},
	} {
		if w := roomtest.Post(s.Socket(), c.path, c.body); w.Code != c.status {
			t.Errorf("%s %s: %d %s", c.path, c.body, w.Code, w.Body)
		}
	}
	if c := fake.OnDisk; c.Name != "" || !c.Pinned {
		t.Errorf("changed to %+v", c)
	}
	// Over TCP the routes need a session.
	r, w := roomtest.Request("/app/forget", `{"model":"m"}`), httptest.NewRecorder()
	r.RemoteAddr = "127.0.0.1:1"
	s.Endpoint().ServeHTTP(w, r)
	roomtest.WantError(t, w, http.StatusUnauthorized, control.CodeUnauthorized)
}
