package bridge

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// write makes a file and the folders above it.
func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// writeScript makes a program.
func writeScript(t *testing.T, name, text string) {
	t.Helper()
	write(t, name, "#!/bin/sh\n"+text)
	if err := os.Chmod(name, 0o755); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A bench is a checkout with folders beside it: programs on PATH, and the state of the runner.
type bench struct {
	t        *testing.T
	checkout string
	programs string
	env      map[string]string
	runner   *Runner
	messages bytes.Buffer
}

// newBench returns a bench whose go is a script of the name's text. Its machine counts as a Mac.
func newBench(t *testing.T, goScript string) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{t: t, checkout: filepath.Join(dir, "checkout"),
		programs: filepath.Join(dir, "programs")}
	b.env = map[string]string{"PATH": b.programs + ":/usr/bin:/bin", "HOME": dir,
		"RUNNER_TEMP": filepath.Join(dir, "temp")}
	b.runner = &Runner{Dir: b.checkout, State: filepath.Join(dir, "state"), Machine: "a test",
		Version: "1", Getenv: func(name string) string { return b.env[name] }, Err: &b.messages,
		system: Mac, folders: []string{}}
	writeScript(t, filepath.Join(b.programs, "go"), goScript)
	write(t, filepath.Join(b.checkout, "engine/cache/kv_test.go"), "package cache\n")
	testGit(t, dir, "init", "-q", b.checkout)
	b.gate("0")
	if err := os.Mkdir(b.env["RUNNER_TEMP"], 0o755); err != nil {
		t.Fatal(err)
	}
	return b
}

// gate makes a gate of the Mac's own, which ends with a code.
func (b *bench) gate(code string) {
	b.t.Helper()
	b.runner.Program = filepath.Join(filepath.Dir(b.checkout), "tandem-lab")
	writeScript(b.t, b.runner.Program, "echo the gate of the Mac: $@; exit "+code+"\n")
}

// commit commits the files of the checkout and returns the hash.
func (b *bench) commit() string {
	b.t.Helper()
	write(b.t, filepath.Join(b.checkout, ".git/info/exclude"), "/"+Folder+"/\n")
	testGit(b.t, b.checkout, "add", "-A")
	testGit(b.t, b.checkout, "commit", "-q", "--allow-empty", "-m", "files")
	return testGit(b.t, b.checkout, "rev-parse", "HEAD")
}

// request writes a manifest into the checkout.
func (b *bench) request(manifest string) {
	b.t.Helper()
	write(b.t, filepath.Join(b.checkout, ManifestFile), manifest)
}

// ask commits the files and writes the manifest of a preset for them.
func (b *bench) ask(preset, nonce string, params map[string]any) {
	b.t.Helper()
	q, err := NewRequest(preset, params, b.commit(), "a test", nonce)
	if err != nil {
		b.t.Fatal(err)
	}
	b.request(string(q.Manifest()))
}

// run runs the request and returns its summary. An error ends the test.
func (b *bench) run(ctx context.Context) *Summary {
	b.t.Helper()
	s, err := b.runner.Run(ctx, ManifestFile)
	if err != nil {
		b.t.Fatalf("run: %v\n%s", err, b.messages.String())
	}
	return s
}

// result returns the text of a file of a run's results.
func (b *bench) result(nonce, name string) string {
	b.t.Helper()
	return read(b.t, filepath.Join(b.checkout, resultsFolder, nonce, name))
}

// wrote returns what commands wrote into a file of their home.
func (b *bench) wrote(name string) string {
	b.t.Helper()
	return read(b.t, filepath.Join(b.env["HOME"], name))
}

// testGit runs git in a folder and returns what it prints.
func testGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = gitEnv()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// gitEnv is an environment in which git reads no settings of the machine.
func gitEnv() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=A tester",
		"GIT_CONFIG_KEY_1=user.email", "GIT_CONFIG_VALUE_1=tester@example.org",
		"GIT_CONFIG_KEY_2=init.defaultBranch", "GIT_CONFIG_VALUE_2=main"}
}
