package bridge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Finding is one line of the doctor's report.
type Finding struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"` // what to do, if not OK
}

// Examine checks what a client needs to send requests from dir to remote. It changes nothing.
func Examine(ctx context.Context, dir, remote string, environ []string) []Finding {
	var list []Finding
	add := func(name string, err error, detail string) bool {
		if err != nil {
			detail = err.Error()
		}
		list = append(list, Finding{name, err == nil, detail})
		return err == nil
	}
	r, err := OpenRepository(ctx, dir, environ)
	if !add("checkout", err, "") {
		return list
	}
	list[0].Detail = r.dir
	add("work tree", r.Clean(ctx), "no changes")
	head, err := r.Resolve(ctx, "HEAD")
	if add("commit", err, head) {
		text, err := r.line(ctx, "ls-tree", "--full-tree", "--name-only", head, "--", WorkflowFile)
		if err == nil && text == "" {
			err = fmt.Errorf("the commit has no %s, so no Mac would run it; %s", WorkflowFile,
				workflowHelp)
		}
		add("workflow", err, WorkflowFile)
		pointers, err := r.Pointers(ctx, head)
		if err == nil && len(pointers) > 0 {
			err = fmt.Errorf("the commit has pointers of Git LFS (%s); commit the files themselves",
				firstNames(pointers))
		}
		add("Git LFS", err, "no pointers in place of files")
	}
	_, err = r.line(ctx, "var", "GIT_COMMITTER_IDENT")
	add("name", err, "git knows who commits")
	if !add("remote", r.checkRemote(ctx, remote), remote) {
		return list
	}
	if _, err = r.tips(ctx, remote, "refs/heads/"+BranchPrefix+"none"); err != nil {
		add("network", err, "")
		return list
	}
	add("network", nil, remote+" answers")
	if head != "" {
		_, err = r.git(ctx, nil, "push", "--dry-run", "--no-verify", "--quiet", "--", remote,
			head+":refs/heads/"+BranchPrefix+"doctor")
		add("right to push", err, "to branches "+BranchPrefix+"*")
	}
	return list
}

// ExamineRunner checks what a machine of this system needs to run requests. It changes nothing and
// starts nothing. state is the folder of a [Runner], actions the folder of GitHub's runner.
func ExamineRunner(state, actions, system string, getenv func(string) string) []Finding {
	var list []Finding
	add := func(name string, ok bool, format string, args ...any) {
		list = append(list, Finding{name, ok, fmt.Sprintf(format, args...)})
	}
	if system == Mac {
		add("machine", true, "%s", system)
	} else {
		add("machine", false, "%s; presets that measure need %s", system, Mac)
	}
	for _, name := range []string{"go", "git"} {
		path, err := findProgram(name, getenv, installed)
		if err != nil {
			add(name, false, "%v; install it", err)
			continue
		}
		add(name, true, "%s", path)
	}
	switch info, err := os.Stat(state); {
	case err != nil:
		add("state folder", false, "%s is not there; `tandem-lab bridge setup` makes it", state)
	case info.Mode().Perm()&0o077 != 0:
		add("state folder", false, "%s is open to other users; `chmod 700` it", state)
	default:
		add("state folder", true, "%s", state)
	}
	env := runnerEnv(actions)
	for _, name := range variableNames() {
		value := getenv(name)
		if value == "" {
			value = env[name]
		}
		if _, err := variable(name, func(string) string { return value }); err != nil {
			var users []string
			for _, p := range Presets() {
				if slices.Contains(p.Variables(), name) {
					users = append(users, p.Name)
				}
			}
			add(name, false, "%v; needed by %s", err, strings.Join(users, ", "))
			continue
		}
		add(name, true, "%s", value)
	}
	if _, err := os.Stat(filepath.Join(actions, ".runner")); err != nil {
		add("Actions runner", false,
			"none is registered in %s; `tandem-lab bridge setup` says how", actions)
	} else {
		add("Actions runner", true, "%s", actions)
	}
	if env[tandemVariable] == "" {
		add(tandemVariable, false, "not set for the Actions runner; `tandem-lab bridge setup` sets it")
	} else if filepath.Base(env[tandemVariable]) == "tandem" {
		add(tandemVariable, false, "%s no longer has the bridge; run `tandem-lab bridge setup`",
			env[tandemVariable])
	} else if _, err := os.Stat(env[tandemVariable]); err != nil {
		add(tandemVariable, false, "%s is gone; run `tandem-lab bridge setup` with the present one",
			env[tandemVariable])
	} else {
		add(tandemVariable, true, "%s", env[tandemVariable])
	}
	return list
}

// variableNames lists the variables that presets read.
func variableNames() []string {
	var names []string
	for name := range variables {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
