package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// README.md has a row with an example for each verb of the program, and for no other.
func TestReadmeShowsEveryVerb(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var has, shown []string
	root := newMain().Root
	root.InitDefaultCompletionCmd()
	for _, v := range root.Commands() {
		if !v.Hidden {
			has = append(has, v.Name())
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\|.*`tandem ").FindAllSubmatch(readme,
		-1) {
		shown = append(shown, string(row[1]))
	}
	slices.Sort(has)
	slices.Sort(shown)
	if !slices.Equal(has, shown) {
		t.Errorf("tandem has the verbs %q, README.md shows %q", has, shown)
	}
}
