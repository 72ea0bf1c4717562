package connect

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReadmeHasTheVariablesOfClaudeCode compares the lines of app/server/README.md with those that
// the page Connect has. Without some of them Claude Code asks for models that nobody has.
func TestReadmeHasTheVariablesOfClaudeCode(t *testing.T) {
	text, err := os.ReadFile("../server/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, lines, _ := strings.Cut(string(text), "Claude Code needs these variables")
	lines, _, _ = strings.Cut(lines, "<!-- -->")
	var got []string
	for _, m := range regexp.MustCompile(`([A-Z_]+)=(\S+)`).FindAllStringSubmatch(lines, -1) {
		got = append(got, m[0])
	}
	c := claudeCommand(Endpoint{BaseURL: "http://127.0.0.1:8263/v1", Key: "anything", Model: "tandem"}, "")
	if !slices.Equal(got, c.Env) {
		t.Errorf("README.md sets\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.Env, "\n"))
	}
	for _, name := range c.Unset {
		if !strings.Contains(lines, "unset "+name+"\n") {
			t.Errorf("README.md does not unset %s", name)
		}
	}
}
