package settings

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

// The source of Find compares keys only by crypto/subtle, and goes on after a match. Measured times
// would not show this.
func TestKeysAreComparedInConstantTime(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "keys.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Name.Name != "Find" {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			loop, ok := n.(*ast.RangeStmt)
			if !ok {
				return true
			}
			ast.Inspect(loop.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ReturnStmt, *ast.BranchStmt:
					t.Error("a key that fits ends the search")
				case *ast.BinaryExpr:
					call, ok := n.X.(*ast.CallExpr)
					if ok && types.ExprString(call.Fun) == "subtle.ConstantTimeCompare" {
						compared++
					} else {
						t.Errorf("%s takes longer the more of it is right", types.ExprString(n))
					}
				}
				return true
			})
			return false
		})
	}
	if compared != 1 {
		t.Errorf("keys are compared in constant time %d times, want once", compared)
	}
}
