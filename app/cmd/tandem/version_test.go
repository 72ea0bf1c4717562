package main

import (
	"strings"
	"testing"
)

// The version begins with the release that the linker wrote, in a form that can be compared.
// Without a release it is the commit.
func TestVersionIsTheReleaseOrTheCommit(t *testing.T) {
	bare := version()
	release = "1.2.3"
	defer func() { release = "" }()
	if got := version(); bare == "" || got != "1.2.3" && !strings.HasPrefix(got, "1.2.3+") ||
		strings.Contains(got, "(") {
		t.Errorf("%q, and %q of a build by hand", got, bare)
	}
}
