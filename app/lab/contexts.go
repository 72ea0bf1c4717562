package lab

import (
	"context"

	"github.com/spf13/pflag"

	"tandem/app/bench"
	"tandem/app/figures"
)

// benchContexts are the contexts of the contexts bench, in tokens. The rival has the same.
var benchContexts = []int{512, 4096, 7600}

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
func (o *plainOptions) open(ctx context.Context, contexts ...int) (*bench.Plain, error) {
	dir, err := o.retrieval.folder(o.Model)
	if err != nil {
		return nil, err
	}
	return bench.OpenPlain(ctx, dir, contexts...)
}

type contextOptions struct{ plainOptions }

// Open implements Options.
func (o *contextOptions) Open(ctx context.Context, _ bench.Env) (bench.Opened, error) {
	p, err := o.open(ctx, benchContexts...)
	return contexts{p}, err
}

func (c contexts) Header() figures.Header {
	h := c.Plain.Header()
	h.Bars = map[string]float64{}
	for _, n := range benchContexts {
		h.Bars[bench.DecodeAt(n)], h.Bars[bench.PrefillOf(n)] = 1, 1
	}
	return h
}
