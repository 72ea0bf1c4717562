package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tandem/build/measure"
)

// checkVerb runs the static checks. All of them run, whatever the first ones find.
func checkVerb(ctx context.Context, b *builder, args []string) error {
	if err := parse(newFlags("check"), args, 0); err != nil {
		return err
	}
	if err := b.setup(ctx); err != nil {
		return err
	}
	checks := []struct {
		name string
		run  func(context.Context) error
	}{
		{"gofmt", b.checkFormat},
		{"go vet", func(ctx context.Context) error { return b.checkCommand(ctx, "go", "vet", "./...") }},
		{"staticcheck", func(ctx context.Context) error {
			return b.checkCommand(ctx, "go", "tool", "-modfile=build/tools.mod", "staticcheck", "./...")
		}},
		{"go.mod is tidy", b.checkModule},
		{"arrows, layout and pins", func(ctx context.Context) error { return b.checkCommand(ctx, "go", "test", "./build") }},
		{"numbers of the tree", b.checkNumbers},
		{"types for darwin/arm64", b.checkDarwin},
		{"types of the interface", func(context.Context) error { return b.checkTypes() }},
		{"version of the Rust crate", func(context.Context) error { return b.checkNative() }},
	}
	var errs []error
	for _, c := range checks {
		start := time.Now()
		err := c.run(ctx)
		mark := "ok"
		if err != nil {
			mark = "FAIL"
			errs = append(errs, fmt.Errorf("%s: %w", c.name, err))
		}
		fmt.Fprintf(b.out, "%-4s  %7.1f s  %s\n", mark, time.Since(start).Seconds(), c.name)
	}
	return errors.Join(errs...)
}

// checkCommand runs a checker whose output is its finding.
func (b *builder) checkCommand(ctx context.Context, name string, args ...string) error {
	out, err := b.command(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// checkModule fails when go.mod or go.sum names a module that no file imports, or lacks one.
func (b *builder) checkModule(ctx context.Context) error {
	out, err := b.command(ctx, "go", "mod", "tidy", "-diff").CombinedOutput()
	if err != nil {
		return fmt.Errorf("run go mod tidy: %w\n%s", err, out)
	}
	return nil
}

// checkFormat lists the Go files that gofmt would change.
func (b *builder) checkFormat(ctx context.Context) error {
	args := []string{"-l"}
	for _, dir := range topDirs {
		if _, err := os.Stat(filepath.Join(b.root, dir)); err == nil {
			args = append(args, dir)
		}
	}
	out, err := b.output(b.command(ctx, "gofmt", args...))
	if err != nil {
		return err
	}
	if out != "" {
		return fmt.Errorf("run gofmt -w on\n  %s", strings.ReplaceAll(out, "\n", "\n  "))
	}
	return nil
}

// checkNumbers prints how large and how entangled the tree is, and fails past a limit that holds.
func (b *builder) checkNumbers(ctx context.Context) error {
	tree, err := measure.Read(os.DirFS(b.root))
	if err != nil {
		return err
	}
	list, err := b.output(b.command(ctx, "go", "list", "-export", "-deps", "-json="+measure.ListFields, "./app/..."))
	if err != nil {
		return err
	}
	knots, err := measure.Knots(strings.NewReader(list))
	if err != nil {
		return err
	}
	return tree.Report(b.out, knots)
}

// topDirs are the folders at the top of the checkout; nothing is added beside them.
var topDirs = []string{"app", "build", "engine", "frontend", "models", "storage"}
