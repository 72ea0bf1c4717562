package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNativeRecord follows a crate through its life: recorded, changed without a new version, given one, recorded.
func TestNativeRecord(t *testing.T) {
	b := newTestBuilder(t)
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(b.root, nativeDir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	record := func() {
		t.Helper()
		version, err := b.nativeVersion()
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
		if err := b.checkNative(); err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("got %v, want an error about %q", err, want)
		}
	}
	accepted := func() {
		t.Helper()
		if err := b.checkNative(); err != nil {
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
	record() // must not paper over the change
	refused("version is still 0.1.0")
	write("Cargo.toml", "[package]\nversion = \"0.1.1\"\n")
	refused("records version 0.1.0")
	record()
	accepted()
	write("src/lib.rs", "// two")
	refused("version is still 0.1.1")
}
