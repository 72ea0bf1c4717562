package terminal

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// RunChild runs a program in the foreground until it ends, with the standard streams of p. Signals to p go
// to it. Error: its exit code as an [ExitError], or why it was not started.
func (p *Program) RunChild(ctx context.Context, child *exec.Cmd) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if err := ctx.Err(); err != nil { // an interrupt came before
		return err
	}
	child.Stdin, child.Stdout, child.Stderr = p.Stdin, p.Stdout, p.Stderr
	if err := child.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	for {
		select {
		case s := <-signals:
			// A terminal sends its own signals to both. The program decides what they do.
			if (s == os.Interrupt || s == syscall.SIGQUIT) && inForeground() {
				continue
			}
			child.Process.Signal(s)
		case err := <-ended:
			return exitOf(err)
		}
	}
}

// inForeground reports whether the signals that are typed at a terminal reach this process and those that
// it starts, whatever its standard streams are.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// exitOf returns a program's exit code as an error, or 128 and the signal that ended it, as shells do.
func exitOf(err error) error {
	e, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return err
	}
	if status, ok := e.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return &ExitError{Code: 128 + int(status.Signal())}
	}
	return &ExitError{Code: e.ExitCode()}
}
