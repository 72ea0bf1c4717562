package pool

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
)

// A completed holds an answer and how it was computed.
type completed struct {
	Text    string
	IDs     []int32
	Finish  string
	Timings struct {
		DraftN    int    `json:"draft_n"`
		Accepted  int    `json:"draft_n_accepted"`
		Drafter   string `json:"drafter"`
		NoDrafter string `json:"no_drafter"`
		RunID     int64  `json:"run_id"`
	}
}

// ask posts a completion, whole or streamed.
func (r *running) ask(t *testing.T, fields map[string]any, stream bool) completed {
	t.Helper()
	request := map[string]any{"model": control.Alias, "return_token_ids": true, "stream": stream}
	maps.Copy(request, fields)
	b, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	status, body := r.post(t, "/v1/completions", string(b))
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", b, status, body)
	}
	events := [][]byte{[]byte(body)}
	if stream {
		events = nil
		for data, err := range control.Events(bytes.NewReader([]byte(body))) {
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, bytes.Clone(data))
		}
	}
	var out completed
	for _, data := range events {
		var part struct {
			Choices []struct {
				Text         string
				TokenIDs     []int32 `json:"token_ids"`
				FinishReason string  `json:"finish_reason"`
			}
			Timings json.RawMessage
		}
		if err := json.Unmarshal(data, &part); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		for _, c := range part.Choices {
			out.Text += c.Text
			out.IDs = append(out.IDs, c.TokenIDs...)
			out.Finish = c.FinishReason
		}
		if part.Timings != nil {
			if err := json.Unmarshal(part.Timings, &out.Timings); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

// fixedDepth is the speculation of a request that names its drafter.
const fixedDepth = `{"drafter":%q,"depth":4}`

// say asks a model for 60 tokens with this speculation. The prompt ends with a space.
func (r *running) say(t *testing.T, model, speculation string) completed {
	t.Helper()
	got := r.ask(t, map[string]any{
		"model": model, "prompt": "func main() { ", "max_tokens": 60, "temperature": 0,
		"ignore_eos": true, "speculation": json.RawMessage(speculation),
	}, false)
	if len(got.IDs) != 60 {
		t.Fatalf("%+v", got)
	}
	return got
}

// wantSame compares the answers to two requests.
func (a completed) wantSame(t *testing.T, what string, b completed) {
	t.Helper()
	if a.Text != b.Text || !slices.Equal(a.IDs, b.IDs) || a.Finish != b.Finish {
		t.Errorf("%s: %q %v %s, plainly %q %v %s",
			what, a.Text, a.IDs, a.Finish, b.Text, b.IDs, b.Finish)
	}
}

// waitUntilQuiet waits until no request is in flight. Then all runs have ended.
func (r *running) waitUntilQuiet(t *testing.T) {
	t.Helper()
	c := r.client(t)
	enginetest.Await(t, "no request is in flight", func() bool {
		st, err := control.Ask(t.Context(), c, control.GetState)
		if err != nil {
			t.Fatal(err)
		}
		return len(st.Active) == 0
	})
}

// endedRun waits until no request is in flight, and returns a run.
func (r *running) endedRun(t *testing.T, id int64) control.Run {
	t.Helper()
	r.waitUntilQuiet(t)
	all := r.runs.all()
	i := slices.IndexFunc(all, func(x control.Run) bool { return x.ID == id })
	if i < 0 {
		t.Fatalf("run %d is not among %+v", id, all)
	}
	return all[i]
}
