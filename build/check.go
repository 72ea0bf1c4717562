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
	"tandem/build/setup"
	"tandem/build/typecheck"
	"tandem/build/ui"
)

// checkVerb runs all static checks, also after one has failed.
func checkVerb(ctx context.Context, b *setup.Builder, args []string) error {
	if err := parse(newFlags("check"), args, 0); err != nil {
		return err
	}
	if err := b.SetUp(ctx); err != nil {
		return err
	}
	checks := []struct {
		name string
		run  func(context.Context, *setup.Builder) error
	}{
		{"gofmt", checkFormat},
		{"go vet", checkWith("go", "vet", "./...")},
		{"staticcheck", checkWith("go", "tool", "-modfile=build/tools.mod", "staticcheck", "./...")},
		{"go.mod is tidy", checkModule},
		{"arrows, layout and pins", checkWith("go", "test", "./build/...")},
		{"numbers of the tree", checkNumbers},
		{"types for darwin/arm64", typecheck.Darwin},
		{"types of the interface", func(_ context.Context, b *setup.Builder) error { return b.CheckTypes() }},
		{"libraries of the interface", checkWith("npm", "--prefix", setup.FrontendDir, "run", "--silent", "published")},
		{"sizes of the interface", ui.CheckSizes},
		{"version of the Rust crate", func(_ context.Context, b *setup.Builder) error { return b.CheckNative() }},
	}
	var errs []error
	for _, c := range checks {
		start := time.Now()
		err := c.run(ctx, b)
		mark := "ok"
		if err != nil {
			mark = "FAIL"
			errs = append(errs, fmt.Errorf("%s: %w", c.name, err))
		}
		fmt.Fprintf(b.Out, "%-4s  %7.1f s  %s\n", mark, time.Since(start).Seconds(), c.name)
	}
	return errors.Join(errs...)
}

// checkWith returns a check by a program. What the program prints is the finding.
func checkWith(name string, args ...string) func(context.Context, *setup.Builder) error {
	return func(ctx context.Context, b *setup.Builder) error {
		out, err := b.Command(ctx, name, args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	}
}

// checkModule returns an error if go.mod or go.sum lacks a module, or names one that no file
// imports.
func checkModule(ctx context.Context, b *setup.Builder) error {
	out, err := b.Command(ctx, "go", "mod", "tidy", "-diff").CombinedOutput()
	if err != nil {
		return fmt.Errorf("run go mod tidy: %w\n%s", err, out)
	}
	return nil
}

// checkFormat returns an error that lists the Go files that gofmt would change.
func checkFormat(ctx context.Context, b *setup.Builder) error {
	args := []string{"-l"}
	for _, dir := range setup.TopDirs {
		if _, err := os.Stat(filepath.Join(b.Root, dir)); err == nil {
			args = append(args, dir)
		}
	}
	out, err := b.Output(b.Command(ctx, "gofmt", args...))
	if err != nil {
		return err
	}
	if out != "" {
		return fmt.Errorf("run gofmt -w on\n  %s", strings.ReplaceAll(out, "\n", "\n  "))
	}
	return nil
}

// checkNumbers prints how large and how entangled the tree is. It returns an error if a number is
// past its limit.
func checkNumbers(ctx context.Context, b *setup.Builder) error {
	tree, err := measure.Read(os.DirFS(b.Root))
	if err != nil {
		return err
	}
	list, err := b.Output(b.Command(ctx, "go", "list", "-export", "-deps",
		"-json="+measure.ListFields, "./app/..."))
	if err != nil {
		return err
	}
	knots, err := measure.Knots(strings.NewReader(list))
	if err != nil {
		return err
	}
	return tree.Report(b.Out, knots)
}
