// Command build is the one program that sets up, builds, runs, tests and checks Tandem:
//
//	go run ./build VERB [arguments]
//
// It sets up what a verb needs, says what it does, and does nothing twice: everything downloaded or compiled
// outside Go's own cache lies in os.UserCacheDir()/tandem-dev, in folders keyed by a hash of the pins and inputs
// they were made from, shared by all checkouts and safe against concurrent and half-finished runs. The checkout
// holds links to the folders of its pins (engine/mlx/.deps, engine/native/.deps), so that after setup plain go
// build and go test work in any editor.
//
// Files here are named for what they hold: pins.go every pinned version, system.go the packages of the operating
// system, cache.go the cache, mlx.go, native.go and venv.go what setup makes, and one file per verb. It imports
// the standard library only and runs binaries.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A verb is one word of the command line.
type verb struct {
	name string
	args string // synopsis of its arguments
	doc  string // one line
	run  func(ctx context.Context, b *builder, args []string) error
}

// verbs returns the table in the order that help prints it.
func verbs() []verb {
	return []verb{
		{"run", "[serve flags]", "build and serve the pocket model in the foreground", runVerb},
		{"test", "[--race] [clients|ui|mac]", "everything deterministic; clients: programs that others wrote, against the endpoint; ui: the interface, in a browser and on a display; mac: the app for a Mac, as far as this machine can build it", testVerb},
		{"check", "", "formatting, vet, staticcheck, arrows, types for macOS", checkVerb},
		{"setup", "[--clean]", "install MLX, mlx-c and the Rust crate", setupVerb},
		{"app", "[--url URL]", "Tandem.app, its archive and, on a Mac, its disk image", appVerb},
		{"doctor", "", "what this machine lacks and the line that installs it", doctorVerb},
		{"bench", "[--pairs N] [--model DIR] [--drafter DIR] [NAME]", "measure, against a rival where there is one; all benches without a name", benchVerb},
		{"fixtures", "[--check] [NAME...]", "record parity data with the reference implementations", fixturesVerb},
		{"pocket", "[arguments]", "train the pocket model", pocketVerb},
	}
}

// A builder carries what every verb needs to know.
type builder struct {
	root  string    // the checkout: the folder of go.mod
	cache cache     // everything made outside the checkout
	out   io.Writer // progress and results for a person
}

// errUsage marks a mistake on the command line; its text has been printed.
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

// dispatch runs the verb that args name; mistakes in args are explained on stderr.
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
	b, err := newBuilder()
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

// newBuilder finds the checkout around the working folder and the cache of this user.
func newBuilder() (*builder, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	root, err := findRoot(dir)
	if err != nil {
		return nil, err
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("no cache folder (set HOME or XDG_CACHE_HOME): %w", err)
	}
	b := &builder{root: root, cache: cache{dir: filepath.Join(user, "tandem-dev")}, out: os.Stdout}
	b.cache.waiting = func(lock string) { fmt.Fprintf(b.out, "another run holds %s; waiting for it\n", lock) }
	return b, nil
}

// findRoot walks up from dir to the folder whose go.mod names this module.
func findRoot(dir string) (string, error) {
	for d := dir; ; d = filepath.Dir(d) {
		mod, err := os.ReadFile(filepath.Join(d, "go.mod"))
		if err == nil && strings.HasPrefix(string(mod), "module tandem\n") {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("%s is not inside a checkout of tandem", dir)
		}
	}
}

// newFlags returns the flag set of a verb: errors are printed once and come back as errUsage or flag.ErrHelp.
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
