package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// Every verb prints by package terminal, in which no text of a stranger moves the cursor: the streams of the
// program go to its functions, or to a program that is started, and nothing here formats onto a stream.
func TestVerbsPrintByTerminalAlone(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		checked++
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range printers(file) {
			t.Errorf("%s: print by package terminal, such as m.Print", fset.Position(n.Pos()))
		}
	}
	if checked < 20 {
		t.Errorf("%d files were checked", checked)
	}
}

// The check finds each way to print without package terminal, and leaves the others alone.
func TestPrintersAreFound(t *testing.T) {
	for body, want := range map[string]int{
		`fmt.Fprintln(m.Stdout, "x")`:                     1,
		`fmt.Fprintf(m.Stderr, "x")`:                      1,
		`fmt.Println("x")`:                                1,
		`fmt.Fprint(os.Stderr, "x")`:                      1,
		`println("x")`:                                    1,
		`m.Stdout.Write(nil)`:                             1,
		`io.WriteString(m.Stdout, "x")`:                   1,
		`w := m.Stdout; _ = w`:                            1,
		`json.NewEncoder(m.Stdout).Encode(1)`:             1,
		`log.Printf("x")`:                                 1,
		`cmd.OutOrStdout()`:                               1,
		`cmd.Println("x")`:                                1,
		`m.Print("x")`:                                    0,
		`m.Say("x")`:                                      0,
		`terminal.TextWriter(m.Stdout)`:                   0,
		`fmt.Fprintf(&b, "x")`:                            0,
		`child.Stdout, child.Stderr = m.Stdout, m.Stderr`: 0,
		`child.Stdout, x = x, m.Stderr`:                   2,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package p\nfunc f() { "+body+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if found := printers(file); len(found) != want {
			t.Errorf("%s: %d are found, want %d", body, len(found), want)
		}
	}
}

// printers returns where a file prints without package terminal.
func printers(file *ast.File) (found []ast.Node) {
	given := map[ast.Expr]bool{} // streams that terminal or a program that is started gets
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if isStream(to) && len(n.Lhs) == len(n.Rhs) && nameOf(to) == nameOf(n.Rhs[i]) {
					given[to], given[n.Rhs[i]] = true, true
				}
			}
		case *ast.CallExpr:
			of, name := callOf(n)
			switch {
			case of == "terminal":
				for _, arg := range n.Args {
					given[arg] = true
				}
			case of == "fmt" && strings.HasPrefix(name, "Print"), of == "log",
				of == "" && strings.HasPrefix(name, "print"), strings.HasSuffix(name, "OrStdout"), strings.HasSuffix(name, "OrStderr"),
				(of == "cmd" || of == "c") && strings.HasPrefix(name, "Print"):
				found = append(found, n)
			}
		case *ast.SelectorExpr:
			if isStream(n) && !given[n] {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

// callOf returns the package or variable whose function is called, and the function's name.
func callOf(n *ast.CallExpr) (of, name string) {
	switch f := n.Fun.(type) {
	case *ast.Ident:
		return "", f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			of = x.Name
		}
		return of, f.Sel.Name
	}
	return "", ""
}

func isStream(x ast.Expr) bool { return nameOf(x) == "Stdout" || nameOf(x) == "Stderr" }

// nameOf returns the field that an expression selects.
func nameOf(x ast.Expr) string {
	if s, ok := x.(*ast.SelectorExpr); ok {
		return s.Sel.Name
	}
	return ""
}
