package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"
)

// tandemVariable names the tandem-lab with which the workflow runs requests.
const tandemVariable = "TANDEM_BRIDGE_TANDEM"

// Label is the runner label that the workflow's job requires, beside the system's.
const Label = "tandem-bridge"

// A Setup makes a Mac ready to run requests: a folder for the state, and GitHub's runner.
type Setup struct {
	State   string // as in Runner
	Actions string // folder of GitHub's runner, unpacked
	Program string // the file of tandem-lab, which runs requests. It loads MLX from the checkout that built it
	URL     string // of the repository; "" = the runner is registered already
	Token   string // for the registration; passed through the environment, never as an argument
	Model   string // for TANDEM_BRIDGE_MODEL; "" = unchanged
	Drafter string

	AnyMachine bool
	Environ    []string
	Out        io.Writer // what the runner's scripts print

	system string
}

// A Step is one change of a setup.
type Step struct {
	What    string
	Done    bool  // nothing is left to do
	Missing error // what is required before the step; or nil
	do      func(ctx context.Context) error
}

// setupLimit bounds one script of GitHub's runner.
const setupLimit = 5 * time.Minute

// Steps returns what the setup would do, in order, and changes nothing. On a machine that is not a
// Mac the first step reports that as missing.
func (s *Setup) Steps() ([]Step, error) {
	system := s.system
	if system == "" {
		system = runtime.GOOS + "/" + runtime.GOARCH
	}
	state := s.stateStep()
	if system != Mac && !s.AnyMachine {
		state.Missing = &IncapableError{fmt.Sprintf(
			"setup prepares a Mac with Apple silicon, and this machine is %s; run it there, or add --any-machine",
			system)}
	}
	env, err := s.envStep()
	if err != nil {
		return nil, err
	}
	register, err := s.registerStep()
	if err != nil {
		return nil, err
	}
	return []Step{state, register, env, s.serviceStep(!env.Done)}, nil
}

// Do carries out a step that Steps returned.
func (s *Setup) Do(ctx context.Context, step Step) error {
	if step.Done || step.Missing != nil {
		return step.Missing
	}
	if err := step.do(ctx); err != nil {
		return fmt.Errorf("%s: %w", step.What, err)
	}
	return nil
}

func (s *Setup) stateStep() Step {
	info, err := os.Stat(s.State)
	return Step{What: "make " + s.State + ", for you alone",
		Done: err == nil && info.Mode().Perm() == 0o700,
		do: func(context.Context) error {
			return errors.Join(os.MkdirAll(s.State, 0o700), os.Chmod(s.State, 0o700))
		}}
}

func (s *Setup) registerStep() (Step, error) {
	step := Step{What: fmt.Sprintf("register the runner in %s with the label %s", s.Actions, Label)}
	if _, err := os.Stat(filepath.Join(s.Actions, ".runner")); err == nil {
		step.Done = true
		return step, nil
	}
	if s.URL != "" && (!strings.HasPrefix(s.URL, "https://") ||
		strings.ContainsFunc(s.URL, unicode.IsSpace)) {
		return step, errors.New("--url must be the https:// address of the repository")
	}
	switch _, err := os.Stat(filepath.Join(s.Actions, "config.sh")); {
	case err != nil:
		step.Missing = fmt.Errorf(
			"%s has no Actions runner; unpack GitHub's for macOS and ARM64 there (on GitHub: Settings, Actions, Runners, New self-hosted runner)",
			s.Actions)
		return step, nil
	case s.URL == "" || s.Token == "":
		step.Missing = errors.New(
			"the runner is not registered; give --url and, in TANDEM_BRIDGE_RUNNER_TOKEN, the token that GitHub shows for a new runner")
		return step, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return step, err
	}
	step.What += " for " + s.URL
	step.do = func(ctx context.Context) error {
		// The runner's scripts read any of their flags from such a variable too.
		return s.script(ctx, []string{"ACTIONS_RUNNER_INPUT_TOKEN=" + s.Token}, "config.sh",
			"--unattended", "--url", s.URL, "--labels", Label, "--name", host+"-"+Label)
	}
	return step, nil
}

// envStep sets the variables that jobs of the runner get.
func (s *Setup) envStep() (Step, error) {
	want := map[string]string{tandemVariable: s.Program}
	if s.Model != "" {
		want["TANDEM_BRIDGE_MODEL"] = s.Model
	}
	if s.Drafter != "" {
		want["TANDEM_BRIDGE_DRAFTER"] = s.Drafter
	}
	have, changed := runnerEnv(s.Actions), []string{}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		value := want[name]
		if !filepath.IsAbs(value) || strings.ContainsFunc(value, unicode.IsControl) {
			return Step{}, fmt.Errorf("%q must be an absolute path", value)
		}
		if _, err := os.Stat(value); err != nil {
			return Step{}, fmt.Errorf("%s leads to nothing", value)
		}
		if have[name] != value {
			changed = append(changed, name+"="+value)
		}
	}
	file := filepath.Join(s.Actions, ".env")
	what := "set the paths of " + file
	if len(changed) > 0 {
		what = fmt.Sprintf("set in %s: %s", file, strings.Join(changed, ", "))
	}
	return Step{What: what, Done: len(changed) == 0, do: func(context.Context) error {
		return setLines(file, want)
	}}, nil
}

// serviceStep keeps the runner running. GitHub's script makes it a service of the user.
func (s *Setup) serviceStep(again bool) Step {
	_, err := os.Stat(filepath.Join(s.Actions, ".service"))
	installed := err == nil
	what, scripts := "start the runner at login and now", []string{"install", "start"}
	if installed {
		what, scripts = "start the runner again, with its new paths", []string{"stop", "start"}
	}
	return Step{What: what, Done: installed && !again, do: func(ctx context.Context) error {
		for _, word := range scripts {
			if err := s.script(ctx, nil, "svc.sh", word); err != nil {
				return err
			}
		}
		return nil
	}}
}

// script runs one of the scripts of GitHub's runner.
func (s *Setup) script(ctx context.Context, env []string, name string, args ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, setupLimit,
		fmt.Errorf("%s took longer than %v", name, setupLimit))
	defer cancel()
	c := command{argv: append([]string{name}, args...), program: filepath.Join(s.Actions, name),
		dir: s.Actions, env: append(slices.Clone(s.Environ), env...), stdout: s.Out, stderr: s.Out,
		grace: killGrace, keep: true}
	code, err := c.run(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil && code != 0 {
		err = fmt.Errorf("%s %s ended with %d", name, args[0], code)
	}
	return err
}

// maxEnvFile bounds the runner's file of variables, in bytes.
const maxEnvFile = 1 << 20

// runnerEnv reads the variables that jobs of the runner in a folder get.
func runnerEnv(actions string) map[string]string {
	env := map[string]string{}
	text, _ := readLimited(filepath.Join(actions, ".env")) // a missing file is empty
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
			env[name] = value
		}
	}
	return env
}

func readLimited(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxEnvFile+1))
	if err == nil && len(text) > maxEnvFile {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxEnvFile)
	}
	return text, err
}

// setLines sets variables in a file of lines NAME=VALUE and leaves the other lines as they are. The
// file is written completely or not at all.
func setLines(name string, values map[string]string) error {
	text, err := readLimited(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var out bytes.Buffer
	for line := range strings.Lines(string(text)) {
		variable, _, _ := strings.Cut(line, "=")
		if _, ours := values[variable]; !ours {
			out.WriteString(strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	for _, variable := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(&out, "%s=%s\n", variable, values[variable])
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".env-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once the file has its final name
	_, err = f.Write(out.Bytes())
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
