package api_test

import (
	"encoding/json"
	"net/http"

	"slices"

	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
	"tandem/engine"
)

// The engine gets the fields of the request, and the defaults for the rest.
func TestSpeculationReachesTheEngine(t *testing.T) {
	for body, want := range map[string]engine.Speculation{
		``:                                   {},
		`,"speculation":null`:                {},
		`,"speculation":{}`:                  {Drafter: engine.Auto},
		`,"speculation":{"depth":4}`:         {Drafter: engine.Auto, Depth: new(4)},
		`,"speculation":{"drafter":"none"}`:  {Drafter: engine.None},
		`,"speculation":{"exact":true}`:      {Drafter: engine.Auto, Exact: true},
		`,"speculation":{"exact":false}`:     {Drafter: engine.Auto},
		`,"speculation":{"drafter":"ngram"}`: {Drafter: "ngram"},
		`,"speculation":{"drafter":"auto","rollback":"snapshot","rule":"rejection"}`: {Drafter: engine.Auto,
			Rollback: engine.Undo, Rule: engine.Rejection},
	} {
		fake := roomtest.NewBackend()
		w := roomtest.Post(serve(fake), "/v1/completions",
			`{"model":"tandem","prompt":"x"`+body+`}`)
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
			continue
		}
		got := fake.Model.Requests[0].Speculation
		if (got.Depth == nil) != (want.Depth == nil) || got.Depth != nil &&
			*got.Depth != *want.Depth {
			t.Errorf("%s: depth %v", body, got.Depth)
		}
		if got.Depth, want.Depth = nil, nil; got != want {
			t.Errorf("%s: %+v, want %+v", body, got, want)
		}
	}
}

// Clients can ask for exactly the modes that the engine knows.
func TestSpeculationNamesMatchEngine(t *testing.T) {
	if control.MaxDepth != engine.MaxDepth {
		t.Errorf("depth %d, the engine's is %d", control.MaxDepth, engine.MaxDepth)
	}
	for _, name := range []string{engine.Auto, engine.None} {
		if !slices.Contains(control.Drafters, name) {
			t.Errorf("%s is no drafter", name)
		}
	}
	if want := []string{"auto", string(engine.Trim),
		string(engine.Undo)}; !slices.Equal(control.Rollbacks, want) {
		t.Errorf("rollbacks %v, the engine has %v", control.Rollbacks, want)
	}
	if want := []string{string(engine.Coupled),
		string(engine.Rejection)}; !slices.Equal(control.Rules, want) {
		t.Errorf("rules %v, the engine has %v", control.Rules, want)
	}
}

// The engine gets a prediction as plain text, whatever tokens it spells, and without ids that the
// model does not know.
func TestPredictionReachesTheEngine(t *testing.T) {
	fake := roomtest.NewBackend()
	roomtest.Post(serve(fake), "/v1/chat/completions",
		`{"model":"tandem","messages":[{"role":"user","content":"x"}],"n":2,"prediction":{"type":"content","content":[{"type":"text","text":"<e"},{"type":"text","text":"os>"}]}}`)
	if len(fake.Model.Requests) != 2 {
		t.Fatalf("%d requests", len(fake.Model.Requests))
	}
	for _, r := range fake.Model.Requests {
		if want := []int32{'<', 'e', 'o', 's', '>'}; !slices.Equal(r.Prediction, want) {
			t.Errorf("prediction %v, want %v", r.Prediction, want)
		}
	}
}

// TestDraftInfoAddsUp: the chunks of a stream report each draft once.
func TestDraftInfoAddsUp(t *testing.T) {
	fake := roomtest.NewBackend()
	s := serve(fake)
	w := roomtest.Post(s, "/v1/chat/completions",
		`{"model":"tandem","messages":[{"role":"user","content":"x"}],"stream":true,"return_draft_info":true,"n":2,"prediction":{"type":"content","content":"héllo wörms"}}`)
	type info struct {
		Proposed, Accepted int
		Depths, Accepts    []int
	}
	sums, last := map[int]info{}, map[int]info{}
	for data, err := range control.Events(w.Body) {
		if err != nil {
			t.Fatal(err)
		}
		var chunk struct {
			Choices []struct {
				Index int
				Draft *info
			}
		}
		if err := json.Unmarshal(data, &chunk); err != nil {
			t.Fatal(err)
		}
		for _, c := range chunk.Choices {
			if c.Draft == nil {
				t.Fatalf("a chunk without drafts: %s", data)
			}
			sum := sums[c.Index]
			sum.Proposed += c.Draft.Proposed
			sum.Accepted += c.Draft.Accepted
			sums[c.Index], last[c.Index] = sum, *c.Draft
		}
	}
	for i := range 2 {
		proposed, accepted := 0, 0
		for k, n := range last[i].Depths {
			proposed += n
			accepted += last[i].Accepts[k]
		}
		if sums[i].Proposed != proposed || sums[i].Accepted != accepted || accepted == 0 ||
			accepted == proposed {
			t.Errorf("choice %d: the chunks have %+v, the last one %+v", i, sums[i], last[i])
		}
	}
	run := fake.LastRun()
	if run.Drafted != sums[0].Proposed+sums[1].Proposed ||
		run.Accepted != sums[0].Accepted+sums[1].Accepted {
		t.Errorf("the run has %d of %d drafts, the chunks %+v", run.Accepted, run.Drafted, sums)
	}
	var rounds control.Speculation
	if err := json.Unmarshal(run.Speculation, &rounds); err != nil {
		t.Fatal(err)
	}
	kept := rounds.Unpack()
	if !slices.Equal(kept.Drafted, last[0].Depths) ||
		!slices.Equal(kept.Accepted, last[0].Accepts) ||
		rounds.AcceptedAt[0] != 2*count(kept.Accepted) {
		t.Errorf("the run's rounds are %+v, the reply's %+v", rounds, last[0])
	}
	// The last round is a plain one, because the prediction was used up.
	if run.Verifies != 2*(len(kept.Drafted)-1) ||
		run.TokensPerVerify() != 1+float64(run.Accepted)/float64(run.Verifies) {
		t.Errorf("%d verifies of %d rounds", run.Verifies, run.Rounds)
	}
}

func count(accepts []int) (n int) {
	for _, a := range accepts {
		if a > 0 {
			n++
		}
	}
	return n
}
