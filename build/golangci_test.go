//go:build lint

package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// planted is a module whose lines break a rule where a comment names the linter that must say so.
var planted = map[string]string{
	"go.mod": "module tandem\n\ngo 1.26\n",
	"app/server/x.go": `// Package server fetches what a request names.
package server

import (
	"net"
	"net/http"
	"os"
	"os/exec" // want depguard
	"syscall" // want depguard
)

// Fetch does what no package that reads a request may.
func Fetch(name string) error {
	_, err := os.Open(name) // want forbidigo
	if err == os.ErrDeadlineExceeded {
		_, err = net.Dial(name, name) // want forbidigo
		_, _, _ = net.SplitHostPort(name)
	}
	_, err = http.Get(name) // want forbidigo
	if err == syscall.EPIPE {
		err = exec.Command(name).Run()
	}
	return err
}
`,
	"app/server/x_test.go": `package server

import (
	"os"
	"testing"
)

func TestFetch(t *testing.T) { _ = os.Remove(Fetch(os.TempDir()).Error()) }
`,
	"app/wire/half_closed.go": `// Package wire looks whether a client is still there.
package wire

import "syscall"

// Gone is what it looks for.
const Gone = syscall.EPIPE
`,
	"app/lab/x.go": `// Package lab may open files.
package lab

import "os"

// Open opens what an argument names. This line is longer than a line of this module may be, by a word or by three. // want lll
var Open = os.Open

// Long is long.
func Long(n int) int { // want funlen
` + strings.Repeat("\tn++\n", 96) + `	return n
}
`,
}

// TestGolangciFindsWhatIsPlanted expects of golangci-lint and its rules exactly what the planted lines
// want.
func TestGolangciFindsWhatIsPlanted(t *testing.T) {
	program, err := exec.CommandContext(t.Context(), "go", "tool", "-modfile=tools.mod", "-n", "golangci-lint").Output()
	if err != nil {
		t.Fatal(err)
	}
	config, err := filepath.Abs("golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	want := map[string]bool{}
	for name, text := range planted {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(text, "\n") {
			if _, linter, ok := strings.Cut(line, "// want "); ok {
				want[fmt.Sprintf("%s:%d %s", name, i+1, linter)] = true
			}
		}
	}
	lint := exec.CommandContext(t.Context(), strings.TrimSpace(string(program)), "run", "--config="+config, "./...")
	lint.Dir = dir
	out, err := lint.Output()
	if err == nil {
		t.Error("golangci-lint finds nothing to say")
	}
	got := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(\S+?:\d+)\S*: .*\((\w+)\)$`).FindAllStringSubmatch(string(out), -1) {
		got[m[1]+" "+m[2]] = true
	}
	if !maps.Equal(got, want) {
		t.Errorf("golangci-lint finds\n%q, want\n%q\n%s", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)), out)
	}
}
