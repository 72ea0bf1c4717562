package bridge

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// A command is a command that is ready to run.
type command struct {
	argv    []string
	program string // the file of argv[0]
	dir     string
	env     []string
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer // if it equals stdout, both are written in the order of the command
	grace   time.Duration
	keep    bool     // do not kill processes that it leaves running, such as git's credential cache
	lock    *runLock // held by it and its processes; may be nil
}

// killGrace is how long a command may take to end after SIGTERM. GitHub's runner gives a cancelled
// job 7.5 s until it kills Tandem.
const killGrace = 5 * time.Second

// run runs a command in a new process group and returns its exit code, 128 more than the signal
// that killed it. When ctx ends, or the command does, the whole group is killed. A process that
// left the group keeps running. err is nil if the command ran, whatever it exited with.
func (c command) run(ctx context.Context) (code int, err error) {
	cmd := exec.CommandContext(ctx, c.program, c.argv[1:]...)
	cmd.Args[0] = c.argv[0]
	cmd.Dir, cmd.Env = c.dir, c.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.stdin, c.stdout, c.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.lock != nil {
		cmd.ExtraFiles = []*os.File{c.lock.lock}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = c.grace
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	if c.lock != nil {
		c.lock.setGroup(cmd.Process.Pid)
	}
	err = cmd.Wait()
	if !c.keep || ctx.Err() != nil {
		// What the command left running would disturb the next.
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	if c.lock != nil {
		c.lock.setGroup(0)
	}
	if cmd.ProcessState == nil {
		return 0, err
	}
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// installed are the folders where installers put programs on a Mac. Services start with a short
// PATH.
var installed = []string{"/opt/homebrew/bin", "/usr/local/bin", "/usr/local/go/bin"}

// findProgram returns the file of a program: on PATH, or in one of the folders.
func findProgram(name string, getenv func(string) string, folders []string) (string, error) {
	for _, dir := range append(filepath.SplitList(getenv("PATH")), folders...) {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() &&
			info.Mode().Perm()&0o111 != 0 {
			return path, nil
		}
	}
	return "", errors.New(name + " is not on PATH")
}
