package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"tandem/app/bridge"
	"tandem/app/home"
)

// gitEnv is what git gets in these tests: no settings of this machine.
var gitEnv = []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
	"GIT_AUTHOR_NAME=A tester", "GIT_AUTHOR_EMAIL=tester@example.org",
	"GIT_COMMITTER_NAME=A tester", "GIT_COMMITTER_EMAIL=tester@example.org"}

// in runs a program in a folder and returns its exit code and what it prints.
func in(t *testing.T, dir string, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.Env = append(append(os.Environ(), gitEnv...), env...)
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return cmd.ProcessState.ExitCode(), strings.TrimSpace(out.String()), errs.String()
}

// git runs git and returns what it prints.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	code, out, errs := in(t, dir, nil, append([]string{"git"}, args...)...)
	if code != 0 {
		t.Fatalf("git %s: exit %d\n%s", strings.Join(args, " "), code, errs)
	}
	return out
}

// A step is one of the bridge's workflow.
type step struct {
	Uses, Run, If string
	Env           map[string]string
}

// workflow returns the steps of the bridge's workflow.
func workflow(t *testing.T) []step {
	t.Helper()
	text, err := os.ReadFile("../../../" + bridge.WorkflowFile)
	if err != nil {
		t.Fatal(err)
	}
	var w struct {
		Jobs struct {
			Run struct{ Steps []step }
		}
	}
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	return w.Jobs.Run.Steps
}

// A hub is a bare repository with a small module of its own on main.
type hub struct {
	t    *testing.T
	dir  string
	main string // the commit
}

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{t: t, dir: filepath.Join(t.TempDir(), "hub.git")}
	git(t, t.TempDir(), "init", "-q", "--bare", "-b", "main", h.dir)
	work := h.clone("main")
	text, err := os.ReadFile("../../../" + bridge.WorkflowFile)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		bridge.WorkflowFile:      string(text),
		"go.mod":                 "module toy\n\ngo 1.24\n",
		"build/main.go":          "package main\n\nfunc main() { println(\"set up\") }\n",
		".gitignore":             "/build/out/\n",
		"storage/good/x_test.go": "package x\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {}\n",
		"storage/bad/x_test.go": "package x\n\nimport \"testing\"\n\n" +
			"func TestX(t *testing.T) { t.Fatal(\"two is not three\\x1b[2J\") }\n",
	} {
		name = filepath.Join(work, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755),
			os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	git(t, work, "add", "-A")
	git(t, work, "commit", "-q", "-m", "a module")
	git(t, work, "push", "-q", "origin", "HEAD:main")
	h.main = git(t, work, "rev-parse", "HEAD")
	return h
}

// clone returns a checkout of a branch.
func (h *hub) clone(branch string) string {
	h.t.Helper()
	dir := filepath.Join(h.t.TempDir(), "checkout")
	git(h.t, h.t.TempDir(), "clone", "-q", h.dir, dir)
	if branch != "main" {
		git(h.t, dir, "checkout", "-q", branch)
	}
	return dir
}

// act plays the Mac's part for one branch: the workflow's steps, and their checkout of two commits. It
// returns the exit codes of the steps after the checkout.
func (h *hub) act(branch, home string) (codes []int) {
	h.t.Helper()
	checkout := filepath.Join(h.t.TempDir(), "checkout")
	if err := os.MkdirAll(filepath.Join(checkout, ".git", "hooks"), 0o755); err != nil {
		h.t.Fatal(err)
	}
	commit := git(h.t, h.dir, "rev-parse", branch)
	values := map[string]string{"BRANCH": branch, "COMMIT": commit, "URL": "file://" + h.dir,
		"PUSH_TOKEN": "none"}
	checkedOut := false
	for _, step := range workflow(h.t) {
		failed := slices.ContainsFunc(codes, func(code int) bool { return code != 0 })
		switch {
		case failed && step.If != "always()":
			continue
		case step.Uses != "":
			git(h.t, h.t.TempDir(), "clone", "-q", "--depth=2", "--branch="+branch, "file://"+h.dir,
				checkout) // which fails if the folder has anything in it
			checkedOut = true
			continue
		}
		env := []string{asProgram + "=1", "TANDEM_HOME=" + home, "TANDEM_BRIDGE_TANDEM=" + os.Args[0]}
		for name := range step.Env {
			value, ok := values[name]
			if !ok {
				h.t.Fatalf("the workflow sets %s, which this test does not know", name)
			}
			env = append(env, name+"="+value)
		}
		code, _, errs := in(h.t, checkout, env, "bash", "-e", "-c", step.Run)
		h.t.Logf("%sexit %d\n%s", step.Run, code, errs)
		if checkedOut {
			codes = append(codes, code)
		}
	}
	return codes
}

// waitForBranch returns the first branch of the bridge that is not known yet.
func (h *hub) waitForBranch(known ...string) string {
	h.t.Helper()
	for range 600 {
		list := git(h.t, h.dir, "for-each-ref", "--format=%(refname:short)",
			"refs/heads/"+bridge.BranchPrefix)
		for branch := range strings.FieldsSeq(list) {
			if !slices.Contains(known, branch) {
				return branch
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	h.t.Fatal("no request came")
	return ""
}

// One process asks and waits, another runs the request in its own checkout. A bare repository is
// all that they share.
func TestBridgeMeasuresForAnother(t *testing.T) {
	h, home := newHub(t), newHome(t)
	work := h.clone("main")
	git(t, work, "checkout", "-q", "-b", "mine")
	out := filepath.Join(t.TempDir(), "out")
	type ended struct {
		code           int
		stdout, stderr string
	}
	request := func(args ...string) <-chan ended {
		client := make(chan ended, 1)
		go func() {
			code, stdout, errs := in(t, work, []string{asProgram + "=1"},
				append([]string{os.Args[0], "bridge", "request"}, args...)...)
			client <- ended{code, stdout, errs}
		}()
		return client
	}

	client := request("test-path", "--param", "path=storage/good", "--suffix", "-b876", "--wait",
		"2m", "--out", out)
	branch := h.waitForBranch()
	if codes := h.act(branch, home); !slices.Equal(codes, []int{0, 0}) {
		t.Errorf("the steps ended with %v", codes)
	}
	got := <-client
	if got.code != 0 || !strings.HasPrefix(got.stdout, branch+"\n") ||
		!strings.HasSuffix(branch, "-b876") {
		t.Errorf("request ended with %d on %s\n%s\n%s", got.code, branch, got.stdout, got.stderr)
	}
	var s bridge.Summary
	text, err := os.ReadFile(filepath.Join(out, "summary.json"))
	if err := errors.Join(err, json.Unmarshal(text, &s)); err != nil {
		t.Fatal(err)
	}
	if s.Ref != h.main || s.Preset != "test-path" || len(s.Commands) != 2 ||
		!slices.Equal(s.Commands[1].Argv, []string{"go", "test", "-count=1", "-timeout=40m",
			"./storage/good"}) {
		t.Errorf("the summary is %s", text)
	}
	log, err := os.ReadFile(filepath.Join(out, s.Commands[1].Log))
	if err != nil || !strings.HasPrefix(string(log), "ok  \ttoy/storage/good") {
		t.Errorf("the log is %q, %v", log, err)
	}

	// A failure comes back with the end of its log.
	client = request("test-path", "--param", "path=storage/bad", "--wait", "2m")
	second := h.waitForBranch(branch)
	if codes := h.act(second, home); !slices.Equal(codes, []int{1, 0}) {
		t.Errorf("the steps ended with %v", codes)
	}
	got = <-client
	if got.code != 1 || !strings.Contains(got.stderr, "two is not three") ||
		strings.Contains(got.stderr, "\x1b") || !strings.Contains(got.stderr, "ended with 1") {
		t.Errorf("a request that fails ended with %d\n%s", got.code, got.stderr)
	}

	// A manifest that someone wrote is refused, and the reason comes back.
	third := bridge.BranchPrefix + "probe-by-hand"
	git(t, work, "checkout", "-q", "-b", third)
	manifest := filepath.Join(work, bridge.ManifestFile)
	if err := errors.Join(os.Mkdir(filepath.Dir(manifest), 0o755), os.WriteFile(manifest,
		[]byte(`{"preset": "probe", "argv": ["sh"]}`), 0o644)); err != nil {
		t.Fatal(err)
	}
	git(t, work, "add", "-f", bridge.ManifestFile)
	git(t, work, "commit", "-q", "-m", "by hand")
	git(t, work, "push", "-q", "origin", third)
	git(t, work, "checkout", "-q", "mine")
	if codes := h.act(third, home); !slices.Equal(codes, []int{2, 0}) {
		t.Errorf("the steps ended with %v", codes)
	}
	code, _, errs := in(t, work, []string{asProgram + "=1"}, os.Args[0], "bridge", "status",
		"--branch", third)
	if code != 2 || !strings.Contains(errs, `the manifest is refused: "argv" must not be`) {
		t.Errorf("status of a refused request ended with %d\n%s", code, errs)
	}

	// The same request a second time is refused, and its results stay.
	before := git(t, h.dir, "for-each-ref")
	if codes := h.act(branch, home); !slices.Equal(codes, []int{2, 0}) {
		t.Errorf("a replay ended with %v", codes)
	}
	if after := git(t, h.dir, "for-each-ref"); after != before {
		t.Errorf("a replay changed the branches:\n%s\n%s", before, after)
	}
	for _, b := range []string{branch, second, third} {
		if n := git(t, h.dir, "rev-list", "--count", "main.."+b); n != "2" {
			t.Errorf("%s has %s commits beyond main", b, n)
		}
	}

	if head := git(t, work, "symbolic-ref", "--short", "HEAD"); head != "mine" {
		t.Errorf("the checkout is on %s", head)
	}
	if status := git(t, work, "status", "--porcelain"); status != "" {
		t.Errorf("the checkout has changes: %s", status)
	}
	if tip := git(t, h.dir, "rev-parse", "main"); tip != h.main {
		t.Errorf("main moved to %s", tip)
	}
}

// A dry run of setup lists its steps and all that is missing, on a machine that is no Mac too.
func TestSetupListsWhatIsMissing(t *testing.T) {
	c := newConsole(newHome(t))
	args := []string{"bridge", "setup", "--actions", t.TempDir()}
	c.must(t, append(args, "--dry-run")...)
	for _, want := range []string{"\nto do  register the runner", "\nneeds  .* has no Actions runner; "} {
		if !regexp.MustCompile(want).MatchString(c.stderr) {
			t.Errorf("setup --dry-run has no %q:\n%s", want, c.stderr)
		}
	}
	noMac := runtime.GOOS+"/"+runtime.GOARCH != bridge.Mac
	if strings.Contains(c.stderr, "needs  setup prepares a Mac") != noMac {
		t.Errorf("setup --dry-run says\n%s", c.stderr)
	}
	if code := c.lab(t.Context(), args...); noMac && code != 90 || !noMac && code != 1 ||
		!strings.Contains(c.stderr, "tandem-lab: nothing was done: ") {
		t.Errorf("setup ended with %d\n%s", code, c.stderr)
	}
}

// Tandem takes the home folder into which the embedded model was written first.
func TestHomeOfRetrievalModelIsClosedToOthers(t *testing.T) {
	dir := newHome(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	m := newMain()
	m.Getenv = func(string) string { return dir }
	if _, err := m.retrievalFolder(); err != nil {
		t.Fatal(err)
	}
	h, err := home.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	h.Close()
}
