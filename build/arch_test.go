package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"tandem/build/setup"
)

// arrows is the architecture: which packages of this module each package may import directly. "x/*"
// stands for every package one level below x. The most exact row counts, and a package without a
// row may not exist. Tests may also import engine/enginetest and the package that they test.
var arrows = []struct {
	from string
	to   []string
}{
	{"app/cmd/tandem", []string{"app", "app/bench", "app/connect", "app/library", "app/pool", "app/home", "app/control", "app/terminal", "frontend", "storage/disk", "models/starter",
		"app/modeltest"}}, // for tests of clients
	{"app/cmd/lab", []string{"app", "app/lab", "app/bench", "app/evidence", "app/bridge", "app/pool", "app/home", "app/control", "app/terminal", "storage/disk", "models/retrieval", "models/starter"}},
	{"app/cmd/menubar", []string{"app/menu", "app/supervise", "app/control", "app/terminal", "frontend"}},
	{"app/cmd/desktop", []string{"app/menu", "app/supervise", "app/home", "app/control", "frontend"}},
	{"app", []string{"models", "models/hub", "engine", "engine/*", "storage", "storage/disk", "app/*"}},
	{"app/server", []string{"app/llamacpp", "app/openai", "app/responses", "app/anthropic", "app/ollama", "app/api", "app/wire", "app/model", "app/control"}},
	{"app/openai", []string{"app/api", "app/wire", "app/model", "app/control", "app/dialect", "engine"}},
	{"app/responses", []string{"app/api", "app/wire", "app/model", "app/control", "app/dialect", "engine"}},
	{"app/anthropic", []string{"app/api", "app/wire", "app/model", "app/control", "app/dialect", "engine"}},
	{"app/llamacpp", []string{"app/api", "app/wire", "app/model", "app/control", "app/dialect", "engine"}},
	{"app/ollama", []string{"app/api", "app/wire", "app/model", "app/control", "app/dialect", "engine"}},
	// engine's types only
	{"app/api", []string{"app/wire", "app/model", "app/control", "app/dialect", "app/jsonschema", "engine"}},
	// engine's codes only
	{"app/wire", []string{"app/control", "engine"}},
	// engine's types only
	{"app/model", []string{"app/control", "app/dialect", "engine"}},
	{"app/connect", []string{"app/settings", "app/home", "app/control", "storage", "storage/disk"}},
	// engine's codes only
	{"app/endpoint", []string{"app/wire", "app/home", "app/settings", "app/control", "engine"}},
	{"app/lab", []string{"app/bench", "app/figures", "app/evidence", "app/pool", "app/drafters", "app/model", "app/home", "app/control", "engine", "engine/*", "models", "models/dflash", "storage/disk"}},
	{"app/bench", []string{"app/figures", "app/terminal", "app/pool", "app/drafters", "app/home", "app/control", "engine", "engine/*", "models"}},
	{"app/figures", nil},  // tables and statistics: build's benches need them before MLX is there
	{"app/terminal", nil}, // the command line, without knowing what the verbs do
	{"app/bridge", nil},   // git and processes, without knowing what they measure
	{"app/library", []string{"app/pool", "app/drafters", "app/settings", "app/home", "app/control", "models", "models/hub", "models/ollama", "storage", "storage/disk"}},
	// engine's codes and reasons only
	{"app/history", []string{"app/pool", "app/figures", "app/settings", "app/home", "app/control", "storage", "engine", "engine/checkpoint", "engine/tokenizer"}},
	{"app/pool", []string{"app/drafters", "app/eviction", "app/model", "app/settings", "app/home", "app/control", "app/dialect", "engine", "engine/*", "models", "models/hub", "storage", "storage/disk"}},
	{"app/drafters", []string{"app/model", "app/settings", "app/home", "app/control", "engine", "engine/*", "models", "models/hub", "storage", "storage/disk"}},
	{"app/eviction", []string{"app/control"}}, // what to load and unload, without knowing what a model is
	{"app/settings", []string{"app/home", "app/control", "storage", "storage/disk", "models/hub"}},
	{"app/home", []string{"app/control", "storage/disk"}},
	// for tests alone
	{"app/modeltest", []string{"app/model", "app/control", "app/dialect", "engine"}},
	{"app/roomtest", []string{"app/responses", "app/anthropic", "app/api", "app/wire", "app/pool", "app/model", "app/modeltest", "app/settings",
		"app/home", "app/control", "engine", "engine/mlx", "models/hub", "storage"}},
	{"app/scripttest", nil},
	{"app/control", []string{"storage/record"}},
	{"app/evidence", nil},                       // reports, without knowing what measured them
	{"app/dialect", []string{"app/jsonschema"}}, // how models write, without knowing what runs them
	{"app/jsonschema", nil},
	{"app/menu", []string{"app/control"}},
	{"app/supervise", []string{"app/home", "app/control"}},

	{"models", []string{"models/*", "engine/lm", "engine/tokenizer", "engine/native", "engine/mlx", "storage/disk"}},
	{"models/*", []string{"models/nn", "engine/lm", "engine/cache", "engine/mlx"}},
	{"models/nn", []string{"engine/lm", "engine/cache", "engine/mlx"}},
	{"models/gguf", []string{"engine/mlx"}}, // files, without knowing what a model is
	{"models/pocket", nil},                  // weights and files only
	{"models/retrieval", nil},               // likewise
	{"models/starter", nil},                 // where the file lies
	{"models/ollama", []string{"storage/disk"}},
	// downloads, without knowing what a model is
	{"models/hub", []string{"models/gguf", "storage/disk"}}, // how sets of files are named

	{"engine", []string{"engine/*"}},
	{"engine/enginetest", []string{"engine", "engine/*"}},
	{"engine/checkpoint", []string{"engine/lm", "engine/cache", "engine/sample", "engine/mlx", "storage/disk"}},
	{"engine/draft", []string{"engine/lm", "engine/cache", "engine/sample", "engine/mlx", "engine/texts"}},
	{"engine/restore", []string{"engine/lm", "engine/cache", "engine/sample", "engine/mlx"}},
	{"engine/lm", []string{"engine/cache", "engine/mlx"}},
	{"engine/cache", []string{"engine/mlx"}},
	{"engine/sample", []string{"engine/mlx"}},
	{"engine/mlx", nil},
	{"engine/native", nil},
	{"engine/texts", []string{"storage/disk"}}, // files of token ids, without knowing what drafts
	{"engine/tokenizer", nil},

	{"storage", []string{"storage/disk", "storage/record"}},
	{"storage/record", nil}, // the records that control sends as they are stored
	{"storage/disk", nil},   // files and folders that others made
	{"frontend", nil},
	{"build", []string{"build/*", "app/figures"}},
	{"build/setup", nil}, // this machine: packages, MLX, the crate, the interface
	{"build/program", []string{"build/setup"}},
	{"build/typecheck", []string{"build/setup"}},
	{"build/knots", nil}, // counts references between files
	{"build/fixtures", []string{"build/setup"}},
	{"build/bench", []string{"build/setup", "build/program", "app/figures"}},
	{"build/clients", []string{"build/setup", "build/program"}},
	{"build/real", []string{"build/setup", "build/program"}},
	{"build/ui", []string{"build/setup", "build/program"}},
	{"build/licences", []string{"build/setup"}},
	{"build/linux", []string{"build/setup", "build/program", "build/licences"}},
	{"build/mac", []string{"build/setup", "build/program", "build/typecheck", "build/licences"}},
}

// named are the packages that a row has to name: "x/*" does not stand for them. The retrieval model is
// embedded in the lab's program alone.
var named = []string{"models/retrieval"}

// testsMayImport is the package that all tests may import beyond their package's row.
const testsMayImport = "engine/enginetest"

// testArrows are further arrows for tests. Tests of models ask them for caches, bound their layers,
// and let the engine decode with drafts and restore texts in every family.
var testArrows = map[string][]string{
	"models": {"engine", "engine/cache", "engine/checkpoint", "engine/draft", "engine/restore", "engine/sample", "engine/texts"},
	// its test loads and decodes
	"models/retrieval": {"models", "engine/lm", "engine/cache", "engine/mlx", "engine/tokenizer"},
	// its files are read by the tokenizer that they are for
	"models/gguf": {"engine/native", "engine/tokenizer"},
	// they ask the routes of all vendors
	"app/api":       {"app/roomtest", "app/modeltest", "app/openai", "app/responses", "app/anthropic", "app/ollama", "app/llamacpp"},
	"app/openai":    {"app/roomtest"},
	"app/responses": {"app/roomtest", "app/modeltest", "app/openai"}, // whose form a resumed response has
	"app/anthropic": {"app/roomtest", "app/modeltest"},
	"app/ollama":    {"app/roomtest"},
	"app/llamacpp":  {"app/roomtest"},
	"app/wire":      {"app/roomtest", "app/openai", "app/api"}, // they need routes
	// its forms are compiled by llguidance itself
	"app/jsonschema": {"engine/native"},
	"app/server":     {"app/roomtest", "app/modeltest", "engine"}, // they script the engine's tokens
	"app/pool":       {"app/server", "app/api", "app/wire"},       // its fixture answers requests
	"app/library":    {"app/roomtest"},
	"app/history":    {"app/roomtest"},
	"app/lab":        {"app"}, // its tests serve a whole Tandem
	// its list of families
	"app/cmd/tandem": {"models", "app/scripttest"},
	"app/cmd/lab":    {"app/scripttest"},
}

// buildModules are the packages of other modules that build may import, by package. Nothing else
// imports them. Otherwise build uses the standard library only.
var buildModules = map[string][]string{"build/mac": {"howett.net/plist"}}

// cgoPackages may import "C". Other packages may not. engine/enginetest asks the loader which BLAS
// it took. Mains may import "C" in files for macOS, to call functions that only a Mac's own
// libraries have, such as starting at login. The decisions are in packages that every machine
// tests. models/gguf repacks blocks in C with vectors, which Go lacks.
var cgoPackages = []string{"engine/mlx", "engine/native", "engine/enginetest", "models/gguf"}

// topFiles are the files at the top of the checkout. Its folders are in setup.TopDirs. Dot files
// are not listed.
var topFiles = []string{"go.mod", "go.sum", "LICENSE", "README.md", "wails.json"}

// maxDepth is how many levels below the root a library folder may lie. Mains lie in app/cmd/NAME.
const maxDepth = 2

// mostMethods is how many methods a type may have. A reader cannot keep more of them apart.
const mostMethods = 60

// largerTypes may have more.
var largerTypes = map[string]int{
	"engine/mlx.Scope": 150, // a method is an operation of MLX
}

// A goPackage is one folder's Go files, whatever their build tags.
type goPackage struct {
	path        string              // relative to the module
	imports     map[string][]string // import path to files, tests left out
	testImports map[string][]string
	documented  bool

	methods map[string]map[string]bool // type to names, tests left out
}

func TestArchitecture(t *testing.T) {
	tree := os.DirFS("..")
	packages, err := readPackages(tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations(packages) {
		t.Error(v)
	}
	for _, v := range strangers(tree) {
		t.Error(v)
	}
	for name := range largerTypes {
		if n := methodsOf(packages, name); n <= mostMethods {
			t.Errorf("%s has %d methods: remove it from largerTypes", name, n)
		}
	}
}

// methodsOf returns the number of methods of a type, such as engine.Engine.
func methodsOf(packages []*goPackage, name string) int {
	for _, p := range packages {
		if of, ok := strings.CutPrefix(name, p.path+"."); ok {
			return len(p.methods[of])
		}
	}
	return 0
}

// readPackages parses every Go file of the module.
func readPackages(tree fs.FS) ([]*goPackage, error) {
	byPath := map[string]*goPackage{}
	fset := token.NewFileSet()
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") ||
				slices.Contains([]string{"testdata", "node_modules"}, base) ||
				name == "build/out") {
				return fs.SkipDir
			}
			// A folder with its own go.mod is another module to Go as well.
			if _, err := fs.Stat(tree, path.Join(name, "go.mod")); name != "." && err == nil {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") || strings.HasPrefix(base, ".") ||
			strings.HasPrefix(base, "_") {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		p := byPath[dir]
		if p == nil {
			p = &goPackage{path: dir, imports: map[string][]string{},
				testImports: map[string][]string{}, methods: map[string]map[string]bool{}}
			byPath[dir] = p
		}
		imports := p.imports
		if strings.HasSuffix(base, "_test.go") {
			imports = p.testImports
		} else {
			p.documented = p.documented || strings.TrimSpace(file.Doc.Text()) != ""
			p.addMethods(file)
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			imports[imported] = append(imports[imported], name)
		}
		return nil
	})
	packages := make([]*goPackage, 0, len(byPath))
	for _, p := range byPath {
		packages = append(packages, p)
	}
	slices.SortFunc(packages, func(a, b *goPackage) int { return strings.Compare(a.path, b.path) })
	return packages, err
}

// addMethods adds the methods that a file declares. One that several files declare, each for another
// system, is one method.
func (p *goPackage) addMethods(file *ast.File) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil {
			continue
		}
		of := f.Recv.List[0].Type
		if pointer, ok := of.(*ast.StarExpr); ok {
			of = pointer.X
		}
		switch generic := of.(type) {
		case *ast.IndexExpr:
			of = generic.X
		case *ast.IndexListExpr:
			of = generic.X
		}
		name := of.(*ast.Ident).Name
		if p.methods[name] == nil {
			p.methods[name] = map[string]bool{}
		}
		p.methods[name][f.Name.Name] = true
	}
}

// violations returns a sentence for each import or folder that breaks the table, and for each type
// with too many methods.
func violations(packages []*goPackage) []string {
	var found []string
	for _, p := range packages {
		if !p.documented {
			found = append(found, fmt.Sprintf("%s has no package comment", p.path))
		}
		if depth := strings.Count(p.path, "/") + 1; depth > maxDepth &&
			!strings.HasPrefix(p.path, "app/cmd/") {
			found = append(found, fmt.Sprintf("%s lies %d levels deep, at most %d are allowed",
				p.path, depth, maxDepth))
		}
		for name, methods := range p.methods {
			name = p.path + "." + name
			if most := cmp.Or(largerTypes[name], mostMethods); len(methods) > most {
				found = append(found, fmt.Sprintf("%s has %d methods, at most %d are allowed", name,
					len(methods), most))
			}
		}
		allowed, ok := allowedImports(p.path)
		if !ok {
			found = append(found, fmt.Sprintf("%s has no row in the table of arrows", p.path))
			continue
		}
		for _, set := range []struct {
			imports map[string][]string
			test    bool
		}{{p.imports, false}, {p.testImports, true}} {
			for imported, files := range set.imports {
				if imported == "C" && !set.test && strings.HasPrefix(p.path, "app/cmd/") &&
					!slices.ContainsFunc(files, notForMac) {
					continue
				}
				if !importAllowed(p.path, imported, allowed, set.test) {
					found = append(found, fmt.Sprintf("%s may not import %s (%s)",
						p.path, imported, strings.Join(files, ", ")))
				}
			}
		}
	}
	slices.Sort(found)
	return found
}

// notForMac reports whether systems other than macOS compile a file too.
func notForMac(file string) bool { return !strings.HasSuffix(file, "_darwin.go") }

// allowedImports returns the row of a package: its own, otherwise its parent's "/*".
func allowedImports(pkg string) ([]string, bool) {
	for _, from := range []string{pkg, path.Dir(pkg) + "/*"} {
		for _, row := range arrows {
			if row.from == from {
				return row.to, true
			}
		}
	}
	return nil, false
}

// importAllowed reports whether pkg may import a package. allowed is its row.
func importAllowed(pkg, imported string, allowed []string, test bool) bool {
	if imported == "C" {
		return slices.Contains(cgoPackages, pkg)
	}
	own, inModule := strings.CutPrefix(imported, "tandem/")
	if !inModule {
		first, _, _ := strings.Cut(imported, "/")
		if !strings.Contains(first, ".") { // the standard library
			return true
		}
		for by, modules := range buildModules {
			if slices.Contains(modules, imported) {
				return pkg == by
			}
		}
		return pkg != "build" && path.Dir(pkg) != "build"
	}
	if test && (own == testsMayImport || own == pkg || slices.Contains(testArrows[pkg], own)) {
		return true
	}
	return slices.Contains(allowed, own) ||
		!slices.Contains(named, own) && slices.Contains(allowed, path.Dir(own)+"/*")
}

// strangers returns a sentence for each file and folder that does not belong at the top.
func strangers(tree fs.FS) []string {
	entries, err := fs.ReadDir(tree, ".")
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	for _, e := range entries {
		name := e.Name()
		expected := topFiles
		if e.IsDir() {
			expected = setup.TopDirs
		}
		if !strings.HasPrefix(name, ".") && !slices.Contains(expected, name) {
			found = append(found, fmt.Sprintf("%s does not belong at the top of the checkout",
				name))
		}
	}
	return found
}

// TestEachViolationIsFound plants one fault of each kind in a tree that has none.
func TestEachViolationIsFound(t *testing.T) {
	const doc = "// Package x is documented.\n"
	right := map[string]string{
		"engine/engine.go":          doc + "package engine\nimport _ \"tandem/engine/mlx\"\n",
		"engine/engine_test.go":     "package engine_test\nimport (\n_ \"tandem/engine\"\n_ \"tandem/engine/enginetest\"\n)\n",
		"engine/enginetest/fake.go": doc + "package enginetest\nimport _ \"tandem/engine\"\n",
		"engine/mlx/mlx.go":         doc + "package mlx\nimport \"C\"\n",
		"models/llama/llama.go":     doc + "package llama\nimport _ \"tandem/models/nn\"\n",
		"models/nn/linear.go":       doc + "package nn\n",
		"storage/storage.go": doc +
			"package storage\nimport _ \"modernc.org/sqlite\"\n",
		"app/cmd/tandem/main.go":         doc + "package main\nimport _ \"tandem/app\"\n",
		"app/app.go":                     doc + "package app\n",
		"frontend/node_modules/x/x.go":   "package broken",
		"engine/tokenizer/testdata/x.go": "package broken",
	}
	methods := func(n int) string {
		text := "package nn\ntype Table[T any] struct{}\nfunc (Table[T]) Twice() {}\n"
		for i := range n {
			text += fmt.Sprintf("func (t *Table[T]) M%d() {}\n", i)
		}
		return text
	}
	right["models/nn/table.go"] = methods(mostMethods - 1)
	tests := []struct {
		name, file, text, want string
	}{
		{"nothing", "", "", ""},
		{"many methods, one in two files", "models/nn/table_darwin.go", methods(0), ""},
		{"too many methods", "models/nn/table.go", methods(mostMethods), "models/nn.Table has 61 methods"},
		{"upward import", "engine/bad.go", "package engine\nimport _ \"tandem/models\"\n", "engine may not import tandem/models (engine/bad.go)"},
		{"sideways import", "models/llama/bad.go", "package llama\nimport _ \"tandem/engine\"\n", "models/llama may not import tandem/engine"},
		{"leaf import", "storage/bad.go", "package storage\nimport _ \"tandem/engine/enginetest\"\n", "storage may not import tandem/engine/enginetest"},
		{"import of what a row must name", "models/bad.go", doc + "package models\nimport _ \"tandem/models/retrieval\"\n", "models may not import tandem/models/retrieval"},
		{"test import", "engine/mlx/bad_test.go", "package mlx\nimport _ \"tandem/engine/cache\"\n", "engine/mlx may not import tandem/engine/cache"},
		{"with a build tag", "engine/bad.go", "//go:build windows\n\npackage engine\nimport _ \"tandem/app\"\n", "engine may not import tandem/app"},
		{"cgo", "storage/bad.go", "package storage\nimport \"C\"\n", "storage may not import C"},
		{"cgo in a main", "app/cmd/tandem/bad.go", doc + "package main\nimport \"C\"\n", "app/cmd/tandem may not import C"},
		{"cgo in a main for macOS", "app/cmd/tandem/good_darwin.go", doc + "package main\nimport \"C\"\n", ""},
		{"library in build", "build/bad.go", doc + "package main\nimport _ \"golang.org/x/sys/unix\"\n", "build may not import golang.org/x/sys/unix"},
		{"library in a folder of build", "build/knots/bad.go", doc + "package knots\nimport _ \"golang.org/x/sys/unix\"\n", "build/knots may not import golang.org/x/sys/unix"},
		{"a library that build/mac may use", "build/mac/good.go", doc + "package mac\nimport _ \"howett.net/plist\"\n", ""},
		{"a library of build/mac in another folder of build", "build/knots/bad.go", doc + "package knots\nimport _ \"howett.net/plist\"\n", "build/knots may not import howett.net/plist"},
		{"a library of build/mac above build", "app/bad.go", doc + "package app\nimport _ \"howett.net/plist\"\n", "app may not import howett.net/plist"},
		{"no row", "engine/util/util.go", doc + "package util\n", "engine/util has no row"},
		{"no comment", "models/qwen3/qwen3.go", "package qwen3\n", "models/qwen3 has no package comment"},
		{"too deep", "models/llama/v3/v3.go", doc + "package v3\n", "models/llama/v3 lies 3 levels deep"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree := fstest.MapFS{}
			for name, text := range right {
				tree[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if test.file != "" {
				tree[test.file] = &fstest.MapFile{Data: []byte(test.text)}
			}
			packages, err := readPackages(tree)
			if err != nil {
				t.Fatal(err)
			}
			got := violations(packages)
			if test.want == "" {
				if len(got) > 0 {
					t.Fatalf("violations of a right tree: %q", got)
				}
				return
			}
			if !slices.ContainsFunc(got, func(v string) bool {
				return strings.HasPrefix(v, test.want)
			}) {
				t.Fatalf("got %q, want one that begins %q", got, test.want)
			}
		})
	}
}

func TestStrangersAtTheTopAreFound(t *testing.T) {
	tree := fstest.MapFS{"go.mod": {}, ".gitignore": {}, "engine/x.go": {}, "docs/x.md": {},
		"notes.txt": {}}
	got := strangers(tree)
	if len(got) != 2 {
		t.Fatalf("got %q, want docs and notes.txt", got)
	}
}
