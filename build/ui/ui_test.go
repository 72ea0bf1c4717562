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

// TestInterfaceTooHeavyIsAnError expects that all files of a kind count together, plain and gzipped.
func TestInterfaceTooHeavyIsAnError(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, content []byte) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	noise := func(n int) []byte { // gzip makes it no smaller
		b := make([]byte, n)
		rand.Read(b)
		return b
	}
	expect := func(want string) {
		t.Helper()
		var out strings.Builder
		err := weighInterface(&out, dir)
		var got []string
		for line := range strings.Lines(out.String()) {
			got = append(got, line[strings.LastIndex(line, " ")+1:len(line)-1])
		}
		if met := strings.Join(got, " "); met != want || (err == nil) != (want == "met met met") {
			t.Errorf("%s, %v, want %s", met, err, want)
		}
	}
	script, style := bars[0], bars[1]
	expect("") // an interface that was not built
	write("index.html", []byte("<title>Tandem</title>"))
	write("assets/a.js", noise(script.packed*3/5))
	write("assets/a.css", make([]byte, style.plain))
	expect("met met met")
	write("assets/b.js", noise(script.packed*3/5))
	expect("missed met missed")
	write("assets/b.js", make([]byte, script.plain-script.packed*3/5+1))
	expect("missed met met")
	write("assets/b.js", nil)
	write("assets/a.css", make([]byte, style.plain+1))
	expect("met missed met")
	write("assets/a.css", make([]byte, style.plain))
	write("index.html", make([]byte, bars[2].plain))
	expect("met met missed")
}
