package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"tandem/app/bench"
	"tandem/app/evidence"
	"tandem/app/figures"
	"tandem/engine/mlx"
	"tandem/models/dflash"
)

// recordedDrafts is the folder of a checkout with the drafts of a DFlash reference.
var recordedDrafts = filepath.Join("models", "dflash", "testdata", "parity")

// parityOff bounds how far a logit may be off in float32, by the largest one.
const parityOff = 1e-4

// parityBench compares our forward of DFlash drafters with recorded drafts of a reference.
type parityBench struct {
	thread *mlx.Thread
	folder string
	dtypes []mlx.Dtype
	now    func() time.Time
}

type parityOptions struct {
	dtype   string // float32 or bf16; empty = both
	reports string // file, or ""
}

// Flags implements Options.
func (o *parityOptions) Flags(f *pflag.FlagSet) {
	f.StringVar(&o.dtype, "dtype", "", "`TYPE` to compute in: float32 or bf16 (default both)")
	reportsFlag(f, &o.reports)
}

// Open implements Options.
func (o *parityOptions) Open(context.Context, bench.Env) (bench.Opened, error) {
	p, err := openParity(*o)
	return gated{p, o.reports}, err
}

func openParity(o parityOptions) (*parityBench, error) {
	dtypes, ok := map[string][]mlx.Dtype{"": {mlx.Float32, mlx.BFloat16},
		"float32": {mlx.Float32}, "bf16": {mlx.BFloat16}}[o.dtype]
	if !ok {
		return nil, fmt.Errorf("there is no type %q; there are float32 and bf16", o.dtype)
	}
	folder, err := inCheckout(recordedDrafts)
	if err != nil {
		return nil, err
	}
	t, err := mlx.NewThread(mlx.Options{})
	if err != nil {
		return nil, err
	}
	return &parityBench{thread: t, folder: folder, dtypes: dtypes, now: time.Now}, nil
}

// inCheckout returns a folder of the checkout around the working folder, which must be there.
func inCheckout(name string) (string, error) {
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.IsDir() {
			return filepath.Join(dir, name), nil
		}
	}
	return "", fmt.Errorf("%s is not here: run it inside a checkout, which has it", name)
}

func (p *parityBench) Header() figures.Header { return bench.NewHeader("") }

func (p *parityBench) Close() error { return p.thread.Close() }

// evaluate drafts all recorded cases in each type. In float32 every draft must be the reference's.
func (p *parityBench) evaluate(ctx context.Context, table func(figures.Table) error,
	report reporting) error {
	for _, dtype := range p.dtypes {
		cases, err := dflash.DraftRecorded(ctx, p.thread, os.DirFS(p.folder), dtype)
		if err != nil {
			return err
		}
		t, all := parityTable(dtype, cases)
		if err := table(t); err != nil {
			return err
		}
		passed := dtype != mlx.Float32 || all.Equal == all.Rows && all.Off <= parityOff*all.Largest
		run := evidence.Run{Kind: evidence.KindParity, At: p.now(),
			Config: map[string]any{"dtype": dtype.String(), "reference": "recorded by build/fixtures"},
			Details: map[string]any{"passed": passed, "blocks": all.Blocks, "drafts": all.Rows,
				"equal": all.Equal, "agreement": float64(all.Equal) / float64(all.Rows),
				"logit_off": all.Off, "largest_logit": all.Largest}}
		if err := report("drafter-parity, "+dtype.String(), run); err != nil {
			return err
		}
		if !passed {
			return fmt.Errorf("in %s %d of %d guesses are the reference's, logits are off by up to %.2g",
				dtype, all.Equal, all.Rows, all.Off)
		}
	}
	return nil
}

// parityTable shows the cases, and returns their sum.
func parityTable(dtype mlx.Dtype, cases []dflash.Parity) (t figures.Table, all dflash.Parity) {
	t = figures.Table{Title: fmt.Sprintf("drafter-parity: guesses in %s against a reference in float32",
		dtype), Columns: []string{"case", "blocks", "guesses equal", "logits off by", "largest logit"},
		Notes: []string{"float32 must agree in every guess; bfloat16 is reported"}}
	row := func(c dflash.Parity) []any {
		return []any{c.Case, c.Blocks, fmt.Sprintf("%d/%d", c.Equal, c.Rows),
			fmt.Sprintf("%.1e", c.Off), c.Largest}
	}
	all.Case = "all"
	for _, c := range cases {
		t.Rows = append(t.Rows, row(c))
		all.Add(c)
	}
	t.Rows = append(t.Rows, row(all))
	return t, all
}
