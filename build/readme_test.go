package main

import (
	"encoding/json"
	"fmt"
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
	contributing, err := os.ReadFile(filepath.Join("..", ".github", "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, folders, _ := strings.Cut(string(contributing), "| folder | holds |\n")
	folders, _, _ = strings.Cut(folders, "\n\n")
	if holds := firsts(folders, "(?m)^\\| `([a-z]+)` \\|"); !slices.Equal(holds, setup.TopDirs) {
		t.Errorf("CONTRIBUTING.md says what the folders %q hold, want %q", holds, setup.TopDirs)
	}
	if n := strings.Count(readme, "\n"); n > 150 {
		t.Errorf("README.md has %d lines, want at most 150", n)
	}
}

// TestFiguresOfReadmeAreInTheLog follows each figure of README.md that links an entry of the log, and
// expects it there with the model and the command of its row. The first lines repeat figures of that
// table alone.
func TestFiguresOfReadmeAreInTheLog(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\|[^|]+\\| \\[([0-9.]+)\\]\\((engine/log/[^)#]+)#([^)]+)\\) \\| (\\w+) \\| `tandem ([^`]+)` \\|$").
		FindAllStringSubmatch(string(text), -1)
	if len(rows) < 4 {
		t.Fatalf("README.md has %d rows of figures", len(rows))
	}
	figures := map[string]bool{}
	for _, row := range rows {
		figure, file, anchor, model, command := row[1], row[2], row[3], row[4], row[5]
		figures[figure] = true
		log, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			t.Fatal(err)
		}
		entry := entryOf(string(log), anchor)
		for _, want := range []string{figure, model, command} {
			if !regexp.MustCompile(`\b` + regexp.QuoteMeta(want)).MatchString(entry) {
				t.Errorf("%s#%s has no %q, which README.md says is there", file, anchor, want)
			}
		}
	}
	first, _, _ := strings.Cut(string(text), "## Install")
	for _, m := range regexp.MustCompile(`([0-9.]+)\s+times`).FindAllStringSubmatch(first, -1) {
		if !figures[m[1]] {
			t.Errorf("README.md begins with %s times, which no row of its table has", m[1])
		}
	}
}

// entryOf returns the text below the heading that has an anchor, as GitHub makes them.
func entryOf(log, anchor string) string {
	for entry := range strings.SplitSeq(log, "\n## ") {
		title, text, _ := strings.Cut(entry, "\n")
		title = regexp.MustCompile(`[^\w -]`).ReplaceAllString(strings.ToLower(title), "")
		if strings.ReplaceAll(title, " ", "-") == anchor {
			return text
		}
	}
	return ""
}

// TestReadmeNamesModelsOfTheCatalogue expects the first two models of the catalogue for each size of
// memory.
func TestReadmeNamesModelsOfTheCatalogue(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "app", "library", "suggested.json"))
	if err != nil {
		t.Fatal(err)
	}
	var models []struct {
		From     int
		ID, What string
	}
	if err := json.Unmarshal(text, &models); err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	shown := map[int]int{}
	for _, m := range models {
		if shown[m.From]++; shown[m.From] <= 2 {
			fmt.Fprintf(&want, "| %d GB | `%s` | %s |\n", m.From, m.ID, strings.TrimSuffix(m.What, "."))
		}
	}
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), want.String()) {
		t.Errorf("README.md lacks the models by memory:\n%s", want.String())
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
