package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tandem/app/bridge"
	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/terminal"
)

const (
	// exitWaiting is the exit code of a request without results yet, as of a mail that waits.
	exitWaiting = 75
	// pollPause is the time between two looks at a branch.
	pollPause = 3 * time.Second
	// logLines is how much of a failed command's log is shown.
	logLines = 20
)

// bridgeState returns the folder of what the runner remembers.
func (m *Main) bridgeState() string { return filepath.Join(m.home(), "bridge") }

// bridgeError returns err with the exit code that the bridge gives it.
func bridgeError(err error) error {
	if code := bridge.ExitCode(err); code > 1 {
		return &terminal.ExitError{Code: code, Err: err}
	}
	return err
}

func listPresets(m *Main) *cobra.Command {
	c := &cobra.Command{Use: "presets", Short: "list what a request may ask for, with its parameters",
		Args: terminal.NoArgs}
	asJSON := c.Flags().Bool("json", false, "one JSON object a line")
	c.RunE = func(*cobra.Command, []string) error { return m.printPresets(*asJSON) }
	return c
}

func (m *Main) printPresets(asJSON bool) error {
	var rows [][]any
	for _, p := range bridge.Presets() {
		if asJSON {
			params := map[string]string{}
			for _, x := range p.Params {
				params[x.Name] = x.Doc
			}
			err := terminal.WriteJSON(m.Stdout, map[string]any{"preset": p.Name, "doc": p.Doc,
				"params": params, "variables": p.Variables(), "limit_s": p.Limit.Seconds(),
				"commands": p.Commands()})
			if err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []any{p.Name, p.Limit.String(), p.Doc})
		for _, x := range p.Params {
			doc := x.Doc
			if x.Default != nil {
				doc += fmt.Sprintf("; %v if not given", x.Default)
			}
			rows = append(rows, []any{"  " + x.Name, "", doc})
		}
	}
	if asJSON {
		return nil
	}
	return m.Table([]terminal.Column{{Name: "PRESET"}, {Name: "LIMIT"}, {Name: "WHAT", Wraps: true}}, rows)
}

func requestPreset(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "request PRESET", Short: "ask for a preset on a branch of its own; print the branch",
		Args: terminal.Args(1, 1, "a preset, which `tandem-lab bridge presets` lists")}
	f := cmd.Flags()
	params := map[string]string{}
	f.Func("param", "`NAME=VALUE` of the preset; may be repeated", func(text string) error {
		name, value, ok := strings.Cut(text, "=")
		if _, twice := params[name]; !ok || twice {
			return fmt.Errorf("write NAME=VALUE, each name once")
		}
		params[name] = value
		return nil
	})
	ref := f.String("ref", "HEAD", "the `COMMIT` to run")
	remote := f.String("remote", "origin", "the `NAME` of the git remote")
	suffix := f.String("suffix", "", "`TEXT` at the end of the branch's name; it may begin with a dash")
	by := f.String("by", "tandem", "the `NAME` of who asks")
	noPush := f.Bool("no-push", false, "make the branch here alone")
	wait := f.Duration("wait", 0, "wait this `TIME` for the results, such as 90m")
	out := f.String("out", "", "save the results in this `FOLDER`; with --wait")
	cmd.RunE = func(_ *cobra.Command, rest []string) error {
		ctx := cmd.Context()
		if *noPush && *wait > 0 || *out != "" && *wait <= 0 {
			return terminal.Mistake(cmd, "--no-push sends nothing, so there is nothing to wait for; --out needs --wait")
		}
		r, err := openRepository(ctx)
		if err != nil {
			return err
		}
		commit, err := r.Resolve(ctx, *ref)
		if err != nil {
			return err
		}
		values := map[string]any{}
		preset, _ := bridge.FindPreset(rest[0])
		for _, p := range preset.Params {
			if text, ok := params[p.Name]; ok {
				values[p.Name] = p.Read(text)
			}
		}
		for name, text := range params {
			if _, ok := values[name]; !ok {
				values[name] = text // it is refused by its name
			}
		}
		q, err := bridge.NewRequest(rest[0], values, commit, *by, bridge.NewNonce())
		if err != nil {
			return bridgeError(err)
		}
		if *noPush {
			*remote = ""
		}
		asked, err := r.Request(ctx, q, *suffix, *remote)
		if err != nil {
			return err
		}
		fmt.Fprintln(m.Stdout, asked.Branch)
		if *wait <= 0 {
			return nil
		}
		return m.showResult(ctx, r, *remote, asked.Branch, *wait, *out, false)
	}
	return cmd
}

func openRepository(ctx context.Context) (*bridge.Repository, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return bridge.OpenRepository(ctx, dir, os.Environ())
}

func requestStatus(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "status", Short: "fetch what became of a request; exit as its run did, with 75 while it waits",
		Args: terminal.NoArgs}
	f := cmd.Flags()
	branch := f.String("branch", "", "the `BRANCH` that request printed")
	remote := f.String("remote", "origin", "the `NAME` of the git remote")
	wait := f.Duration("wait", 0, "wait this `TIME` for the results, such as 90m")
	out := f.String("out", "", "save the results in this `FOLDER`")
	asJSON := f.Bool("json", false, "print the summary as JSON")
	cmd.RunE = func(_ *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		if *branch == "" {
			return terminal.Mistake(cmd, "--branch is missing; give it what `tandem-lab bridge request` printed")
		}
		r, err := openRepository(ctx)
		if err != nil {
			return err
		}
		return m.showResult(ctx, r, *remote, *branch, *wait, *out, *asJSON)
	}
	return cmd
}

// showResult prints what became of a request, and returns the exit code of its run.
func (m *Main) showResult(ctx context.Context, r *bridge.Repository, remote, branch string,
	wait time.Duration, out string, asJSON bool) error {
	res, err := r.Wait(ctx, remote, branch, wait, pollPause)
	if err != nil {
		return err
	}
	s := res.Summary
	if s == nil {
		return &terminal.ExitError{Code: exitWaiting, Err: fmt.Errorf("no results on %s yet; ask again, or see on the Mac what its runner logs and whether `tandem-lab bridge publish` followed the run",
			branch)}
	}
	if out != "" {
		names, err := r.Save(ctx, res, out)
		if err != nil {
			return err
		}
		m.Say("saved %s in %s", control.Plural(len(names), "file"), out)
	}
	if asJSON {
		err = terminal.WriteJSON(m.Stdout, s)
	} else {
		var rows [][]any
		for _, c := range s.Commands {
			rows = append(rows, []any{c.ExitCode, terminal.Figure(fmt.Sprintf("%.1f", c.Seconds)), c.Log,
				strings.Join(c.Argv, " ")})
		}
		err = m.Table([]terminal.Column{{Name: "EXIT"}, {Name: "SECONDS"}, {Name: "LOG"}, {Name: "COMMAND", Wraps: true}}, rows)
	}
	if err != nil || s.ExitCode == 0 {
		return err
	}
	if n := len(s.Commands); n > 0 && !asJSON {
		text, err := r.Read(ctx, res, s.Commands[n-1].Log)
		if err != nil {
			return err
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		for _, line := range lines[max(0, len(lines)-logLines):] {
			fmt.Fprintf(m.Stderr, "| %s\n", terminal.Printable(line))
		}
	}
	return &terminal.ExitError{Code: s.ExitCode, Err: fmt.Errorf("on %s: %s", terminal.Printable(s.Machine),
		terminal.Printable(s.Error))}
}

func runRequest(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "run", Short: "run the request of this checkout, on the Mac; exit with 2 if it is refused, 90 if this machine cannot",
		Args: terminal.NoArgs}
	f := cmd.Flags()
	manifest := f.String("manifest", bridge.ManifestFile, "the request, a `FILE` of the checkout")
	dry := f.Bool("dry-run", false, "print the commands as JSON, and run nothing")
	anyMachine := f.Bool("any-machine", false, "measure here, though this is no Mac")
	cmd.RunE = func(_ *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		r := &bridge.Runner{Dir: dir, State: m.bridgeState(), Version: m.Version, Program: terminal.Executable(),
			AnyMachine: *anyMachine, Getenv: m.Getenv, Err: m.Stderr,
			Machine: strings.Join([]string{runtime.GOOS + "/" + runtime.GOARCH, home.System(),
				home.Chip()}, ", ")}
		if *dry {
			return bridgeError(r.DryRun(ctx, *manifest, m.Stdout))
		}
		if err := home.Make(m.home()); err != nil {
			return err
		}
		s, err := r.Run(ctx, *manifest)
		if err != nil {
			return bridgeError(err)
		}
		if err := terminal.WriteJSON(m.Stdout, s); err != nil {
			return err
		}
		if s.ExitCode != 0 {
			return &terminal.ExitError{Code: s.ExitCode, Err: errors.New(s.Error)}
		}
		return nil
	}
	return cmd
}

func publishResults(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "publish", Short: "push the results of the run to the request's branch",
		Args: terminal.NoArgs}
	f := cmd.Flags()
	manifest := f.String("manifest", bridge.ManifestFile, "the request, a `FILE` of the checkout")
	branch := f.String("branch", "", "the request's `BRANCH`")
	var p bridge.Publisher
	f.StringVar(&p.Commit, "commit", "", "the `HASH` of the branch's commit that was checked out")
	f.StringVar(&p.URL, "url", "",
		"the `ADDRESS` of the repository, https:// or file:///; for https PUSH_TOKEN holds the token")
	cmd.RunE = func(_ *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		for _, x := range [][3]string{
			{*branch, "branch", "what `tandem-lab bridge request` printed"},
			{p.Commit, "commit", "what the branch was when it was checked out: `git rev-parse HEAD` there"},
			{p.URL, "url", "the repository's address, https:// or file:///"},
		} {
			if x[0] == "" {
				return terminal.Mistake(cmd, fmt.Sprintf("--%s is missing; give it %s", x[1], x[2]))
			}
		}
		p.Token, p.Getenv = m.Getenv("PUSH_TOKEN"), m.Getenv
		var err error
		if p.Dir, err = os.Getwd(); err != nil {
			return err
		}
		return p.Publish(ctx, *branch, *manifest)
	}
	return cmd
}

// actionsFolder returns the folder of GitHub's runner: the value of the flag, if it is given.
func (m *Main) actionsFolder(flag string) string {
	return cmp.Or(flag, filepath.Join(control.UserHome(m.Getenv), "actions-runner"))
}

func examineBridge(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "doctor", Short: "say what is missing to send requests, or with --runner to run them",
		Args: terminal.NoArgs}
	f := cmd.Flags()
	runner := f.Bool("runner", false, "examine this machine as the one that runs requests")
	actions := f.String("actions", "", "the `FOLDER` of GitHub's runner (default ~/actions-runner)")
	remote := f.String("remote", "origin", "the `NAME` of the git remote")
	asJSON := f.Bool("json", false, "one JSON object a line")
	cmd.RunE = func(_ *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		var list []terminal.Finding
		examined := func() []bridge.Finding {
			if *runner {
				return bridge.ExamineRunner(m.bridgeState(), m.actionsFolder(*actions), runtime.GOOS+"/"+runtime.GOARCH,
					m.Getenv)
			}
			dir, err := os.Getwd()
			if err != nil {
				return []bridge.Finding{{Name: "folder", Detail: err.Error()}}
			}
			return bridge.Examine(ctx, dir, *remote, os.Environ())
		}
		for _, x := range examined() {
			list = append(list, terminal.Finding(x))
		}
		return m.PrintFindings(list, *asJSON)
	}
	return cmd
}

func setUpBridge(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "setup", Short: "make this Mac ready to run requests; it says what it will do, and asks",
		Args: terminal.NoArgs}
	f := cmd.Flags()
	var s bridge.Setup
	f.StringVar(&s.Actions, "actions", "", "the `FOLDER` of GitHub's runner, unpacked (default ~/actions-runner)")
	f.StringVar(&s.URL, "url", "", "the https:// `ADDRESS` of the repository, for a runner that is not registered")
	f.StringVar(&s.Model, "model", "", "the `FOLDER` of the model to measure")
	f.StringVar(&s.Drafter, "drafter", "", "the `FOLDER` of its drafter")
	f.BoolVar(&s.AnyMachine, "any-machine", false, "set up this machine, though it is no Mac")
	dry := f.Bool("dry-run", false, "say what would be done, and do nothing")
	yes := f.Bool("yes", false, "do not ask")
	cmd.RunE = func(_ *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		s.State, s.Program, s.Out = m.bridgeState(), terminal.Executable(), m.Stderr
		s.Token, s.Environ = m.Getenv("TANDEM_BRIDGE_RUNNER_TOKEN"), os.Environ()
		s.Actions = m.actionsFolder(s.Actions)
		steps, err := s.Steps()
		if err != nil {
			return bridgeError(err)
		}
		todo, missing := 0, []error{}
		for _, step := range steps {
			mark := "done"
			if !step.Done {
				mark = "to do"
				todo++
			}
			fmt.Fprintf(m.Stderr, "%-6s %s\n", mark, terminal.Printable(step.What))
			if step.Missing != nil {
				missing = append(missing, step.Missing)
			}
		}
		switch {
		case *dry:
			for _, err := range missing {
				fmt.Fprintf(m.Stderr, "needs  %s\n", terminal.Printable(err.Error()))
			}
			return nil
		case len(missing) > 0:
			return bridgeError(fmt.Errorf("nothing was done: %w", missing[0]))
		case todo == 0:
			return nil
		}
		err = m.Confirm(cmd, *yes, fmt.Sprintf("take %s", control.Plural(todo, "step")))
		if err != nil {
			return err
		}
		if err := home.Make(m.home()); err != nil {
			return err
		}
		for _, step := range steps {
			if err := s.Do(ctx, step); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}
