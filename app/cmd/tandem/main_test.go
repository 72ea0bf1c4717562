package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
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

// tinyModel writes a random model into a folder of that name and returns the folder. config
// replaces values of its config.json.
func tinyModel(t *testing.T, name string, config map[string]any) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Rename(enginetest.TinyModel(t, "llama"), dir); err != nil {
		t.Fatal(err)
	}
	setConfig(t, dir, config)
	return dir
}

// setConfig replaces values of the config.json in dir.
func setConfig(t *testing.T, dir string, values map[string]any) {
	t.Helper()
	path := filepath.Join(dir, "config.json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	config := map[string]any{}
	if err := json.Unmarshal(b, &config); err != nil {
		t.Fatal(err)
	}
	for k, v := range values {
		config[k] = v
	}
	if b, err = json.Marshal(config); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A console runs command lines in this process.
type console struct {
	env            map[string]string
	terminal       bool
	typed          bool // stdin is a terminal's
	stdin          string
	stdout, stderr string // of the last command line
}

// newConsole returns a console with this home and a model cache in it.
func newConsole(t *testing.T, home string) *console {
	return &console{env: map[string]string{"TANDEM_HOME": home,
		"HF_HUB_CACHE": filepath.Join(home, "hub"), "HOME": home, "NO_COLOR": "1"}}
}

// tandem runs one command line and returns its exit code.
func (c *console) tandem(ctx context.Context, args ...string) int {
	var out, err bytes.Buffer
	m := newMain()
	m.Stdin, m.Stdout, m.Stderr = strings.NewReader(c.stdin), &out, &err
	m.Terminal, m.Typed = c.terminal, c.typed
	m.Getenv = func(name string) string { return c.env[name] }
	code := m.Run(ctx, args)
	c.stdout, c.stderr = out.String(), err.String()
	return code
}

// must runs a command line and returns its standard output. An exit code other than 0 ends the
// test.
func (c *console) must(t *testing.T, args ...string) string {
	t.Helper()
	if code := c.tandem(t.Context(), args...); code != 0 {
		t.Fatalf("tandem %s: exit %d\n%s%s", strings.Join(args, " "), code, c.stdout, c.stderr)
	}
	return c.stdout
}

// lines decodes each line of text as JSON.
func lines[T any](t *testing.T, text string) (list []T) {
	t.Helper()
	for line := range strings.Lines(text) {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("the line %s: %v", line, err)
		}
		list = append(list, v)
	}
	return list
}

// A process is the program in a process of its own.
type process struct {
	*exec.Cmd
	stdout *bufio.Reader
	stderr *transcript
	home   string
	url    string // the first line of serve, without a final slash
	link   string // the second line of serve, with the code
	reaped bool
}

// A transcript keeps the output of a process. It may be read while the process still writes.
type transcript struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// launch starts the program. The end of the test kills it.
func launch(t *testing.T, home string, args ...string) *process {
	t.Helper()
	return launchWith(t, home, nil, nil, args...)
}

// launchWith is launch with more variables of the environment and a standard input. nil is an empty
// one.
func launchWith(t *testing.T, home string, env []string, stdin io.Reader, args ...string) *process {
	t.Helper()
	return launchProgram(t, os.Args[0], home, env, stdin, args...)
}

// launchProgram is launchWith for the program at another place.
func launchProgram(t *testing.T, path, home string, env []string, stdin io.Reader,
	args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(path, args...), stderr: &transcript{}, home: home}
	p.Env = append(os.Environ(), asProgram+"=1", "TANDEM_HOME="+home,
		"HF_HUB_CACHE="+filepath.Join(home, "hub"))
	p.Env = append(p.Env, env...)
	p.Stderr, p.Stdin = p.stderr, stdin
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdout = bufio.NewReader(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !p.reaped {
			p.Process.Kill()
			p.exit(t)
		}
	})
	return p
}

// serveProcess starts `tandem serve` on a free port and reads its two lines.
func serveProcess(t *testing.T, home string, args ...string) *process {
	t.Helper()
	return serveProcessWith(t, home, nil, args...)
}

// serveProcessWith is serveProcess with more variables of the environment.
func serveProcessWith(t *testing.T, home string, env []string, args ...string) *process {
	t.Helper()
	p := launchWith(t, home, env, nil, append([]string{"serve", "--addr", "127.0.0.1:0"},
		args...)...)
	p.readLinks(t)
	return p
}

// readLinks reads the two lines that serve prints.
func (p *process) readLinks(t *testing.T) {
	t.Helper()
	for _, line := range []*string{&p.url, &p.link} {
		text, err := p.stdout.ReadString('\n')
		if err != nil {
			code, _ := p.exit(t)
			t.Fatalf("serve ended with %d before it was ready: %v\n%s", code, err, p.stderr)
		}
		*line = strings.TrimSpace(text)
	}
}

// A supervisedProcess lives as long as its standard input.
type supervisedProcess struct {
	*process
	life io.Closer
}

// supervised starts `tandem serve --supervised` on a free port.
func supervised(t *testing.T, home string) *supervisedProcess {
	t.Helper()
	life, other, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := launchWith(t, home, nil, life, "serve", "--supervised", "--addr", "127.0.0.1:0")
	life.Close()
	return &supervisedProcess{p, other}
}

// exit waits for the end of the process. It returns the exit code, -1 for a signal, and the unread
// rest of standard output.
func (p *process) exit(t *testing.T) (code int, rest string) {
	t.Helper()
	b, err := io.ReadAll(p.stdout)
	if err != nil {
		t.Error(err)
	}
	err = p.Wait()
	p.reaped = true
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Error(err)
	}
	return p.ProcessState.ExitCode(), string(b)
}

// stop ends serve with SIGTERM. It fails the test unless serve exits with 0, prints nothing more,
// and logs no error.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code, rest := p.exit(t); code != 0 || rest != "" {
		t.Errorf("serve ended with %d and %q on standard output\n%s", code, rest, p.stderr)
	}
	if text := p.stderr.String(); strings.Contains(text, "level=ERROR") {
		t.Errorf("serve logged errors:\n%s", text)
	}
}

// client returns a client of the control socket of a home. It is closed with the test.
func client(t *testing.T, home string) *control.Client {
	c := control.Dial(home)
	t.Cleanup(c.Close)
	return c
}
