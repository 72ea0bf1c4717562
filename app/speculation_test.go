package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
)

// varies is a prompt after which the n-gram drafter is right in part.
const varies = "func A() int {\n\treturn 1\n}\n\nfunc B() int {\n\treturn 2\n}\n\nfunc C() int {\n\treturn 3\n}\n\n"

// repeats is a prompt with a repeated text, so that the n-gram drafter has something to look up.
var repeats = strings.Repeat("func (s *Server) Len() int {\n\treturn s.len\n}\n\n", 2)

// A completed is the answer of a completion and its timings.
type completed struct {
	Text    string
	IDs     []int32
	Finish  string
	Timings struct {
		DraftN    int `json:"draft_n"`
		Accepted  int `json:"draft_n_accepted"`
		Rounds    int
		Syncs     int
		Drafter   string
		NoDrafter string `json:"no_drafter"`
		RunID     int64  `json:"run_id"`
	}
}

// Ask posts a completion, whole or streamed, and returns its answer.
func (r *running) Ask(t *testing.T, fields map[string]any, stream bool) completed {
	t.Helper()
	body := map[string]any{"model": control.Alias, "return_token_ids": true, "stream": stream}
	maps.Copy(body, fields)
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(r.url+"/v1/completions", "application/json", bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s gets %d %s, %v, want 200", b, resp.StatusCode, text, err)
	}
	events := [][]byte{text}
	if stream {
		events = nil
		for data, err := range control.Events(bytes.NewReader(text)) {
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
			t.Fatalf("the event %s: %v", data, err)
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

// Run waits for the end of a run and returns its row.
func (r *running) Run(t *testing.T, id int64) control.Run {
	t.Helper()
	c := r.client(t)
	await(t, c, func(s control.State) bool { return len(s.Active) == 0 })
	row, err := control.Call(t.Context(), c, control.GetRun, id)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// same fails the test unless the answers a and b have the same text, tokens and finish reason. b is
// the answer without a drafter.
func (a completed) same(t *testing.T, what string, b completed) {
	t.Helper()
	if a.Text != b.Text || !slices.Equal(a.IDs, b.IDs) || a.Finish != b.Finish {
		t.Errorf("%s: %q %v %s, want %q %v %s as without a drafter",
			what, a.Text, a.IDs, a.Finish, b.Text, b.IDs, b.Finish)
	}
}

// The built-in model gives the same tokens with every drafter as without one. This holds to the bit
// only in some arithmetics, and the test runs only in those. The engine waits for the device once a
// round.
func TestSpeculationChangesNoToken(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	r := start(t, Options{Model: "pocket"}, "127.0.0.1:0")
	drafted, accepted := 0, 0
	drafters := map[string]bool{}
	for name, sampling := range map[string]map[string]any{
		"greedy":  {"temperature": 0},
		"sampled": {"temperature": 0.8, "seed": 7},
	} {
		request := maps.Clone(sampling)
		maps.Copy(request, map[string]any{"prompt": varies, "max_tokens": 22, "ignore_eos": true})
		request["speculation"] = map[string]any{"drafter": "none"}
		plain := r.Ask(t, request, false)
		if len(plain.IDs) != 22 || plain.Timings.DraftN != 0 || plain.Timings.NoDrafter == "" {
			t.Errorf("%s without a drafter: %+v, want 22 tokens and the reason", name, plain)
		}
		r.Ask(t, request, true).same(t, name+", streamed", plain)
		for i, how := range []any{
			nil,
			map[string]any{"drafter": "ngram", "depth": 3},
			map[string]any{"drafter": "auto", "depth": 8, "rollback": "snapshot"},
			map[string]any{"drafter": "dflash", "depth": 7},
		} {
			request["speculation"] = how
			a := r.Ask(t, request, i%2 == 0)
			a.same(t, name, plain)
			drafters[a.Timings.Drafter] = true
			// One more sync is for the first token, which the prompt gives.
			if a.Timings.Rounds == 0 || a.Timings.Syncs > a.Timings.Rounds+1 {
				t.Errorf("%s, %v: %d syncs in %d rounds, want one a round and one more at most",
					name, how, a.Timings.Syncs, a.Timings.Rounds)
			}
			drafted += a.Timings.DraftN
			accepted += a.Timings.Accepted
			row := r.Run(t, a.Timings.RunID)
			if row.Drafted != a.Timings.DraftN || row.Accepted != a.Timings.Accepted ||
				row.Drafter != a.Timings.Drafter || row.NoDrafter != a.Timings.NoDrafter {
				t.Errorf("%s: the timings of the reply are %+v, the run has %+v",
					name, a.Timings, row)
			}
			if (row.Drafted == 0) != (row.NoDrafter != "") {
				t.Errorf("%s: %d drafts with the reason for none %q",
					name, row.Drafted, row.NoDrafter)
			}
		}
	}
	t.Logf("%d of %d drafts by %v were accepted", accepted, drafted, drafters)
	if !drafters["dflash"] || !drafters["ngram"] {
		t.Errorf("only %v drafted, want dflash and ngram", drafters)
	}
	if accepted == 0 || accepted == drafted {
		t.Errorf("%d of %d drafts were accepted, want some right and some wrong",
			accepted, drafted)
	}
}

// A request with speculation.exact gets the same tokens with a drafter as without one, in every
// arithmetic.
func TestExactSpeculationChangesNoTokenInAnyArithmetic(t *testing.T) {
	r := start(t, Options{Model: "pocket"}, "127.0.0.1:0")
	for _, temperature := range []float64{0, 0.8} {
		request := map[string]any{"prompt": varies, "max_tokens": 20, "ignore_eos": true, "seed": 7,
			"temperature": temperature}
		request["speculation"] = map[string]any{"drafter": "none", "exact": true}
		plain := r.Ask(t, request, false)
		for i, depth := range []int{0, 3, 7} {
			request["speculation"] = map[string]any{"drafter": "ngram", "depth": depth,
				"exact": true}
			r.Ask(t, request, i%2 == 0).same(t,
				fmt.Sprintf("temperature %v, depth %d", temperature, depth), plain)
		}
	}
}

// The program starts with no other default than auto or none.
func TestOpenRefusesASpeculationOtherThanAutoOrNone(t *testing.T) {
	_, err := Open(t.Context(), Options{Home: t.TempDir(), Speculation: "ngram"})
	if err == nil || !strings.Contains(err.Error(), "auto or none") {
		t.Errorf("speculation ngram: %v, want an error that names auto and none", err)
	}
}
