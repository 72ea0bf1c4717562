package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/scripttest"
)

// asProgram names the environment variable by which this test binary becomes the program. Tests of
// processes set it.
const asProgram = "TANDEM_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// newHome makes a folder for TANDEM_HOME and returns it. Its name is short, because the address of
// a socket has a limit. The folder is deleted with the test.
func newHome(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tandem")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// A console runs command lines in this process.
type console struct {
	env            map[string]string
	stdin          string
	terminal       bool   // stderr is one
	stdout, stderr string // of the last command line
}

// newConsole returns a console with this home.
func newConsole(home string) *console {
	return &console{env: map[string]string{"TANDEM_HOME": home, "HOME": home}}
}

// lab runs one command line and returns its exit code.
func (c *console) lab(ctx context.Context, args ...string) int {
	var out, err bytes.Buffer
	m := newMain()
	m.Stdin, m.Stdout, m.Stderr = strings.NewReader(c.stdin), &out, &err
	m.Terminal = c.terminal
	m.Getenv = func(name string) string { return c.env[name] }
	code := m.Run(ctx, args)
	c.stdout, c.stderr = out.String(), err.String()
	return code
}

// must runs a command line and returns its standard output. An exit code other than 0 ends the
// test.
func (c *console) must(t *testing.T, args ...string) string {
	t.Helper()
	if code := c.lab(t.Context(), args...); code != 0 {
		t.Fatalf("tandem-lab %s: exit %d\n%s%s", strings.Join(args, " "), code, c.stdout, c.stderr)
	}
	return c.stdout
}

// See [scripttest.Script]. $WORK is an empty folder.
func TestVerbsFollowTheirScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata has no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			c := newConsole(newHome(t))
			s := scripttest.Script{Program: "tandem-lab",
				Vars: map[string]string{"WORK": t.TempDir()}}
			s.Run = func(stdin string, args []string) (int, string, string) {
				c.stdin = stdin
				return c.lab(t.Context(), args...), c.stdout, c.stderr
			}
			s.Follow(t, file)
		})
	}
}
