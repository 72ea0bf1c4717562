package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// README.md names only verbs that the program has.
func TestReadmeNamesVerbsThatExist(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	root := newMain().Root
	found := regexp.MustCompile("(?m)(?:^ +|`)tandem ([a-z]+)").FindAllSubmatch(readme, -1)
	if len(found) < 5 {
		t.Fatalf("README.md names %d verbs", len(found))
	}
	for _, m := range found {
		verb := string(m[1])
		if v, _, err := root.Find([]string{verb}); verb != "help" && (err != nil || v == root) {
			t.Errorf("README.md names the verb %s, which tandem does not have", verb)
		}
	}
}
