package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"tandem/app/connect"
	"tandem/app/control"
	"tandem/engine/enginetest"
)

// programs puts scripts of a shell into the path, as the programs of their names, in place of all real ones.
// Temporary files go into the folder that it returns.
func programs(t *testing.T, scripts map[string]string) (temporary string) {
	t.Helper()
	bin, temporary := t.TempDir(), t.TempDir()
	for name, text := range scripts {
		must(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text), 0o755))
	}
	t.Setenv("PATH", bin+":/bin:/usr/bin")
	t.Setenv("TMPDIR", temporary)
	return temporary
}

// isEmpty fails the test if there is anything in a folder.
func isEmpty(t *testing.T, dir string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil || len(list) > 0 {
		t.Errorf("%s has %v, %v", dir, list, err)
	}
}

// A program gets its variables and the words behind --, and its exit code is the verb's. Nothing else is said
// than which model it gets.
// getMore ends the line of a model whose context is too short, where no other one has enough.
const getMore = "Connect, in the page that `tandem open` opens, says how to get more"

func TestLaunchedProgramIsToldOfTandem(t *testing.T) {
	home := newHome(t)
	p := serveProcess(t, home)
	defer p.stop(t)
	temporary := programs(t, map[string]string{
		"claude": `echo "$ANTHROPIC_BASE_URL $ANTHROPIC_MODEL ${ANTHROPIC_API_KEY-unset}"; printf '<%s>' "$@"; cat; exit 7`,
		"cn":     `echo "$2"; cat "$2"`,
		"cline":  `echo "$1 $2" >>"$HOME/cline"; [ "$1" = --data-dir ] || exit 0; [ -d "$2" ] && echo there`,
	})
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant")
	t.Setenv("HOME", home)
	c := newConsole(t, home)
	c.stdin = "typed"
	code := c.tandem(t.Context(), "launch", "claude", "--", "-p", "it's one", "--model")
	if want := p.url + " tandem unset\n<-p><it's one><--model>typed"; code != 7 || c.stdout != want {
		t.Errorf("exit %d and %q, want 7 and %q", code, c.stdout, want)
	}
	if want := "tandem: Claude Code uses pocket. It needs a context of 64,000 tokens, " +
		"and the model has only 32,768 tokens; " + getMore + "\n"; c.stderr != want {
		t.Errorf("it says %q, want %q", c.stderr, want)
	}
	path, text, _ := strings.Cut(c.must(t, "launch", "cn"), "\n")
	if !strings.HasPrefix(path, temporary) || !strings.Contains(text, "apiBase: "+p.url+"/v1\n") ||
		!strings.Contains(text, "contextLength: 32768\n") {
		t.Errorf("the file %s has\n%s", path, text)
	}
	if out := c.must(t, "launch", "cline"); out != "there\n" {
		t.Errorf("cline prints %q", out)
	}
	if text, err := os.ReadFile(filepath.Join(home, "cline")); err != nil ||
		!strings.HasPrefix(string(text), "auth --data-dir\n--data-dir "+temporary) {
		t.Errorf("cline ran as %q, %v", text, err)
	}
	isEmpty(t, temporary)

	dir := tinyModel(t, "tiny", nil)
	c.must(t, "models", "add", dir)
	if out := c.must(t, "launch", "--model", dir, "continue"); !strings.Contains(out, "model: tiny\n") ||
		!strings.Contains(out, "contextLength: 4096\n") ||
		c.stderr != "tandem: Continue uses tiny, with a context of 4,096 tokens\n" {
		t.Errorf("of another model: %s\n%s", out, c.stderr)
	}
	if code := c.tandem(t.Context(), "launch", "claude", "--model", "absent"); code != 1 ||
		!strings.Contains(c.stderr, "there is no model absent here") {
		t.Errorf("exit %d, %s", code, c.stderr)
	}

	key := strings.TrimSpace(c.must(t, "keys", "add", "agents"))
	c.must(t, "settings", "set", "require_key=true")
	if code := c.tandem(t.Context(), "launch", "claude"); code != 1 || !strings.Contains(c.stderr, "tandem keys add") {
		t.Errorf("without a key: exit %d, %s", code, c.stderr)
	}
	c.env[connect.KeyVariable] = key
	if out := c.must(t, "launch", "cn"); !strings.Contains(out, "apiKey: "+key+"\n") {
		t.Errorf("the file has\n%s", out)
	}
}

// What would be set is printed also for programs that are not installed. No file is written, and nothing runs.
func TestPrintedLaunchWritesNothing(t *testing.T) {
	home := newHome(t)
	p := serveProcess(t, home)
	defer p.stop(t)
	temporary := programs(t, map[string]string{"claude": "echo it runs"})
	c := newConsole(t, home)
	c.env["HOME"] = temporary
	for _, x := range connect.Programs() {
		if x.Command == nil {
			continue
		}
		out := c.must(t, "launch", x.ID, "--print", "--", "it's one")
		if !strings.HasSuffix(out, ` 'it'\''s one'`+"\n") || !strings.Contains(out, p.url) {
			t.Errorf("%s prints\n%s", x.ID, out)
		}
	}
	isEmpty(t, temporary)
}

// A signal to the verb goes to the program, whose files are gone with it.
func TestSignalsReachALaunchedProgram(t *testing.T) {
	home := newHome(t)
	p := serveProcess(t, home)
	defer p.stop(t)
	temporary := programs(t, map[string]string{
		"cn":   `trap 'test -f "$2"; exit $((5 + $?))' INT TERM HUP; echo ready; while kill -0 $PPID; do sleep 0.05; done`,
		"qwen": `echo ready; kill -KILL $$`,
	})
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		v := launch(t, home, "launch", "continue")
		if line, err := v.stdout.ReadString('\n'); line != "ready\n" {
			t.Fatalf("%q, %v, %s", line, err, v.stderr)
		}
		must(t, v.Process.Signal(s))
		if code, _ := v.exit(t); code != 5 {
			t.Errorf("%v: exit %d, want 5, that of the program with its file\n%s", s, code, v.stderr)
		}
		isEmpty(t, temporary)
	}
	if code, _ := launch(t, home, "launch", "qwen").exit(t); code != 128+9 {
		t.Errorf("a killed program: exit %d, want 137", code)
	}
	isEmpty(t, temporary)
}

// A signal while a program is set up ends that, and the folder with its key is gone.
func TestSignalWhileAProgramIsSetUp(t *testing.T) {
	home := newHome(t)
	p := serveProcess(t, home)
	defer p.stop(t)
	temporary := programs(t, map[string]string{
		"cline": `if [ "$1" = auth ]; then echo $$ >"$HOME/setup"; exec sleep 60; fi; echo it runs`,
	})
	t.Setenv("HOME", home)
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGINT, syscall.SIGTERM} {
		setup := filepath.Join(home, "setup")
		v := launch(t, home, "launch", "cline")
		pid := 0
		enginetest.Await(t, "the set-up", func() bool {
			text, err := os.ReadFile(setup)
			pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
			return err == nil && pid > 0
		})
		must(t, v.Process.Signal(s))
		if code, out := v.exit(t); code == 0 || out != "" {
			t.Errorf("%v: exit %d, %q\n%s", s, code, out, v.stderr)
		}
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%v: the set-up goes on: %v", s, err)
		}
		isEmpty(t, temporary)
		must(t, os.Remove(setup))
	}
}

// A terminal sends Ctrl-C to the program too, which gets it once and decides what it does. The verb waits for
// its end. So it is where the verb's standard input is a pipe.
func TestInterruptOfATerminalIsTheProgramsOwn(t *testing.T) {
	home := newHome(t)
	p := serveProcess(t, home)
	defer p.stop(t)
	temporary := programs(t, map[string]string{
		"claude": `trap 'echo x >>"$1/interrupts"' INT; touch "$1/ready"; until [ -f "$1/go" ]; do sleep 0.05; done; exit 3`,
	})
	for _, piped := range []bool{false, true} {
		dir := t.TempDir()
		there := func(name string) func() bool {
			return func() bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
		}
		v := sitWith(t, home, nil, func(c *exec.Cmd) {
			if piped {
				c.Stdin, c.SysProcAttr = strings.NewReader(""), &syscall.SysProcAttr{Ctty: 1} // else the terminal is standard input
			}
		}, "launch", "claude", "--", dir)
		enginetest.Await(t, "the program", there("ready"))
		_, err := io.WriteString(v.keys, "\x03")
		must(t, err)
		enginetest.Await(t, "an interrupt", there("interrupts"))
		must(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
		if v.Wait(); v.ProcessState.ExitCode() != 3 {
			t.Errorf("piped %t: exit %d, want 3", piped, v.ProcessState.ExitCode())
		}
		if got, err := os.ReadFile(filepath.Join(dir, "interrupts")); string(got) != "x\n" {
			t.Errorf("piped %t: interrupts %q, %v, want one", piped, got, err)
		}
	}
	isEmpty(t, temporary)
}

// Each mistake says what to do.
func TestLaunchSaysWhatIsMissing(t *testing.T) {
	home := newHome(t)
	programs(t, map[string]string{"claude": "true"})
	c := newConsole(t, home)
	const list = "continue, cline, opencode, aider, codex, claude, goose, crush, qwen"
	const others = "; Connect, in the page that `tandem open` opens, has what others need\n"
	for _, x := range []struct {
		line string
		code int
		says string
	}{
		{"launch claude", 1, "tandem: Tandem is not running. Start it with `tandem serve`.\n"},
		{"launch codex", 1, "tandem: Codex CLI is not installed: there is no codex in PATH; its makers install it by\n" +
			"npm install -g @openai/codex\n"},
		{"launch cluade", 2, "tandem launch: there is no program \"cluade\"; did you mean claude? There are " + list + others},
		{"launch emacs", 2, "tandem launch: there is no program \"emacs\"; there are " + list + others},
		{"launch zed", 2, "tandem launch: Zed cannot be told of Tandem for one run; Connect, in the page that " +
			"`tandem open` opens, has its settings\n"},
		{"launch claude go", 2, "tandem launch: put the program's own arguments behind --: tandem launch claude -- go\n"},
		{"launch", 2, "tandem launch needs a program, such as " + list + ": tandem launch PROGRAM [-- ARGS]\n" +
			"`tandem launch -h` explains it\n"},
	} {
		if code := c.tandem(t.Context(), strings.Fields(x.line)...); code != x.code || c.stderr != x.says || c.stdout != "" {
			t.Errorf("tandem %s: exit %d and %q, want %d and %q", x.line, code, c.stderr, x.code, x.says)
		}
	}
	if words := strings.Fields(c.must(t, "__complete", "launch", "c")); !slices.Contains(words, "codex") ||
		slices.Contains(words, "zed") {
		t.Errorf("completed are %q", words)
	}
}

// The one line says which context a program needs, and whether the model has it.
func TestLaunchLineSaysWhetherTheContextIsLongEnough(t *testing.T) {
	any, agent := connect.Program{Name: "Any"}, connect.Program{Name: "Agent", Context: 64_000}
	longer := []control.LongerModel{{ID: "big", Context: 131_072}}
	for _, x := range []struct {
		p      connect.Program
		has    int
		longer []control.LongerModel
		want   string
	}{
		{any, 0, nil, "Any uses m"},
		{any, 8192, longer, "Any uses m, with a context of 8,192 tokens"},
		{agent, 0, longer, "Agent uses m. It needs a context of 64,000 tokens; the model's is unknown"},
		{agent, 64_000, longer, "Agent uses m, whose context of 64,000 tokens is enough"},
		{agent, 8192, nil, "Agent uses m. It needs a context of 64,000 tokens, and the model has only 8,192 tokens; " + getMore},
		{agent, 8192, longer, "Agent uses m. It needs a context of 64,000 tokens, and the model has only 8,192 tokens; " +
			"`--model big` has 131,072"},
		{agent, 8192, []control.LongerModel{{ID: "mid", Context: 32_768}},
			"Agent uses m. It needs a context of 64,000 tokens, and the model has only 8,192 tokens; " + getMore},
	} {
		if got := launchLine(x.p, "m", x.has, x.longer); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}
