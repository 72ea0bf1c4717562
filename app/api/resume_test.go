package api_test

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
)

// A resumed run begins with everything that the interrupted run generated, also with tokens that no
// checkpoint has.
func TestResumeKeepsEveryGeneratedToken(t *testing.T) {
	for _, c := range []struct {
		name string
		text control.RunText
		left []int32 // in the checkpoint
		want string
	}{
		{"all of it is kept", control.RunText{Prompt: 2, Tail: api.TokenBytes([]int32{256, 'x', 'h', 'i'})}, nil, "hi"},
		{"more than a checkpoint has", control.RunText{Prompt: 2, Tail: api.TokenBytes([]int32{256, 'x', 'h', 'i'})}, []int32{256, 'x', 'h'}, "hi"},
		{"a crash", control.RunText{Prompt: 2}, []int32{256, 'x', 'h'}, "h"},
		{"the file is gone", control.RunText{Prompt: 2, File: "gone", Tokens: 3, Tail: api.TokenBytes([]int32{'i'})}, []int32{256, 'x', 'h'}, "h"},
		{"nothing is left", control.RunText{Prompt: 2}, nil, ""},
	} {
		fake := roomtest.NewBackend()
		fake.Model.Output = "hi there"
		fake.Rows = []control.Run{{ID: 1, Endpoint: "/v1/completions", EndedAt: roomtest.Ended,
			FinishReason: control.FinishInterrupted}}
		c.text.Run, c.text.Model, c.text.Request, c.text.Replay = 1, fake.Model.Name,
			json.RawMessage(`{"model":"tandem","prompt":"x"}`), json.RawMessage(`{"seed":7}`)
		fake.Texts, fake.Left = map[int64]control.RunText{1: c.text}, c.left
		w := roomtest.Post(serve(fake), "/app/runs/1/resume", `{}`)
		if got := fake.Model.Decode(fake.Model.Requests[0].Generated); w.Code != http.StatusOK ||
			got != c.want || !strings.Contains(w.Body.String(), `"text":"hi there"`) {
			t.Errorf("%s: %d %s, after %q", c.name, w.Code, w.Body, got)
		}
	}
}

// A run in flight keeps what is needed to resume it. A run that ended keeps what is needed to
// repeat it.
func TestRunTextIsKept(t *testing.T) {
	fake := roomtest.NewBackend()
	s := serve(fake)
	const body = `{"model":"tandem","prompt":"x","seed":5,"stop":["w"]}`
	w := roomtest.Post(s, "/v1/completions", strings.Replace(body, "}", `,"stream":true}`, 1))
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
	s.ServeHTTP(httptest.NewRecorder(), r)
	if run := fake.LastRun(); run.FinishReason != control.FinishCancel {
		t.Errorf("it ended by %q", run.FinishReason)
	}
	if got := fake.Texts[2]; got.Request != nil {
		t.Errorf("cancelled it keeps %s", got.Request)
	}
	// An answer that drafts decided cannot be repeated. Several answers of one request are not
	// kept.
	roomtest.Post(s, "/v1/completions",
		`{"model":"tandem","prompt":"x","temperature":1,"speculation":{"rule":"rejection"}}`)
	fake.LastRun()
	if got := fake.Texts[3]; !strings.Contains(string(got.Replay), `"drafts":true`) {
		t.Errorf("%+v", got)
	}
	roomtest.Post(s, "/v1/completions", `{"model":"tandem","prompt":"x","n":2}`)
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
	s := serve(fake)
	w := roomtest.Post(s, "/app/runs/1/resume", `{}`)
	got := fake.Model.Requests[0]
	if w.Code != http.StatusOK {
		t.Errorf("w.Code = %v, want %v: %s", w.Code, http.StatusOK, w.Body)
	}
	if got.Generated != nil {
		t.Errorf("got.Generated = %v, want nil", got.Generated)
	}
	if *got.Seed != 77 {
		t.Errorf("*got.Seed = %v, want 77", *got.Seed)
	}
	if got.Sampling.TopK != 5 {
		t.Errorf("got.Sampling.TopK = %v, want 5", got.Sampling.TopK)
	}
	if string(got.Prompt) != string([]int32{256, 'x'}) {
		t.Errorf("string(got.Prompt) = %q, want %q",
			string(got.Prompt), string([]int32{256, 'x'}))
	}
	if r := fake.LastRun(); r.Resumes != 1 || r.Endpoint != "/v1/completions" {
		t.Errorf("its row is %+v", r)
	}
	fake.Left = []int32{256, 'x', 'h', 'i'}
	w = roomtest.Post(s, "/app/runs/1/resume", `{"stream":true}`)
	if got := fake.Model.Requests[1]; !slices.Equal(got.Generated, []int32{'h', 'i'}) ||
		!strings.Contains(w.Body.String(), "data: ") {
		t.Errorf("%d %s, after %v", w.Code, w.Body, got.Generated)
	}
	fake.Model.CacheKey = "another"
	roomtest.WantError(t, roomtest.Post(s, "/app/runs/1/resume", `{}`), http.StatusConflict,
		control.CodeNotKept)
	fake.Model.CacheKey = ""
	fake.Left = []int32{256, 'y', 'h', 'i'}
	roomtest.WantError(t, roomtest.Post(s, "/app/runs/1/resume", `{}`), http.StatusConflict,
		control.CodeNotKept)
	roomtest.WantError(t, roomtest.Post(s, "/app/runs/2/resume", `{}`), http.StatusConflict,
		control.CodeNotKept)
	roomtest.WantError(t, roomtest.Post(s, "/app/runs/3/resume", `{}`), http.StatusBadRequest,
		control.CodeInvalid)
	roomtest.WantError(t, roomtest.Post(s, "/app/runs/99/resume", `{}`), http.StatusNotFound,
		control.CodeRunNotFound)
	roomtest.WantError(t, roomtest.Post(s, "/app/runs/x/resume", `{}`), http.StatusNotFound,
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
	var s *roomtest.Served
	s = serve(fake.Lend(func(ctx context.Context) (model.Model, error) {
		if r := fake.Rows[1]; r.Client != "zed" || r.Resumes != 1 || !r.EndedAt.IsZero() {
			t.Errorf("it begins as %+v", r)
		}
		if list := s.API.Active(); len(list) != 1 || list[0].Client != "zed" {
			t.Errorf("in flight are %+v", list)
		}
		return fake.Acquire(ctx, control.Alias)
	}))
	if w := roomtest.Post(s, "/app/runs/1/resume", `{}`); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if r := fake.LastRun(); r.ID != 2 || r.Client != "zed" || r.Resumes != 1 {
		t.Errorf("it ends as %+v", r)
	}
}
