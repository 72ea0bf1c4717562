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
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"
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
	Shown          bool // Stdout is one too: answers are shown there

	interrupt atomic.Pointer[context.CancelFunc] // see Interruptible
	editor    *Editor                            // the last that NewEditor returned, or nil
	typing    atomic.Pointer[term.Terminal]      // the editor's, which shows the line that is typed
}

// An ExitError ends the program with a code of the verb's own.
type ExitError struct {
	Code int
	Err  error // nil if there is nothing to say
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// An advised error knows what else to do in a terminal, as a sentence. Its text leaves that out.
type advised interface {
	error
	ToDo() string
}

// Attach connects a program to the streams and the environment of this process.
func (p *Program) Attach() {
	p.Stdin, p.Stdout, p.Stderr, p.Getenv = os.Stdin, os.Stdout, os.Stderr, os.Getenv
	p.Terminal, p.Typed, p.Shown = isTerminal(os.Stderr), isTerminal(os.Stdin), isTerminal(os.Stdout)
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Exit runs the command line of this process and ends the process with its code. An interrupt or a
// SIGTERM cancels the verb's context.
func (p *Program) Exit() {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for s := range signals {
			if stop := p.interrupt.Load(); stop != nil && s == os.Interrupt {
				(*stop)()
				continue
			}
			// A second signal ends the program at once. Stop comes before cancel: a signal that follows
			// the effects of the first is then never swallowed.
			signal.Stop(signals)
			cancel()
			return
		}
	}()
	os.Exit(p.Run(ctx, os.Args[1:]))
}

// Interruptible returns a context that an interrupt ends in place of the program, until stop is called.
func (p *Program) Interruptible(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	before := p.interrupt.Swap(&cancel)
	return ctx, func() {
		p.interrupt.Store(before)
		cancel()
	}
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
		p.tell(Text(mistake.Error()))
		return 2
	}
	exit, _ := errors.AsType[*ExitError](err)
	if exit != nil && exit.Err == nil {
		return exit.Code
	}
	if ctx.Err() != nil {
		p.Say("interrupted")
		return 130
	}
	text := err.Error()
	if e, ok := errors.AsType[advised](err); ok && e.ToDo() != "" {
		text += " " + e.ToDo()
	}
	p.tell(p.styled(string(Wrong), p.Name+":") + " " + Text(text))
	if exit != nil {
		return exit.Code
	}
	return 1
}

// Output returns standard output, for the answer of a model. On a terminal no text written to it moves the cursor.
func (p *Program) Output() io.Writer {
	if p.Shown {
		return TextWriter(p.Stdout)
	}
	return p.Stdout
}

// Print prints lines of [Text] on standard output, into a pipe too: what reads it may show it on a terminal.
func (p *Program) Print(format string, args ...any) error {
	_, err := io.WriteString(p.Stdout, Text(strings.TrimSuffix(fmt.Sprintf(format, args...), "\n"))+"\n")
	return err
}

// PrintJSON is [WriteJSON] to standard output.
func (p *Program) PrintJSON(v any) error { return WriteJSON(p.Stdout, v) }

// Say prints a sentence on standard error, after the program's name. No name in it moves the cursor.
func (p *Program) Say(format string, args ...any) {
	p.tell(p.Name + ": " + Text(fmt.Sprintf(format, args...)))
}

// Remark is Say for what matters less: without the program's name, and in faint letters on a terminal.
func (p *Program) Remark(format string, args ...any) {
	p.tell(p.styled(dim, Text(fmt.Sprintf(format, args...))))
}

// Logger returns one that writes warnings and errors to Stderr, and everything with verbose. They appear
// above a line that is being typed.
func (p *Program) Logger(verbose bool) *slog.Logger {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(besideEditor{p}, &slog.HandlerOptions{Level: level}))
}

// besideEditor writes [Text] to Stderr of a program. An editor writes the line again that is being typed.
type besideEditor struct{ *Program }

func (w besideEditor) Write(text []byte) (int, error) {
	to := w.Stderr
	if t := w.typing.Load(); t != nil && w.Terminal {
		to = t
	}
	_, err := io.WriteString(to, Text(string(text)))
	return len(text), err
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
