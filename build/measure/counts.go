package measure

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
)

// A Count is one number and where it was found.
type Count struct {
	Value int
	Where string
}

// String is the count as check prints it.
func (c Count) String() string { return fmt.Sprintf("%d  %s", c.Value, c.Where) }

// largestFirst orders counts, equal ones by their place.
func largestFirst(counts []Count) []Count {
	slices.SortFunc(counts, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Where, b.Where))
	})
	return counts
}

// PackageFiles counts the Go files of each package, largest first.
func (t *Tree) PackageFiles() []Count {
	var counts []Count
	for _, p := range t.packages {
		counts = append(counts, Count{len(p.Files), p.Path})
	}
	return largestFirst(counts)
}

// filesOf counts the files of one package.
func (t *Tree) filesOf(dir string) Count { return Count{len(t.at(dir).Files), dir} }

// linesOf counts the lines of one package.
func (t *Tree) linesOf(dir string) Count {
	c := Count{Where: dir}
	for _, f := range t.at(dir).Files {
		c.Value += f.lines
	}
	return c
}

// Functions counts the lines of each function and method, from its first line to its closing brace.
func (t *Tree) Functions() []Count {
	var counts []Count
	for _, p := range t.packages {
		for _, f := range p.Files {
			for _, d := range f.Syntax.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				lines := t.fset.Position(fn.End()).Line - t.fset.Position(fn.Pos()).Line + 1
				counts = append(counts, Count{lines, p.Path + "." + functionName(fn)})
			}
		}
	}
	return largestFirst(counts)
}

// functionName is a function as godoc writes it: Close, or Store.Close.
func functionName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	receiver := fn.Recv.List[0].Type
	for {
		switch x := receiver.(type) {
		case *ast.StarExpr:
			receiver = x.X
		case *ast.IndexExpr:
			receiver = x.X
		case *ast.IndexListExpr:
			receiver = x.X
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// Interfaces counts the methods of each named interface. Embedded interfaces of this module count
// with all their methods, those of other modules as one method.
func (t *Tree) Interfaces() []Count {
	declared := map[string]*interfaceDecl{}
	for _, p := range t.packages {
		for _, f := range p.Files {
			ast.Inspect(f.Syntax, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				if x, ok := spec.Type.(*ast.InterfaceType); ok {
					declared[p.Path+"."+spec.Name.Name] = &interfaceDecl{p.Path, f.Syntax, x}
				}
				return true
			})
		}
	}
	var counts []Count
	for name, d := range declared {
		methods := map[string]bool{}
		d.collect(declared, methods, map[*interfaceDecl]bool{})
		counts = append(counts, Count{len(methods), name})
	}
	return largestFirst(counts)
}

// An interfaceDecl is a named interface with the file whose imports its selectors use.
type interfaceDecl struct {
	pkg    string
	file   *ast.File
	syntax *ast.InterfaceType
}

// collect adds the names of d's methods. seen ends circles, although the compiler refuses them too.
func (d *interfaceDecl) collect(
	declared map[string]*interfaceDecl, methods map[string]bool, seen map[*interfaceDecl]bool,
) {
	if seen[d] {
		return
	}
	seen[d] = true
	for _, field := range d.syntax.Methods.List {
		for _, name := range field.Names {
			methods[name.Name] = true
		}
		if len(field.Names) > 0 {
			continue
		}
		name := ""
		switch x := field.Type.(type) {
		case *ast.Ident:
			name = d.pkg + "." + x.Name
		case *ast.SelectorExpr:
			if from, ok := x.X.(*ast.Ident); ok {
				name = importedAs(d.file, from.Name) + "." + x.Sel.Name
			}
		default: // the union of a constraint
			continue
		}
		if inner := declared[name]; inner != nil {
			inner.collect(declared, methods, seen)
		} else {
			methods[name] = true
		}
	}
}

// importedAs returns the path below the checkout of a package that a file imports under a name.
func importedAs(file *ast.File, name string) string {
	for _, spec := range file.Imports {
		imported := strings.Trim(spec.Path.Value, `"`)
		known := path.Base(imported)
		if spec.Name != nil {
			known = spec.Name.Name
		}
		if known == name {
			return strings.TrimPrefix(imported, "tandem/")
		}
	}
	return name
}

// documentLines counts the lines of a document, blank ones too.
func (t *Tree) documentLines(name string) Count {
	for _, f := range t.files {
		if f.name == name {
			return Count{len(f.lines), name}
		}
	}
	return Count{0, name + " is missing"}
}

// sortedKeys are the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
