package app

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"tandem/app/bench"
	"tandem/app/control"
	"tandem/engine/enginetest"
)

// A logOfErrors fails the test for each line.
type logOfErrors struct{ t *testing.T }

func (l logOfErrors) Write(line []byte) (int, error) {
	l.t.Errorf("the log says: %s", line)
	return len(line), nil
}

// TestSoak: of requests of all kinds, some of whose clients leave before they are
// answered, nothing is left: no goroutine, no open file, no place in the queue, no
// request in flight and no row of the history without an end.
func TestSoak(t *testing.T) {
	for _, c := range []struct {
		name  string
		model string
		kinds []bench.SoakKind
		n     int
	}{
		{"writes", enginetest.TinyModel(t, "qwen3"), bench.SoakKinds(false), 200},
		{"embeds", enginetest.TinyEmbedder(t), bench.SoakReadings(), 70},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := slog.New(slog.NewTextHandler(logOfErrors{t}, &slog.HandlerOptions{Level: slog.LevelError}))
			r := start(t, Options{Model: c.model, Logger: log}, "127.0.0.1:0")
			s := bench.NewSoak(r.url, r.home.Dir, c.kinds, 20*time.Millisecond)
			warm := 2 * len(c.kinds)
			if err := s.Send(t.Context(), 0, warm); err != nil {
				t.Fatal(err)
			}
			before, err := s.Settle(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if before.Goroutines == 0 || before.Queued+before.InFlight+before.Open > 0 {
				t.Errorf("before there are %+v", before)
			}
			if err := s.Send(t.Context(), warm, warm+c.n); err != nil {
				t.Fatal(err)
			}
			// Only what stays for ever takes so long.
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			after, err := s.Clear(ctx, before)
			if err != nil {
				t.Fatal(err)
			}
			if after.Over(before) {
				t.Errorf("left are %+v, before there were %+v", after, before)
			}
			if n := s.Answered.Load() + s.Refused.Load() + s.Left.Load(); n != int64(warm+c.n) || s.Left.Load() == 0 || s.Refused.Load() == 0 {
				t.Errorf("of %d requests %d were answered, %d refused, %d left", warm+c.n, s.Answered.Load(), s.Refused.Load(), s.Left.Load())
			}
		})
	}
}

// TestSoakLooks: what is left is seen.
func TestSoakLooks(t *testing.T) {
	r := start(t, Options{Model: longModel(t), NoCheckpoints: true}, "127.0.0.1:0")
	s := bench.NewSoak(r.url, r.home.Dir, nil, time.Millisecond)
	before, err := s.Settle(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	resp, err := r.post(t, ctx, 3, 60000)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	await(t, r.client(t), func(st control.State) bool { a := active(st, 3); return a != nil && a.CompletionTokens > 0 })
	now, err := s.Look(t.Context())
	if err != nil || now.InFlight != 1 || now.Open != 1 || !now.Over(before) || now.Goroutines <= before.Goroutines {
		t.Errorf("with a request in flight: %+v, %v; before %+v", now, err, before)
	}
	for _, c := range []bench.Remains{{Goroutines: 1}, {Files: bench.SpareFiles + 1}, {Queued: 1}, {InFlight: 1}, {Open: 1}} {
		if !c.Over(bench.Remains{}) || (bench.Remains{}).Over(c) {
			t.Errorf("%+v", c)
		}
	}
}
