package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// terminals are the folders and files whose texts only a terminal shows, or tests.
var terminals = []string{
	"app/bench", "app/bridge", "app/cmd", "app/evidence", "app/lab", "app/modeltest", "app/roomtest",
	"app/scripttest", "app/terminal", "engine/enginetest", "models/pocket",

	"app/control/advice.go",  // the table of commands, which the window leaves out
	"app/doctor.go",          // what `tandem doctor` prints
	"app/serve_flags.go",     // the help of flags
	"app/connect/clients.go", // what to type for other programs
}

// command matches what a person would type into a terminal: words in backticks, or a verb of ours.
var command = regexp.MustCompile("(^|[^`])`[A-Za-z-]+[ `]|\\btandem (open|serve|runs?|pull|list|models|checkpoints|keys|" +
	"settings|use|show|rm|ps|stop|logs|status|chat|launch|doctor|bench|forget) ")

// The texts that the window may show, errors above all, name no command. What to do in a terminal is
// in the table of app/control.
func TestNoErrorOfTheWindowNamesACommand(t *testing.T) {
	texts := 0
	for _, top := range []string{"app", "engine", "models", "storage"} {
		err := filepath.WalkDir(filepath.Join("..", top), func(path string, d fs.DirEntry, err error) error {
			name := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
			switch {
			case err != nil:
				return err
			case slices.Contains(terminals, name) || strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata":
				if d.IsDir() {
					return filepath.SkipDir
				}
				return nil
			case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if x, ok := n.(*ast.BasicLit); ok && x.Kind == token.STRING {
					texts++
					text, _ := strconv.Unquote(x.Value)
					if found := command.FindString(text + " "); found != "" {
						t.Errorf("%s: %q names the command %q: say it in other words, or as an Advice", set.Position(x.Pos()),
							text, found)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if texts < 10_000 {
		t.Errorf("only %d texts were read", texts)
	}
}
