package engine

import (
	"slices"
	"testing"

	"tandem/engine/enginetest"
)

func TestLoopsAreFound(t *testing.T) {
	count := func(from, n int) (ids []int32) {
		for i := range n {
			ids = append(ids, int32(from+i))
		}
		return ids
	}
	often := func(ids []int32, n int) []int32 { return slices.Repeat(ids, n) }
	for _, c := range []struct {
		name string
		ids  []int32
		want int
	}{
		{"nothing", nil, 0},
		{"too short to tell", often([]int32{7}, 23), 0},
		{"one token", often([]int32{7}, 24), 1},
		{"no repetition", count(0, 200), 0},
		{"a phrase of ten", slices.Concat(count(100, 30), often(count(0, 10), 20)), 40},
		{"half of it", often(count(0, 103), 2), 0}, // 103 of 203 grams are distinct
		{"more than half", slices.Concat(often(count(0, 90), 2), count(0, 90)), 90},
		{"a loop that ends", slices.Concat(often(count(0, 10), 20), count(100, 30)), 10},
		{"a short echo before the loop", slices.Concat(count(0, 8), []int32{99}, count(0, 8), count(200, 5), often([]int32{50, 51}, 60)), 24},
		{"never sixteen in a row", func() (ids []int32) {
			for i := range 20 {
				ids = append(ids, count(0, 12)...)
				ids = append(ids, int32(100+i))
			}
			return ids
		}(), 13},
	} {
		if got := Repeats(c.ids); got != c.want {
			t.Errorf("%s: repeats from %d on, want %d", c.name, got, c.want)
		}
	}
}

// TestRepeatsIsReported decodes with a model that repeats a circle of 40 tokens.
func TestRepeatsIsReported(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(40), Options{})
	r := Request{Prompt: []int32{1, 2, 3}, MaxTokens: new(30)}
	if _, _, stats := f.run(t, r); stats.Repeats != 0 {
		t.Errorf("30 different tokens repeat from %d on", stats.Repeats)
	}
	r.MaxTokens = new(200)
	if _, _, stats := f.run(t, r); stats.Repeats != 40 {
		t.Errorf("a circle of 40 repeats from %d on", stats.Repeats)
	}
}
