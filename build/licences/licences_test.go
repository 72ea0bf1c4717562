package licences

import (
	"strings"
	"testing"
)

// TestTextOfIsWrittenOnce expects one text below all components that it covers, and an error for
// a component without one.
func TestTextOfIsWrittenOnce(t *testing.T) {
	text, err := textOf([]Component{{"b 2", []string{"terms\r\n"}},
		{"a 1", []string{"terms", "notice"}}})
	if err != nil || strings.Count(text, "terms\n") != 1 ||
		!strings.Contains(text, "a 1\nb 2\n\nterms\n") ||
		!strings.Contains(text, "a 1\n\nnotice\n") {
		t.Errorf("%v:\n%s", err, text)
	}
	if _, err := textOf([]Component{{Name: "c 3"}}); err == nil ||
		!strings.Contains(err.Error(), "c 3") {
		t.Errorf("a component without terms: %v", err)
	}
}
