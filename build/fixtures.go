package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// fixturesDir holds the recorders. NAME.py OUT records with a reference implementation into the folder OUT, which
// stands for the checkout: a file belongs at OUT/<its path in the checkout>. With --check it records a sample only,
// one case per architecture. TANDEM_TEMPLATES is the folder with the packages of templates.txt. Names that begin with an
// underscore are their helpers.
const fixturesDir = "build/fixtures"

// fixturesVerb re-records parity data, or records a sample elsewhere and compares it with what is committed.
func fixturesVerb(ctx context.Context, b *builder, args []string) error {
	set := newFlags("fixtures")
	check := set.Bool("check", false, "record a sample into a temporary folder and compare it with the committed files")
	if err := parse(set, args, len(args)); err != nil {
		return err
	}
	names, err := b.recorders(set.Args())
	if err != nil {
		return err
	}
	if err := b.installSystem(ctx); err != nil {
		return err
	}
	python, err := b.referencePython(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		if err := b.record(ctx, python, name, *check); err != nil {
			errs = append(errs, fmt.Errorf("fixtures %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// recorders returns the names of the recorders asked for, all of them if none is.
func (b *builder) recorders(asked []string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(b.root, fixturesDir, "*.py"))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, path := range paths {
		if name := strings.TrimSuffix(filepath.Base(path), ".py"); !strings.HasPrefix(name, "_") {
			all = append(all, name)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there are no recorders in %s", fixturesDir)
	}
	for _, name := range asked {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("there is no recorder %q; there are %s", name, strings.Join(all, ", "))
		}
	}
	if len(asked) > 0 {
		return asked, nil
	}
	return all, nil
}

// publishedTemplates returns a folder with packages that have chat templates of models in them.
func (b *builder) publishedTemplates(ctx context.Context, python string) (string, error) {
	const list = fixturesDir + "/templates.txt"
	text, err := os.ReadFile(filepath.Join(b.root, list))
	if err != nil {
		return "", err
	}
	return b.cache.ensure(ctx, entry{name: "templates", inputs: []string{string(text)}}, func(dir string) error {
		return b.step("published templates: install "+list, b.command(ctx, python, "-m", "pip", "install", "--no-deps", "--target", dir, "-r", list))
	})
}

// record runs one recorder and then copies its files over the checkout, or compares them with it.
func (b *builder) record(ctx context.Context, python, name string, check bool) error {
	out, err := os.MkdirTemp("", "tandem-fixtures-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(out)
	args := []string{filepath.Join(fixturesDir, name+".py"), out}
	if check {
		args = append(args, "--check")
	}
	cmd := b.command(ctx, python, args...)
	if name == "dialects" {
		templates, err := b.publishedTemplates(ctx, python)
		if err != nil {
			return err
		}
		cmd.Env = append(cmd.Env, "TANDEM_TEMPLATES="+templates)
	}
	if err := b.step("fixtures "+name+": record", cmd); err != nil {
		return err
	}
	files, err := filesBelow(out)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errors.New("the recorder wrote no file")
	}
	if check {
		compare := filepath.Join(fixturesDir, "_compare.py")
		cmd := b.command(ctx, python, append([]string{compare, b.root, out}, files...)...)
		return b.watched(cmd)
	}
	for _, file := range files {
		dst := filepath.Join(b.root, file)
		if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
			return err
		}
		if err := copyFile(dst, filepath.Join(out, file)); err != nil {
			return err
		}
		fmt.Fprintf(b.out, "  %s\n", file)
	}
	return nil
}

// filesBelow lists the regular files below dir, relative to it.
func filesBelow(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		files = append(files, rel)
		return err
	})
	return files, err
}
