package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
)

// mlxRecipe is part of the cache key: raise it when the steps below change.
const mlxRecipe = "1"

// mlxLink is the folder that the #cgo lines of engine/mlx refer to: include/mlx/c, lib/libmlxc, lib/libmlx, and on
// Linux bit/libblas.so, the wheel's own BLAS, whose results don't depend on the number of rows.
func (b *builder) mlxLink() string {
	return filepath.Join(b.root, "engine", "mlx", ".deps", mlxPin)
}

func (b *builder) formatShim() string {
	return filepath.Join(b.root, "build", "mlx", "format_shim.h")
}

// mlxEntry keys the installed pair by pins, platform and the files that drive the installation.
func (b *builder) mlxEntry() (entry, error) {
	e := entry{name: "mlx-" + mlxPin, inputs: []string{mlxRecipe, mlxPin, runtime.GOOS, runtime.GOARCH}}
	for _, name := range []string{"wheels.txt", "Cargo.lock", "format_shim.h"} {
		text, err := os.ReadFile(filepath.Join(b.root, "build", "mlx", name))
		if err != nil {
			return entry{}, err
		}
		e.inputs = append(e.inputs, string(text))
	}
	return e, nil
}

// setupMLX installs the MLX wheel, builds mlx-c against it into the same prefix, tries the pair with a small C
// program and links the prefix into the checkout.
//
// The wheel is unpacked whole: libmlx finds its BLAS in ../../mlx_cpu.libs, and on a Mac its metallib beside itself.
func (b *builder) setupMLX(ctx context.Context, pip string) error {
	e, err := b.mlxEntry()
	if err != nil {
		return err
	}
	dir, err := b.cache.ensure(ctx, e, func(dir string) error {
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
	return link(b.mlxLink(), filepath.Join(dir, "mlx"))
}

// installWheel unpacks the wheel of this platform into dir. On a Mac the wheel for the oldest supported macOS is
// asked for by name, whatever the machine runs.
func (b *builder) installWheel(ctx context.Context, pip, dir string) error {
	args := []string{"-m", "pip", "install", "--no-deps", "--require-hashes", "--only-binary=:all:", "--target", dir,
		"-r", filepath.Join(b.root, "build", "mlx", "wheels.txt")}
	if runtime.GOOS == "darwin" {
		args = append(args, "--platform", "macosx_14_0_arm64")
	}
	if err := b.step("MLX "+mlxVersion+": install the wheel", b.command(ctx, pip, args...)); err != nil {
		return err
	}
	targets := filepath.Join(dir, "mlx", "share", "cmake", "MLX", "MLXTargets.cmake")
	text, err := os.ReadFile(targets)
	if err != nil {
		return err
	}
	return os.WriteFile(targets, frameworkPath.ReplaceAll(text, []byte("-framework $1")), 0o644)
}

// frameworkPath matches the frameworks in the macOS wheel's CMake file, which are named by their place in the Xcode
// that built the wheel. "-framework NAME" finds them in whatever SDK this machine has.
var frameworkPath = regexp.MustCompile(`/[^;"\n]*/([A-Za-z]+)\.framework`)

// buildMLXC compiles mlx-c against the wheel in dir and installs it into the wheel's prefix.
func (b *builder) buildMLXC(ctx context.Context, dir string) error {
	source, err := b.mlxcSource(ctx)
	if err != nil {
		return err
	}
	prefix, work := filepath.Join(dir, "mlx"), filepath.Join(dir, "work")
	defer os.RemoveAll(work)
	args := []string{"-S", source, "-B", work, "-G", "Ninja",
		"-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON", "-DCMAKE_INSTALL_LIBDIR=lib",
		"-DMLX_C_USE_SYSTEM_MLX=ON", "-DMLX_C_BUILD_EXAMPLES=OFF",
		"-DCMAKE_PREFIX_PATH=" + prefix, "-DCMAKE_INSTALL_PREFIX=" + prefix,
	}
	if runtime.GOOS == "darwin" {
		args = append(args, "-DCMAKE_OSX_ARCHITECTURES=arm64", "-DCMAKE_OSX_DEPLOYMENT_TARGET="+macOSTarget,
			"-DCMAKE_INSTALL_NAME_DIR=@rpath", "-DCMAKE_INSTALL_RPATH=@loader_path")
	} else {
		args = append(args, "-DCMAKE_INSTALL_RPATH=$ORIGIN")
		if !b.compilesFormat(ctx, "") {
			args = append(args, "-DCMAKE_CXX_FLAGS=-include "+b.formatShim())
		}
	}
	what := "mlx-c " + mlxcVersion + ": "
	if err := b.step(what+"configure", b.command(ctx, "cmake", args...)); err != nil {
		return err
	}
	if err := b.step(what+"compile", b.command(ctx, "cmake", "--build", work)); err != nil {
		return err
	}
	return b.step(what+"install", b.command(ctx, "cmake", "--install", work))
}

// mlxcSource lets cargo download and verify the crate that carries mlx-c, and returns the folder of its sources.
func (b *builder) mlxcSource(ctx context.Context) (string, error) {
	manifest := filepath.Join(b.root, "build", "mlx", "Cargo.toml")
	fetch := b.command(ctx, "cargo", "fetch", "--locked", "--manifest-path", manifest)
	if err := b.step("mlx-c "+mlxcVersion+": fetch the sources", fetch); err != nil {
		return "", err
	}
	text, err := b.output(b.command(ctx, "cargo", "metadata", "--locked", "--offline", "--format-version", "1",
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
		if p.Name == "mlx-sys" && p.Version == mlxcVersion {
			return filepath.Join(filepath.Dir(p.ManifestPath), "src", "mlx-c"), nil
		}
	}
	return "", fmt.Errorf("build/mlx/Cargo.toml does not name mlx-sys %s", mlxcVersion)
}

// linkBitBLAS gives the wheel's BLAS, whose file name carries a hash, a stable place. The macOS wheel has none: it
// uses Accelerate.
func linkBitBLAS(dir string) error {
	if runtime.GOOS != "linux" {
		return nil
	}
	found, err := filepath.Glob(filepath.Join(dir, "mlx_cpu.libs", "libblas-*.so*"))
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return fmt.Errorf("the MLX wheel holds %d files mlx_cpu.libs/libblas-*.so*, want 1", len(found))
	}
	target := filepath.Join("..", "..", "mlx_cpu.libs", filepath.Base(found[0]))
	return link(filepath.Join(dir, "mlx", "bit", "libblas.so"), target)
}

// tryMLX compiles, links and runs build/mlx/smoke.c with the flags that engine/mlx uses.
func (b *builder) tryMLX(ctx context.Context, dir string) error {
	prefix, program := filepath.Join(dir, "mlx"), filepath.Join(dir, "smoke")
	defer os.Remove(program)
	args := []string{filepath.Join(b.root, "build", "mlx", "smoke.c"), "-o", program, "-I" + filepath.Join(prefix, "include")}
	if runtime.GOOS == "linux" {
		args = append(args, "-Wl,--no-as-needed", "-l:libopenblas.so.0")
	}
	lib := filepath.Join(prefix, "lib")
	args = append(args, "-L"+lib, "-lmlxc", "-lmlx", "-Wl,-rpath,"+lib)
	if err := b.step("mlx-c "+mlxcVersion+": link a test program", b.command(ctx, "cc", args...)); err != nil {
		return err
	}
	return b.step("mlx-c "+mlxcVersion+": run it", b.command(ctx, program))
}
