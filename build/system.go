package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// A requirement is something of the operating system that a verb can't do without. An empty package name means that
// the verb can't install it there and hint says who does.
type requirement struct {
	what    string
	apt     string // Debian package
	brew    string // Homebrew formula
	hint    string // where neither applies
	present func(ctx context.Context, b *builder) bool

	// own installs it by a manager of its own, if that is there; nil if it has none.
	own func(ctx context.Context, b *builder) error
}

// rustupLine installs Rust, for this machine and others.
const rustupLine = "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y"

// requirements lists them in the order in which they build upon each other.
func requirements() []requirement {
	list := []requirement{
		{what: "a C++ compiler", apt: "g++", hint: "xcode-select --install", present: onPath("c++", "g++", "clang++")},
		{what: "CMake", apt: "cmake", brew: "cmake", present: onPath("cmake")},
		{what: "Ninja", apt: "ninja-build", brew: "ninja", present: onPath("ninja")},
		{what: "curl, for Rust's installer", apt: "curl", present: onPath("cargo", "curl")},
		{what: "Rust (cargo)", hint: rustupLine, present: runsCargo, own: rustToolchain},
		{what: "Python 3.11 or later", apt: "python3", brew: "python3", present: python311},
		{what: "Python's venv with pip", apt: "python3-venv", present: pythonVenv},
	}
	if runtime.GOOS == "linux" {
		list = append(list,
			requirement{what: "OpenBLAS", apt: "libopenblas0-pthread", present: openBLAS},
			requirement{what: "std::format (gcc 13 or libfmt)", apt: "libfmt-dev", present: formatAvailable},
		)
	}
	return list
}

// setupRequirements are those of the interface too.
func setupRequirements() []requirement { return append(requirements(), frontendRequirements()...) }

// onPath is satisfied by any one of the named programs.
func onPath(names ...string) func(context.Context, *builder) bool {
	return func(context.Context, *builder) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			_, err := exec.LookPath(name)
			return err == nil
		})
	}
}

// runsCargo runs it: what rustup puts into PATH is there without any Rust behind it.
func runsCargo(ctx context.Context, b *builder) bool {
	return b.command(ctx, "cargo", "--version").Run() == nil
}

// rustToolchain has rustup install Rust, if there is rustup. It is not asked to renew
// itself: it can't where it was put by a package or lies in another user's home.
func rustToolchain(ctx context.Context, b *builder) error {
	if !onPath("rustup")(ctx, b) {
		return nil
	}
	for _, args := range [][]string{{"toolchain", "install", "stable", "--profile", "minimal", "--no-self-update"}, {"default", "stable"}} {
		if err := b.step("rustup "+strings.Join(args, " "), b.command(ctx, "rustup", args...)); err != nil {
			return err
		}
	}
	return nil
}

// python311 asks for the oldest Python that the reference implementations run on.
func python311(ctx context.Context, b *builder) bool {
	return b.command(ctx, "python3", "-c", "import sys; sys.exit(sys.version_info < (3, 11))").Run() == nil
}

// pythonVenv looks for ensurepip too, which Debian keeps apart from python3.
func pythonVenv(ctx context.Context, b *builder) bool {
	return b.command(ctx, "python3", "-c", "import venv, ensurepip").Run() == nil
}

// openBLAS asks the linker's driver, which prints a bare name for what it doesn't find.
func openBLAS(ctx context.Context, b *builder) bool {
	path, err := b.output(b.command(ctx, "cc", "-print-file-name=libopenblas.so.0"))
	return err == nil && filepath.IsAbs(path)
}

// formatAvailable reports whether std::format compiles, by itself or through the shim. Only the compilation of mlx-c
// needs it, so the two trials are spared once that is done.
func formatAvailable(ctx context.Context, b *builder) bool {
	if e, err := b.mlxEntry(); err == nil && b.cache.complete(e) {
		return true
	}
	return b.compilesFormat(ctx, "") || b.compilesFormat(ctx, b.formatShim())
}

// compilesFormat compiles a line that uses std::format, with the header shim forced in unless it is empty.
func (b *builder) compilesFormat(ctx context.Context, shim string) bool {
	args := []string{"-std=c++20", "-fsyntax-only", "-x", "c++", "-"}
	source := "#include <format>\n"
	if shim != "" {
		args = append([]string{"-include", shim}, args...)
		source = ""
	}
	cmd := b.command(ctx, "c++", args...)
	cmd.Stdin = strings.NewReader(source + "#include <string>\nstd::string s = std::format(\"{}\", 1);\n")
	return cmd.Run() == nil
}

// missing returns those of the requirements that this machine doesn't meet.
func (b *builder) missing(ctx context.Context, wanted []requirement) []requirement {
	var list []requirement
	for _, r := range wanted {
		if !r.present(ctx, b) {
			list = append(list, r)
		}
	}
	return list
}

// installLine returns the one line that installs what is missing, and whether it covers all of it.
func installLine(missing []requirement, goos string) (line []string, all bool) {
	var packages []string
	all = true
	for _, r := range missing {
		name := r.apt
		if goos == "darwin" {
			name = r.brew
		}
		if name == "" {
			all = false
			continue
		}
		if !slices.Contains(packages, name) {
			packages = append(packages, name)
		}
	}
	switch {
	case len(packages) == 0:
		return nil, all
	case goos == "darwin":
		return append([]string{"brew", "install"}, packages...), all
	default:
		return append([]string{"apt-get", "install", "-y", "--no-install-recommends"}, packages...), all
	}
}

// installSystem installs what every verb needs.
func (b *builder) installSystem(ctx context.Context) error { return b.install(ctx, requirements()) }

// install installs what is missing where it may: what has a manager of its own with that; as root or with a sudo that
// asks nothing, with apt; with Homebrew on a Mac. Otherwise it returns an error that ends in the line to run.
func (b *builder) install(ctx context.Context, wanted []requirement) error {
	missing := b.missing(ctx, wanted)
	for _, r := range missing {
		if r.own == nil {
			continue
		}
		if err := r.own(ctx, b); err != nil {
			return err
		}
		missing = b.missing(ctx, wanted)
	}
	if len(missing) == 0 {
		return nil
	}
	line, all := installLine(missing, runtime.GOOS)
	if !all {
		return fmt.Errorf("missing on this machine:%s", describe(missing, runtime.GOOS))
	}
	manager := line[0]
	_, err := exec.LookPath(manager)
	prefix := []string{}
	if manager == "apt-get" && os.Geteuid() != 0 {
		prefix = []string{"sudo", "-n"}
		if err == nil {
			err = b.command(ctx, "sudo", "-n", "true").Run()
		}
	}
	if err != nil {
		return fmt.Errorf("missing on this machine:%s", describe(missing, runtime.GOOS))
	}
	if manager == "apt-get" {
		alone, err := b.cache.lock(ctx, "apt.lock", syscall.LOCK_EX)
		if err != nil {
			return err
		}
		defer alone.Close()
		// Package lists of a fresh machine are empty or old.
		update := append(slices.Clone(prefix), "apt-get", "update")
		if err := b.step("apt-get update", b.command(ctx, update[0], update[1:]...)); err != nil {
			return err
		}
		prefix = append(prefix, "env", "DEBIAN_FRONTEND=noninteractive")
		line = append(line, "-o", "DPkg::Lock::Timeout=300")
	}
	args := append(prefix, line...)
	if err := b.step(strings.Join(line, " "), b.command(ctx, args[0], args[1:]...)); err != nil {
		return err
	}
	if missing = b.missing(ctx, wanted); len(missing) > 0 {
		return fmt.Errorf("still missing after the installation:%s", describe(missing, runtime.GOOS))
	}
	return nil
}

// describe lists missing requirements and ends in the line that installs them.
func describe(missing []requirement, goos string) string {
	var s strings.Builder
	for _, r := range missing {
		s.WriteString("\n  " + r.what)
		name := r.apt
		if goos == "darwin" {
			name = r.brew
		}
		if name == "" && r.hint != "" {
			s.WriteString(": " + r.hint)
		}
	}
	if line, _ := installLine(missing, goos); line != nil {
		sudo := ""
		if line[0] == "apt-get" {
			sudo = "sudo "
		}
		s.WriteString("\nrun: " + sudo + strings.Join(line, " "))
	}
	return s.String()
}
