package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// failureTail is how much of a failed command's output is shown, in bytes.
const failureTail = 8 << 10

// command returns a command that runs in the checkout and, when ctx ends, is interrupted with all it started.
func (b *builder) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = b.root
	cmd.Env = b.environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// environ is the environment of every command: the caller's, with the oldest macOS we build for.
func (b *builder) environ() []string {
	return append(os.Environ(), "MACOSX_DEPLOYMENT_TARGET="+macOSTarget, "CGO_ENABLED=1", "PIP_DISABLE_PIP_VERSION_CHECK=1")
}

// step runs a command that nobody needs to watch: one line says what is done and how long it took, the command's
// output is shown only if it fails.
func (b *builder) step(what string, cmd *exec.Cmd) error {
	fmt.Fprintf(b.out, "%s ... ", what)
	start := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		fmt.Fprintln(b.out, "failed")
		if len(out) > failureTail {
			out = out[len(out)-failureTail:]
		}
		return fmt.Errorf("%s: %w\n$ %s\n%s", what, err, strings.Join(cmd.Args, " "), out)
	}
	fmt.Fprintln(b.out, seconds(time.Since(start)))
	return nil
}

// output runs a command and returns its trimmed standard output.
func (b *builder) output(cmd *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}

// watched runs a command whose output a person wants to see as it comes.
func (b *builder) watched(cmd *exec.Cmd) error {
	cmd.Stdout = b.out
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return nil
}

// seconds formats a duration for a progress line.
func seconds(d time.Duration) string {
	return fmt.Sprintf("%.1f s", d.Seconds())
}
