package engine

import "testing"

// TestTimesOfADecodeAddUp expects that no part of a decode is missing, that the parts together fit
// into it, and that the right rounds count.
func TestTimesOfADecodeAddUp(t *testing.T) {
	r := Request{Prompt: []int32{1, 2, 3}, MaxTokens: new(60), IgnoreEOS: true}
	f, d, plain := scripted(t, r, Options{})
	d.Wrong = func(round, n int) int { return round % (n + 1) }
	for _, x := range []Speculation{{}, {Fused: true}, {Timed: true}, {Rollback: Undo},
		{Exact: true}} {
		x.Depth = new(4)
		r.Speculation = x
		got, _, stats := f.run(t, r)
		sameTokens(t, "timed", got, plain)
		rounds := 0 // with drafts
		for _, n := range stats.Depths {
			if n > 0 {
				rounds++
			}
		}
		b := stats.Blocks
		if b.Count != rounds {
			t.Errorf("%+v: b.Count = %v, want %v", x, b.Count, rounds)
		}
		if b.Early > b.Total {
			t.Errorf("%+v: b.Early = %v, want at most %v", x, b.Early, b.Total)
		}
		if b.Mean() > b.Max {
			t.Errorf("%+v: b.Mean() = %v, want at most %v", x, b.Mean(), b.Max)
		}
		if b.First8() > b.Max {
			t.Errorf("%+v: b.First8() = %v, want at most %v", x, b.First8(), b.Max)
		}
		if b.First8() <= 0 {
			t.Errorf("%+v: b.First8() = %v, want more than 0", x, b.First8())
		}
		if stats.Draft <= 0 || stats.Verify <= 0 || stats.Draft+stats.Verify > b.Total {
			t.Errorf("%+v: %v drafting, %v verifying in blocks of %v",
				x, stats.Draft, stats.Verify, b.Total)
		}
		if stats.Wait <= 0 || stats.Build <= 0 || b.Total > stats.Decode ||
			stats.Wait+stats.Host+stats.Build > stats.Total {
			t.Errorf("%+v: %v waiting, %v and %v the host, %v blocks in %v of decoding",
				x, stats.Wait, stats.Host, stats.Build, b.Total, stats.Decode)
		}
		want := stats.Rounds + 1 // the first token comes from the prompt
		if x.Timed {
			want += rounds
		}
		if stats.Syncs != want {
			t.Errorf("%+v: %d syncs, want %d", x, stats.Syncs, want)
		}
	}
	for _, err := range f.Generate(t.Context(),
		Request{Prompt: []int32{0}, Speculation: Speculation{Fused: true, Timed: true}}) {
		if e, ok := err.(*Error); !ok || e.Code != CodeInvalid {
			t.Errorf("timed and fused: %v", err)
		}
	}
	var few Blocks
	for i := range 10 {
		few.add(1)
		if few.First8() != 1 || few.Mean() != 1 || few.Count != i+1 {
			t.Errorf("%+v", few)
		}
	}
	few.add(100)
	if few.First8() != 1 || few.Mean() != 10 || few.Max != 100 {
		t.Errorf("%+v", few)
	}
	if none := (Blocks{}); none.First8() != 0 || none.Mean() != 0 {
		t.Error("a request without rounds has times")
	}
}
