package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"tandem/app"
	"tandem/app/control"
	"tandem/app/modeltest"
	"tandem/engine/enginetest"
)

// A person sits at a terminal, at which the program runs.
type person struct {
	*exec.Cmd
	t     *testing.T
	keys  io.Writer
	shown *transcript
	seen  int           // bytes of shown
	whole chan struct{} // closed when shown has all
}

// sit starts the program at a terminal of its own. The end of the test kills it.
func sit(t *testing.T, home string, env []string, args ...string) *person {
	t.Helper()
	return sitWith(t, home, env, func(*exec.Cmd) {}, args...)
}

// sitWith is sit with changes to how the program is started.
func sitWith(t *testing.T, home string, env []string, with func(*exec.Cmd), args ...string) *person {
	t.Helper()
	p := &person{Cmd: exec.Command(os.Args[0], args...), t: t, shown: &transcript{}, whole: make(chan struct{})}
	p.Env = append(os.Environ(), asProgram+"=1", "TANDEM_HOME="+home, "HF_HUB_CACHE="+filepath.Join(home, "hub"),
		"TERM=xterm", "NO_COLOR=")
	p.Env = append(p.Env, env...)
	with(p.Cmd)
	screen, err := pty.StartWithSize(p.Cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	p.keys = screen
	go func() {
		defer close(p.whole)
		io.Copy(p.shown, screen) // it ends with an error when the program does
	}()
	t.Cleanup(func() {
		p.Process.Kill()
		p.Wait()
		<-p.whole
		screen.Close()
		if t.Failed() {
			t.Logf("the terminal shows %q", p.shown)
		}
	})
	return p
}

// types presses keys and waits until the terminal shows a text in answer.
func (p *person) types(keys, want string) {
	p.t.Helper()
	if _, err := io.WriteString(p.keys, keys); err != nil {
		p.t.Fatal(err)
	}
	p.sees(want)
}

// sees waits until the terminal shows a text after the one it waited for before.
func (p *person) sees(want string) {
	p.t.Helper()
	enginetest.Await(p.t, "the terminal shows "+want, func() bool {
		i := strings.Index(p.shown.String()[p.seen:], want)
		if i >= 0 {
			p.seen += i + len(want)
		}
		return i >= 0
	})
}

// ends waits for the end of the program, which must exit with 0.
func (p *person) ends() {
	p.t.Helper()
	if err := p.Wait(); err != nil {
		p.t.Errorf("the program ended with %v", err)
	}
	<-p.whole
}

// scriptedServer serves a home with answers from a script, until the test ends.
func scriptedServer(t *testing.T, home, script string) {
	t.Helper()
	answers, err := modeltest.ReadScript([]byte(script))
	must(t, err)
	m := newMain()
	m.Stderr = io.Discard
	hub := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(hub.Close)
	m.Getenv = func(name string) string {
		return map[string]string{"TANDEM_HOME": home, "HF_HUB_CACHE": filepath.Join(home, "hub"),
			"HF_ENDPOINT": hub.URL}[name]
	}
	o := m.options(m.Logger(false))
	o.Generate = answers.Generate
	a, err := app.Open(t.Context(), o)
	must(t, err)
	ready, end, served := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		served <- m.serveWhile(context.WithoutCancel(t.Context()), a, func() error {
			close(ready)
			<-end
			return nil
		})
	}()
	<-ready
	t.Cleanup(func() {
		close(end)
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

const (
	enter, ctrlC, ctrlD, up = "\r", "\x03", "\x04", "\x1b[A"

	prompted = ">>> " // the program waits for a line
)

// chatScript answers a chat. A cue sees the whole conversation.
const chatScript = `[
{"when": "^user: first\nassistant: $", "say": "This is **one**."},
{"when": "^user: first\nassistant: This is \\*\\*one\\*\\*\\.\nuser: second\nassistant: $", "say": "two"},
{"when": "user: first line\n\tand another\nassistant: $", "say": "a paste"},
{"when": "user: typed\nin two lines\nassistant: $", "say": "quoted"},
{"when": "user: bad\nassistant: $", "say": "a\u001b[2Jb &#27;[3J \u009b4J"},
{"when": "user: fail\nassistant: $", "say": "half", "fail": true},
{"when": "user: again\nassistant: $", "say": "once more"},
{"when": "user: count\nassistant: $", "pace_ms": 20, "say": "n1\n\nn2\n\nn3\n\nn4\n\nn5\n\nn6\n\nn7\n\nn8\n\nn9\n\nn10\n\nn11\n\nn12\n\nn13\n\nn14\n\nn15\n\nn16\n\nn17\n\nn18\n\nn19\n\nn20\n\nn21\n\nn22\n\nn23\n\nn24\n\nn25\n\nn26\n\nn27\n\nn28\n\nn29\n\nn30"},
{"when": "assistant: n1\n\nn2\n.*\nuser: whatever\nassistant: $", "say": "after n2"}
]`

// A chat is a conversation of several turns on a terminal, with commands. It ends with Ctrl-D.
func TestChatOnATerminal(t *testing.T) {
	home, other := newHome(t), tinyModel(t, "other", nil)
	scriptedServer(t, home, chatScript)
	c := newConsole(t, home)
	c.must(t, "models", "add", tinyModel(t, "tiny", nil))
	c.must(t, "models", "add", other)
	p := sit(t, home, []string{"HOME=" + home}, "run", "tiny")
	p.sees("tiny answers. /help lists the commands, Ctrl-D leaves.")
	p.sees(prompted)
	p.types("first"+enter, "This is \x1b[1mone\x1b[0m.")
	p.sees("per second; 0 of 23 tokens of the prompt restored")
	p.sees(prompted)
	p.types("second"+enter, "two")
	p.sees(prompted)

	// a paste is one question, and so is what stands between quotes
	p.types("\x1b[200~first line\r\tand another\x1b[201~", "and another")
	p.types(enter, "a paste")
	p.sees(prompted)
	p.types(`"""typed`+enter, "... ")
	p.types(`in two lines"""`+enter, "quoted")
	p.sees(prompted)

	// what a model writes is no command to the terminal
	p.types("bad"+enter, "a\ufffd[2Jb \ufffd[3J \ufffd4J")
	p.sees(prompted)

	// an error ends a turn
	p.types("fail"+enter, "The script has an error here.")
	p.sees(prompted)
	p.types("nonsense"+enter, "knows no answer")
	p.sees(prompted)
	p.types("/fly"+enter, "there is no command /fly; /help lists them")
	p.sees(prompted)

	// Ctrl-C stops an answer, whose beginning stays; and drops a line
	p.types("/clear"+enter, "the chat starts over")
	p.sees(prompted)
	p.types("/save ~/chat.md"+enter, "there is nothing to save")
	p.sees(prompted)
	p.types("count"+enter, "n2")
	p.types(ctrlC, "stopped")
	p.sees(prompted)
	p.types("dropped"+ctrlC, "Ctrl-D or /bye leaves")
	p.sees(prompted)
	saved := filepath.Join(home, "chat.md")
	p.types("/save ~/chat.md"+enter, "saved to "+saved)
	p.sees(prompted)
	p.types("/save "+saved+enter, "is there already; name another file")
	p.sees(prompted)
	text, err := os.ReadFile(saved)
	if err != nil || !strings.HasPrefix(string(text), "## You\n\ncount\n\n## Assistant\n\nn1\n\nn2\n") ||
		strings.Contains(string(text), "n30") {
		t.Errorf("the file has %q, %v", text, err)
	}

	// another model goes on, and the arrow keys bring a line again
	p.types("/model"+enter, "*  tiny")
	p.sees(prompted)
	p.types("/model nobody/nothing"+enter, "is not installed")
	p.sees(prompted)
	const offered = "mlx-community/Qwen3-1.7B-4bit"
	p.types("/model "+offered+enter, "download it, of unknown")
	p.sees("[y/N] ")
	p.types(ctrlC, "stopped")
	p.sees(prompted)
	p.types("/model "+offered+enter, "[y/N] ")
	p.types("n"+enter, "nothing was downloaded")
	p.sees(prompted)
	p.types("/model other"+enter, "other answers from here on")
	p.sees(prompted)
	p.types("again"+enter, "once more")
	p.sees(prompted)
	p.types(up, "again")
	p.types(enter, "once more")
	p.sees(prompted)
	p.types("/help"+enter, "/save FILE")
	p.sees("begins and ends a text of several lines")
	p.sees(prompted)
	if _, err := io.WriteString(p.keys, ctrlD); err != nil {
		t.Fatal(err)
	}
	p.ends()
	for _, bad := range []string{"\x1b[2J", "\x1b[3J", "\u009b"} {
		if strings.Contains(p.shown.String(), bad) {
			t.Errorf("the terminal got %q", bad)
		}
	}
	waitState(t, client(t, home), func(s control.State) bool { return len(s.Active) == 0 })
	runs := lines[control.Run](t, c.must(t, "runs", "--json"))
	if r := runs[0]; r.Model != "other" || control.ClientName(r.Client) != "Command line" {
		t.Errorf("the last run has the model %s and the client %s", r.Model, control.ClientName(r.Client))
	}
}

// A chat hosts its own server where none runs, and /bye leaves it. NO_COLOR shows the text as it is.
func TestChatAloneAndWithoutStyles(t *testing.T) {
	home := newHome(t)
	dir := tinyModel(t, "tiny", nil)
	newConsole(t, home).must(t, "models", "add", dir)
	p := sit(t, home, []string{"NO_COLOR=1"}, "chat", "tiny", "--max-tokens", "3", "--temperature", "0")
	p.sees("tiny answers.")
	p.sees(prompted)
	p.types("hi"+enter, "3 tokens")
	p.sees("; stopped at")
	p.sees(prompted)
	p.types("ho"+enter, "3 tokens")
	p.sees(prompted)
	if strings.Contains(p.shown.String(), "\x1b[2m") {
		t.Errorf("with NO_COLOR the terminal shows %q", p.shown)
	}
	if _, err := io.WriteString(p.keys, "/bye"+enter); err != nil {
		t.Fatal(err)
	}
	p.ends()
}

// An answer to one prompt is shown on a terminal as in a chat, and is the model's own text elsewhere.
func TestAnswerIsShownOnATerminalAndPlainInAPipe(t *testing.T) {
	home := newHome(t)
	scriptedServer(t, home, chatScript)
	c := newConsole(t, home)
	c.must(t, "models", "add", tinyModel(t, "tiny", nil))
	if text := c.must(t, "run", "tiny", "first"); text != "This is **one**.\n" {
		t.Errorf("in a pipe it is %q", text)
	}
	if text := c.must(t, "run", "tiny", "bad"); !strings.HasPrefix(text, "a\x1b[2Jb") {
		t.Errorf("in a pipe it is %q", text)
	}
	p := sit(t, home, nil, "run", "tiny", "first")
	p.sees("This is \x1b[1mone\x1b[0m.")
	p.sees("of the prompt restored")
	p.ends()
	for _, args := range [][]string{{"run", "tiny", "bad"}, {"run", "tiny", "bad", "--json"}} {
		p = sit(t, home, []string{"NO_COLOR=1"}, args...)
		p.ends()
		if text := p.shown.String(); !strings.Contains(text, "J") || strings.ContainsAny(text, "\x1b\u009b") {
			t.Errorf("%q shows %q", args, text)
		}
	}
}
