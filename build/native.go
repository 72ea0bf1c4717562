package main

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

// nativeDir is the folder of the Rust crate, below the checkout.
const nativeDir = "engine/native"

// nativeRecord is the committed file that holds the crate's version and the hash of its sources: "0.1.0 3f2a...".
// Go's build cache sees the version, which stands in the #cgo line, but not the library behind it; so sources that
// change without a new version would link stale code on other machines.
const nativeRecord = nativeDir + "/SOURCES.sha256"

var crateVersion = regexp.MustCompile(`(?m)^version\s*=\s*"([0-9A-Za-z.+-]+)"`)

// nativeVersion reads the crate's version.
func (b *builder) nativeVersion() (string, error) {
	text, err := os.ReadFile(filepath.Join(b.root, nativeDir, "Cargo.toml"))
	if err != nil {
		return "", err
	}
	m := crateVersion.FindSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%s/Cargo.toml names no version", nativeDir)
	}
	return string(m[1]), nil
}

// nativeHash hashes names and contents of the crate's manifest, lock file and Rust sources.
func (b *builder) nativeHash() (string, error) {
	dir := filepath.Join(b.root, nativeDir)
	names := []string{"Cargo.lock", "Cargo.toml"}
	err := filepath.WalkDir(filepath.Join(dir, "src"), func(path string, d fs.DirEntry, err error) error {
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

// setupNative builds the crate's static library for this machine and links its folder into the checkout under the
// crate's version.
func (b *builder) setupNative(ctx context.Context) error {
	version, hash, dir, err := b.buildNative(ctx, "")
	if err != nil {
		return err
	}
	if err := link(filepath.Join(b.root, nativeDir, ".deps", version), dir); err != nil {
		return err
	}
	return b.recordNative(version, hash)
}

// buildNative builds the crate's static library into a folder of the cache, for one of Rust's targets, or for this
// machine if none is named. Dependencies are compiled in one target folder that all versions and checkouts share, so
// that folder is one's alone from the build until its library is copied.
func (b *builder) buildNative(ctx context.Context, triple string) (version, hash, dir string, err error) {
	if version, err = b.nativeVersion(); err != nil {
		return "", "", "", err
	}
	if hash, err = b.nativeHash(); err != nil {
		return "", "", "", err
	}
	what, release := "Rust crate "+version, "release"
	args, remap := []string{"build", "--release", "--locked"}, ""
	e := entry{name: "native-" + version, inputs: []string{version, hash, runtime.GOOS, runtime.GOARCH}}
	if triple != "" {
		what, release = what+" for "+triple, filepath.Join(triple, "release")
		args = append(args, "--target", triple)
		remap = "--remap-path-prefix=CARGO_HOME=cargo" // what is handed on tells nothing of this machine's folders
		e = entry{name: "native-" + version + "-" + triple, inputs: []string{version, hash}}
	}
	e.inputs = append(e.inputs, strings.Join(args, " "), remap)
	dir, err = b.cache.ensure(ctx, e, func(dir string) error {
		target := filepath.Join(b.cache.dir, "native-target")
		alone, err := b.cache.lock(ctx, "native-target.lock", syscall.LOCK_EX)
		if err != nil {
			return err
		}
		defer alone.Close()
		if triple != "" {
			if err := b.rustTarget(ctx, triple); err != nil {
				return err
			}
		}
		cmd := b.command(ctx, "cargo", append(args, "--manifest-path", filepath.Join(b.root, nativeDir, "Cargo.toml"), "--target-dir", target)...)
		if remap != "" { // encoded, a flag may have spaces
			cmd.Env = append(cmd.Env, "CARGO_ENCODED_RUSTFLAGS="+strings.Replace(remap, "CARGO_HOME", cargoHome(), 1))
		}
		if triple != "" && runtime.GOOS != "darwin" {
			linker, err := noLinker(target)
			if err != nil {
				return err
			}
			name := strings.ToUpper(strings.ReplaceAll(triple, "-", "_"))
			cmd.Env = append(cmd.Env, "CARGO_TARGET_"+name+"_LINKER="+linker, "CARGO_PROFILE_RELEASE_STRIP=none")
		}
		if err := b.step(what+": build", cmd); err != nil {
			return err
		}
		return copyFile(filepath.Join(dir, nativeLib), filepath.Join(target, release, nativeLib))
	})
	return version, hash, dir, err
}

// noLinker writes a linker into dir that leaves an empty file. llguidance offers a dynamic library beside what our crate
// takes of it, cargo makes both, and this machine links nothing for another system. Nobody reads that library.
func noLinker(dir string) (string, error) {
	path := filepath.Join(dir, "no-linker")
	script := "#!/bin/sh\nwhile [ $# -gt 1 ]; do\n\tif [ \"$1\" = -o ]; then : >\"$2\"; fi\n\tshift\ndone\n"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, []byte(script), 0o755)
}

// hasRustTarget looks for Rust's own libraries for a target.
func (b *builder) hasRustTarget(ctx context.Context, triple string) bool {
	dir, err := b.output(b.command(ctx, "rustc", "--print", "target-libdir", "--target", triple))
	if err != nil {
		return false
	}
	_, err = os.Stat(dir)
	return err == nil
}

// rustTarget installs Rust's own libraries for a target, if they are not there.
func (b *builder) rustTarget(ctx context.Context, triple string) error {
	if b.hasRustTarget(ctx, triple) {
		return nil
	}
	if onPath("rustup")(ctx, b) {
		if err := b.step("Rust for "+triple+": install", b.command(ctx, "rustup", "target", "add", triple)); err != nil {
			return err
		}
	}
	if !b.hasRustTarget(ctx, triple) { // there is no rustup, or cargo and rustc are not its own
		return fmt.Errorf("this machine's Rust builds nothing for %s, which rustup's does; put that first in PATH\nrun: %s", triple, rustupLine)
	}
	return nil
}

// macRequirements are what the app for a Mac needs beside all else; the verbs that make it install it where rustup can.
func macRequirements() []requirement {
	return []requirement{{what: "Rust for " + macTriple, hint: "rustup target add " + macTriple, present: func(ctx context.Context, b *builder) bool {
		return b.hasRustTarget(ctx, macTriple)
	}}}
}

// cargoHome is where cargo keeps the sources of crates.
func cargoHome() string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/"
	}
	return cmp.Or(os.Getenv("CARGO_HOME"), filepath.Join(home, ".cargo"))
}

// recordNative writes the record of a version that has none yet; check refuses any other difference.
func (b *builder) recordNative(version, hash string) error {
	path := filepath.Join(b.root, nativeRecord)
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if recorded, _, _ := strings.Cut(string(old), " "); recorded == version {
		return nil
	}
	fmt.Fprintf(b.out, "%s: record version %s\n", nativeRecord, version)
	return os.WriteFile(path, []byte(version+" "+hash+"\n"), 0o644)
}

// checkNative fails if the crate's sources are not those recorded for its version.
func (b *builder) checkNative() error {
	version, err := b.nativeVersion()
	if err != nil {
		return err
	}
	hash, err := b.nativeHash()
	if err != nil {
		return err
	}
	record, err := os.ReadFile(filepath.Join(b.root, nativeRecord))
	if err != nil {
		return err
	}
	recordedVersion, recordedHash, _ := strings.Cut(strings.TrimSpace(string(record)), " ")
	switch {
	case recordedVersion != version:
		return fmt.Errorf("%s records version %s, Cargo.toml says %s: run setup and commit the record", nativeRecord, recordedVersion, version)
	case recordedHash != hash:
		return fmt.Errorf("the sources of %s changed but their version is still %s: raise it in Cargo.toml and in the #cgo lines, then run setup", nativeDir, version)
	}
	return nil
}
