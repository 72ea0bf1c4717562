package engine

import (
	"math"
	"testing"
	"time"
)

func TestCrowd(t *testing.T) {
	var c crowd
	check := func(what string, n int, want float64) {
		t.Helper()
		if got := c.rate(n); got != want && !(math.Abs(got/want-1) < 0.02) {
			t.Errorf("%s: %d requests get %g tokens per second, want %g", what, n, got, want)
		}
	}
	check("nothing measured", 3, math.Inf(1))
	c.step(1, 10*time.Millisecond)
	check("one measured", 1, 100)
	check("one measured", 3, 300)
	c.step(3, 20*time.Millisecond)
	check("three measured", 3, 150)
	check("three measured", 2, 200)
	check("three measured", 4, 200)
	c.step(3, time.Hour)
	if got := c.rate(3); got < 100 {
		t.Errorf("a pause leaves %g tokens per second", got)
	}
	for range 30 {
		c.step(3, 40*time.Millisecond)
	}
	check("slower", 3, 75)
}
