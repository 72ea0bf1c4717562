package main

import (
	"context"
	"os"
	"path/filepath"
)

// A venv is a virtual environment of Python.
type venv struct {
	name         string
	requirements string // file below the checkout; empty for an environment with pip alone

	// resolve lets pip choose the versions of what the listed packages need in turn, where that differs by
	// platform. Otherwise the file lists everything and pip adds nothing.
	resolve bool
}

// pipPython returns the Python of a virtual environment that holds nothing but pip: Debian's python3 has none of
// its own.
func (b *builder) pipPython(ctx context.Context) (string, error) {
	return b.venv(ctx, venv{name: "pip"})
}

// referencePython returns the Python that has the reference implementations, for fixtures and benches.
func (b *builder) referencePython(ctx context.Context) (string, error) {
	return b.venv(ctx, venv{name: "reference", requirements: fixturesDir + "/requirements.txt"})
}

// venv makes v in the cache and returns its Python.
func (b *builder) venv(ctx context.Context, v venv) (string, error) {
	version, err := b.output(b.command(ctx, "python3", "-c", "import sys; print(sys.version, sys.base_prefix)"))
	if err != nil {
		return "", err
	}
	e := entry{name: "venv-" + v.name, inputs: []string{version}}
	if v.requirements != "" {
		text, err := os.ReadFile(filepath.Join(b.root, v.requirements))
		if err != nil {
			return "", err
		}
		e.inputs = append(e.inputs, string(text))
	}
	dir, err := b.cache.ensure(ctx, e, func(dir string) error {
		what := "Python environment " + v.name
		if err := b.step(what, b.command(ctx, "python3", "-m", "venv", dir)); err != nil {
			return err
		}
		if v.requirements == "" {
			return nil
		}
		python := filepath.Join(dir, "bin", "python")
		args := []string{"-m", "pip", "install", "-r", v.requirements}
		if !v.resolve {
			args = append(args, "--no-deps")
		}
		if err := b.step(what+": install "+v.requirements, b.command(ctx, python, args...)); err != nil {
			return err
		}
		return b.step(what+": check", b.command(ctx, python, "-m", "pip", "check"))
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "bin", "python"), nil
}
