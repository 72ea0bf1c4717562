package bridge

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newSetup returns a setup with a runner as GitHub packs it: its scripts write down how they are
// called, and do what the real ones do to the folder.
func newSetup(t *testing.T) (*Setup, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	var out bytes.Buffer
	s := &Setup{State: filepath.Join(dir, "state"), Actions: filepath.Join(dir, "actions"),
		Program: os.Args[0], URL: "https://example.org/a/b", Token: "t0ken", Model: dir,
		Environ: []string{"PATH=/usr/bin:/bin"}, Out: &out, system: Mac}
	writeScript(t, filepath.Join(s.Actions, "config.sh"),
		"echo config \"$@\" >> calls; echo $ACTIONS_RUNNER_INPUT_TOKEN > token; touch .runner\n")
	writeScript(t, filepath.Join(s.Actions, "svc.sh"), "echo svc $1 >> calls\n"+
		"if [ $1 = install ]; then touch .service; fi\n")
	write(t, filepath.Join(s.Actions, ".env"), "LANG=C.UTF-8\nTANDEM_BRIDGE_MODEL=/old")
	return s, &out
}

// carryOut does all steps of a setup and returns what they were.
func carryOut(t *testing.T, s *Setup) (all string, done int) {
	t.Helper()
	steps, err := s.Steps()
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, step := range steps {
		text = append(text, step.What)
		if step.Done {
			done++
		}
		if err := s.Do(t.Context(), step); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(text, "\n"), done
}

func TestSetupSaysFirstAndDoesNothingTwice(t *testing.T) {
	s, out := newSetup(t)
	before := listing(t, filepath.Dir(s.State))
	steps, err := s.Steps()
	if err != nil || len(steps) != 4 {
		t.Fatalf("steps %+v, %v", steps, err)
	}
	if after := listing(t, filepath.Dir(s.State)); after != before {
		t.Errorf("listing the steps changed\n%s\nto\n%s", before, after)
	}
	all, done := carryOut(t, s)
	if done != 0 || strings.Contains(all, "t0ken") || !strings.Contains(all, "https://example.org/a/b") ||
		!strings.Contains(all, "TANDEM_BRIDGE_TANDEM="+os.Args[0]) {
		t.Errorf("%d of the steps were done before:\n%s", done, all)
	}
	calls := read(t, filepath.Join(s.Actions, "calls"))
	if !strings.HasPrefix(calls, "config --unattended --url https://example.org/a/b --labels tandem-bridge --name ") ||
		!strings.HasSuffix(calls, "\nsvc install\nsvc start\n") || strings.Contains(calls, "t0ken") {
		t.Errorf("the runner's scripts were called so:\n%s\n%s", calls, out)
	}
	if read(t, filepath.Join(s.Actions, "token")) != "t0ken\n" {
		t.Error("the token did not reach config.sh")
	}
	env := read(t, filepath.Join(s.Actions, ".env"))
	if env != "LANG=C.UTF-8\nTANDEM_BRIDGE_MODEL="+s.Model+"\nTANDEM_BRIDGE_TANDEM="+os.Args[0]+"\n" {
		t.Errorf("the variables are\n%s", env)
	}
	info, err := os.Stat(s.State)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the state folder: %v, %v", info, err)
	}

	before = listing(t, filepath.Dir(s.State))
	if _, done := carryOut(t, s); done != 4 || listing(t, filepath.Dir(s.State)) != before {
		t.Errorf("a second time %d steps are done before", done)
	}
	// A registered runner needs neither address nor token. New paths reach it by a restart.
	s.URL, s.Token, s.Drafter = "", "", s.State
	if all, done := carryOut(t, s); done != 2 ||
		!strings.HasSuffix(read(t, filepath.Join(s.Actions, "calls")), "svc stop\nsvc start\n") {
		t.Errorf("with a drafter %d steps are done before:\n%s", done, all)
	}
}

// listing describes all files of a folder.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all.WriteString(path + ": " + read(t, path) + "\n")
		} else if err == nil {
			all.WriteString(path + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func TestSetupSaysWhatIsMissing(t *testing.T) {
	for name, test := range map[string]struct {
		change func(s *Setup)
		want   string
	}{
		"no Mac":        {func(s *Setup) { s.system = "linux/arm64" }, "this machine is linux/arm64; run it there"},
		"no runner":     {func(s *Setup) { os.RemoveAll(s.Actions) }, "unpack GitHub's for macOS and ARM64 there"},
		"no token":      {func(s *Setup) { s.Token = "" }, "TANDEM_BRIDGE_RUNNER_TOKEN"},
		"no address":    {func(s *Setup) { s.URL = "" }, "give --url"},
		"other address": {func(s *Setup) { s.URL = "http://example.org" }, "must be the https:// address"},
		"no model":      {func(s *Setup) { s.Model = "/nowhere/at/all" }, "leads to nothing"},
		"model with a line": {func(s *Setup) { s.Model = "/tmp\nGITHUB_TOKEN=x" },
			"must be an absolute path"},
	} {
		s, _ := newSetup(t)
		test.change(s)
		// A step can be listed before what it needs is there.
		steps, err := s.Steps()
		for _, step := range steps {
			if step.Missing != nil {
				err = step.Missing
				before := listing(t, filepath.Dir(s.State))
				if done := s.Do(t.Context(), step); done != err {
					t.Errorf("%s: the step ends with %v", name, done)
				}
				if listing(t, filepath.Dir(s.State)) != before {
					t.Errorf("%s: the step was taken", name)
				}
			}
		}
		if listed := steps != nil; err == nil || !strings.Contains(err.Error(), test.want) ||
			listed != (name == "no Mac" || name == "no runner" || name == "no token" || name == "no address") {
			t.Errorf("%s: %v, listed: %t", name, err, listed)
		}
	}
	s, _ := newSetup(t)
	writeScript(t, filepath.Join(s.Actions, "config.sh"), "exit 3\n")
	steps, err := s.Steps()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Do(t.Context(), steps[1]); err == nil ||
		!strings.Contains(err.Error(), "config.sh --unattended ended with 3") {
		t.Errorf("a script that fails: %v", err)
	}
}

// failing returns the names of what is not in order.
func failing(list []Finding) string {
	var names []string
	for _, f := range list {
		if !f.OK {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ")
}

func TestDoctorOfTheRunner(t *testing.T) {
	s, _ := newSetup(t)
	env := map[string]string{"PATH": os.Getenv("PATH")}
	getenv := func(name string) string { return env[name] }
	list := ExamineRunner(s.State, s.Actions, Mac, getenv)
	const before = "state folder, TANDEM_BRIDGE_DRAFTER, TANDEM_BRIDGE_MODEL, Actions runner, TANDEM_BRIDGE_TANDEM"
	if got := failing(list); got != before {
		t.Errorf("before the setup %s\n%+v", got, list)
	}
	s.Drafter = s.Model
	carryOut(t, s)
	if list := ExamineRunner(s.State, s.Actions, Mac, getenv); failing(list) != "" {
		t.Errorf("after the setup %+v", list)
	}
	// Before the lab had its own program, tandem ran requests.
	s.Program = filepath.Join(t.TempDir(), "tandem")
	write(t, s.Program, "")
	carryOut(t, s)
	list = ExamineRunner(s.State, s.Actions, Mac, getenv)
	if got := failing(list); got != tandemVariable {
		t.Errorf("with the program of before %s\n%+v", got, list)
	}
	s.Program = filepath.Join(t.TempDir(), "tandem-lab")
	write(t, s.Program, "")
	carryOut(t, s)
	err := errors.Join(os.Chmod(s.State, 0o755), os.Remove(s.Program))
	list = ExamineRunner(s.State, s.Actions, "linux/arm64", getenv)
	if got := failing(list); err != nil || got != "machine, state folder, TANDEM_BRIDGE_TANDEM" {
		t.Errorf("with faults %s, %v", got, err)
	}
}

func TestDoctorOfTheClient(t *testing.T) {
	p := newPair(t)
	if list := Examine(t.Context(), p.dir, "origin", gitEnv()); failing(list) != "" ||
		p.remoteBranches() != "main" {
		t.Errorf("of a sound checkout %+v", list)
	}
	write(t, filepath.Join(p.dir, "new"), "x")
	testGit(t, p.dir, "remote", "set-url", "origin", p.hub+".none")
	if got := failing(Examine(t.Context(), p.dir, "origin", gitEnv())); got != "work tree, network" {
		t.Errorf("offline, with a new file: %s", got)
	}
	testGit(t, p.dir, "remote", "remove", "origin")
	testGit(t, p.dir, "add", "-A")
	testGit(t, p.dir, "rm", "-q", "--cached", WorkflowFile)
	testGit(t, p.dir, "commit", "-q", "-m", "without")
	if got := failing(Examine(t.Context(), p.dir, "origin", gitEnv())); got !=
		"work tree, workflow, remote" {
		t.Errorf("without remote and workflow: %s", got)
	}
	if got := failing(Examine(t.Context(), t.TempDir(), "origin", gitEnv())); got != "checkout" {
		t.Errorf("in no checkout: %s", got)
	}
}
