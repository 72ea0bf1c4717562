package setup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestChangedCrateNeedsANewVersion follows a crate: recorded, changed without a new version, given
// one, recorded again.
func TestChangedCrateNeedsANewVersion(t *testing.T) {
	b := newTestBuilder(t)
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(b.Root, NativeDir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	record := func() {
		t.Helper()
		version, err := b.NativeVersion()
		if err != nil {
			t.Fatal(err)
		}
		hash, err := b.nativeHash()
		if err != nil {
			t.Fatal(err)
		}
		if err := b.recordNative(version, hash); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(want string) {
		t.Helper()
		if err := b.CheckNative(); err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("got %v, want an error about %q", err, want)
		}
	}
	accepted := func() {
		t.Helper()
		if err := b.CheckNative(); err != nil {
			t.Fatal(err)
		}
	}

	write("Cargo.toml", "[package]\nversion = \"0.1.0\"\n[dependencies]\nserde = { version = \"1\" }\n")
	write("Cargo.lock", "")
	write("src/lib.rs", "// one")
	record()
	accepted()
	write("src/template/mod.rs", "// new file")
	refused("version is still 0.1.0")
	record() // must not hide the change
	refused("version is still 0.1.0")
	write("Cargo.toml", "[package]\nversion = \"0.1.1\"\n")
	refused("records version 0.1.0")
	record()
	accepted()
	write("src/lib.rs", "// two")
	refused("version is still 0.1.1")
}

// TestCargoFolderBelongsToOneRun expects that one checkout holds the folder in which cargo builds
// until its library is copied. A FIFO in the library's place delays the copy.
func TestCargoFolderBelongsToOneRun(t *testing.T) {
	b := newTestBuilder(t)
	for name, text := range map[string]string{"Cargo.toml": "[package]\nversion = \"0.1.0\"\n",
		"Cargo.lock": "", "src/lib.rs": ""} {
		path := filepath.Join(b.Root, NativeDir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	bin, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	if err := os.WriteFile(filepath.Join(bin, "cargo"), []byte("#!/bin/sh\n: >'"+ran+"'\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	library := filepath.Join(b.Cache.Dir, "native-target", "release", "libtandem_native.a")
	if err := errors.Join(os.MkdirAll(filepath.Dir(library), 0o755),
		syscall.Mkfifo(library, 0o644)); err != nil {
		t.Fatal(err)
	}

	// While another run builds, cargo does not run.
	other, err := b.Cache.lock(t.Context(), "native-target.lock", syscall.LOCK_EX)
	if err != nil {
		t.Fatal(err)
	}
	waited := false
	b.Cache.waiting = func(string) {
		waited = true
		if _, err := os.Stat(ran); err == nil {
			t.Error("cargo ran in a folder that another builds in")
		}
		other.Close()
	}
	done := make(chan error, 1)
	go func() {
		err := b.setupNative(t.Context())
		done <- err
		// if no copy has opened it
		if f, err := os.OpenFile(library, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
			f.Close()
		}
	}()
	in, err := os.OpenFile(library, os.O_WRONLY, 0) // returns when the copy begins
	if err != nil {
		t.Fatal(err)
	}
	// While our library is copied, no other run may build.
	ctx, cancel := context.WithCancel(t.Context())
	third := Cache{Dir: b.Cache.Dir, waiting: func(string) { cancel() }}
	if f, err := third.lock(ctx, "native-target.lock", syscall.LOCK_EX); !errors.Is(err,
		context.Canceled) {
		t.Errorf("the folder is free before its library is copied: %v, %v", f != nil, err)
	}
	if _, err := in.WriteString("library"); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !waited {
		t.Error("setup did not wait for the other build")
	}
	copied, err := os.ReadFile(filepath.Join(b.Root, NativeDir, ".deps", "0.1.0",
		"libtandem_native.a"))
	if err != nil || string(copied) != "library" {
		t.Errorf("copied %q, %v", copied, err)
	}
}

// TestRustWithoutTheTargetIsRefused expects the one line that installs a Rust which builds for a
// Mac.
func TestRustWithoutTheTargetIsRefused(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	b := newTestBuilder(t)
	libraries := filepath.Join(dir, "libraries")
	script := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"),
			0o755); err != nil {
			t.Fatal(err)
		}
	}
	script("rustc", "echo "+libraries)
	script("rustup", "exit 0") // another Rust's
	if err := b.RustTarget(t.Context(), MacTriple); err == nil ||
		!strings.HasSuffix(err.Error(), "run: "+rustupLine) {
		t.Errorf("a rustup of another Rust: %v", err)
	}
	script("rustup", "mkdir "+libraries)
	if err := b.RustTarget(t.Context(), MacTriple); err != nil {
		t.Errorf("with rustup: %v", err)
	}
	script("rustup", "exit 1")
	if err := b.RustTarget(t.Context(), MacTriple); err != nil {
		t.Errorf("with libraries that are there: %v", err)
	}
}
