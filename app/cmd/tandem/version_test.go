package main

import (
	"strings"
	"testing"
)

// The version begins with the release that the linker wrote. It has no parenthesis, so that it can
// be compared. A build without a release has the commit as its version.
func TestVersionIsTheReleaseOrTheCommit(t *testing.T) {
	bare := version()
	release = "1.2.3"
	defer func() { release = "" }()
	if got := version(); bare == "" || got != "1.2.3" && !strings.HasPrefix(got, "1.2.3+") ||
		strings.Contains(got, "(") {
		t.Errorf("the version is %q, want 1.2.3; without a release it is %q, want some text",
			got, bare)
	}
}
