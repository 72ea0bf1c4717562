package ui

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEachFileOfBrowserTestsIsFound expects each test file, and a time limit for a test that hangs.
func TestEachFileOfBrowserTestsIsFound(t *testing.T) {
	dir := t.TempDir()
	if _, err := browserTestFiles(dir); err == nil {
		t.Error("a folder without tests gives no error")
	}
	if err := os.Mkdir(filepath.Join(dir, "test"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.test.mjs", "b.test.mjs", "server.mjs"} {
		if err := os.WriteFile(filepath.Join(dir, "test", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{filepath.Join(dir, "test", "a.test.mjs"),
		filepath.Join(dir, "test", "b.test.mjs")}
	got, err := browserTestFiles(dir)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if args := browserTestArgs(want[0]); !slices.Contains(args, "--test-timeout=900000") {
		t.Errorf("the arguments %q have no limit", args)
	}
}

// TestInterfaceTooHeavyIsAnError expects that all files count, each gzipped.
func TestInterfaceTooHeavyIsAnError(t *testing.T) {
	dir := t.TempDir()
	noise := make([]byte, mostInterface*3/5) // gzip makes noise no smaller
	write := func(name string) {
		t.Helper()
		rand.Read(noise)
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), noise, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	write("index.html")
	if err := weighInterface(&out, dir); err != nil || !strings.HasSuffix(out.String(), ": met\n") {
		t.Errorf("%v, %q", err, out.String())
	}
	out.Reset()
	write("assets/index.js")
	if err := weighInterface(&out, dir); err == nil ||
		!strings.HasSuffix(out.String(), ": missed\n") {
		t.Errorf("%v, %q", err, out.String())
	}
	if err := weighInterface(&out, filepath.Join(dir, "nothing")); err == nil {
		t.Error("an interface that was not built gives no error")
	}
}
