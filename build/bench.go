package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tandem/app/figures"
	"tandem/build/bench"
	"tandem/build/program"
	"tandem/build/setup"
	"tandem/build/ui"
)

// benchVerb runs one bench, or all of them, and keeps their numbers.
func benchVerb(ctx context.Context, b *setup.Builder, args []string) error {
	set := newFlags("bench")
	pairs := set.Uint("pairs", 0,
		fmt.Sprintf("pairs of measurements, for plain, contexts, speculation and checkpoints; fewer than the default try a bench out (default %d)",
			figures.MinPairs))
	model := set.String("model", "",
		"folder or GGUF file of the model, starter, retrieval, or one of "+
			strings.Join(bench.RandomModels, ", ")+" for a random one, or "+
			strings.Join(bench.GGUFModels, " or ")+" --against llama.cpp (default: the pocket model)")
	var passed []string // flags for a bench without a rival
	set.Func("drafter", "folder of a drafter: for verify, speculation and journey (several), or for recall, code and scorecard (one)",
		func(dir string) error {
			passed = append(passed, "--drafter", dir)
			return nil
		})
	against := ""
	set.Func("against", "for plain, the rival `llama.cpp` instead of mlx_lm: on a GGUF file, after 300, 1,500 and 6,000 tokens",
		func(rival string) error {
			if against = rival; rival != bench.LlamaCpp {
				return fmt.Errorf("there is no rival %q; give %s", rival, bench.LlamaCpp)
			}
			return nil
		})
	quick := set.Bool("quick", false,
		"few measurements of load, endpoint, verify, speculation, journey, checkpoints and evaluations but drafter-parity")
	full := set.Bool("full", false, "every combination of speculation")
	only := set.String("only", "",
		"for speculation, `text` in the beginning of a table's title, such as code, edit or cold start; for endpoint and load, in the name of a row")
	set.Usage = func() {
		fmt.Fprintf(set.Output(),
			"usage: %s [flags] [NAME]\nWithout a name it runs all of these, and with --model alone each of them on that model:\n", set.Name())
		for _, r := range bench.Suite {
			fmt.Fprintf(set.Output(), "  %s\n", r)
		}
		fmt.Fprintf(set.Output(), "and by its name alone, where windows can be shown:\n  %s\n",
			ui.DesktopBench)
		set.PrintDefaults()
	}
	if err := parse(set, args, 1); err != nil {
		return err
	}
	if *quick {
		passed = append(passed, "--quick")
	}
	if *full {
		passed = append(passed, "--full")
	}
	if *only != "" {
		passed = append(passed, "--only", *only)
	}
	if against != "" && set.NArg() == 1 && set.Arg(0) != "plain" {
		fmt.Fprintf(set.Output(), "%s: only plain is measured --against %s\n", set.Name(), against)
		return errUsage
	}
	quiet, err := b.Cache.Quiet(ctx)
	if err != nil {
		return err
	}
	defer quiet.Close()
	runs := bench.Suite
	switch {
	case set.NArg() == 1:
		runs = []bench.Run{{Name: set.Arg(0), Model: *model}}
	case *model != "" && set.NFlag() == 1:
		runs = bench.SuiteOn(*model)
	case set.NFlag() > 0: // no other flag works for all benches
		fmt.Fprintf(set.Output(), "%s: after flags comes the name of a bench\n", set.Name())
		set.Usage()
		return errUsage
	}
	if set.Arg(0) == ui.DesktopBench {
		return ui.BenchDesktop(ctx, b)
	}
	if err := b.SetUp(ctx); err != nil {
		return err
	}
	of, err := program.BuildMeasured(ctx, b,
		slices.ContainsFunc(runs, bench.Run.StartsTandem), slices.ContainsFunc(runs, bench.Run.StartsLab))
	if err != nil {
		return err
	}
	return bench.RunAll(ctx, b, of, runs, against, int(*pairs), passed)
}
