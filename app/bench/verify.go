package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tandem/app/figures"
	"tandem/app/home"
	"tandem/engine"
	"tandem/engine/mlx"
	"tandem/models"
)

// verifyRows are the rows of the largest block that is timed.
const verifyRows = 16

// A verification times a verify round of 1 to verifyRows rows after a context, whole and in parts.
//
// The whole is the model's forward with its head and the verdict. It is evaluated and read as the
// engine does it, but not pipelined. The parts are sub-graphs of the same shapes on the model's own
// layers and caches, each evaluated by itself:
//
//   - the linear layers;
//   - attention without its projections;
//   - the head;
//   - the verdict.
//
// The rest is the whole less the parts: norms, activations, residuals, embedding and graph
// building. Each part waits once for its result, and the rest loses that time. So it can fall below
// zero where the other operations are cheap.
type verification struct {
	options verifyOptions
	env     Env
	thread  *mlx.Thread
	bundle  *models.Bundle // of the type that is measured
	fewRows bool           // the bundle has the kernel for few rows
}

type verifyOptions struct {
	DraftOptions
	contexts []int // in tokens
	quick    bool
}

// Flags implements Options.
func (o *verifyOptions) Flags(f *pflag.FlagSet) {
	o.DraftOptions.Flags(f)
	QuickFlag(f, &o.quick)
	f.Func("context", "`N,N,...` tokens before the blocks that are timed (default 64,512,2048)",
		func(list string) error {
			o.contexts = nil
			for text := range strings.SplitSeq(list, ",") {
				n, err := strconv.Atoi(text)
				if err != nil || n < 1 {
					return fmt.Errorf("%q is not a number of tokens", text)
				}
				o.contexts = append(o.contexts, n)
			}
			return nil
		})
}

// Open implements Options.
func (o *verifyOptions) Open(ctx context.Context, e Env) (Opened, error) {
	t, b, err := OpenModel(ctx, o.Model, models.Options{Dtype: models.DtypeFloat32})
	if err != nil {
		return nil, err
	}
	return &verification{options: *o, env: e, thread: t, bundle: b}, nil
}

func (v *verification) Header() figures.Header {
	return NewHeader("each by itself")
}

func (v *verification) Close() error {
	var err error
	if v.bundle != nil {
		err = v.bundle.Close()
	}
	return errors.Join(err, v.thread.Close())
}

// Report measures the model up to three times:
//   - in float32
//   - in the dtype checkpoint, if that changes the type
//   - with the kernel for few rows, if the model is quantized and on a GPU
func (v *verification) Report(ctx context.Context, table func(figures.Table) error) error {
	measured := v.bundle.Info
	if err := v.contexts(ctx, models.DtypeFloat32, table); err != nil {
		return err
	}
	if err := v.reload(ctx, models.Options{Dtype: models.DtypeCheckpoint}); err != nil {
		return err
	}
	if i := v.bundle.Info; i.Dtype != measured.Dtype {
		if err := v.contexts(ctx, models.DtypeCheckpoint, table); err != nil {
			return err
		}
	}
	if v.bundle.Info.Quantization == "" || !v.thread.GPU() {
		return nil
	}
	v.fewRows = true
	if err := v.reload(ctx, models.Options{Dtype: models.DtypeCheckpoint, FewRows: true}); err != nil {
		return err
	}
	return v.contexts(ctx, models.DtypeCheckpoint, table)
}

// reload loads the model again, with other options.
func (v *verification) reload(ctx context.Context, o models.Options) (err error) {
	old := v.bundle
	v.bundle = nil
	if err := old.Close(); err != nil {
		return err
	}
	v.bundle, err = LoadModel(ctx, v.thread, v.options.Model, o)
	return err
}

// contexts measures the loaded model after every context.
func (v *verification) contexts(ctx context.Context, dtype models.DtypePolicy,
	table func(figures.Table) error) error {
	drafters, err := LoadDrafters(ctx, v.bundle, v.options.Model, v.options.Drafters,
		models.Options{Dtype: dtype})
	if err != nil {
		return err
	}
	defer drafters.Close()
	lengths := v.options.contexts
	if lengths == nil {
		lengths = []int{64, 512, 2048}
	}
	for _, n := range lengths {
		costs, err := v.measure(ctx, drafters, n)
		if err != nil {
			return err
		}
		before, err := keepCosts(v.env.Home, costs)
		if err != nil {
			return err
		}
		if err := table(costs.table(before)); err != nil {
			return err
		}
	}
	return nil
}

// measure times rounds of 1 to verifyRows rows after a context of length tokens. All numbers of
// rows take turns, and each figure is the median of the turns.
func (v *verification) measure(
	ctx context.Context, drafters *Drafters, length int,
) (*blockCosts, error) {
	turns, steps := 11, 48
	if v.options.quick {
		turns, steps = 3, 16
	}
	costs := v.newCosts(length)
	e := engine.New(v.thread, v.bundle.Model, v.bundle.Tokenizer, engine.Options{})
	defer e.Close()
	d, err := newRoundTimer(ctx, v.thread, v.bundle, drafters.List, length, 0)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	t := &verifyTimes{timer: d, drafters: drafters.List, rows: map[string]map[int][]float64{}}
	for turn := range turns + 1 {
		if turn == 1 {
			t.clear() // the first turn compiled kernels and allocated memory
		}
		fmt.Fprintf(v.env.Err, "\r%s, context %d, turn %d of %d ", costs.DType, length, turn,
			turns)
		if turn%4 < 2 {
			if err := t.timePlain(ctx, e, steps); err != nil {
				return nil, err
			}
		}
		for n := 1; n <= verifyRows; n++ {
			if err := t.timeRows(ctx, n); err != nil {
				return nil, err
			}
		}
	}
	fmt.Fprintln(v.env.Err)
	costs.Step = figures.Median(t.plain)
	for n := 1; n <= verifyRows; n++ {
		costs.Rows = append(costs.Rows, t.cost(n))
	}
	return costs, nil
}

// newCosts returns costs without figures. They name the machine, the model and the libraries.
func (v *verification) newCosts(length int) *blockCosts {
	h := NewHeader("")
	costs := &blockCosts{
		Machine: home.Machine(), Model: ModelName(v.options.Model), Context: length,
		DType: v.bundle.Info.Dtype.String(), BLAS: h.BLAS, MLX: h.Versions["mlx"],
		Threads: h.Threads,
		Date:    time.Now().UTC().Truncate(time.Second),
	}
	if q := v.bundle.Info.Quantization; q != "" {
		costs.DType += ", " + q
	}
	if v.fewRows {
		costs.DType += ", kernel for few rows"
	}
	return costs
}
