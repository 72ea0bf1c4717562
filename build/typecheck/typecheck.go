package typecheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tandem/build/setup"
)

// consequence matches errors about values and types that the checker does not know. They follow
// from C names, which it takes on trust, or from an error that is reported by itself.
var consequence = regexp.MustCompile(`\bunknown in map literal|duplicate case unknown|invalid type`)

// maxTypeErrors is how many findings of one package are reported.
const maxTypeErrors = 10

// A listedPackage has the fields of a package in go list's JSON.
type listedPackage struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	CgoFiles   []string
	ImportMap  map[string]string
	DepOnly    bool // not named by the pattern: a dependency
	Error      *struct{ Err string }
}

// Darwin checks the types of every package for macOS on Apple silicon, on any machine. go list
// needs no compiler for the target, and go/types can take every C.name on trust. It checks once
// without build tags and once with ours.
//
// It checks Go code in files for macOS. It checks neither the C names in it nor the function bodies
// of dependencies. A Go type must not be declared as a C type (type Dtype C.mlx_dtype), because the
// checker knows nothing about that.
func Darwin(ctx context.Context, b *setup.Builder) error {
	var errs []error
	for _, tags := range []string{"", checkedTags} {
		if err := DarwinTags(ctx, b, tags); err != nil {
			errs = append(errs, fmt.Errorf("tags %q: %w", tags, err))
		}
	}
	return errors.Join(errs...)
}

// checkedTags are tags whose files can stand beside each other, so that one check takes all of
// them. The tag ui is left out: its file embeds what setup builds, and every tandem that is built
// has it.
const checkedTags = "bundle,desktop,lint,long,production,real,scripted"

// DarwinTags checks types as Darwin does, with one set of build tags.
func DarwinTags(ctx context.Context, b *setup.Builder, tags string) error {
	cmd := b.Command(ctx, "go", "list", "-e", "-deps", "-tags", tags,
		"-json=ImportPath,Dir,GoFiles,CgoFiles,ImportMap,DepOnly,Error", "./...")
	cmd.Env = append(cmd.Env, "GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=1")
	text, err := b.Output(cmd)
	if err != nil {
		return err
	}
	return typeCheck(strings.NewReader(text))
}

// typeCheck checks the packages of a go list stream, which names dependencies before their
// importers.
func typeCheck(list io.Reader) error {
	done := map[string]*types.Package{"unsafe": types.Unsafe}
	fset := token.NewFileSet()
	decoder := json.NewDecoder(list)
	var errs []error
	for {
		var p listedPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return errors.Join(errs...)
		} else if err != nil {
			return fmt.Errorf("go list: %w", err)
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		if p.Error != nil && !p.DepOnly {
			errs = append(errs, fmt.Errorf("%s: %s", p.ImportPath, p.Error.Err))
			continue
		}
		pkg, err := p.check(fset, done)
		done[p.ImportPath] = pkg
		if err != nil {
			errs = append(errs, err)
		}
	}
}

// check checks the types of one package. done has the packages before it.
func (p listedPackage) check(
	fset *token.FileSet, done map[string]*types.Package,
) (*types.Package, error) {
	var files []*ast.File
	var findings []error
	for _, name := range append(slices.Clone(p.GoFiles), p.CgoFiles...) {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil,
			parser.SkipObjectResolution)
		if err != nil {
			findings = append(findings, err)
			continue
		}
		files = append(files, f)
	}
	config := types.Config{
		FakeImportC:      true,
		IgnoreFuncBodies: p.DepOnly,
		Sizes:            types.SizesFor("gc", "arm64"),
		Importer: importerFunc(func(path string) (*types.Package, error) {
			if mapped, ok := p.ImportMap[path]; ok {
				path = mapped
			}
			if pkg := done[path]; pkg != nil {
				return pkg, nil
			}
			return nil, fmt.Errorf("package %s is not among the dependencies", path)
		}),
		Error: func(err error) {
			if !consequence.MatchString(err.Error()) {
				findings = append(findings, err)
			}
		},
	}
	pkg, _ := config.Check(p.ImportPath, fset, files, nil) // errors reach config.Error
	if len(findings) > maxTypeErrors {
		findings = append(findings[:maxTypeErrors], fmt.Errorf("%s: more errors", p.ImportPath))
	}
	return pkg, errors.Join(findings...)
}

// importerFunc makes a function a types.Importer.
type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }
