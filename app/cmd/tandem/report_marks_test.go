package main

import "testing"

// A column names who drafted in most of its rounds, also where most rounds are plain.
func TestDrafterMarks(t *testing.T) {
	for _, c := range []struct {
		drafters []int
		each     int
		want     string
	}{
		{[]int{-1, 1, 2}, 1, "·23"},
		{[]int{-1, -1, -1, 1, 1, -1}, 2, "·22"},
		{[]int{2, 1, 1, -1, -1, -1}, 3, "2·"},
	} {
		if got := drafterMarks(c.drafters, c.each); got != c.want {
			t.Errorf("%v by %d: %q, want %q", c.drafters, c.each, got, c.want)
		}
	}
}
