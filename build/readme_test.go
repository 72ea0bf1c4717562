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

// TestReadme holds README.md to the verbs and folders that there are.
func TestReadme(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	readme := read("README.md")
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
			t.Errorf("README.md speaks of a verb %s that build does not have", name)
		}
	}
	if got := firsts(readme, `(?m)^    (go run .*?) +#`); len(got) != 2 {
		t.Errorf("a newcomer gets the commands %q, want two", got)
	}

	_, table, _ := strings.Cut(read("app/cmd/tandem/main.go"), "return []verb{")
	table, _, _ = strings.Cut(table, "\n\t}\n")
	has, said := firsts(table, `\{"([a-z]+)", "`), firsts(readme, "(?m)^\\| `([a-z]+)` \\|.*`tandem ")
	if !slices.Equal(has, said) || len(has) == 0 {
		t.Errorf("tandem has the verbs %q, README.md shows %q", has, said)
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
			t.Errorf("README.md speaks of a folder %s: %v", dir, err)
		}
	}
}
