package bench

import (
	"context"
	"fmt"
	"tandem/app/figures"
)

// benchContexts are the contexts of the contexts bench, in tokens. benchAfter tokens are decoded
// after each. The rival does the same.
var benchContexts = []int{512, 4096, 7600}

const benchAfter = 33

// contexts measures decode and prefill of one model at several lengths.
type contexts struct{ *plain }

func openContexts(ctx context.Context, o Options) (bench, error) {
	b, err := openPlain(ctx, o)
	if err != nil {
		return nil, err
	}
	return contexts{b.(*plain)}, nil
}

func (c contexts) header() figures.Header {
	h := c.plain.header()
	h.Bars = map[string]float64{}
	for _, n := range benchContexts {
		h.Bars[decodeAt(n)], h.Bars[prefillOf(n)] = 1, 1
	}
	return h
}

func decodeAt(context int) string { return fmt.Sprintf("decode_at_%d_per_second", context) }

func prefillOf(context int) string { return fmt.Sprintf("prefill_of_%d_per_second", context) }

func (c contexts) measure(ctx context.Context) (figures.Metrics, error) {
	metrics := figures.Metrics{}
	for _, n := range benchContexts {
		_, stats, err := c.generate(ctx, n, benchAfter)
		if err != nil {
			return nil, err
		}
		metrics[prefillOf(n)] = float64(n) / stats.FirstToken.Seconds()
		metrics[decodeAt(n)] = (benchAfter - 1) / stats.Decode.Seconds()
	}
	return metrics, nil
}
