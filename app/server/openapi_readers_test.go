package server

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// readers are the functions of the rooms by their names without receivers, and
// its lists of strings.
type readers struct {
	t     *testing.T
	funcs map[string][]*ast.FuncDecl
	lists map[string][]string
	holds map[string][]string // types by the types that embed them
}

// rooms are the packages that read bodies.
var rooms = []string{"wire", "api", "openai", "anthropic", "responses", "ollama", "server"}

// qualifiers stand before the names of other packages.
var qualifiers = regexp.MustCompile(`\b(wire|api|openai|anthropic|responses|ollama)\.([A-Z])`)

// parseReaders reads the source of the rooms, as if they were one package.
func parseReaders(t *testing.T) *readers {
	t.Helper()
	var files []string
	for _, room := range rooms {
		found, err := filepath.Glob("../" + room + "/*.go")
		if err != nil || found == nil {
			t.Fatal(room, err)
		}
		files = append(files, found...)
	}
	r := &readers{t: t, funcs: map[string][]*ast.FuncDecl{}, lists: map[string][]string{}, holds: map[string][]string{}}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text = qualifiers.ReplaceAll(text, []byte("$2"))
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool { // a name is the same in its own package and in others
			if id, ok := n.(*ast.Ident); ok {
				first, size := utf8.DecodeRuneInString(id.Name)
				id.Name = string(unicode.ToLower(first)) + id.Name[size:]
			}
			return true
		})
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				r.funcs[d.Name.Name] = append(r.funcs[d.Name.Name], d)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						r.holds[s.Name.Name] = embedded(s.Type)
					}
					if v, ok := spec.(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 {
						r.lists[v.Names[0].Name] = literals(v.Values[0])
					}
				}
			}
		}
	}
	return r
}

// embedded returns what a struct embeds.
func embedded(e ast.Expr) (list []string) {
	s, ok := e.(*ast.StructType)
	if !ok {
		return nil
	}
	for _, f := range s.Fields.List {
		e := f.Type
		if star, ok := e.(*ast.StarExpr); ok {
			e = star.X
		}
		if name, ok := e.(*ast.Ident); ok && f.Names == nil {
			list = append(list, name.Name)
		}
	}
	return list
}

// literals returns the strings of a list, or of one.
func literals(e ast.Expr) (list []string) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			if s, err := strconv.Unquote(e.Value); err == nil {
				return []string{s}
			}
		}
	case *ast.CompositeLit:
		for _, x := range e.Elts {
			list = append(list, literals(x)...)
		}
	}
	return list
}

// later has what reads the rest of a body behind a route's reader.
var later = map[string]string{"/v1/responses": "transcript.read"}

// roots returns what the routes' handlers are made of, by their patterns.
func (r *readers) roots() map[string][]string {
	roots := map[string][]string{}
	visit := func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return true
		}
		pattern := literals(call.Args[0])
		if len(pattern) != 1 {
			return true
		}
		ast.Inspect(call.Args[1], func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok && r.funcs[name.Name] != nil {
				roots[pattern[0]] = append(roots[pattern[0]], name.Name)
			}
			return true
		})
		return false
	}
	for name, list := range r.funcs {
		if name == "routes" || strings.HasSuffix(name, "Routes") {
			for _, decl := range list {
				ast.Inspect(decl, visit)
			}
		}
	}
	return roots
}

// fields returns the names that functions read of a *fields, and those they hand
// one to.
func (r *readers) fields(roots []string) map[string]bool {
	read, seen := map[string]bool{}, map[*ast.FuncDecl]bool{}
	for _, name := range roots {
		of, method, qualified := strings.Cut(name, ".")
		if !qualified {
			method = name
		}
		for _, decl := range r.funcs[method] {
			if !qualified || decl.Recv != nil && receiver(decl) == of {
				r.walk(decl, read, seen)
			}
		}
	}
	return read
}

func (r *readers) walk(decl *ast.FuncDecl, read map[string]bool, seen map[*ast.FuncDecl]bool) {
	if seen[decl] {
		return
	}
	seen[decl] = true
	values := r.values(decl)
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			callee, method := calleeName(n)
			for _, target := range r.targets(callee, method, decl) {
				if at, _ := keyOf(target); at >= 0 && at < len(n.Args) {
					for _, key := range r.keys(n.Args[at], values, decl, callee) {
						read[key] = true
					}
				}
			}
		case *ast.SelectorExpr: // also one that is handed on
			r.follow(n.Sel.Name, true, decl, read, seen)
		case *ast.Ident:
			r.follow(n.Name, false, decl, read, seen)
		}
		return true
	})
}

// follow walks what takes a *fields.
func (r *readers) follow(name string, method bool, from *ast.FuncDecl, read map[string]bool, seen map[*ast.FuncDecl]bool) {
	for _, target := range r.targets(name, method, from) {
		if _, takes := keyOf(target); takes {
			r.walk(target, read, seen)
		}
	}
}

// targets returns the functions, or the methods, that a name may mean. Of methods
// with the same name those count whose receivers the caller speaks of, if there are
// such.
func (r *readers) targets(name string, method bool, from *ast.FuncDecl) []*ast.FuncDecl {
	var all, near []*ast.FuncDecl
	for _, f := range r.funcs[name] {
		if method != (f.Recv != nil) {
			continue
		}
		if all = append(all, f); method && r.speaksOf(from, receiver(f)) {
			near = append(near, f)
		}
	}
	if near != nil {
		return near
	}
	return all
}

// receiver is the name of a method's type.
func receiver(f *ast.FuncDecl) string {
	e := f.Recv.List[0].Type
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if name, ok := e.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// speaksOf reports whether a type is named anywhere in a function, or one that
// embeds it.
func (r *readers) speaksOf(f *ast.FuncDecl, name string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && r.is(id.Name, name) {
			found = true
		}
		return !found
	})
	return found
}

func (r *readers) is(name, embedded string) bool {
	return name == embedded || slices.ContainsFunc(r.holds[name], func(in string) bool { return r.is(in, embedded) })
}

func calleeName(call *ast.CallExpr) (name string, method bool) {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name, false
	case *ast.SelectorExpr:
		return f.Sel.Name, true
	}
	return "", false
}

// keyOf returns which parameter of a function is the name of a field, below 0 for
// none, and whether it has a *fields to read from, which is not its receiver.
func keyOf(f *ast.FuncDecl) (at int, takes bool) {
	method := f.Recv != nil && isFields(f.Recv.List[0].Type)
	at = -1
	i := 0
	for _, p := range f.Type.Params.List {
		takes = takes || isFields(p.Type)
		for _, name := range p.Names {
			if name.Name == "key" {
				at = i
			}
			i++
		}
	}
	if !method && !takes || f.Name.Name == "fail" {
		at = -1
	}
	return at, takes
}

func isFields(e ast.Expr) bool {
	star, ok := e.(*ast.StarExpr)
	if !ok {
		return false
	}
	name, ok := star.X.(*ast.Ident)
	return ok && name.Name == "fields"
}

// values are the strings that a function's variables may have, as far as they are
// written down.
func (r *readers) values(f *ast.FuncDecl) map[string][]string {
	values := maps.Clone(r.lists)
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if name, ok := left.(*ast.Ident); ok && len(n.Lhs) == len(n.Rhs) {
					values[name.Name] = append(values[name.Name], literals(n.Rhs[i])...)
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if len(n.Names) == len(n.Values) {
					values[name.Name] = append(values[name.Name], literals(n.Values[i])...)
				}
			}
		case *ast.RangeStmt:
			name, ok := n.Value.(*ast.Ident)
			if !ok {
				break
			}
			if list, ok := n.X.(*ast.Ident); ok {
				values[name.Name] = append(values[name.Name], values[list.Name]...)
			} else {
				values[name.Name] = append(values[name.Name], literals(n.X)...)
			}
		}
		return true
	})
	return values
}

// elsewhere has what functions read by names that do not stand in the call.
var elsewhere = map[string][]string{
	"readContent":     {"text", "refusal"},
	"readSpeculation": {"drafter", "rollback", "rule"},
	"readLogitBias":   nil, // token ids
}

// keys returns the names that an argument stands for. A parameter called key is
// the caller's.
func (r *readers) keys(arg ast.Expr, values map[string][]string, in *ast.FuncDecl, callee string) []string {
	if list := literals(arg); list != nil {
		return list
	}
	name, ok := arg.(*ast.Ident)
	if ok && values[name.Name] != nil {
		return values[name.Name]
	}
	if list, ok := elsewhere[in.Name.Name]; ok {
		return list
	}
	if at, _ := keyOf(in); ok && name.Name == "key" && at >= 0 {
		return nil
	}
	r.t.Errorf("%s: which field %s reads is not written down", in.Name.Name, callee)
	return nil
}
