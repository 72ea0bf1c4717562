package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tandem/app"
	"tandem/app/bench"
	"tandem/app/terminal"
	"tandem/models/starter"
)

func (m *Main) bench(ctx context.Context, args []string) error {
	f := m.Flags("bench")
	o := bench.Options{Open: app.OpenStage, In: m.Stdin, Out: m.Stdout, Err: m.Stderr,
		Home: m.home(), Starter: starter.Beside(terminal.Executable())}
	if !m.Terminal {
		o.Err = &terminal.StepWriter{W: m.Stderr}
	}
	f.StringVar(&o.Model, "model", m.Getenv("TANDEM_BENCH_MODEL"),
		"`DIR` of the model, or retrieval for the built-in one of that name, or for evaluations starter or pocket (default: pocket, for evaluations starter)")
	f.BoolVar(&o.JSON, "json", false, "lines of JSON, a header first")
	f.Func("drafter", "`DIR` of a drafter for the model, or pocket/drafter-sliding: for verify, speculation and journey (several), or for recall, code and scorecard (one)",
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
		"few measurements, to see that it works: of load, endpoint, verify, speculation, journey, lossless, checkpoints or an evaluation but drafter-parity")
	f.BoolVar(&o.Full, "full", false, "every combination of speculation")
	f.StringVar(&o.Only, "only", "",
		"only what has this `TEXT`: in speculation, where a table's title begins, such as code, edit or cold start; in endpoint and load, in the name of a row")
	f.StringVar(&o.Reports, "out", "",
		"write the reports of an evaluation to this `FILE`; `tandem-lab evidence check` reads them")
	f.Func("samples", "`N` prompts of an evaluation (default 5)", positive(&o.Samples))
	f.StringVar(&o.Size, "size", "", "`SIZE` of recall's haystack: ctx70 or ctx280 (default: ctx70 now, ctx280 from saved reports)")
	f.BoolVar(&o.Long, "long", false, "recall measures ctx280 too")
	f.Func("tokens", "`N` tokens of an evaluation's answers, at most", positive(&o.Tokens))
	f.Func("block", "`N` rows of code's blocks (default 4, 8 and 16)", positive(&o.Block))
	f.StringVar(&o.Probe, "probe", "", "`PROBE` of code: fused")
	f.StringVar(&o.Dtype, "dtype", "", "`TYPE` of drafter-parity: float32 or bf16 (default both)")
	f.BoolVar(&o.Wait, "wait", false, "measure once for each line on standard input")
	f.Usage = func() {
		fmt.Fprintln(m.Stderr, "usage: tandem bench NAME [flags]")
		for _, b := range bench.Benches() {
			fmt.Fprintf(m.Stderr, "  %-14s %s\n", b.Name, b.Doc)
		}
		f.PrintDefaults()
	}
	rest, err := m.Parse(f, args, 1, 1)
	if err != nil {
		return err
	}
	all := bench.Benches()
	i := slices.IndexFunc(all, func(b bench.Bench) bool { return b.Name == rest[0] })
	if i < 0 {
		fmt.Fprintf(m.Stderr, "tandem bench: there is no bench %q\n", rest[0])
		f.Usage()
		return terminal.ErrUsage
	}
	o.Pairs = int(*pairs)
	if err := all[i].Check(o); err != nil {
		fmt.Fprintf(m.Stderr, "tandem bench: %v\n", err)
		return terminal.ErrUsage
	}
	return all[i].Run(ctx, o)
}

// positive returns a flag's function that stores a number above 0.
func positive(to *int) func(string) error {
	return func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is no number above 0", text)
		}
		*to = n
		return nil
	}
}
