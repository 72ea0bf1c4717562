package server

import (
	"context"
	"encoding/json"
	"iter"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
	"tandem/engine"
)

// A run in flight says since when it restores, reads and writes, and the activity counts it.
func TestRunInFlightSaysSinceWhenItReadsAndWrites(t *testing.T) {
	fake := roomtest.NewBackend()
	var s *Server
	var at []control.Active // when it waits, restores, reads and writes
	fake.Model.Script = func(_ context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
		return func(yield func(engine.Token, error) bool) {
			at = append(at, s.api.Active()[0])
			r.Restoring()
			at = append(at, s.api.Active()[0])
			r.Progress(1, len(r.Prompt))
			at = append(at, s.api.Active()[0])
			yield(engine.Token{ID: 'a', Text: "a"}, nil)
			at = append(at, s.api.Active()[0])
			var told control.Activity
			if w := roomtest.Get(s.Socket(), "/app/activity?minutes=5"); json.Unmarshal(w.Body.Bytes(), &told) != nil || told.Written[0] != 1 {
				t.Errorf("%d runs in flight count: %s", len(s.api.Active()), w.Body)
			}
			yield(engine.Token{ID: 'b', Text: "b", Finish: engine.FinishStop}, nil)
		}
	}
	s = New(services(fake), Options{})
	if w := roomtest.Post(s.Endpoint(), "/v1/completions",
		`{"model":"tandem","prompt":"abc"}`); w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	waits, restores, reads, writes := at[0], at[1], at[2], at[3]
	if !waits.RestoringSince.IsZero() || restores.RestoringSince.Before(restores.StartedAt) ||
		!restores.ReadingSince.IsZero() || reads.ReadingSince.Before(restores.RestoringSince) {
		t.Errorf("it waits: %+v\nit restores: %+v\nit reads: %+v", waits, restores, reads)
	}
	if !waits.ReadingSince.IsZero() || !waits.WritingSince.IsZero() || !reads.WritingSince.IsZero() {
		t.Errorf("it waits: %+v\nit reads: %+v", waits, reads)
	}
	if reads.ReadingSince.Before(reads.StartedAt) || writes.WritingSince.Before(reads.ReadingSince) ||
		!writes.ReadingSince.Equal(reads.ReadingSince) {
		t.Errorf("it reads: %+v\nit writes: %+v", reads, writes)
	}
}
