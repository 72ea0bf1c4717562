package measure

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// read makes a tree of files by name.
func read(t *testing.T, files map[string]string) *Tree {
	t.Helper()
	checkout := fstest.MapFS{}
	for name, text := range files {
		checkout[name] = &fstest.MapFile{Data: []byte(text)}
	}
	tree, err := Read(checkout)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestTestsAndOtherModulesAreNotCounted(t *testing.T) {
	tree := read(t, map[string]string{
		"app/app.go":                    "package app\n\nvar x = 1\n",
		"app/app_darwin.go":             "package app\n",
		"app/app_test.go":               "package app\n",
		"app/testdata/x.go":             "package broken",
		"build/clients/go/go.mod":       "module other\n",
		"build/clients/go/main.go":      "package main\n",
		"frontend/node_modules/x/x.go":  "package broken",
		"frontend/test/pages.test.mjs":  "test()\n",
		"frontend/src/api/types.ts":     "export type X = string\n",
		"build/out/linux-amd64/main.go": "package main\n",
	})
	if got := tree.PackageFiles(); len(got) != 1 || got[0] != (Count{2, "app"}) {
		t.Errorf("packages: %v, want app with 2 files alone", got)
	}
	if got := tree.linesOf("app"); got.Value != 4 {
		t.Errorf("app has %d lines, want 4", got.Value)
	}
	if len(tree.files) != 2 {
		t.Errorf("%d files are looked at, want 2", len(tree.files))
	}
}

func TestFunctionLinesRunFromNameToBrace(t *testing.T) {
	long := "package x\n\n// F has a comment, which does not count.\nfunc F() {\n" +
		strings.Repeat("\tprintln()\n", 79) + "}\n"
	methods := "package x\n\ntype T[P any] struct{}\n\nfunc (t *T[P]) M() {\n}\n"
	tree := read(t, map[string]string{"x/long.go": long, "x/m.go": methods})
	want := []Count{{81, "x.F"}, {2, "x.T.M"}}
	if got := tree.Functions(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestInterfacesCountWhatTheyEmbed(t *testing.T) {
	tree := read(t, map[string]string{
		"a/a.go": "package a\n\nimport \"io\"\n\ntype Small interface { One(); Two() }\n\ntype Closer interface { Small; io.Closer; Two() }\n",
		"b/b.go": "package b\n\nimport other \"tandem/a\"\n\ntype Wide interface { other.Closer; Three() }\n\ntype Number interface { ~int | ~string }\n",
	})
	want := []Count{{4, "b.Wide"}, {3, "a.Closer"}, {2, "a.Small"}, {0, "b.Number"}}
	if got := tree.Interfaces(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSentencesAreCut(t *testing.T) {
	const readme = "# A heading of five words\n\nOne two `three words here`, e.g. four. [Five](https://x.y/z. Q) six!\n" +
		"Seven: eight; nine - ten\n\n```\nnot a word of this counts.\n```\n\n    nor of this\n\n" +
		"- an item\n  goes on\n- another item\n\n| head | of table |\n| --- | --- |\n| a b c | d |\n"
	tree := read(t, map[string]string{"README.md": readme})
	var got []string
	for _, c := range tree.Sentences() {
		got = append(got, fmt.Sprintf("%d %s", c.Value, strings.TrimPrefix(c.Where, "README.md: ")))
	}
	want := []string{
		"5 One two code, e.g. four.", "4 Seven: eight; nine - ten", "4 an item goes on", "3 a b c",
		"2 Five six!", "2 another item", "2 of table", "1 d", "1 head",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

func TestSentencesOfDocFilesAreCut(t *testing.T) {
	const doc = "// Package x does one thing:\n//\n//\tcode that is not counted. At all.\n//\n// It has a list:\n//   - first item\n//     goes on\n//   - second\npackage x\n"
	tree := read(t, map[string]string{"x/doc.go": doc,
		"x/x.go": "// Package x is not read here.\npackage x\n"})
	want := []Count{
		{5, "x/doc.go: Package x does one thing:"}, {4, "x/doc.go: It has a list:"},
		{4, "x/doc.go: first item goes on"}, {1, "x/doc.go: second"},
	}
	if got := tree.Sentences(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEqualLinesLeaveOutImportsAndTables(t *testing.T) {
	body := calls(30)
	rows := "var table = []int{\n" + strings.Repeat("\t1,\n", 40) + "}\n"
	imports := "import (\n"
	for i := range 30 {
		imports += fmt.Sprintf("\t_ \"tandem/p%d\"\n", i)
	}
	imports += ")\n\n"
	tree := read(t, map[string]string{
		"a/a.go":      "package a\n\n" + imports + rows + "func F() {\n" + body + "}\n",
		"b/b.go":      "package b\n\n" + imports + rows + "func G() {\n" + body + "}\n",
		"b/b_test.go": "package b\n\nfunc H() {\n" + body + "}\n",
	})
	got := tree.EqualLines(20)
	if len(got) != 1 || got[0].Value != 31 || !strings.HasPrefix(got[0].Where, "a/a.go:") ||
		!strings.Contains(got[0].Where, " and b/b.go:") {
		t.Errorf("got %v, want the 30 calls and their brace in a and b", got)
	}
}

func TestEqualLinesDoNotOverlapThemselves(t *testing.T) {
	same := "package a\n\nfunc F() {\n" + strings.Repeat("\tprintln()\n", 30) + "}\n"
	if got := read(t, map[string]string{"a/a.go": same}).EqualLines(20); len(got) != 0 {
		t.Errorf("30 equal lines in one place are %v", got)
	}
}

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
	knot, err := largestKnot(fset, "x", files, nil)
	if err != nil || !slices.Equal(knot, []string{"a.go", "b.go", "c.go"}) {
		t.Errorf("got %q, %v", knot, err)
	}
	broken, err := parser.ParseFile(fset, "f.go", "package x\n\nvar f = missing\n", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := largestKnot(fset, "x", append(files, broken), nil); err == nil {
		t.Error("a package that does not compile gives no error")
	}
}

// TestReportFailsPastEachLimit plants one fault for each limit, and none in a right tree.
func TestReportFailsPastEachLimit(t *testing.T) {
	right := map[string]string{"README.md": "Short.\n", "engine/engine.go": "package engine\n"}
	faults := map[string]map[string]string{
		"files of package app": filled("app", 21, "package app\n"),
		"lines of package app": {"app/app.go": "package app\n" + strings.Repeat("\n", 2500)},
		"files of a package":   filled("engine", 56, "package engine\n"),
		"methods of an interface": {"engine/wide.go": "package engine\n\ntype Wide interface {\n" +
			methods(16) + "}\n"},
		"lines of a function": {"engine/long.go": "package engine\n\nfunc F() {\n" +
			strings.Repeat("\n", 80) + "}\n"},
		"lines of README.md": {"README.md": strings.Repeat("\n", 201)},
		"words of a sentence in a doc.go or README.md": {"README.md": strings.Repeat("word ", 31) +
			".\n"},
		"equal lines in two places": {"a/a.go": "package a\n\nfunc F() {\n" +
			calls(25) + "}\n", "b/b.go": "package b\n\nfunc G() {\n" + calls(25) + "}\n"},
	}
	var out bytes.Buffer
	if err := read(t, right).Report(&out, []Count{{20, "app: a.go"}}); err != nil {
		t.Errorf("a right tree: %v\n%s", err, out.String())
	}
	if err := read(t, right).Report(&out, []Count{{21, "app: a.go"}}); err == nil ||
		!strings.Contains(err.Error(), "reach each other") {
		t.Errorf("a knot of 21 files: %v", err)
	}
	for what, files := range faults {
		planted := maps.Clone(right)
		maps.Copy(planted, files)
		err := read(t, planted).Report(&out, nil)
		if err == nil || strings.Count(err.Error(), "\n") != 1 ||
			!strings.Contains(err.Error(), what+": ") {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

// TestLongFunctionsHaveReasons expects at most four exceptions, each with a reason.
func TestLongFunctionsHaveReasons(t *testing.T) {
	if len(longFunctions) > 4 {
		t.Errorf("%d functions are excepted, at most 4 may be", len(longFunctions))
	}
	for name, reason := range longFunctions {
		if strings.TrimSpace(reason) == "" {
			t.Errorf("%s is excepted without a reason", name)
		}
	}
}

// filled is a folder with n files of one text.
func filled(dir string, n int, text string) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("%s/f%d.go", dir, i)] = text
	}
	return files
}

// methods are n lines of an interface.
func methods(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "\tMethod%d()\n", i)
	}
	return s.String()
}

// calls are n different statements, with empty lines between them.
func calls(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "\tprintln(%d)\n\n", i)
	}
	return s.String()
}
