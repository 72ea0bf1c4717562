// Package measure counts what tells whether the tree stays easy to read, and holds each count to a
// limit.
//
// It reads sources only: Go files with go/parser, the other languages and the documents as lines.
// One number needs types: the files of a package that reach each other (see [Knots]). It resolves
// identifiers with go/types, against the export data that the compiler has left in Go's build
// cache.
//
// Tests, testdata and generated files are not counted.
package measure

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// A Tree is a checkout as the counts see it.
type Tree struct {
	fset     *token.FileSet
	packages []*Package // in order of their paths
	files    []*textFile
	knots    []Count // what Knots returned; empty before Report
}

// A Package is one folder's Go files without tests, whatever their build tags.
type Package struct {
	Path  string // below the checkout, such as engine/cache
	Files []*File
}

// A File is a parsed Go file.
type File struct {
	Name   string // below the checkout
	Syntax *ast.File
	lines  int
}

// A textFile is a source or a document.
type textFile struct {
	name  string
	text  string
	lines []string // without the spaces around each
}

// sourceKinds are the languages in which equal lines are counted, and Markdown for documents.
var sourceKinds = []string{".go", ".rs", ".ts", ".mjs", ".svelte", ".css", ".py", ".sh", ".c", ".h",
	".md"}

// leftOut are folders that hold none of our sources.
var leftOut = []string{"testdata", "node_modules", "dist", "target"}

// generated are sources that a verb of build writes.
var generated = []string{"frontend/src/api/types.ts"}

// Read parses the checkout. Folders of other Go modules are left out.
func Read(checkout fs.FS) (*Tree, error) {
	t := &Tree{fset: token.NewFileSet()}
	err := fs.WalkDir(checkout, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return t.enter(checkout, name)
		}
		if !d.Type().IsRegular() || strings.HasPrefix(d.Name(), ".") ||
			!slices.Contains(sourceKinds, path.Ext(name)) {
			return nil
		}
		text, err := fs.ReadFile(checkout, name)
		if err != nil {
			return err
		}
		return t.add(name, text)
	})
	slices.SortFunc(t.packages, func(a, b *Package) int { return strings.Compare(a.Path, b.Path) })
	return t, err
}

// enter returns fs.SkipDir for a folder that is left out.
func (t *Tree) enter(checkout fs.FS, name string) error {
	if name == "." {
		return nil
	}
	base := path.Base(name)
	if strings.HasPrefix(base, ".") || slices.Contains(leftOut, base) || name == "build/out" {
		return fs.SkipDir
	}
	if _, err := fs.Stat(checkout, path.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// add takes one file.
func (t *Tree) add(name string, text []byte) error {
	if isTest(name) || slices.Contains(generated, name) {
		return nil
	}
	if path.Ext(name) != ".go" {
		t.files = append(t.files, &textFile{name, string(text), trimmedLines(string(text))})
		return nil
	}
	if strings.HasPrefix(path.Base(name), "_") {
		return nil
	}
	syntax, err := parser.ParseFile(t.fset, name, text,
		parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	file := &File{Name: name, Syntax: syntax, lines: strings.Count(string(text), "\n")}
	p := t.at(path.Dir(name))
	p.Files = append(p.Files, file)
	t.files = append(t.files, &textFile{name, string(text),
		t.withoutTables(syntax, trimmedLines(string(text)))})
	return nil
}

// at returns the package of a folder, a new one for its first file.
func (t *Tree) at(dir string) *Package {
	for _, p := range t.packages {
		if p.Path == dir {
			return p
		}
	}
	p := &Package{Path: dir}
	t.packages = append(t.packages, p)
	return p
}

// isTest reports whether a file holds tests, in any of our languages.
func isTest(name string) bool {
	base := path.Base(name)
	return strings.HasSuffix(base, "_test.go") || strings.Contains(base, ".test.") ||
		strings.Contains("/"+name, "/test/") || strings.Contains("/"+name, "/tests/")
}

// trimmedLines splits a text.
func trimmedLines(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return lines
}

// withoutTables empties the lines of import blocks and of tables: literals of slices, arrays and
// maps with at least four elements.
func (t *Tree) withoutTables(file *ast.File, lines []string) []string {
	empty := func(from, to token.Pos) {
		for n := t.fset.Position(from).Line; n <= t.fset.Position(to).Line && n <= len(lines); n++ {
			lines[n-1] = ""
		}
	}
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			empty(g.Pos(), g.End())
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || len(lit.Elts) < 4 {
			return true
		}
		switch lit.Type.(type) {
		case *ast.ArrayType, *ast.MapType:
			empty(lit.Pos(), lit.End())
			return false
		}
		return true
	})
	return lines
}
