package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tandem/build/clients"
	"tandem/build/knots"
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
		{"golangci-lint", checkWith("go", "tool", "-modfile=build/tools.mod", "golangci-lint", "run",
			"--config=build/golangci.yml", "./...")},
		{"tests of other tiers", checkWith("go", "vet", "-tags=real,long", "./models", "./app/bench", "./engine/enginetest")},
		{"workflows", checkWith("go", "tool", "-modfile=build/actionlint.mod", "actionlint")},
		{"clients of README.md", func(_ context.Context, b *setup.Builder) error { return clients.CheckReadme(b) }},
		{"go.mod is tidy", checkModule},
		{"arrows, layout and pins", checkWith("go", "test", "-tags=lint", "./build/...")},
		{"knots of files", checkKnots},
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

// checkKnots prints the largest knots of files of the product's packages. It returns an error if one
// is too large.
func checkKnots(ctx context.Context, b *setup.Builder) error {
	list, err := b.Output(b.Command(ctx, "go", "list", "-export", "-deps",
		"-json="+knots.ListFields, "./app/...", "./engine/...", "./models/...", "./storage/..."))
	if err != nil {
		return err
	}
	found, err := knots.Find(strings.NewReader(list))
	if err != nil {
		return err
	}
	for _, k := range found[:min(5, len(found))] {
		fmt.Fprintf(b.Out, "%4d files of %s reach each other\n", len(k.Files), k.Package)
	}
	return knots.Check(found)
}
