package setup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
)

// NativeDir is the folder of the Rust crate, below the checkout.
const NativeDir = "engine/native"

// nativeRecord is the committed file with the crate's version and the hash of its sources, such as
// "0.1.0 3f2a...". Go's build cache sees the version in the #cgo line, but not the library. So a
// change of the sources without a new version would link stale code on other machines.
const nativeRecord = NativeDir + "/SOURCES.sha256"

var crateVersion = regexp.MustCompile(`(?m)^version\s*=\s*"([0-9A-Za-z.+-]+)"`)

// NativeVersion reads the crate's version.
func (b *Builder) NativeVersion() (string, error) {
	text, err := os.ReadFile(filepath.Join(b.Root, NativeDir, "Cargo.toml"))
	if err != nil {
		return "", err
	}
	m := crateVersion.FindSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%s/Cargo.toml names no version", NativeDir)
	}
	return string(m[1]), nil
}

// nativeHash hashes names and contents of the crate's manifest, lock file and Rust sources.
func (b *Builder) nativeHash() (string, error) {
	dir := filepath.Join(b.Root, NativeDir)
	names := []string{"Cargo.lock", "Cargo.toml"}
	err := filepath.WalkDir(filepath.Join(dir, "src"),
		func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".rs") {
				return err
			}
			rel, err := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(rel))
			return err
		})
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s\n%d\n%s", name, len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// nativeLib is the crate's static library.
const nativeLib = "libtandem_native.a"

// setupNative builds the crate's static library for this machine and links its folder into the
// checkout under the crate's version.
func (b *Builder) setupNative(ctx context.Context) error {
	version, hash, dir, err := b.BuildNative(ctx, "")
	if err != nil {
		return err
	}
	if err := Link(filepath.Join(b.Root, NativeDir, ".deps", version), dir); err != nil {
		return err
	}
	return b.recordNative(version, hash)
}

// BuildNative builds the crate's static library into a folder of the cache. triple is one of Rust's
// targets, or empty for this machine. All versions and checkouts share the folder in which cargo
// compiles. One run holds it from the build until its library is copied.
func (b *Builder) BuildNative(
	ctx context.Context, triple string,
) (version, hash, dir string, err error) {
	if version, err = b.NativeVersion(); err != nil {
		return "", "", "", err
	}
	if hash, err = b.nativeHash(); err != nil {
		return "", "", "", err
	}
	what, release := "Rust crate "+version, "release"
	args, remap := []string{"build", "--release", "--locked"}, ""
	e := Entry{Name: "native-" + version, Inputs: []string{version, hash, runtime.GOOS,
		runtime.GOARCH}}
	if triple != "" {
		what, release = what+" for "+triple, filepath.Join(triple, "release")
		args = append(args, "--target", triple)
		// the app must not contain this machine's folders
		remap = "--remap-path-prefix=CARGO_HOME=cargo"
		e = Entry{Name: "native-" + version + "-" + triple, Inputs: []string{version, hash}}
	}
	e.Inputs = append(e.Inputs, strings.Join(args, " "), remap)
	dir, err = b.Cache.Ensure(ctx, e, func(dir string) error {
		target := filepath.Join(b.Cache.Dir, "native-target")
		alone, err := b.Cache.lock(ctx, "native-target.lock", syscall.LOCK_EX)
		if err != nil {
			return err
		}
		defer alone.Close()
		if triple != "" {
			if err := b.RustTarget(ctx, triple); err != nil {
				return err
			}
		}
		cmd := b.Command(ctx, "cargo", append(args, "--manifest-path",
			filepath.Join(b.Root, NativeDir, "Cargo.toml"), "--target-dir", target)...)
		if remap != "" { // an encoded flag may have spaces
			cmd.Env = append(cmd.Env, "CARGO_ENCODED_RUSTFLAGS="+strings.Replace(remap,
				"CARGO_HOME", CargoHome(), 1))
		}
		if triple != "" && runtime.GOOS != "darwin" {
			linker, err := noLinker(target)
			if err != nil {
				return err
			}
			name := strings.ToUpper(strings.ReplaceAll(triple, "-", "_"))
			cmd.Env = append(cmd.Env, "CARGO_TARGET_"+name+"_LINKER="+linker,
				"CARGO_PROFILE_RELEASE_STRIP=none")
		}
		if err := b.Step(what+": build", cmd); err != nil {
			return err
		}
		return CopyFile(filepath.Join(dir, nativeLib), filepath.Join(target, release, nativeLib))
	})
	return version, hash, dir, err
}

// noLinker writes a linker into dir that leaves an empty file. This machine cannot link for the
// other system, but cargo also makes a dynamic library of llguidance. Nothing reads that library.
func noLinker(dir string) (string, error) {
	path := filepath.Join(dir, "no-linker")
	script := "#!/bin/sh\nwhile [ $# -gt 1 ]; do\n\tif [ \"$1\" = -o ]; then : >\"$2\"; fi\n\tshift\ndone\n"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, []byte(script), 0o755)
}

// HasRustTarget reports whether Rust's own libraries for a target are installed.
func (b *Builder) HasRustTarget(ctx context.Context, triple string) bool {
	dir, err := b.Output(b.Command(ctx, "rustc", "--print", "target-libdir", "--target", triple))
	if err != nil {
		return false
	}
	_, err = os.Stat(dir)
	return err == nil
}

// RustTarget installs Rust's own libraries for a target, unless they are there.
func (b *Builder) RustTarget(ctx context.Context, triple string) error {
	if b.HasRustTarget(ctx, triple) {
		return nil
	}
	if OnPath("rustup")(ctx, b) {
		if err := b.Step("Rust for "+triple+": install",
			b.Command(ctx, "rustup", "target", "add", triple)); err != nil {
			return err
		}
	}
	if !b.HasRustTarget(ctx, triple) { // there is no rustup, or cargo and rustc are not from it
		return fmt.Errorf("this machine's Rust does not build for %s; put rustup's Rust first in PATH\nrun: %s",
			triple, rustupLine)
	}
	return nil
}

// CargoHome returns the folder where cargo keeps the sources of crates.
func CargoHome() string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/"
	}
	return cmp.Or(os.Getenv("CARGO_HOME"), filepath.Join(home, ".cargo"))
}

// recordNative writes the record of a version that has none yet. Check refuses every other
// difference.
func (b *Builder) recordNative(version, hash string) error {
	path := filepath.Join(b.Root, nativeRecord)
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if recorded, _, _ := strings.Cut(string(old), " "); recorded == version {
		return nil
	}
	fmt.Fprintf(b.Out, "%s: record version %s\n", nativeRecord, version)
	return os.WriteFile(path, []byte(version+" "+hash+"\n"), 0o644)
}

// CheckNative returns an error if the crate's sources are not those recorded for its version.
func (b *Builder) CheckNative() error {
	version, err := b.NativeVersion()
	if err != nil {
		return err
	}
	hash, err := b.nativeHash()
	if err != nil {
		return err
	}
	record, err := os.ReadFile(filepath.Join(b.Root, nativeRecord))
	if err != nil {
		return err
	}
	recordedVersion, recordedHash, _ := strings.Cut(strings.TrimSpace(string(record)), " ")
	switch {
	case recordedVersion != version:
		return fmt.Errorf("%s records version %s, Cargo.toml says %s; run setup and commit the record",
			nativeRecord, recordedVersion, version)
	case recordedHash != hash:
		return fmt.Errorf("the sources of %s changed, but their version is still %s; raise it in Cargo.toml and in the #cgo lines, then run setup",
			NativeDir, version)
	}
	return nil
}
