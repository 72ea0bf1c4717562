package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"tandem/build/clients"
	"tandem/build/linux"
	"tandem/build/mac"
	"tandem/build/real"
	"tandem/build/setup"
	"tandem/build/ui"
)

// testVerb runs the Go tests, which are deterministic, or one of the tiers. A skipped test fails
// the verb, because its requirements have to be installed.
func testVerb(ctx context.Context, b *setup.Builder, args []string) error {
	set := newFlags("test")
	race := set.Bool("race", false, "run the tests of app, storage and the engine without MLX under the race detector")
	long := set.Bool("long", false, "run the long matrices too, for an hour or more; with ui: 2,000 answers of repeated characters")
	each := set.Duration("each", 10*time.Minute, "with fuzz: the time for each target")
	record := set.Bool("record", false, "with clients: write README.md's table of what was tested")
	most := 1
	if len(args) > 0 && args[0] == "field" {
		most = len(args) // keys of inputs follow
	}
	if err := parse(set, args, most); err != nil {
		return err
	}
	quiet, err := b.Cache.Quiet(ctx)
	if err != nil {
		return err
	}
	defer quiet.Close()
	switch set.Arg(0) {
	case "":
	case "clients":
		return clients.Test(ctx, b, *record)
	case "field":
		return clients.Field(ctx, b, set.Args()[1:])
	case "fuzz":
		if err := b.SetUp(ctx); err != nil {
			return err
		}
		return fuzz(ctx, b, *each)
	case "real":
		return real.Test(ctx, b)
	case "ui":
		return ui.Test(ctx, b, *long)
	case "mac":
		return mac.Test(ctx, b)
	case "dist":
		return linux.Test(ctx, b)
	default:
		fmt.Fprintf(set.Output(), "%s: there is no tier %q; there are clients, dist, field, fuzz, mac, real and ui\n",
			set.Name(), set.Arg(0))
		return errUsage
	}
	start := time.Now()
	if err := b.SetUp(ctx); err != nil {
		return err
	}
	err = goTests(ctx, b, *race, *long)
	if err == nil && !*race {
		err = fuzz(ctx, b, ciFuzz)
	}
	fmt.Fprintf(b.Out, "test: %s\n", setup.Seconds(time.Since(start)))
	return err
}

// raced are the packages that are tested under the race detector: those with many goroutines, and
// those of the engine without MLX, whose C++ the detector does not see.
var raced = []string{"./app/...", "./storage/...", "./engine/native", "./engine/texts",
	"./engine/tokenizer"}

// goTests runs go test on every package, or those that are raced, and prints a line for each. After
// them it prints what each family of models took. The build tag long is what makes matrices long.
func goTests(ctx context.Context, b *setup.Builder, race, long bool) error {
	args := []string{"test", "-json", "-timeout", "30m"}
	packages := []string{"./models", "./engine", "./..."} // the longest first, so that none runs alone at the end
	if race {
		args = append(args, "-race", "-timeout", "60m")
		packages = raced
	}
	if long {
		args = append(args, "-tags", "long", "-timeout", "4h")
	}
	cmd := b.Command(ctx, "go", append(args, packages...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	report := newTestReport(b.Out)
	if report.costs.packages, err = familyPackages(b.Root); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := report.read(events)
	report.costs.print(b.Out, !race && !long)
	if err := cmd.Wait(); err != nil && len(report.failed) == 0 {
		return fmt.Errorf("go test: %w", err)
	}
	return errors.Join(readErr, report.err())
}

// A testEvent is one line of go test -json (see go doc test2json).
type testEvent struct {
	Action     string
	Package    string
	ImportPath string // of build-output
	Test       string
	Elapsed    float64 // seconds
	Output     string
}

// A testReport turns events into one line per package. It keeps output per test and prints it for
// failures alone.
type testReport struct {
	out     io.Writer
	output  map[string]*strings.Builder // key: package, or package/test
	failed  []string
	skipped []string
	costs   familyCosts
}

func newTestReport(out io.Writer) *testReport {
	return &testReport{out: out, output: map[string]*strings.Builder{},
		costs: familyCosts{seconds: map[string]float64{}}}
}

// read consumes events until their end.
func (r *testReport) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e testEvent
			if json.Unmarshal(line, &e) == nil {
				r.add(e)
			} else {
				r.out.Write(line)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *testReport) add(e testEvent) {
	key := e.Package
	if e.Test != "" {
		key += " " + e.Test
	}
	switch e.Action {
	case "build-output":
		io.WriteString(r.out, e.Output)
	case "output":
		if r.output[key] == nil {
			r.output[key] = new(strings.Builder)
		}
		r.output[key].WriteString(e.Output)
	case "pass", "fail", "skip":
		r.finish(e, key)
		delete(r.output, key)
	}
}

// finish handles the last event of a test or a package.
func (r *testReport) finish(e testEvent, key string) {
	text := ""
	if r.output[key] != nil {
		text = r.output[key].String()
	}
	if e.Test != "" {
		r.costs.add(text)
	}
	switch {
	case e.Test != "" && e.Action == "skip":
		r.skipped = append(r.skipped, key)
	case e.Action == "fail":
		r.failed = append(r.failed, key)
		io.WriteString(r.out, text)
	case e.Test == "" && e.Action == "skip":
		fmt.Fprintf(r.out, "-     %9s  %s (no tests)\n", "", e.Package)
		return
	}
	if e.Test == "" {
		mark, note := "ok", ""
		if e.Action == "fail" {
			mark = "FAIL"
			r.printUnfinished(e.Package)
		}
		if strings.Contains(text, "(cached)") {
			note = " (cached)"
		}
		fmt.Fprintf(r.out, "%-4s  %7.1f s  %s%s\n", mark, e.Elapsed, e.Package, note)
	}
}

// printUnfinished prints what unfinished tests of a package wrote. A crash or a signal ends the process,
// and tests that run then have no last event.
func (r *testReport) printUnfinished(pkg string) {
	for _, key := range slices.Sorted(maps.Keys(r.output)) {
		if strings.HasPrefix(key, pkg+" ") {
			r.failed = append(r.failed, key+" (did not end)")
			io.WriteString(r.out, r.output[key].String())
			delete(r.output, key)
		}
	}
}

// err returns nil if nothing failed and nothing was skipped.
func (r *testReport) err() error {
	var errs []error
	if len(r.failed) > 0 {
		errs = append(errs, fmt.Errorf("failed:\n  %s", strings.Join(r.failed, "\n  ")))
	}
	if len(r.skipped) > 0 {
		errs = append(errs, fmt.Errorf("skipped, which no test may:\n  %s",
			strings.Join(r.skipped, "\n  ")))
	}
	return errors.Join(errs...)
}
