// Command build is the one program that sets up, builds, runs, tests and checks Tandem:
//
//	go run ./build VERB [arguments]
//
// A verb sets up what it needs, says what it does, and does nothing twice.
//
// This folder holds main and the verbs, one file each. The work is done in the folders below:
// setup, program, mac, linux, licences, clients, real, bench, ui, fixtures, typecheck and knots. They
// import the standard library and each other, and run binaries. Mac also imports a reader of property
// lists, and bench Tandem's package app/figures, which prints all benches alike.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"tandem/build/setup"
)

// A verb is one word of the command line.
type verb struct {
	name string
	args string // synopsis of its arguments
	doc  string // one line
	run  func(ctx context.Context, b *setup.Builder, args []string) error
}

// verbs returns the table in the order in which help prints it.
func verbs() []verb {
	return []verb{
		{"run", "[serve flags]", "build and serve the starter model in the foreground", runVerb},
		{"test", "[--race] [--long] [clients|dist|field|mac|real|ui]", "run everything deterministic; --long: with the long matrices; clients: programs that others wrote, against the endpoint; field [KEY...]: what clients, published models and hostile files send; dist: the archive for Linux, in a root without a compiler; real: the starter, against what mlx_lm said; ui: the interface, in a browser and on a display; mac: the app for a Mac, as far as this machine builds it", testVerb},
		{"check", "", "check formatting, golangci-lint, go.mod, imports, knots, types for macOS", checkVerb},
		{"setup", "[--clean]", "install MLX, mlx-c, the Rust crate and the interface", setupVerb},
		{"app", "[--url URL]", "make Tandem.app, its archive and, on a Mac, its disk image", appVerb},
		{"dist", "[--url URL]", "make what people download: an archive with its installer, on a Mac the app", distVerb},
		{"notarize", "[--profile NAME]", "on a Mac, have Apple check the signed app; elsewhere, print how", notarizeVerb},
		{"doctor", "", "say what this machine lacks, and the line that installs it", doctorVerb},
		{"bench", "[--pairs N] [--model DIR] [--drafter DIR] [--against llama.cpp] [NAME]", "measure, against a rival where there is one; without a name, all benches", benchVerb},
		{"lab", "", "build the program that judges research, tandem-lab", labVerb},
		{"fixtures", "[--check] [NAME...]", "record parity data with the reference implementations", fixturesVerb},
		{"pocket", "[arguments]", "train the pocket model", pocketVerb},
		{"starter", "[arguments]", "train the drafter of the starter model", starterVerb},
		{"retrieval", "[arguments]", "train the model of the recall bench, its drafter and its f_theta", retrievalVerb},
	}
}

// errUsage means a mistake on the command line, whose text has been printed.
var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := dispatch(ctx, os.Args[1:], os.Stderr)
	switch {
	case err == nil:
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	default:
		fmt.Fprintf(os.Stderr, "build: %v\n", err)
		os.Exit(1)
	}
}

// dispatch runs the verb that args name. It explains mistakes in args on stderr.
func dispatch(ctx context.Context, args []string, stderr io.Writer) error {
	table := verbs()
	if len(args) == 0 {
		usage(stderr, table)
		return errUsage
	}
	if slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		usage(os.Stdout, table)
		return nil
	}
	i := slices.IndexFunc(table, func(v verb) bool { return v.name == args[0] })
	if i < 0 {
		fmt.Fprintf(stderr, "build: there is no verb %q\n", args[0])
		usage(stderr, table)
		return errUsage
	}
	b, err := setup.New()
	if err != nil {
		return err
	}
	return table[i].run(ctx, b, args[1:])
}

func usage(w io.Writer, table []verb) {
	fmt.Fprintln(w, "usage: go run ./build VERB [arguments]")
	for _, v := range table {
		fmt.Fprintf(w, "  %-40s %s\n", strings.TrimSpace(v.name+" "+v.args), v.doc)
	}
}

// newFlags returns the flag set of a verb. It prints an error once and returns errUsage or
// flag.ErrHelp.
func newFlags(name string) *flag.FlagSet {
	return flag.NewFlagSet("go run ./build "+name, flag.ContinueOnError)
}

// parse applies set to args and refuses operands beyond most.
func parse(set *flag.FlagSet, args []string, most int) error {
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage
	}
	if set.NArg() > most {
		fmt.Fprintf(set.Output(), "%s: unexpected argument %q\n", set.Name(), set.Arg(most))
		return errUsage
	}
	return nil
}
