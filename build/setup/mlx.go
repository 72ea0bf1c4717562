package setup

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
)

// mlxRecipe is part of the cache key. Raise it when the steps below change.
const mlxRecipe = "2"

// mlxcPatch is the one change that we make to the code of a dependency. mlx-c is written against one
// MLX, and no mlx-c is for this one yet. The file says why and what it changes.
const mlxcPatch = "build/setup/mlx-c.patch"

// MLXLink is the folder that the #cgo lines of engine/mlx refer to. It has include/mlx/c,
// lib/libmlxc and lib/libmlx. On Linux it also has bit/libblas.so, the wheel's own BLAS, whose
// results do not depend on the number of rows.
func (b *Builder) MLXLink() string {
	return filepath.Join(b.Root, "engine", "mlx", ".deps", MLXPin)
}

func (b *Builder) formatShim() string {
	return filepath.Join(b.Root, "build", "mlx", "format_shim.h")
}

// mlxEntry is the entry of the installed pair. Its key has the pins, the platform and the files
// that drive the installation.
func (b *Builder) mlxEntry() (Entry, error) {
	e := Entry{Name: "mlx-" + MLXPin, Inputs: []string{mlxRecipe, MLXPin, runtime.GOOS,
		runtime.GOARCH}}
	for _, name := range []string{"build/mlx/wheels.txt", "build/mlx/Cargo.lock",
		"build/mlx/format_shim.h", mlxcPatch} {
		text, err := os.ReadFile(filepath.Join(b.Root, name))
		if err != nil {
			return Entry{}, err
		}
		e.Inputs = append(e.Inputs, string(text))
	}
	return e, nil
}

// setupMLX installs the MLX wheel and builds mlx-c against it into the same prefix. It tries the
// pair with a small C program, then links the prefix into the checkout.
//
// The wheel is unpacked whole: libmlx finds its BLAS in ../../mlx_cpu.libs, and on a Mac its
// metallib beside itself.
func (b *Builder) setupMLX(ctx context.Context, pip string) error {
	e, err := b.mlxEntry()
	if err != nil {
		return err
	}
	dir, err := b.Cache.Ensure(ctx, e, func(dir string) error {
		if err := b.installWheel(ctx, pip, dir); err != nil {
			return err
		}
		if err := b.buildMLXC(ctx, dir); err != nil {
			return err
		}
		if err := linkBitBLAS(dir); err != nil {
			return err
		}
		return b.tryMLX(ctx, dir)
	})
	if err != nil {
		return err
	}
	return Link(b.MLXLink(), filepath.Join(dir, "mlx"))
}

// installWheel unpacks this platform's wheel into dir. On a Mac it asks for the wheel of the oldest
// supported macOS by name, whatever the machine runs.
func (b *Builder) installWheel(ctx context.Context, pip, dir string) error {
	args := []string{"-m", "pip", "install", "--no-deps", "--require-hashes", "--only-binary=:all:",
		"--target", dir,
		"-r", filepath.Join(b.Root, "build", "mlx", "wheels.txt")}
	if runtime.GOOS == "darwin" {
		args = append(args, "--platform", "macosx_14_0_arm64")
	}
	if err := b.Step("MLX "+MLXVersion+": install the wheel",
		b.Command(ctx, pip, args...)); err != nil {
		return err
	}
	targets := filepath.Join(dir, "mlx", "share", "cmake", "MLX", "MLXTargets.cmake")
	text, err := os.ReadFile(targets)
	if err != nil {
		return err
	}
	return os.WriteFile(targets, frameworkPath.ReplaceAll(text, []byte("-framework $1")), 0o644)
}

// frameworkPath matches frameworks in the macOS wheel's CMake file. The file names them by their
// place in the Xcode that built the wheel. "-framework NAME" finds them in this machine's SDK.
var frameworkPath = regexp.MustCompile(`/[^;"\n]*/([A-Za-z]+)\.framework`)

// buildMLXC compiles mlx-c against the wheel in dir and installs it into the wheel's prefix.
func (b *Builder) buildMLXC(ctx context.Context, dir string) error {
	prefix, work := filepath.Join(dir, "mlx"), filepath.Join(dir, "work")
	defer os.RemoveAll(work)
	source, err := b.MLXCSource(ctx, filepath.Join(work, "source"))
	if err != nil {
		return err
	}
	work = filepath.Join(work, "build")
	args := []string{"-S", source, "-B", work, "-G", "Ninja",
		"-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON", "-DCMAKE_INSTALL_LIBDIR=lib",
		"-DMLX_C_USE_SYSTEM_MLX=ON", "-DMLX_C_BUILD_EXAMPLES=OFF",
		"-DCMAKE_PREFIX_PATH=" + prefix, "-DCMAKE_INSTALL_PREFIX=" + prefix,
	}
	if runtime.GOOS == "darwin" {
		args = append(args, "-DCMAKE_OSX_ARCHITECTURES=arm64",
			"-DCMAKE_OSX_DEPLOYMENT_TARGET="+MacOSTarget,
			"-DCMAKE_INSTALL_NAME_DIR=@rpath", "-DCMAKE_INSTALL_RPATH=@loader_path")
	} else {
		args = append(args, "-DCMAKE_INSTALL_RPATH=$ORIGIN")
		if !b.compilesFormat(ctx, "") {
			args = append(args, "-DCMAKE_CXX_FLAGS=-include "+b.formatShim())
		}
	}
	what := "mlx-c " + MLXCVersion + ": "
	if err := b.Step(what+"configure", b.Command(ctx, "cmake", args...)); err != nil {
		return err
	}
	if err := b.Step(what+"compile", b.Command(ctx, "cmake", "--build", work)); err != nil {
		return err
	}
	return b.Step(what+"install", b.Command(ctx, "cmake", "--install", work))
}

// MLXCSource copies the sources of mlx-c into the new folder dir, applies mlxcPatch to them and
// returns dir.
func (b *Builder) MLXCSource(ctx context.Context, dir string) (string, error) {
	source, err := b.fetchMLXC(ctx)
	if err != nil {
		return "", err
	}
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		return "", err
	}
	return dir, b.patchMLXC(ctx, dir)
}

// patchMLXC applies mlxcPatch to the sources in dir. Every line around a change has to be as the
// patch has it.
func (b *Builder) patchMLXC(ctx context.Context, dir string) error {
	patch := b.Command(ctx, "patch", "-d", dir, "-p1", "-N", "-F0", "-i",
		filepath.Join(b.Root, mlxcPatch))
	if err := b.Step("mlx-c "+MLXCVersion+": apply "+mlxcPatch, patch); err != nil {
		return fmt.Errorf("%s does not fit mlx-c %s; write it again for these sources, or delete it "+
			"with patchMLXC if they need no change for MLX %s: %w", mlxcPatch, MLXCVersion, MLXVersion, err)
	}
	return nil
}

// fetchMLXC lets cargo download and verify the crate that contains mlx-c, and returns the folder of
// its sources.
func (b *Builder) fetchMLXC(ctx context.Context) (string, error) {
	manifest := filepath.Join(b.Root, "build", "mlx", "Cargo.toml")
	fetch := b.Command(ctx, "cargo", "fetch", "--locked", "--manifest-path", manifest)
	if err := b.Step("mlx-c "+MLXCVersion+": fetch the sources", fetch); err != nil {
		return "", err
	}
	text, err := b.Output(b.Command(ctx, "cargo", "metadata", "--locked", "--offline",
		"--format-version", "1",
		"--manifest-path", manifest))
	if err != nil {
		return "", err
	}
	var metadata struct {
		Packages []struct {
			Name         string `json:"name"`
			Version      string `json:"version"`
			ManifestPath string `json:"manifest_path"`
		} `json:"packages"`
	}
	if err := json.Unmarshal([]byte(text), &metadata); err != nil {
		return "", fmt.Errorf("cargo metadata: %w", err)
	}
	for _, p := range metadata.Packages {
		if p.Name == "mlx-sys" && p.Version == MLXCVersion {
			return filepath.Join(filepath.Dir(p.ManifestPath), "src", "mlx-c"), nil
		}
	}
	return "", fmt.Errorf("build/mlx/Cargo.toml does not name mlx-sys %s", MLXCVersion)
}

// linkBitBLAS gives the wheel's BLAS a fixed place, because its file name carries a hash. The macOS
// wheel has none and uses Accelerate.
func linkBitBLAS(dir string) error {
	if runtime.GOOS != "linux" {
		return nil
	}
	found, err := filepath.Glob(filepath.Join(dir, "mlx_cpu.libs", "libblas-*.so*"))
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return fmt.Errorf("the MLX wheel holds %d files mlx_cpu.libs/libblas-*.so*, want 1",
			len(found))
	}
	target := filepath.Join("..", "..", "mlx_cpu.libs", filepath.Base(found[0]))
	return Link(filepath.Join(dir, "mlx", "bit", "libblas.so"), target)
}

// tryMLX compiles, links and runs build/mlx/smoke.c with the flags that engine/mlx uses.
func (b *Builder) tryMLX(ctx context.Context, dir string) error {
	prefix, program := filepath.Join(dir, "mlx"), filepath.Join(dir, "smoke")
	defer os.Remove(program)
	args := []string{filepath.Join(b.Root, "build", "mlx", "smoke.c"), "-o", program, "-I" +
		filepath.Join(prefix, "include")}
	if runtime.GOOS == "linux" {
		args = append(args, "-Wl,--no-as-needed", "-l:libopenblas.so.0")
	}
	lib := filepath.Join(prefix, "lib")
	args = append(args, "-L"+lib, "-lmlxc", "-lmlx", "-Wl,-rpath,"+lib)
	if err := b.Step("mlx-c "+MLXCVersion+": link a test program",
		b.Command(ctx, "cc", args...)); err != nil {
		return err
	}
	return b.Step("mlx-c "+MLXCVersion+": run it", b.Command(ctx, program))
}
