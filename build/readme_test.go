package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tandem/build/setup"
)

// TestReadme holds README.md to build's own verbs and to the folders. A test beside the program's table
// of verbs holds README.md to those.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	readme := string(text)
	firsts := func(text, pattern string) []string {
		var all []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	for _, name := range firsts(readme, `go run \./build ([a-z]+)`) {
		if name != "help" && !slices.ContainsFunc(verbs(), func(v verb) bool { return v.name == name }) {
			t.Errorf("README.md names the verb %s, which build does not have", name)
		}
	}
	if got := firsts(readme, `(?m)^    (go run .*?) +#`); len(got) != 2 {
		t.Errorf("a newcomer gets the commands %q, want two", got)
	}

	if !strings.Contains(readme, "Node.js "+setup.OldestNode) {
		t.Errorf("README.md does not ask for Node.js %s", setup.OldestNode)
	}
	_, folders, _ := strings.Cut(readme, "| folder | holds |\n")
	folders, _, _ = strings.Cut(folders, "\n\n")
	holds := firsts(folders, "(?m)^\\| `([a-z]+)` \\|")
	if len(holds) == 0 {
		t.Error("README.md does not say what the folders hold")
	}
	for _, dir := range holds {
		if _, err := os.Stat(filepath.Join("..", dir)); err != nil {
			t.Errorf("README.md names the folder %s: %v", dir, err)
		}
	}
}
