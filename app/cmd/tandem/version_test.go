package main

import (
	"strings"
	"testing"
)

// TestVersion: what the linker writes comes first, in a form that can be compared, and without it
// the commit does.
func TestVersion(t *testing.T) {
	bare := version()
	release = "1.2.3"
	defer func() { release = "" }()
	if got := version(); bare == "" || got != "1.2.3" && !strings.HasPrefix(got, "1.2.3+") || strings.Contains(got, "(") {
		t.Errorf("%q, and %q of a build by hand", got, bare)
	}
}
