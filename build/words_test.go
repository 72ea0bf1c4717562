package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// badWords are phrases that no user should read, each with what to write instead.
var badWords = []struct{ phrase, instead string }{
	{"is none", "say what there is"},
	{"so many", "a number"},
	{"in vain", "rejected"},
	{"need not be", "doesn’t have to be"},
	{"go on from", "continue"},
	{"goes on from", "continues"},
	{"decided by", "set with"},
	{"truth value", "boolean"},
	{"without a name", "unnamed"},
	{"answers at once", "is fast"},
	{"saved at once", "saved immediately"},
	{"chosen model", "current model"},
	{"the chosen one", "the current model"},
	{"kept text", "cached text"},
	{"memory of texts", "remembered texts"},
	{"rules of evidence", "say what is checked"},
	{"at most that was asked", "max_tokens"},
	{"Tokens at most", "Max tokens"},
	{"Prompt not read again", "Cache hits"},
	{"Go on with", "Continue, Resume or Recent chats"},
	{"Answer again", "Retry"},
	{"Draft ahead", "Speculative decoding"},
	{"Draft Ahead", "Speculative Decoding"},
	{"Numbers in memory", "Weight precision"},
	{"Put back", "Restore"},
}

// badWindowWords may be in the command line and in documents, but not in the window and the menu.
var badWindowWords = []struct{ phrase, instead string }{
	{" registered", "on the list, installed"},
	{"was told", "Error sent to"},
	{"guessed", "drafted"},
	{"at most {", "peak, maximum or up to"},
}

// researchers read what these folders of app say.
var researchers = []string{"bench", "bridge", "evidence", "lab"}

// TestUsersReadPlainWords looks for badWords in what the window, the menu, the command line and the endpoint
// say, in errors, and in the pages that users read.
func TestUsersReadPlainWords(t *testing.T) {
	for _, of := range []struct {
		pattern string
		text    func(t *testing.T, path string) string
		window  bool
	}{
		{"frontend/src/*.svelte", withoutComments, true},
		{"frontend/src/*.ts", withoutComments, true},
		{"frontend/src/*/*.svelte", withoutComments, true},
		{"frontend/src/*/*.ts", withoutComments, true},
		{"frontend/src/*/*.json", whole, true},
		{"app/menu/*.go", stringsOf, true},
		{"app/*.go", stringsOf, false},
		{"app/*/*.go", stringsOf, false},
		{"app/cmd/tandem/*.go", stringsOf, false},
		{"README.md", whole, false},
		{"*/README.md", whole, false},
		{"app/server/README.md", whole, false},
		{"app/START.md", whole, false},
		{".github/CHANGELOG.md", whole, false},
		{".github/SECURITY.md", whole, false},
		{".github/*/*.yml", whole, false},
	} {
		files, err := filepath.Glob(filepath.Join("..", of.pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has %d files: %v", of.pattern, len(files), err)
		}
		bad := badWords
		if of.window {
			bad = append(bad[:len(bad):len(bad)], badWindowWords...)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, ".test.ts") ||
				filepath.Base(file) == "types.ts" || slices.Contains(researchers, filepath.Base(filepath.Dir(file))) {
				continue
			}
			text := of.text(t, file)
			for _, word := range bad {
				if strings.Contains(strings.ToLower(text), word.phrase) {
					t.Errorf("%s says %q; write instead: %s", file, word.phrase, word.instead)
				}
			}
		}
	}
}

func whole(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var comments = regexp.MustCompile(`(?s)<!--.*?-->|(?m)(?:^|\s)//[^\n]*`)

// withoutComments returns a file of the window without its comments.
func withoutComments(t *testing.T, path string) string {
	return comments.ReplaceAllString(whole(t, path), "")
}

// stringsOf returns the strings of a file of Go, a line each.
func stringsOf(t *testing.T, path string) string {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, _ := strconv.Unquote(lit.Value)
			all.WriteString(text + "\n")
		}
		return true
	})
	return all.String()
}
