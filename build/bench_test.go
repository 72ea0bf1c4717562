package main

import (
	"errors"
	"io"
	"testing"

	"tandem/build/setup"
)

// TestBenchRefusesFlagsWithoutEffect expects a usage error for each.
func TestBenchRefusesFlagsWithoutEffect(t *testing.T) {
	b := newTestBuilder(t)
	for _, args := range [][]string{{"--pairs", "3"}, {"--quick"}, {"--model", "a", "--quick"},
		{"--pairs", "-3", "plain"},
		{"--against", "llama.cpp"}, {"--against", "llama.cpp", "verify"}, {"--against", "x", "plain"}} {
		if err := benchVerb(t.Context(), b, args); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// newTestBuilder has an empty checkout and an empty cache.
func newTestBuilder(t *testing.T) *setup.Builder {
	return &setup.Builder{Root: t.TempDir(), Cache: setup.Cache{Dir: t.TempDir()}, Out: io.Discard}
}
