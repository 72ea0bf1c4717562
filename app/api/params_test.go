package api

import (
	"slices"
	"strings"
	"testing"

	"tandem/app/model"
)

// A vocabulary is a model of 99 tokens and a context of 1000.
type vocabulary struct{ model.Model }

func (vocabulary) VocabSize() int         { return 99 }
func (vocabulary) ContextLength() int     { return 1000 }
func (vocabulary) LongerContext(int) bool { return false }
func (vocabulary) Format() model.Format   { return model.Format{} }

func TestTokenIDsBeyondTheContextAreCountedAndNotKept(t *testing.T) {
	text := []byte("[1" + strings.Repeat(",1", 1_000_000) + "]")
	var err error
	if n := testing.AllocsPerRun(1, func() {
		_, err = TokenIDs(text, vocabulary{}, "prompt")
	}); n > 50 || err == nil || !strings.Contains(err.Error(), "1000001 tokens") {
		t.Errorf("%v allocations, %v", n, err)
	}
}

// Whole numbers are ids, however they are written.
func TestTokenIDsAreWholeNumbers(t *testing.T) {
	for text, want := range map[string][]int32{`[1,2.0,3e1,-0]`: {1, 2, 30, 0}, `[]`: {},
		`[1.5]`: nil, `[1,99]`: nil, `[-1]`: nil, `[4294967297]`: nil, `[1e300]`: nil, `["1"]`: nil,
		`{}`: nil} {
		if got, err := TokenIDs([]byte(text), vocabulary{}, "prompt"); !slices.Equal(got, want) ||
			(err == nil) != (want != nil) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// TestNoTwoChoicesOfNeighbouringSeedsShareASeed: clients count their seeds up, and expect other
// samples. The first choice keeps the request's seed.
func TestNoTwoChoicesOfNeighbouringSeedsShareASeed(t *testing.T) {
	for _, first := range []uint64{0, 42, 1 << 40, 1<<53 - 100, 1<<64 - 100} {
		seen := map[uint64]bool{}
		for s := range uint64(200) {
			p := Params{Seed: new(first + s)}
			for i := range MaxN {
				seed := *p.Request(nil, model.Defaults{}, i).Seed
				if seen[seed] || i == 0 && seed != first+s || i > 0 && seed >= 1<<53 {
					t.Fatalf("choice %d of seed %d has seed %d", i, first+s, seed)
				}
				seen[seed] = true
			}
		}
	}
}
