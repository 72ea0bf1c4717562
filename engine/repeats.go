package engine

// A text loops if fewer than half of its runs of four tokens are distinct. Any drafter is
// right in such a text, so what is measured there says nothing of other texts.
const (
	gram       = 4  // tokens
	loopShare  = 2  // a text loops if fewer than one gram in two is distinct
	loopRun    = 16 // grams in a row that occurred before: there the loop begins
	loopLength = 24 // tokens; a shorter text counts as no loop
)

// Repeats returns the index in ids where their loop begins, 0 if they do not loop. If no run
// of repeated grams is long enough, the longest one begins it.
func Repeats(ids []int32) int {
	if len(ids) < loopLength {
		return 0
	}
	grams := len(ids) - gram + 1
	seen := make(map[[gram]int32]bool, grams)
	run, maxRun, start := 0, 0, 0
	for i := range grams {
		g := [gram]int32(ids[i : i+gram])
		if !seen[g] {
			seen[g], run = true, 0
			continue
		}
		if run++; run > maxRun && maxRun < loopRun {
			maxRun, start = run, i-run+1
		}
	}
	if len(seen)*loopShare >= grams {
		return 0
	}
	return start
}
