package terminal

import (
	"bytes"
	"strings"
	"testing"
)

// Steps of a bench are lines where they cannot replace each other.
func TestStepsAreLinesOfAFile(t *testing.T) {
	var out bytes.Buffer
	s := &StepWriter{W: &out}
	for _, text := range []string{"\rcode: prompt 1 of 2, plain   ", "\rcode: prompt 1 of 2, plain ",
		"\rcode: prompt 2 of 2, ngram ", "\n", "\rload, 3 s \n", "left\n"} {
		if n, err := s.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("Write(%q) = %d, %v", text, n, err)
		}
	}
	const want = "code: prompt 1 of 2, plain\ncode: prompt 2 of 2, ngram\nload, 3 s\nleft\n"
	if out.String() != want {
		t.Errorf("wrote %q, want %q", out.String(), want)
	}
}

// The version begins with the release that the linker wrote. It has no parenthesis, so that it can
// be compared. A build without a release has the commit as its version.
func TestVersionIsTheReleaseOrTheCommit(t *testing.T) {
	bare, got := Version(""), Version("1.2.3")
	if bare == "" || got != "1.2.3" && !strings.HasPrefix(got, "1.2.3+") ||
		strings.Contains(got, "(") {
		t.Errorf("the version is %q, want 1.2.3; without a release it is %q, want some text",
			got, bare)
	}
}
