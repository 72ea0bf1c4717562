package real

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"tandem/build/program"
	"tandem/build/setup"
)

// realDir holds the checks and what they compare with.
const realDir = "build/real"

// checkLimit is how long one check may take. After that it counts as hanging.
const checkLimit = 5 * time.Minute

// A tier runs checks against the starter.
type tier struct {
	*setup.Builder
	program string // tandem
	drafter string // folder of the draft model, which has the starter's tokenizer too

	python string // Python with what the clients' requirements.txt lists
	scorer string // Python with lm-eval
}

// Test runs every check. A starter that is not there is an error, because this tier is about it.
func Test(ctx context.Context, b *setup.Builder) error {
	start := time.Now()
	if err := b.SetUp(ctx); err != nil {
		return err
	}
	t, err := newTier(ctx, b)
	if err != nil {
		return err
	}
	err = errors.Join(
		t.Step("starter: test what its card says",
			t.Command(ctx, "go", "test", "-tags", "real", "./models", "-run", "TestStarter")),
		t.served(ctx), t.quantized(ctx), t.paired(ctx),
		t.check(ctx, t.python, "kill.py", t.program, "0"),
		t.check(ctx, t.python, "kill.py", t.program, "8"))
	fmt.Fprintf(b.Out, "test real: %s\n", setup.Seconds(time.Since(start)))
	return err
}

func newTier(ctx context.Context, b *setup.Builder) (t *tier, err error) {
	t = &tier{Builder: b}
	for _, e := range []struct {
		python     *string
		name, file string
	}{{&t.python, "clients", "requirements.txt"}, {&t.scorer, "clients-scores", "scores.txt"}} {
		if *e.python, err = b.Venv(ctx, setup.Venv{Name: e.name,
			Requirements: "build/clients/" + e.file}); err != nil {
			return nil, err
		}
	}
	if t.drafter, err = b.StarterFolder(ctx, setup.StarterDraftBits); err != nil {
		return nil, err
	}
	t.program, err = program.BuildTandem(ctx, b)
	return t, err
}

// served runs the checks that share one server.
func (t *tier) served(ctx context.Context) error {
	return t.serve(ctx, []string{"--drafter", t.drafter}, func(url string) error {
		return errors.Join(
			t.check(ctx, t.python, "chats.py", url),
			t.check(ctx, t.python, "drafts.py", url, "model"),
			t.check(ctx, t.python, "forms.py", url),
			t.check(ctx, t.scorer, "scores.py", url, t.drafter))
	})
}

// quantized runs the check of drafts with keys and values of 4 bits.
func (t *tier) quantized(ctx context.Context) error {
	return t.serve(ctx, []string{"--drafter", t.drafter, "--kv-bits", "4"},
		func(url string) error { return t.check(ctx, t.python, "drafts.py", url, "model") })
}

// paired runs the check of drafts with the drafter that the starter has by itself.
func (t *tier) paired(ctx context.Context) error {
	return t.serve(ctx, nil,
		func(url string) error { return t.check(ctx, t.python, "drafts.py", url, "dflash") })
}

// serve calls run with the address of a server that has flags. What the server logs as an error is one
// here.
func (t *tier) serve(ctx context.Context, flags []string, run func(url string) error) error {
	var log bytes.Buffer
	s, err := program.StartServerLogging(ctx, t.Builder, &log, t.program,
		append([]string{"--model", "starter"}, flags...)...)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, log.String())
	}
	err = errors.Join(run(s.URL), s.Stop())
	for line := range strings.SplitSeq(log.String(), "\n") {
		if strings.Contains(line, "ERROR") {
			err = errors.Join(err, fmt.Errorf("the server says: %s", line))
		}
	}
	return err
}

// check runs a program of this folder. Each of its lines "ok WHAT" names something that holds.
func (t *tier) check(ctx context.Context, python, script string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	path := filepath.Join(t.Root, realDir, script)
	cmd := t.Command(ctx, python, append([]string{path}, args...)...)
	cmd.Env = append(cmd.Env, "PYTHONDONTWRITEBYTECODE=1", "HF_HUB_OFFLINE=1",
		"PYTHONPATH="+filepath.Join(t.Root, "build", "clients"))
	start := time.Now()
	out, err := cmd.CombinedOutput()
	var held, said []string
	for line := range strings.SplitSeq(string(out), "\n") {
		if what, ok := strings.CutPrefix(line, "ok "); ok {
			held = append(held, what)
		} else {
			said = append(said, line)
		}
	}
	if err == nil && held == nil {
		err = errors.New("nothing was checked")
	}
	mark := "ok"
	if err != nil {
		mark = "FAIL"
		err = fmt.Errorf("%s: %w\n%s", script, err, strings.Join(said, "\n"))
	}
	fmt.Fprintf(t.Out, "%-4s  %7.1f s  %s: %s\n", mark, time.Since(start).Seconds(), script,
		strings.Join(held, "; "))
	return err
}
