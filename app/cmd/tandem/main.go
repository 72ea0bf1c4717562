// Command tandem runs language models on this machine and serves them to editors and agents. It is
// the one executable that links MLX.
//
// Standard output carries results alone; everything else goes to standard error. A verb that works
// on the home folder talks to the process that serves it. Where none does, the verb takes the
// folder's lock and works by itself.
//
// Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted. A server that is told to stop
// drains and exits with 0. Verbs of bridge have a few more.
//
// golang.org/x/sys tells whether standard error is a terminal. Progress is drawn on terminals only;
// elsewhere a bench writes a line a step.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// verbs returns the table in the order help prints it. build holds README.md to it.
func verbs() []verb {
	return []verb{
		{"serve", "", "serve the endpoint in the foreground", serve, nil},
		{"run", "PROMPT", "answer a prompt, or continue it; - reads it from standard input", run, nil},
		{"models", "VERB", "the registry of models", modelsVerb, modelVerbs()},
		{"pull", "ORG/NAME[:TAG][@REVISION]", "download a model from the hub; TAG takes that quantization of GGUF files", pull, nil},
		{"runs", "[VERB]", "the history of requests", runsVerb, runVerbs()},
		{"checkpoints", "[VERB]", "the states of texts that are kept on disk; ID may be a name", checkpointsVerb, checkpointVerbs()},
		{"forget", "", "delete the history of a model, a client or a day, and the states that its requests left; it says what goes, and asks", forget, nil},
		{"bench", "NAME", "measure this machine", runBench, nil},
		{"evidence", "VERB", "what reports of evaluations may claim", evidenceVerb, evidenceVerbs()},
		{"settings", "[VERB]", "what can be set, and what decides each", settingsVerb, settingVerbs()},
		{"keys", "[VERB]", "the keys that let programs in from other machines", keysVerb, keyVerbs()},
		{"bridge", "VERB", "let a Mac measure for a machine that is none, by a git branch", bridgeVerb, bridgeVerbs()},
		{"open", "", "open the page of the running endpoint", open, nil},
		{"doctor", "", "what works here and what does not", doctor, nil},
	}
}

// Main is the program, apart from the process it runs in.
type Main struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Terminal       bool // Stderr is a terminal: progress is drawn on it
	Typed          bool // Stdin is one too: questions are answered there
}

// errUsage stands for a mistake on the command line that has been printed already.
var errUsage = errors.New("usage")

// An exitError ends the program with a code of the verb's own.
type exitError struct {
	code int
	error
}

func (e *exitError) Unwrap() error { return e.error }

func main() {
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
	m := &Main{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		Terminal: isTerminal(os.Stderr), Typed: isTerminal(os.Stdin),
	}
	os.Exit(m.Run(ctx, os.Args[1:]))
}

// Run executes one command line and returns the exit code.
func (m *Main) Run(ctx context.Context, args []string) int {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		m.help()
		if len(args) == 0 {
			return 2
		}
		return 0
	}
	if args[0] == "version" || args[0] == "-version" || args[0] == "--version" {
		fmt.Fprintln(m.Stdout, "tandem", version())
		return 0
	}
	for _, v := range verbs() {
		if v.name != args[0] {
			continue
		}
		err := v.run(ctx, m, args[1:])
		switch {
		case err == nil, errors.Is(err, flag.ErrHelp):
			return 0
		case errors.Is(err, errUsage):
			return 2
		case ctx.Err() != nil:
			fmt.Fprintln(m.Stderr, "tandem: interrupted")
			return 130
		}
		fmt.Fprintf(m.Stderr, "tandem: %v\n", err)
		if e, ok := errors.AsType[*exitError](err); ok {
			return e.code
		}
		return 1
	}
	fmt.Fprintf(m.Stderr, "tandem: there is no verb %q\n", args[0])
	m.help()
	return 2
}

// logger writes warnings and errors to Stderr, and everything with verbose.
func (m *Main) logger(verbose bool) *slog.Logger {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(m.Stderr, &slog.HandlerOptions{Level: level}))
}

// release is the version in wails.json. The linker writes it here; a build by hand has none.
var release string

// version returns the release and the commit it was built from, 0.1.0+1234567890ab, or the one of
// the two that is known.
func version() string {
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
