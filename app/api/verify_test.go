package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/roomtest"
	"tandem/engine"
)

// TestVerifyRunReplaysWithoutDrafts: an answer is computed again without drafts, and compared.
func TestVerifyRunReplaysWithoutDrafts(t *testing.T) {
	fake := roomtest.Lettered("answer")
	fake.Model.Output = "defghij"
	s := serve(fake)
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
		w := roomtest.Post(s, "/app/runs/1/verify", `{}`)
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
		roomtest.WantError(t, roomtest.Post(s, "/app/runs/1/verify", `{}`), http.StatusConflict,
			control.CodeNotKept)
	}
	roomtest.WantError(t, roomtest.Post(s, "/app/runs/1/verify",
		`{"progres": true}`), http.StatusBadRequest,
		control.CodeInvalid)
	fake.Texts = map[int64]control.RunText{1: {Run: 1, Prompt: 3, File: "gone", Tokens: 4,
		Tail: []byte{}, Replay: []byte(`{}`)}}
	roomtest.WantError(t, roomtest.Post(s, "/app/runs/1/verify", `{}`), http.StatusConflict,
		control.CodeNotKept)
	for run, says := range map[*control.Run]string{
		{ID: 1, Model: fake.Model.Name}: "still running",
		{ID: 1, Model: fake.Model.Name, EndedAt: roomtest.Ended,
			FinishReason: control.FinishCancel}: "no answer to check",
	} {
		fake.Rows = []control.Run{*run}
		w := roomtest.Post(s, "/app/runs/1/verify", `{}`)
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
	s := serve(fake)
	var told []control.VerifyProgress
	for data, err := range control.Events(roomtest.Post(s, "/app/runs/1/verify",
		`{"progress":true}`).Body) {
		var p control.VerifyProgress
		if err != nil || json.Unmarshal(data, &p) != nil || p.Tokens != 7 {
			t.Fatalf("%s, %v", data, err)
		}
		told = append(told, p)
	}
	n := len(told)
	if n < 2 {
		t.Fatalf("n = %v, want at least 2", n)
	}
	if told[0].Same != 0 {
		t.Errorf("told[0].Same = %v, want 0", told[0].Same)
	}
	if told[0].Verdict != nil {
		t.Errorf("told[0].Verdict = %v, want nil", told[0].Verdict)
	}
	if told[n-1].Verdict == nil {
		t.Fatal("told[n-1].Verdict is nil")
	}
	if told[n-1].Verdict.Same != 7 {
		t.Errorf("told[n-1].Verdict.Same = %v, want 7", told[n-1].Verdict.Same)
	}
	if fake.Rows[0].Verdict == nil {
		t.Error("the run does not keep the verdict")
	}
	roomtest.WantError(t, roomtest.Post(s, "/app/runs/2/verify",
		`{"progress":true}`), http.StatusNotFound,
		control.CodeRunNotFound)
}
