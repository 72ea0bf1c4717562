package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"tandem/build/program"
	"tandem/build/setup"
)

// clientsDir holds what runs the clients: a program per client, pins for each language, and what
// the scripted engine says to them.
const clientsDir = "build/clients"

// clientLimit is how long one client may take. After that it counts as hanging.
const clientLimit = 4 * time.Minute

// A clientTier runs programs that others wrote against a server of ours. Each has a home folder of
// its own, no other environment, no key of any worth, and no address but the server's.
type clientTier struct {
	*setup.Builder
	program string // tandem, with the scripted engine
	model   string // folder of the stand-in
	dir     string // folder of the whole tier, removed at its end

	python     string // Python with what requirements.txt lists
	framed     string // Python with what frameworks.txt lists
	instructor string // Python with what instructor.txt lists
	scorer     string // Python with what scores.txt lists
	direct     string // Python with mlx_lm, the reference of the scores
	aider      string // Python with what aider.txt lists
	modules    string // node_modules of node/package-lock.json
	golang     string // the program of clients/go

	table featureTable
}

// Requirements are clients that come as packages of the operating system.
func Requirements() []setup.Requirement {
	return []setup.Requirement{{What: "curl", Apt: "curl", Present: setup.OnPath("curl")}}
}

// Test runs every client. With record it then writes the table of clients in README.md.
func Test(ctx context.Context, b *setup.Builder, record bool) error {
	start := time.Now()
	if err := b.SetUp(ctx, Requirements()); err != nil {
		return err
	}
	t, err := newClientTier(ctx, b)
	if err != nil {
		return err
	}
	defer os.RemoveAll(t.dir)
	// The clients of the first lane wait for a model that computes. In the second lane most of the
	// time goes into starting programs. Those of the third wait for answers that take their time.
	err = setup.Together(
		func() error { return errors.Join(t.realModel(ctx), t.embeddings(ctx)) },
		func() error { return errors.Join(t.libraries(ctx), t.connect(ctx), t.fuzz(ctx), t.scores(ctx)) },
		func() error { return errors.Join(t.frameworks(ctx), t.apiTests(ctx)) })
	fmt.Fprintf(b.Out, "\n%s\ntest clients: %s\n", t.table.String(),
		setup.Seconds(time.Since(start)))
	if err == nil && record {
		err = t.table.record(b)
	}
	return err
}

// newClientTier installs the clients and builds the program that they talk to. A client that cannot
// be installed is an error.
func newClientTier(ctx context.Context, b *setup.Builder) (t *clientTier, err error) {
	t = &clientTier{Builder: b}
	if err := t.environments(ctx); err != nil {
		return nil, err
	}
	if t.modules, err = clientModules(ctx, b); err != nil {
		return nil, err
	}
	if t.dir, err = os.MkdirTemp("", "tandem-clients-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(t.dir)
		}
	}()
	out := filepath.Join(b.Root, "build", "out", runtime.GOOS+"-"+runtime.GOARCH, "clients")
	t.golang, t.program, t.model = filepath.Join(out, "golang"), filepath.Join(out, "tandem"),
		filepath.Join(t.dir, "stand-in")
	own := b.Command(ctx, "go", "build", "-mod=readonly", "-o", t.golang, ".")
	own.Dir = filepath.Join(b.Root, clientsDir, "go")
	return t, errors.Join(
		b.Step("client in Go: build", own),
		b.Step("scripted engine: vet", b.Command(ctx, "go", "vet", "-tags", "scripted",
			"./app/cmd/tandem")),
		b.Step("tandem with the scripted engine: build",
			b.Command(ctx, "go", "build", "-tags", "ui,scripted", "-o", t.program,
				"./app/cmd/tandem")),
		standIn(b, t.model))
}

// realModel runs the clients that need a model with answers of its own: fill in the middle,
// log-probabilities, drafts.
func (t *clientTier) realModel(ctx context.Context) error {
	return t.against(ctx, []string{"--model", "pocket"}, func(url string) error {
		return errors.Join(
			t.client(ctx, "openai, Python", t.python, clientsDir+"/openai_real.py", url),
			t.client(ctx, "anthropic, Python", t.python, clientsDir+"/anthropic_real.py", url),
			t.client(ctx, "jsonschema", t.python, clientsDir+"/schemas.py", url, "none", "0"),
			t.client(ctx, "jsonschema, drafts", t.python, clientsDir+"/schemas.py", url, "auto",
				"60"))
	})
}

// libraries runs the client libraries against the scripted engine.
func (t *clientTier) libraries(ctx context.Context) error {
	return t.against(ctx, t.scripted("libraries.json"), func(url string) error {
		return errors.Join(
			t.client(ctx, "openai, Python", t.python, clientsDir+"/openai_client.py", url),
			t.client(ctx, "openai, Node", "node", clientsDir+"/node/openai.mjs", url),
			t.client(ctx, "openai, Go", t.golang, url),
			t.client(ctx, "anthropic, Python", t.python, clientsDir+"/anthropic_client.py", url),
			t.client(ctx, "anthropic, Node", "node", clientsDir+"/node/anthropic.mjs", url),
			t.client(ctx, "ollama, Python", t.python, clientsDir+"/ollama_client.py", url))
	})
}

// scripted returns the flags of a server whose answers a file of clientsDir scripts.
func (t *clientTier) scripted(script string, more ...string) []string {
	return append([]string{"--model", t.model, "--engine", "scripted", "--script",
		filepath.Join(t.Root, clientsDir, script)}, more...)
}

// against runs clients against a server of their own and gives them its address.
func (t *clientTier) against(
	ctx context.Context, flags []string, clients func(url string) error,
) error {
	return t.serve(ctx, flags, func(s *program.Server) error { return clients(s.URL) })
}

// serve runs clients against a server of their own. An error in the server's log fails them,
// because no request may cause one. The exception is the error that a script asks for.
func (t *clientTier) serve(
	ctx context.Context, flags []string, clients func(*program.Server) error,
) error {
	var log bytes.Buffer
	s, err := program.StartServerLogging(ctx, t.Builder, &log, t.program, flags...)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, log.String())
	}
	err = errors.Join(clients(s), s.Stop())
	for line := range strings.SplitSeq(log.String(), "\n") {
		if strings.Contains(line, "ERROR") &&
			!strings.Contains(line, "The script has an error here.") {
			err = errors.Join(err, fmt.Errorf("the server says: %s", line))
		}
	}
	return err
}

// client runs a program and returns its failure. Each of its lines "ok FEATURE" names something
// that works.
func (t *clientTier) client(ctx context.Context, name, program string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, clientLimit)
	defer cancel()
	cmd, err := t.isolated(ctx, program, args...)
	if err != nil {
		return err
	}
	start := time.Now()
	out, err := cmd.CombinedOutput()
	var seen, said, notes []string
	checked := 0
	for line := range strings.SplitSeq(string(out), "\n") {
		if feature, ok := strings.CutPrefix(line, "ok "); ok {
			checked++
			if !slices.Contains(seen, feature) {
				seen = append(seen, feature)
			}
			t.table.add(name, feature)
		} else if note, ok := strings.CutPrefix(line, "note "); ok {
			notes = append(notes, note)
		} else {
			said = append(said, line)
		}
	}
	if err == nil && seen == nil {
		err = errors.New("the client checked nothing")
	}
	mark := "ok"
	if err != nil {
		mark = "FAIL"
		err = fmt.Errorf("%s: %w\n$ %s\n%s", name, err, strings.Join(cmd.Args, " "),
			strings.Join(said, "\n"))
	}
	fmt.Fprintf(t.Out, "%-4s  %7.1f s  %s: %d checks: %s\n", mark, time.Since(start).Seconds(),
		name, checked, strings.Join(append(seen, notes...), "; "))
	return err
}

// isolated returns a command that works in a home folder of its own. Paths of the checkout become
// absolute.
func (t *clientTier) isolated(
	ctx context.Context, program string, args ...string,
) (*exec.Cmd, error) {
	home, err := os.MkdirTemp(t.dir, "home-")
	if err != nil {
		return nil, err
	}
	args = slices.Clone(args)
	for i, arg := range args {
		if strings.HasPrefix(arg, clientsDir+"/") {
			args[i] = filepath.Join(t.Root, arg)
		}
	}
	cmd := t.Command(ctx, program, args...)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8",
		"PYTHONDONTWRITEBYTECODE=1"}
	return cmd, nil
}

// A featureTable holds which features worked in which client. Several clients may add to it at
// once.
type featureTable struct {
	mu                sync.Mutex
	clients, features []string // in the order in which they appeared
	works             map[[2]string]bool
}

func (f *featureTable) add(client, feature string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.clients, client) {
		f.clients = append(f.clients, client)
	}
	if !slices.Contains(f.features, feature) {
		f.features = append(f.features, feature)
	}
	if f.works == nil {
		f.works = map[[2]string]bool{}
	}
	f.works[[2]string{client, feature}] = true
}

// String returns the table with a line per feature and a column per client, because there are more
// features.
func (f *featureTable) String() string {
	var s strings.Builder
	s.WriteString("| checked |")
	for _, c := range f.clients {
		s.WriteString(" " + c + " |")
	}
	s.WriteString("\n| --- |" + strings.Repeat(" --- |", len(f.clients)) + "\n")
	for _, feature := range f.features {
		s.WriteString("| " + feature + " |")
		for _, c := range f.clients {
			mark := ""
			if f.works[[2]string{c, feature}] {
				mark = "yes"
			}
			fmt.Fprintf(&s, " %*s |", len(c), mark)
		}
		s.WriteString("\n")
	}
	return s.String()
}
