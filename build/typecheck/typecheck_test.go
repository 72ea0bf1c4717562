package typecheck

import (
	"go/build/constraint"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/build/setup"
)

// TestFaultsForMacAreFound plants two faults that a build on another system cannot see, in a cgo
// file for macOS.
func TestFaultsForMacAreFound(t *testing.T) {
	dir := t.TempDir()
	list := func(body string) io.Reader {
		text := "package p\n\n// int f(void);\nimport \"C\"\n\nconst A, B int = C.A, C.B\n\nvar names = map[int]string{A: \"a\", B: \"b\"}\n\nfunc g() { " +
			body + " }\n"
		if err := os.WriteFile(filepath.Join(dir, "p_darwin.go"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return strings.NewReader(`{"ImportPath":"p","Dir":"` + dir +
			`","CgoFiles":["p_darwin.go"]}`)
	}
	if err := typeCheck(list("_ = int(C.f())")); err != nil {
		t.Errorf("a right file: %v", err)
	}
	for _, fault := range []string{"undefined()", "var s string = 1; _ = s", "_ = names[\"a\"]",
		"_ = map[undefined]int{}"} {
		if err := typeCheck(list(fault)); err == nil {
			t.Errorf("%s was not noticed", fault)
		}
	}
	missing := strings.NewReader(`{"ImportPath":"p","Error":{"Err":"no such package"}}`)
	if err := typeCheck(missing); err == nil {
		t.Error("go list's own error was not noticed")
	}
}

// TestEveryBuildTagIsChecked looks for tags of ours that the type check leaves out.
func TestEveryBuildTagIsChecked(t *testing.T) {
	known := append(strings.Split(checkedTags, ","), "ui", "darwin", "linux")
	found := map[string]bool{}
	for _, dir := range setup.TopDirs {
		err := filepath.WalkDir(filepath.Join("..", "..", dir),
			func(path string, d fs.DirEntry, err error) error {
				if d != nil && d.IsDir() && slices.Contains([]string{"node_modules", "out", ".deps"},
					d.Name()) {
					return fs.SkipDir
				}
				if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
					return err
				}
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				line, _, _ := strings.Cut(string(text), "\n")
				if !constraint.IsGoBuild(line) {
					return nil
				}
				x, err := constraint.Parse(line)
				if err != nil {
					return err
				}
				x.Eval(func(tag string) bool { // which asks for each of them
					if found[tag] = true; !slices.Contains(known, tag) {
						t.Errorf("%s: nothing checks what the tag %s adds", path, tag)
					}
					return false
				})
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !found["scripted"] || !found["desktop"] {
		t.Errorf("the tags %v were found", found)
	}
}
