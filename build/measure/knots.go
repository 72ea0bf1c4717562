package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ListFields are the fields that [Knots] needs from go list -export -deps -json=.
const ListFields = "ImportPath,Dir,GoFiles,CgoFiles,Export,ImportMap,DepOnly"

// A listedPackage has the fields of a package in go list's output.
type listedPackage struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	CgoFiles   []string
	Export     string // file with the compiler's export data
	ImportMap  map[string]string
	DepOnly    bool // a dependency of a package that was asked for
}

// Knots counts the files that reach each other, in each package that go list was asked for. From
// each of these files, references lead to every other one and back. list is the output of
//
//	go list -export -deps -json=ListFields
//
// A file refers to another one when it names a package's variable, constant, type, function, method
// or field that the other one declares. go/types resolves the names, so method calls count.
func Knots(list io.Reader) ([]Count, error) {
	exports, asked := map[string]string{}, []listedPackage{}
	for decoder := json.NewDecoder(list); ; {
		var p listedPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			asked = append(asked, p)
		}
	}
	var counts []Count
	for _, p := range asked {
		fset := token.NewFileSet()
		from := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
			if mapped, ok := p.ImportMap[path]; ok {
				path = mapped
			}
			return os.Open(exports[path])
		})
		var files []*ast.File
		for _, name := range append(slices.Clone(p.GoFiles), p.CgoFiles...) {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil,
				parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
		}
		knot, err := largestKnot(fset, p.ImportPath, files, from)
		if err != nil {
			return nil, err
		}
		where := strings.TrimPrefix(p.ImportPath, "tandem/")
		counts = append(counts, Count{len(knot), where + ": " + strings.Join(knot, " ")})
	}
	return largestFirst(counts), nil
}

// largestKnot type-checks a package and returns the names of the files in its largest knot. Without
// any knot that is one file.
func largestKnot(
	fset *token.FileSet, path string, files []*ast.File, from types.Importer,
) ([]string, error) {
	config := types.Config{Importer: from, FakeImportC: true}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	pkg, err := config.Check(path, fset, files, info)
	if err != nil {
		return nil, err
	}
	fileOf := func(pos token.Pos) string { return filepath.Base(fset.Position(pos).Filename) }
	reach := map[string][]string{}
	for _, f := range files {
		reach[fileOf(f.Pos())] = nil
	}
	for ident, object := range info.Uses {
		if object.Pkg() != pkg || !isDeclared(pkg, object) {
			continue
		}
		user, owner := fileOf(ident.Pos()), fileOf(object.Pos())
		if user != owner && !slices.Contains(reach[user], owner) {
			reach[user] = append(reach[user], owner)
		}
	}
	var largest []string
	for _, name := range sortedKeys(reach) {
		var knot []string
		for other := range reachable(reach, name) {
			if reachable(reach, other)[name] {
				knot = append(knot, other)
			}
		}
		if len(knot) > len(largest) {
			slices.Sort(knot)
			largest = knot
		}
	}
	return largest, nil
}

// isDeclared reports whether an object belongs to the package, not to a function: it stands in the
// package's scope, or is a method or a field.
func isDeclared(pkg *types.Package, object types.Object) bool {
	switch x := object.(type) {
	case *types.Func:
		return true
	case *types.Var:
		if x.IsField() {
			return true
		}
	}
	return object.Parent() == pkg.Scope()
}

// reachable returns the files that references lead to from name, name included.
func reachable(reach map[string][]string, name string) map[string]bool {
	seen := map[string]bool{name: true}
	for next := []string{name}; len(next) > 0; {
		last := next[len(next)-1]
		next = next[:len(next)-1]
		for _, to := range reach[last] {
			if !seen[to] {
				seen[to] = true
				next = append(next, to)
			}
		}
	}
	return seen
}
