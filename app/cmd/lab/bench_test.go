package main

import (
	"strings"
	"testing"
)

// Steps of a bench are lines where they cannot replace each other.
func TestStepsAreLinesOfAFile(t *testing.T) {
	c := newConsole(newHome(t))
	c.must(t, "bench", "load", "--quick", "--only", "Q4_K_M")
	if !strings.HasPrefix(c.stderr, "load Q4_K_M, 0\n") || strings.Contains(c.stderr, "\r") {
		t.Errorf("the steps of a bench are %q", c.stderr)
	}
	c.terminal = true
	c.must(t, "bench", "load", "--quick", "--only", "Q4_K_M")
	if !strings.HasPrefix(c.stderr, "\rload Q4_K_M, 0 \r") {
		t.Errorf("on a terminal the steps of a bench are %q", c.stderr)
	}
}
