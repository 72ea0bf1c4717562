package lab

import (
	"tandem/app/evidence"
	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/restore"
)

// A gauge is a model that measures the caches it writes to. Figures come from the arrays that are
// alive, and from what was counted: an option does not show what ran.
type gauge struct {
	lm.Model
	bounded *restore.Model // nil if all caches keep every row

	held held // after the last forward, for its first sequence

	// prompt is the length of the text's prompt. read is what was held where it ended, which does
	// not depend on the length of the answer.
	prompt int
	read   held
}

// held is what the caches of one text hold.
type held struct {
	positions int
	lm.KVBytes

	own     int // rows that a bounded layer has room for, including slack; 0 = no layer is bounded
	evicted int // rows that bounded layers gave up, of all layers
	bits    int // of an element, in quantized caches; 0 = not quantized
}

// evidence returns the bytes for a report.
func (h held) evidence() *evidence.Held {
	return &evidence.Held{Exact: h.Exact, Bounded: h.Window, Restored: h.Restored, Source: h.Source}
}

// slack is how many of the rows of a bounded layer no single query attends. They let a verify block
// be dropped again.
const slack = cache.MaxBlock - 1

// newGauge returns a gauge for a model that restores, or keeps every row.
func newGauge(m lm.Model) *gauge {
	bounded, _ := m.(*restore.Model)
	return &gauge{Model: m, bounded: bounded}
}

// Forward implements lm.Model.
func (g *gauge) Forward(s *mlx.Scope, b lm.Batch, taps []int) lm.Output {
	out := g.Model.Forward(s, b, taps)
	if s.Err() == nil {
		if g.held = g.measure(b[0].Caches); g.held.positions <= g.prompt {
			g.read = g.held
		}
	}
	return out
}

// measure measures caches of one text.
func (g *gauge) measure(caches cache.Stack) held {
	h := held{positions: caches[0].Offset()}
	for _, c := range caches {
		if q, ok := c.(*cache.Quantized); ok {
			h.bits = q.Bits()
		}
	}
	if g.bounded == nil {
		h.Exact = restore.ResidentBytes(caches)
		return h
	}
	h.KVBytes = g.bounded.Bytes(caches)
	for _, i := range g.bounded.Bounded() {
		if arrays := caches[i].Arrays(); len(arrays) > 0 {
			h.own = arrays[0].Dim(2)
			h.evicted += max(0, caches[i].Offset()-h.own)
		}
	}
	return h
}

// restored returns how many rows a run restored, given the counts before it. Rows that no query
// attended do not count.
func (g *gauge) restored(before restore.Counts) int {
	if g.bounded == nil {
		return 0
	}
	now := g.bounded.Counts()
	if now.Attended == before.Attended {
		return 0
	}
	return int(now.Restored - before.Restored)
}

// counts returns the counts so far.
func (g *gauge) counts() restore.Counts {
	if g.bounded == nil {
		return restore.Counts{}
	}
	return g.bounded.Counts()
}
