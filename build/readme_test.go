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

// TestReadmeNamesVerbsAndFoldersThatExist compares README.md with build's own verbs and with the
// folders. A test beside the program's table of verbs compares README.md with that table.
func TestReadmeNamesVerbsAndFoldersThatExist(t *testing.T) {
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
		if name != "help" && !slices.ContainsFunc(verbs(),
			func(v verb) bool { return v.name == name }) {
			t.Errorf("README.md names the verb %s, which build does not have", name)
		}
	}
	if got := firsts(readme, `(?m)^    (go run .*?) +#`); len(got) != 2 {
		t.Errorf("README.md gives a newcomer the commands %q, want two", got)
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

// TestBuildReadmeListsEveryVerb compares the table of verbs in build/README.md with the program's.
func TestBuildReadmeListsEveryVerb(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| verb | does |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var has, listed []string
	for _, v := range verbs() {
		has = append(has, v.name)
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+)").FindAllStringSubmatch(table, -1) {
		listed = append(listed, row[1])
	}
	slices.Sort(has)
	slices.Sort(listed)
	if listed = slices.Compact(listed); !slices.Equal(has, listed) {
		t.Errorf("build has the verbs %q, build/README.md lists %q", has, listed)
	}
	if !strings.Contains(string(text), "Node.js "+setup.OldestNode) {
		t.Errorf("build/README.md does not ask for Node.js %s", setup.OldestNode)
	}
}
