package mac

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"tandem/build/setup"
)

// A crossCC compiles and links C and C++ for macOS on Apple silicon. On a Mac it is the system's
// compiler.
//
// Elsewhere it is zig, which has libc's headers and libSystem's symbols, but nothing else of
// Apple's SDK. build/darwin/sdk lists the few symbols of other libraries that our programs use. A
// symbol that is not listed fails to link. zig compiles no Objective-C: the menu bar and the window
// are built on a Mac.
type crossCC struct {
	cc, cxx []string
	env     []string
	sdk     string // folder of the stubs; empty on a Mac
}

// crossRecipe is part of the keys of what a crossCC makes. Raise it when the flags below change.
const crossRecipe = "4"

// macTarget is zig's name for the machines that we build for.
const macTarget = "aarch64-macos." + setup.MacOSTarget

// crossCC returns the compiler, and installs it where the system has none.
func (b *builder) crossCC(ctx context.Context) (*crossCC, error) {
	if runtime.GOOS == "darwin" {
		target := []string{"-arch", "arm64", "-mmacosx-version-min=" + setup.MacOSTarget}
		return &crossCC{cc: append([]string{"cc"}, target...),
			cxx: append([]string{"c++"}, target...)}, nil
	}
	python, err := b.Venv(ctx, setup.Venv{Name: "zig", Requirements: "build/darwin/zig.txt"})
	if err != nil {
		return nil, err
	}
	dir, err := b.Output(b.Command(ctx, python, "-c",
		"import os, ziglang; print(os.path.dirname(ziglang.__file__))"))
	if err != nil {
		return nil, err
	}
	zig, sdk := filepath.Join(dir, "zig"), filepath.Join(b.Root, "build", "darwin", "sdk")
	cached := filepath.Join(b.Cache.Dir, "zig-cache")
	return &crossCC{
		cc: []string{zig, "cc", "-target", macTarget},
		// zig assumes the newest libc++, and has no SDK with these constants.
		cxx: []string{zig, "c++", "-target", macTarget, "-Wno-macro-redefined",
			"-D_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS=1",
			"-DINFINITY=__builtin_inff()", `-DNAN=__builtin_nanf("")`,
			"-DHUGE_VAL=__builtin_huge_val()"},
		env: []string{"ZIG_GLOBAL_CACHE_DIR=" + cached, "ZIG_LOCAL_CACHE_DIR=" + cached},
		sdk: sdk,
	}, nil
}

// linkFlags are the flags of every link. They leave room for longer names. They leave out what
// debuggers read, such as this machine's paths.
func (c *crossCC) linkFlags() []string {
	flags := []string{"-Wl,-headerpad_max_install_names", "-Wl,-S"}
	if c.sdk != "" {
		flags = append(flags, "-L"+filepath.Join(c.sdk, "lib"), "-F"+c.sdk)
	}
	return flags
}

// goEnv returns the environment in which go build builds for macOS. ldflags are further flags for
// the linker.
func (c *crossCC) goEnv(ldflags ...string) []string {
	cc := append([]string{}, c.cc...)
	if c.sdk != "" {
		cc = append(cc, "-I"+filepath.Join(c.sdk, "include"))
	}
	return append([]string{"GOOS=darwin", "GOARCH=arm64", "CC=" + quoted(cc), "CGO_LDFLAGS=" +
		quoted(append(ldflags, c.linkFlags()...))}, c.env...)
}

// quoted joins words as go reads them from the environment.
func quoted(words []string) string {
	var s []string
	for _, w := range words {
		if strings.ContainsAny(w, " \t") {
			w = "'" + w + "'"
		}
		s = append(s, w)
	}
	return strings.Join(s, " ")
}

// inputs returns everything that the compiler's results depend on.
func (c *crossCC) inputs(b *builder) ([]string, error) {
	inputs := []string{crossRecipe, runtime.GOOS, macTarget}
	for _, name := range []string{"zig.txt", "sdk/lib/libc++.tbd"} {
		text, err := os.ReadFile(filepath.Join(b.Root, "build", "darwin", name))
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, string(text))
	}
	return inputs, nil
}
