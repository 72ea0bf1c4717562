package setup

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// typesFile has the interface's types of the control routes' bodies. They are made of the Go
// structs.
const typesFile = "frontend/src/api/types.ts"

// CheckTypes returns an error if the committed types are not those of the structs.
func (b *Builder) CheckTypes() error {
	want, err := b.typescript()
	if err != nil {
		return err
	}
	got, err := os.ReadFile(filepath.Join(b.Root, typesFile))
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s differs from the structs of app/control and storage/record; run `go run ./build setup`",
			typesFile)
	}
	return nil
}

// writeTypes writes the types, if they have changed.
func (b *Builder) writeTypes() error {
	text, err := b.typescript()
	if err != nil {
		return err
	}
	path := filepath.Join(b.Root, typesFile)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	return os.WriteFile(path, text, 0o644)
}

// typescript returns the types of the packages that have the bodies.
func (b *Builder) typescript() ([]byte, error) {
	return typescript(filepath.Join(b.Root, "app/control"), filepath.Join(b.Root, "storage/record"))
}

// typescript writes the structs of packages with JSON names as interfaces, and its string types as
// unions of their constants. It knows types of other packages by name.
func typescript(dirs ...string) ([]byte, error) {
	set := token.NewFileSet()
	t := &typescripter{unions: map[string][]string{}}
	var files []*ast.File
	for _, dir := range dirs {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, &fs.PathError{Op: "read the Go files of", Path: dir, Err: fs.ErrNotExist}
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
			t.constants(f)
		}
	}
	t.out.WriteString("// Made of the structs of app/control and storage/record by `go run ./build setup`. Edit those.\n")
	for _, f := range files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				spec := s.(*ast.TypeSpec)
				if !spec.Name.IsExported() {
					continue
				}
				switch x := spec.Type.(type) {
				case *ast.StructType:
					t.structure(spec.Name.Name, g.Doc, x)
				case *ast.ArrayType:
					t.tuple(spec.Name.Name, g.Doc, x)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.unions)) {
		fmt.Fprintf(&t.out, "\nexport type %s = %s\n", name, strings.Join(t.unions[name], " | "))
	}
	return t.out.Bytes(), t.err
}

type typescripter struct {
	out    bytes.Buffer
	unions map[string][]string // constants of string types, quoted
	err    error
}

// constants collects the constants that are declared with a type.
func (t *typescripter) constants(f *ast.File) {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			name, ok := v.Type.(*ast.Ident)
			if !ok {
				continue
			}
			for _, x := range v.Values {
				if lit, ok := x.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					t.unions[name.Name] = append(t.unions[name.Name], lit.Value)
				}
			}
		}
	}
}

// structure writes a struct, if any of its fields has a JSON name. The interface extends the
// interfaces of the structs that it embeds.
func (t *typescripter) structure(name string, doc *ast.CommentGroup, st *ast.StructType) {
	var body bytes.Buffer
	var bases []string
	for _, f := range st.Fields.List {
		if f.Names == nil && f.Tag == nil {
			bases = append(bases, t.typeOf(f.Type))
			continue
		}
		tag := ""
		if f.Tag != nil {
			text, err := strconv.Unquote(f.Tag.Value)
			if err != nil {
				t.err = err
				return
			}
			tag = reflect.StructTag(text).Get("json")
		}
		field, option, _ := strings.Cut(tag, ",")
		if field == "" || field == "-" {
			continue
		}
		mark := ""
		if strings.HasPrefix(option, "omit") {
			mark = "?"
		}
		fmt.Fprintf(&body, "  %s%s: %s%s\n", field, mark, t.typeOf(f.Type), remark(f.Comment))
	}
	if body.Len() == 0 {
		return
	}
	t.doc(doc)
	if len(bases) > 0 {
		name += " extends " + strings.Join(bases, ", ")
	}
	fmt.Fprintf(&t.out, "export interface %s {\n%s}\n", name, body.Bytes())
}

// tuple writes an array of fixed length.
func (t *typescripter) tuple(name string, doc *ast.CommentGroup, x *ast.ArrayType) {
	lit, ok := x.Len.(*ast.BasicLit)
	if !ok {
		return
	}
	n, err := strconv.Atoi(lit.Value)
	if err != nil {
		t.err = err
		return
	}
	t.doc(doc)
	fmt.Fprintf(&t.out, "export type %s = [%s]\n", name,
		strings.Join(slices.Repeat([]string{t.typeOf(x.Elt)}, n), ", "))
}

// doc writes a comment after an empty line.
func (t *typescripter) doc(g *ast.CommentGroup) {
	t.out.WriteString("\n")
	for line := range strings.Lines(g.Text()) {
		t.out.WriteString(strings.TrimRight("// "+line, " \n") + "\n")
	}
}

// remark returns the comment at the end of a field's line.
func remark(c *ast.CommentGroup) string {
	if text := strings.TrimSpace(c.Text()); text != "" {
		return " // " + text
	}
	return ""
}

// typeOf returns a type as JSON has it.
func (t *typescripter) typeOf(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return t.typeOf(x.X) + " | null"
	case *ast.ArrayType:
		inner := t.typeOf(x.Elt)
		if strings.Contains(inner, " ") {
			inner = "(" + inner + ")"
		}
		return inner + "[]"
	case *ast.MapType:
		return "Record<" + t.typeOf(x.Key) + ", " + t.typeOf(x.Value) + ">"
	case *ast.SelectorExpr:
		switch x.Sel.Name {
		case "Time":
			return "string"
		case "RawMessage":
			return "unknown"
		}
	case *ast.Ident:
		switch x.Name {
		case "string":
			return "string"
		case "bool":
			return "boolean"
		case "int", "int32", "int64", "uint64", "float64":
			return "number"
		}
		if ast.IsExported(x.Name) {
			return x.Name
		}
	}
	t.err = fmt.Errorf("a field has a type that %s has no form for: %T", typesFile, x)
	return "unknown"
}
