package setup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// A Venv is a virtual environment of Python.
type Venv struct {
	Name         string
	Requirements string // file below the checkout; empty for an environment with pip alone

	// Resolve lets pip choose the versions of what the listed packages need, where that differs by
	// platform. Otherwise the file lists everything and pip adds nothing.
	Resolve bool

	// Before is the first Python that the packages do not run on, such as 3.13. Empty means none.
	Before string
}

// PipPython returns the Python of a virtual environment with pip alone, because Debian's python3
// has no pip.
func (b *Builder) PipPython(ctx context.Context) (string, error) {
	return b.Venv(ctx, Venv{Name: "pip"})
}

// ReferencePython returns the Python with the reference implementations, for fixtures and benches.
func (b *Builder) ReferencePython(ctx context.Context) (string, error) {
	return b.Venv(ctx, Venv{Name: "reference", Requirements: "build/fixtures/requirements.txt"})
}

// Venv makes v in the cache and returns its Python.
func (b *Builder) Venv(ctx context.Context, v Venv) (string, error) {
	system, err := b.pythonBefore(ctx, v.Before)
	if err != nil {
		return "", err
	}
	version, err := b.Output(b.Command(ctx, system, "-c",
		"import sys; print(sys.version, sys.base_prefix)"))
	if err != nil {
		return "", err
	}
	e := Entry{Name: "venv-" + v.Name, Inputs: []string{version}}
	if v.Requirements != "" {
		text, err := os.ReadFile(filepath.Join(b.Root, v.Requirements))
		if err != nil {
			return "", err
		}
		e.Inputs = append(e.Inputs, string(text))
	}
	dir, err := b.Cache.Ensure(ctx, e, func(dir string) error {
		what := "Python environment " + v.Name
		if err := b.Step(what, b.Command(ctx, system, "-m", "venv", dir)); err != nil {
			return err
		}
		if v.Requirements == "" {
			return nil
		}
		python := filepath.Join(dir, "bin", "python")
		args := []string{"-m", "pip", "install", "-r", v.Requirements}
		if !v.Resolve {
			args = append(args, "--no-deps")
		}
		if err := b.Step(what+": install "+v.Requirements,
			b.Command(ctx, python, args...)); err != nil {
			return err
		}
		return b.Step(what+": check", b.Command(ctx, python, "-m", "pip", "check"))
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "bin", "python"), nil
}

// pythonBefore returns a Python of the system that is older than before: the usual one, if it is.
func (b *Builder) pythonBefore(ctx context.Context, before string) (string, error) {
	if before == "" {
		return "python3", nil
	}
	for _, name := range []string{"python3", "python3.12", "python3.11"} {
		version, err := b.Output(b.Command(ctx, name, "-c",
			"import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"))
		if err == nil && CompareVersions(version, before) < 0 {
			return name, nil
		}
	}
	return "", fmt.Errorf("there is no Python before %s with venv here; install python3.12, for example with Homebrew or uv",
		before)
}
