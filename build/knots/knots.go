// Package knots finds the files of a package that reach each other, and holds their number to a
// limit. A file of a knot cannot be understood without all the others of it.
//
// A file refers to another one when it names a package's variable, constant, type, function, method
// or field that the other one declares. go/types resolves the names, so method calls count. It reads
// the packages that are imported from the export data that the compiler has left in Go's build cache.
// Tests are not counted.
package knots

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Knot is the largest set of files of a package that reach each other. From each of them,
// references lead to every other one and back.
type Knot struct {
	Package string   // below the checkout, such as engine/cache
	Files   []string // one if no files reach each other
}

// most is how many files a knot may have, a fifth above the largest good one of today: app/api has 20.
const most = 24

// larger has the packages with a larger knot, the files that theirs may have, and why.
var larger = map[string]struct {
	most int
	why  string
}{
	"models/gguf": {31, "each family adds methods to the one reader of metadata, which calls them by a table"},
}

// Check returns a sentence for each knot that is too large.
func Check(knots []Knot) error {
	var errs []error
	for _, k := range knots {
		limit := cmp.Or(larger[k.Package].most, most)
		if n := len(k.Files); n > limit {
			errs = append(errs, fmt.Errorf("%d files of %s reach each other, at most %d may: %s", n,
				k.Package, limit, strings.Join(k.Files, " ")))
		}
	}
	return errors.Join(errs...)
}

// ListFields are the fields that [Find] needs from go list -export -deps -json=.
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

// Find returns the knot of each package that go list was asked for, largest first. list is the
// output of
//
//	go list -export -deps -json=ListFields
func Find(list io.Reader) ([]Knot, error) {
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
	var knots []Knot
	for _, p := range asked {
		files, err := p.find(exports)
		if err != nil {
			return nil, err
		}
		knots = append(knots, Knot{strings.TrimPrefix(p.ImportPath, "tandem/"), files})
	}
	slices.SortFunc(knots, func(a, b Knot) int {
		return cmp.Or(cmp.Compare(len(b.Files), len(a.Files)), cmp.Compare(a.Package, b.Package))
	})
	return knots, nil
}

// find returns the files of the package's knot. exports has the export data by import path.
func (p listedPackage) find(exports map[string]string) ([]string, error) {
	fset := token.NewFileSet()
	config := types.Config{FakeImportC: true,
		Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
			if mapped, ok := p.ImportMap[path]; ok {
				path = mapped
			}
			return os.Open(exports[path])
		})}
	if len(p.CgoFiles) > 0 { // the types of C are unknown, so not all expressions are right
		config.Error = func(error) {}
	}
	var files []*ast.File
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil,
			parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return largest(fset, p.ImportPath, files, config)
}

// largest type-checks a package and returns the names of the files in its largest knot.
func largest(fset *token.FileSet, path string, files []*ast.File, config types.Config) (
	[]string, error) {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	pkg, err := config.Check(path, fset, files, info)
	if err != nil && config.Error == nil {
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
	var knot []string
	for _, name := range slices.Sorted(maps.Keys(reach)) {
		var mutual []string
		for other := range reachable(reach, name) {
			if reachable(reach, other)[name] {
				mutual = append(mutual, other)
			}
		}
		if len(mutual) > len(knot) {
			slices.Sort(mutual)
			knot = mutual
		}
	}
	return knot, nil
}

// isDeclared reports whether an object belongs to the package, not to a function: it is in the
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
