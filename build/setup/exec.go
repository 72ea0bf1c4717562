package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// failureTail is how much of a failed command's output is shown, in bytes.
const failureTail = 8 << 10

// Command returns a command that runs in the checkout. When ctx ends, it and all that it started
// are interrupted.
func (b *Builder) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = b.Root
	cmd.Env = b.Environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// Environ returns the environment of every command: the caller's, with the oldest macOS that we
// build for.
func (b *Builder) Environ() []string {
	return append(os.Environ(), "MACOSX_DEPLOYMENT_TARGET="+MacOSTarget, "CGO_ENABLED=1",
		"PIP_DISABLE_PIP_VERSION_CHECK=1")
}

// Step runs a command whose output matters only if it fails. It prints one line: what is done and
// how long it took.
func (b *Builder) Step(what string, cmd *exec.Cmd) error {
	fmt.Fprintf(b.Out, "%s ... ", what)
	start := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		fmt.Fprintln(b.Out, "failed")
		if len(out) > failureTail {
			out = out[len(out)-failureTail:]
		}
		return fmt.Errorf("%s: %w\n$ %s\n%s", what, err, strings.Join(cmd.Args, " "), out)
	}
	fmt.Fprintln(b.Out, Seconds(time.Since(start)))
	return nil
}

// Together runs functions at once and returns their errors as one.
func Together(all ...func() error) error {
	errs := make([]error, len(all))
	var running sync.WaitGroup
	for i, run := range all {
		running.Go(func() { errs[i] = run() })
	}
	running.Wait()
	return errors.Join(errs...)
}

// Output runs a command and returns its trimmed standard output.
func (b *Builder) Output(cmd *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}

// Watched runs a command whose output a person sees as it comes.
func (b *Builder) Watched(cmd *exec.Cmd) error {
	cmd.Stdout = b.Out
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return nil
}

// Seconds formats a duration for a progress line.
func Seconds(d time.Duration) string {
	return fmt.Sprintf("%.1f s", d.Seconds())
}
