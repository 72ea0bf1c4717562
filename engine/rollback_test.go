package engine

import (
	"testing"

	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
)

// TestRollbackAllocatesNothing decodes over caches of 40 MB that keep every row. No block has all
// its drafts accepted, and checkpoints are taken on the way. The state before a block and the
// checkpoints are positions in buffers, not copies.
func TestRollbackAllocatesNothing(t *testing.T) {
	const prompt, wide = 2100, 2048
	for _, rollback := range []Rollback{Trim, Undo} {
		t.Run(string(rollback), func(t *testing.T) {
			text := counting(0, prompt+400)
			d := &enginetest.Scripted{Text: text, Vocab: 50,
				Wrong: func(round, n int) int { return round % n }}
			f := newFixture(t, enginetest.Cycle(50),
				Options{Layout: cache.Full, Checkpoints: 1 << 30, Drafters: []draft.Drafter{d}})
			f.chain.Wide = wide
			do := func(fn func(s *mlx.Scope)) {
				t.Helper()
				if err := f.thread.Do(t.Context(),
					func(s *mlx.Scope) error { fn(s); return nil }); err != nil {
					t.Fatal(err)
				}
			}
			var before mlx.Memory
			n := 0
			r := Request{Prompt: text[:prompt], MaxTokens: new(100),
				Speculation: Speculation{Depth: new(7), Rollback: rollback}}
			r.Done = func(stats Stats) {
				if stats.Accepted == 0 || stats.Accepted == stats.Drafted {
					t.Errorf("%d of %d drafts were accepted", stats.Accepted, stats.Drafted)
				}
			}
			for _, err := range f.Generate(t.Context(), r) {
				if err != nil {
					t.Fatal(err)
				}
				if n++; n == 10 {
					do(func(s *mlx.Scope) { s.ResetPeak(); before = s.Memory() })
				}
			}
			const buffer = prompt * wide * 4 // keys, or values, of one cache
			after := f.thread.Memory()
			if grown := after.Peak - before.Active; grown > buffer/2 {
				t.Errorf("the peak rose by %d MB over caches of %d MB",
					grown>>20, before.Active>>20)
			}
			if grown := after.Active - before.Active; grown > buffer/100 {
				t.Errorf("%d KB more are active after the answer", grown>>10)
			}
			f.sound(t)
		})
	}
}
