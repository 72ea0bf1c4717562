package terminal

import "testing"

// A group is named for its most frequent index, also where most of its values are none.
func TestMarksNameTheMostFrequent(t *testing.T) {
	for _, c := range []struct {
		values []int
		each   int
		want   string
	}{
		{[]int{-1, 1, 2}, 1, "·23"},
		{[]int{-1, -1, -1, 1, 1, -1}, 2, "·22"},
		{[]int{2, 1, 1, -1, -1, -1}, 3, "2·"},
	} {
		if got := Marks(c.values, c.each); got != c.want {
			t.Errorf("%v by %d: %q, want %q", c.values, c.each, got, c.want)
		}
	}
}
