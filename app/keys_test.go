package app

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tandem/app/control"
)

// TestKeys: a key is found while it is there, also after a restart, and is
// nowhere on disk.
func TestKeys(t *testing.T) {
	home := t.TempDir()
	var secret string
	t.Run("made", func(t *testing.T) {
		r := start(t, Options{Home: home}, "")
		c := r.client(t)
		made, err := c.AddKey(t.Context(), control.KeyRequest{Name: " Zed "})
		if err != nil || made.Key.Name != "Zed" || !strings.HasPrefix(made.Secret, keyPrefix) || len(made.Secret) < 30 {
			t.Fatalf("%+v %v", made, err)
		}
		secret = made.Secret
		for _, bad := range []string{"", "  ", "Zed", "a\nb", strings.Repeat("x", maxKeyName+1)} {
			if _, err := c.AddKey(t.Context(), control.KeyRequest{Name: bad}); codeOf(err) != control.CodeInvalid || paramOf(err) != "name" {
				t.Errorf("name %q: %v", bad, err)
			}
		}
		if name, ok := r.FindKey(secret); !ok || name != "Zed" {
			t.Errorf("the key is %q, %t", name, ok)
		}
		if _, ok := r.FindKey(strings.ToUpper(secret)); ok {
			t.Error("another key is found")
		}
	})
	files, err := filepath.Glob(filepath.Join(home, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(secret)) {
			t.Errorf("%s has the key", f)
		}
	}
	r := start(t, Options{Home: home}, "")
	if name, ok := r.FindKey(secret); !ok || name != "Zed" {
		t.Errorf("after a restart the key is %q, %t", name, ok)
	}
	list, err := r.client(t).Keys(t.Context())
	if err != nil || len(list) != 1 || list[0].UsedAt.IsZero() {
		t.Fatalf("%+v %v", list, err)
	}
	if err := r.client(t).DeleteKey(t.Context(), list[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.FindKey(secret); ok || r.HasKeys() {
		t.Error("a deleted key is found")
	}
	if err := r.client(t).DeleteKey(t.Context(), list[0].ID); codeOf(err) != control.CodeKeyNotFound {
		t.Errorf("deleted twice: %v", err)
	}
}

// TestKeysWhileUsed: keys go while others are looked up and their use is noted;
// the race detector watches.
func TestKeysWhileUsed(t *testing.T) {
	r := start(t, Options{}, "")
	var made [8]control.NewKey
	for i := range made {
		var err error
		if made[i], err = r.AddKey(t.Context(), control.KeyRequest{Name: fmt.Sprint("key ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	var using sync.WaitGroup
	for _, k := range made {
		using.Go(func() { r.FindKey(k.Secret) })
	}
	for _, k := range made {
		if err := r.DeleteKey(t.Context(), k.Key.ID); err != nil {
			t.Error(err)
		}
	}
	using.Wait()
	if r.HasKeys() {
		t.Error("a deleted key is back")
	}
}

// TestKeysInConstantTime reads how a key is looked up: what is kept is compared by
// crypto/subtle alone, and the first that fits ends nothing. Times would not tell.
func TestKeysInConstantTime(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "keys.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Name.Name != "find" {
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
