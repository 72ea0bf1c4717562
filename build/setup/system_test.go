package setup

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rust is the requirement for Rust.
func rust(t *testing.T) []Requirement {
	t.Helper()
	list := Requirements()
	i := slices.IndexFunc(list, func(r Requirement) bool {
		return strings.HasPrefix(r.What, "Rust")
	})
	if i < 0 {
		t.Fatal("Rust is not required")
	}
	return list[i : i+1]
}

// TestRustupInstallsAMissingToolchain has rustup's cargo in PATH, which does not run in a home
// folder without Rust. It expects that rustup installs Rust. Without rustup it expects an error
// with the line that installs it.
func TestRustupInstallsAMissingToolchain(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"),
			0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":/bin:/usr/bin")
	b := &Builder{Root: dir, Cache: Cache{Dir: t.TempDir()}, Out: io.Discard}
	script("cargo", `[ -e "`+dir+`/default" ] || { echo "rustup could not choose a version of cargo to run" >&2; exit 1; }`)
	if err := b.Install(t.Context(), rust(t)); err == nil ||
		!strings.Contains(err.Error(), rustupLine) {
		t.Errorf("without rustup: %v", err)
	}
	script("rustup", `[ "$1" = default ] && touch "`+dir+`/default"; echo "$*" >>"`+dir+`/asked"`)
	if err := b.Install(t.Context(), rust(t)); err != nil {
		t.Error(err)
	}
	if err := b.Install(t.Context(), rust(t)); err != nil { // nothing twice
		t.Error(err)
	}
	asked, err := os.ReadFile(filepath.Join(dir, "asked"))
	if want := "toolchain install stable --profile minimal --no-self-update\ndefault stable\n"; err != nil ||
		string(asked) != want {
		t.Errorf("rustup was asked %q, %v, want %q", asked, err, want)
	}
	script("rustup", "exit 1")
	if err := os.Remove(filepath.Join(dir, "default")); err != nil {
		t.Fatal(err)
	}
	if err := b.Install(t.Context(), rust(t)); err == nil ||
		!strings.Contains(err.Error(), "rustup toolchain install stable") {
		t.Errorf("a rustup that fails: %v", err)
	}
}
