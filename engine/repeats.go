package engine

// A text loops if fewer than half of its runs of four tokens are distinct.
// Drafts are right in such a text whoever makes them, so what it measures says
// nothing of others.
const (
	gram       = 4  // tokens
	loopShare  = 2  // a text loops if fewer than one in so many grams is distinct
	loopRun    = 16 // so many grams in a row that occurred before begin the loop
	loopLength = 24 // tokens; of a shorter text nothing is said
)

// repeats returns the index in ids from which they repeat what they said
// before, 0 if they don't loop. Where no run of repeated grams is long enough
// to begin the loop, it is the longest one's.
func repeats(ids []int32) int {
	if len(ids) < loopLength {
		return 0
	}
	grams := len(ids) - gram + 1
	seen := make(map[[gram]int32]bool, grams)
	run, longest, start := 0, 0, 0
	for i := range grams {
		g := [gram]int32(ids[i : i+gram])
		if !seen[g] {
			seen[g], run = true, 0
			continue
		}
		if run++; run > longest && longest < loopRun {
			longest, start = run, i-run+1
		}
	}
	if len(seen)*loopShare >= grams {
		return 0
	}
	return start
}
