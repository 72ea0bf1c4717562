package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// A Program runs command lines, apart from the process it runs in.
type Program struct {
	Name    string         // as a person types it
	Version string         // see [Version]
	Root    *cobra.Command // the verbs

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Terminal       bool // Stderr is a terminal: progress is drawn on it
	Typed          bool // Stdin is one too: questions are answered there
}

// An ExitError ends the program with a code of the verb's own.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string { return e.Err.Error() }

func (e *ExitError) Unwrap() error { return e.Err }

// Attach connects a program to the streams and the environment of this process.
func (p *Program) Attach() {
	p.Stdin, p.Stdout, p.Stderr, p.Getenv = os.Stdin, os.Stdout, os.Stderr, os.Getenv
	p.Terminal, p.Typed = isTerminal(os.Stderr), isTerminal(os.Stdin)
}

// isTerminal reports whether a file is a terminal. A terminal has a size.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}

// Exit runs the command line of this process and ends the process with its code. An interrupt or a
// SIGTERM cancels the verb's context.
func (p *Program) Exit() {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		// A second signal ends the program at once. Stop comes before cancel: a signal that follows
		// the effects of the first is then never swallowed.
		signal.Stop(signals)
		cancel()
	}()
	os.Exit(p.Run(ctx, os.Args[1:]))
}

// Run executes one command line and returns the exit code: 0 done, 1 failed, 2 wrong usage, 130
// interrupted, or the Code of an [ExitError].
func (p *Program) Run(ctx context.Context, args []string) int {
	root := p.Root
	root.SetArgs(append([]string{}, args...)) // cobra takes nil for os.Args
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(flagMistake)
	p.addHelp()
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if mistake, ok := errors.AsType[*UsageError](err); ok {
		fmt.Fprintln(p.Stderr, mistake)
		return 2
	}
	if ctx.Err() != nil {
		fmt.Fprintf(p.Stderr, "%s: interrupted\n", p.Name)
		return 130
	}
	fmt.Fprintf(p.Stderr, "%s: %v\n", p.Name, err)
	if e, ok := errors.AsType[*ExitError](err); ok {
		return e.Code
	}
	return 1
}

// Logger returns one that writes warnings and errors to Stderr, and everything with verbose.
func (p *Program) Logger(verbose bool) *slog.Logger {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: level}))
}

// Version returns the release and the commit this program was built from, 0.1.0+1234567890ab, or the
// one of the two that is known. An empty release is unknown.
func Version(release string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return cmp.Or(release, "unknown")
	}
	commit := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			commit = s.Value[:12]
		}
	}
	switch {
	case release == "":
		return commit
	case commit == "" || commit == "(devel)":
		return release
	}
	return release + "+" + commit
}

// Executable returns this program's own path with links resolved, empty if it is unknown.
func Executable() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
