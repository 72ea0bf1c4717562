package knots

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// TestKnotFollowsMethodsAndFields has five files:
//   - a and b call each other through methods;
//   - c closes the circle through a field;
//   - d only uses them;
//   - e refers to none.
func TestKnotFollowsMethodsAndFields(t *testing.T) {
	fset := token.NewFileSet()
	var files []*ast.File
	for name, text := range map[string]string{
		"a.go": "package x\n\ntype A struct{ c C }\n\nfunc (a *A) Go(b *B) { b.Back(a) }\n",
		"b.go": "package x\n\ntype B struct{}\n\nfunc (b *B) Back(a *A) { _ = a.c.number }\n",
		"c.go": "package x\n\ntype C struct{ number int }\n\nfunc (c C) first(a *A) {}\n",
		"d.go": "package x\n\nfunc use(a *A) { a.Go(nil) }\n",
		"e.go": "package x\n\nfunc alone(a int) int { b := a; return b }\n",
	} {
		f, err := parser.ParseFile(fset, name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	want := []string{"a.go", "b.go", "c.go"}
	knot, err := largest(fset, "x", files, types.Config{})
	if err != nil || !slices.Equal(knot, want) {
		t.Errorf("got %q, %v; want %q", knot, err, want)
	}
	broken, err := parser.ParseFile(fset, "f.go", "package x\n\nvar f = missing\n", 0)
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, broken)
	if _, err := largest(fset, "x", files, types.Config{}); err == nil {
		t.Error("a package that does not compile gives no error")
	}
	cgo := types.Config{Error: func(error) {}}
	if knot, err := largest(fset, "x", files, cgo); err != nil || !slices.Equal(knot, want) {
		t.Errorf("with an unknown name of C: got %q, %v; want %q", knot, err, want)
	}
}

// TestLargeKnotIsRefused expects a sentence for a knot past the limit, and none for one that has a
// larger limit of its own.
func TestLargeKnotIsRefused(t *testing.T) {
	files := func(n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprintf("f%d.go", i))
		}
		return names
	}
	right := []Knot{{"models/gguf", files(most + 1)}, {"app", files(most)}}
	if err := Check(right); err != nil {
		t.Errorf("right knots: %v", err)
	}
	err := Check(append(right, Knot{"storage", files(most + 1)}))
	if err == nil || !strings.HasPrefix(err.Error(), "25 files of storage reach each other") {
		t.Errorf("got %v, want an error about storage", err)
	}
}
