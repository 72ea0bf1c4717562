package setup

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

// A Requirement is a part of the operating system that a verb cannot do without. An empty package
// name means that the verb cannot install it there, and Hint says how to.
type Requirement struct {
	What    string
	Apt     string // Debian package
	brew    string // Homebrew formula
	Hint    string // what to do where neither applies
	Present func(ctx context.Context, b *Builder) bool

	// own installs it with a manager of its own, if that is there. It is nil without one.
	own func(ctx context.Context, b *Builder) error
}

// rustupLine installs Rust, for this machine and others.
const rustupLine = "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y"

// Requirements returns them in the order in which they build upon each other.
func Requirements() []Requirement {
	list := []Requirement{
		{What: "a C++ compiler", Apt: "g++", Hint: "xcode-select --install", Present: OnPath("c++", "g++", "clang++")},
		{What: "patch", Apt: "patch", Hint: "xcode-select --install", Present: OnPath("patch")},
		{What: "CMake", Apt: "cmake", brew: "cmake", Present: OnPath("cmake")},
		{What: "Ninja", Apt: "ninja-build", brew: "ninja", Present: OnPath("ninja")},
		{What: "curl, for Rust's installer", Apt: "curl", Present: OnPath("cargo", "curl")},
		{What: "Rust (cargo)", Hint: rustupLine, Present: runsCargo, own: rustToolchain},
		{What: "Python 3.11 or later", Apt: "python3", brew: "python3", Present: python311},
		{What: "Python's venv with pip", Apt: "python3-venv", Present: pythonVenv},
	}
	if runtime.GOOS == "linux" {
		list = append(list,
			Requirement{What: "OpenBLAS", Apt: "libopenblas0-pthread", Present: openBLAS},
			Requirement{What: "std::format (gcc 13 or libfmt)", Apt: "libfmt-dev",
				Present: formatAvailable},
		)
	}
	return list
}

// SetupRequirements returns Requirements and FrontendRequirements.
func SetupRequirements() []Requirement { return append(Requirements(), FrontendRequirements()...) }

// OnPath returns a check that any one of the named programs is in PATH.
func OnPath(names ...string) func(context.Context, *Builder) bool {
	return func(context.Context, *Builder) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			_, err := exec.LookPath(name)
			return err == nil
		})
	}
}

// runsCargo runs cargo, because rustup puts it into PATH without any Rust too.
func runsCargo(ctx context.Context, b *Builder) bool {
	return b.Command(ctx, "cargo", "--version").Run() == nil
}

// rustToolchain lets rustup install Rust, if there is rustup. It does not let rustup renew itself:
// that fails where a package installed it or it lies in another user's home.
func rustToolchain(ctx context.Context, b *Builder) error {
	if !OnPath("rustup")(ctx, b) {
		return nil
	}
	for _, args := range [][]string{{"toolchain", "install", "stable", "--profile", "minimal",
		"--no-self-update"}, {"default", "stable"}} {
		if err := b.Step("rustup "+strings.Join(args, " "),
			b.Command(ctx, "rustup", args...)); err != nil {
			return err
		}
	}
	return nil
}

// python311 asks for the oldest Python that the reference implementations run on.
func python311(ctx context.Context, b *Builder) bool {
	return b.Command(ctx, "python3", "-c",
		"import sys; sys.exit(sys.version_info < (3, 11))").Run() == nil
}

// pythonVenv looks for ensurepip too, which Debian packs apart from python3.
func pythonVenv(ctx context.Context, b *Builder) bool {
	return b.Command(ctx, "python3", "-c", "import venv, ensurepip").Run() == nil
}

// openBLAS asks the linker's driver, which prints a bare name for a library that it does not find.
func openBLAS(ctx context.Context, b *Builder) bool {
	path, err := b.Output(b.Command(ctx, "cc", "-print-file-name=libopenblas.so.0"))
	return err == nil && filepath.IsAbs(path)
}

// formatAvailable reports whether std::format compiles, by itself or with the shim. Only mlx-c
// needs it, so it skips the two trials once that is compiled.
func formatAvailable(ctx context.Context, b *Builder) bool {
	if e, err := b.mlxEntry(); err == nil && b.Cache.Complete(e) {
		return true
	}
	return b.compilesFormat(ctx, "") || b.compilesFormat(ctx, b.formatShim())
}

// compilesFormat compiles a line that uses std::format. It includes the header shim, unless that is
// empty.
func (b *Builder) compilesFormat(ctx context.Context, shim string) bool {
	args := []string{"-std=c++20", "-fsyntax-only", "-x", "c++", "-"}
	source := "#include <format>\n"
	if shim != "" {
		args = append([]string{"-include", shim}, args...)
		source = ""
	}
	cmd := b.Command(ctx, "c++", args...)
	cmd.Stdin = strings.NewReader(source +
		"#include <string>\nstd::string s = std::format(\"{}\", 1);\n")
	return cmd.Run() == nil
}

// missing returns the requirements that this machine does not meet.
func (b *Builder) missing(ctx context.Context, wanted []Requirement) []Requirement {
	var list []Requirement
	for _, r := range wanted {
		if !r.Present(ctx, b) {
			list = append(list, r)
		}
	}
	return list
}

// installLine returns the one line that installs the missing requirements, and whether it installs
// all of them.
func installLine(missing []Requirement, goos string) (line []string, all bool) {
	var packages []string
	all = true
	for _, r := range missing {
		name := r.Apt
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
		return append([]string{"apt-get", "install", "-y", "--no-install-recommends"}, packages...),
			all
	}
}

// InstallSystem installs what every verb needs.
func (b *Builder) InstallSystem(ctx context.Context) error { return b.Install(ctx, Requirements()) }

// Install installs the missing requirements in one of these ways:
//   - with the requirement's own manager, if it has one;
//   - with apt, as root or with a sudo that asks nothing;
//   - with Homebrew on a Mac.
//
// Where none applies, it returns an error that ends in the line to run.
func (b *Builder) Install(ctx context.Context, wanted []Requirement) error {
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
		return fmt.Errorf("missing on this machine:%s", Describe(missing, runtime.GOOS))
	}
	manager := line[0]
	_, err := exec.LookPath(manager)
	prefix := []string{}
	if manager == "apt-get" && os.Geteuid() != 0 {
		prefix = []string{"sudo", "-n"}
		if err == nil {
			err = b.Command(ctx, "sudo", "-n", "true").Run()
		}
	}
	if err != nil {
		return fmt.Errorf("missing on this machine:%s", Describe(missing, runtime.GOOS))
	}
	if manager == "apt-get" {
		alone, err := b.Cache.lock(ctx, "apt.lock", syscall.LOCK_EX)
		if err != nil {
			return err
		}
		defer alone.Close()
		// The package lists of a fresh machine are empty or old.
		update := append(slices.Clone(prefix), "apt-get", "update")
		if err := b.Step("apt-get update", b.Command(ctx, update[0], update[1:]...)); err != nil {
			return err
		}
		prefix = append(prefix, "env", "DEBIAN_FRONTEND=noninteractive")
		line = append(line, "-o", "DPkg::Lock::Timeout=300")
	}
	args := append(prefix, line...)
	if err := b.Step(strings.Join(line, " "), b.Command(ctx, args[0], args[1:]...)); err != nil {
		return err
	}
	if missing = b.missing(ctx, wanted); len(missing) > 0 {
		return fmt.Errorf("still missing after the installation:%s",
			Describe(missing, runtime.GOOS))
	}
	return nil
}

// Describe lists missing requirements and ends in the line that installs them.
func Describe(missing []Requirement, goos string) string {
	var s strings.Builder
	for _, r := range missing {
		s.WriteString("\n  " + r.What)
		name := r.Apt
		if goos == "darwin" {
			name = r.brew
		}
		if name == "" && r.Hint != "" {
			s.WriteString(": " + r.Hint)
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

// CompareVersions compares two versions such as 14.0 by their numbers.
func CompareVersions(x, y string) int {
	var a, b [2]int
	fmt.Sscanf(x, "%d.%d", &a[0], &a[1]) // a part that is no number counts as 0
	fmt.Sscanf(y, "%d.%d", &b[0], &b[1])
	return slices.Compare(a[:], b[:])
}
