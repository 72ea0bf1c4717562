package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tandem/app"
	"tandem/app/bench"
)

func runBench(ctx context.Context, m *Main, args []string) error {
	f := m.flags("bench")
	o := bench.Options{Open: app.OpenStage, In: m.Stdin, Out: m.Stdout, Err: m.Stderr,
		Home: m.home()}
	f.StringVar(&o.Model, "model", m.Getenv("TANDEM_BENCH_MODEL"),
		"`DIR` of the model (default: the pocket model)")
	f.BoolVar(&o.JSON, "json", false, "lines of JSON, a header first")
	f.Func("drafter", "`DIR` of a drafter for the model, or pocket/drafter-sliding, for verify and speculation; may be repeated",
		func(dir string) error {
			o.Drafters = append(o.Drafters, dir)
			return nil
		})
	f.Func("context", "`N,N,...` tokens before the blocks that verify times (default 64,512,2048)",
		func(list string) error {
			o.Contexts = nil
			for text := range strings.SplitSeq(list, ",") {
				n, err := strconv.Atoi(text)
				if err != nil || n < 1 {
					return fmt.Errorf("%q is not a number of tokens", text)
				}
				o.Contexts = append(o.Contexts, n)
			}
			return nil
		})
	pairs := f.Uint("pairs", 0,
		"measure at least `N` pairs for a comparison of speculation or checkpoints (default 20)")
	f.BoolVar(&o.Quick, "quick", false,
		"few measurements, to see that it works: of load, endpoint, verify, speculation, lossless or checkpoints")
	f.BoolVar(&o.Full, "full", false, "every combination of speculation")
	f.StringVar(&o.Only, "only", "",
		"only what has this `TEXT`: in speculation, where a table's title begins, such as code, edit or cold start; in endpoint and load, in the name of a row")
	f.BoolVar(&o.Wait, "wait", false, "measure once for each line on standard input")
	f.Usage = func() {
		fmt.Fprintln(m.Stderr, "usage: tandem bench NAME [flags]")
		for _, b := range bench.Benches() {
			fmt.Fprintf(m.Stderr, "  %-11s %s\n", b.Name, b.Doc)
		}
		f.PrintDefaults()
	}
	rest, err := parse(f, args, 1, 1)
	if err != nil {
		return err
	}
	all := bench.Benches()
	i := slices.IndexFunc(all, func(b bench.Bench) bool { return b.Name == rest[0] })
	if i < 0 {
		fmt.Fprintf(m.Stderr, "tandem bench: there is no bench %q\n", rest[0])
		f.Usage()
		return errUsage
	}
	o.Pairs = int(*pairs)
	if err := all[i].Check(o); err != nil {
		fmt.Fprintf(m.Stderr, "tandem bench: %v\n", err)
		return errUsage
	}
	return all[i].Run(ctx, o)
}
