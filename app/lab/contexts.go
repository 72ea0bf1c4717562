package lab

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"tandem/app/bench"
	"tandem/app/figures"
)

// benchContexts are the contexts of the contexts bench, in tokens. benchAfter tokens are decoded
// after each. The rival does the same.
var benchContexts = []int{512, 4096, 7600}

const benchAfter = 33

// contexts measures decode and prefill of one model at several lengths.
type contexts struct{ *bench.Plain }

// plainOptions name the model of a bench of plain decoding.
type plainOptions struct {
	bench.ModelOptions
	retrieval Retrieval
}

// Flags implements Options.
func (o *plainOptions) Flags(f *pflag.FlagSet) {
	o.ModelOptions.Flags(f)
	orRetrieval(f)
}

// open opens the model. The caller closes it.
func (o *plainOptions) open(ctx context.Context) (*bench.Plain, error) {
	dir, err := o.retrieval.folder(o.Model)
	if err != nil {
		return nil, err
	}
	return bench.OpenPlain(ctx, dir)
}

type contextOptions struct{ plainOptions }

// Open implements Options.
func (o *contextOptions) Open(ctx context.Context, _ bench.Env) (bench.Opened, error) {
	p, err := o.open(ctx)
	return contexts{p}, err
}

func (c contexts) Header() figures.Header {
	h := c.Plain.Header()
	h.Bars = map[string]float64{}
	for _, n := range benchContexts {
		h.Bars[decodeAt(n)], h.Bars[prefillOf(n)] = 1, 1
	}
	return h
}

func decodeAt(context int) string { return fmt.Sprintf("decode_at_%d_per_second", context) }

func prefillOf(context int) string { return fmt.Sprintf("prefill_of_%d_per_second", context) }

func (c contexts) Measure(ctx context.Context) (figures.Metrics, error) {
	metrics := figures.Metrics{}
	for _, n := range benchContexts {
		_, stats, err := c.Generate(ctx, n, benchAfter)
		if err != nil {
			return nil, err
		}
		metrics[prefillOf(n)] = float64(n) / stats.FirstToken.Seconds()
		metrics[decodeAt(n)] = (benchAfter - 1) / stats.Decode.Seconds()
	}
	return metrics, nil
}
