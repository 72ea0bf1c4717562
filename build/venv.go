package main

import (
	"context"
	"os"
	"path/filepath"
)

// pipPython returns the Python of a virtual environment that holds nothing but pip: Debian's python3 has none of its own.
func (b *builder) pipPython(ctx context.Context) (string, error) {
	return b.venv(ctx, "pip", "")
}

// venv returns the Python of a virtual environment that holds exactly what the requirements file lists (a path
// below the checkout; empty for an environment with pip alone). The file names every package with its version,
// transitive ones included, so pip resolves nothing.
func (b *builder) venv(ctx context.Context, name, requirements string) (string, error) {
	version, err := b.output(b.command(ctx, "python3", "-c", "import sys; print(sys.version, sys.base_prefix)"))
	if err != nil {
		return "", err
	}
	e := entry{name: "venv-" + name, inputs: []string{version}}
	if requirements != "" {
		text, err := os.ReadFile(filepath.Join(b.root, requirements))
		if err != nil {
			return "", err
		}
		e.inputs = append(e.inputs, string(text))
	}
	dir, err := b.cache.ensure(ctx, e, func(dir string) error {
		if err := b.step("Python environment "+name, b.command(ctx, "python3", "-m", "venv", dir)); err != nil {
			return err
		}
		if requirements == "" {
			return nil
		}
		python := filepath.Join(dir, "bin", "python")
		install := b.command(ctx, python, "-m", "pip", "install", "--no-deps", "-r", requirements)
		if err := b.step("Python environment "+name+": install "+requirements, install); err != nil {
			return err
		}
		return b.step("Python environment "+name+": check", b.command(ctx, python, "-m", "pip", "check"))
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "bin", "python"), nil
}
