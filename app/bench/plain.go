package bench

import (
	"context"
	"errors"
	"fmt"

	"tandem/app/figures"
	"tandem/engine"
	"tandem/engine/mlx"
	"tandem/models"
)

// What the plain bench generates. The rival generates the same.
const (
	benchPrompt = 64   // tokens before the decode that is timed
	benchDecode = 128  // tokens of that decode
	benchLong   = 2048 // tokens of the prompt whose evaluation is timed
)

// Plain measures decode and prefill of one model.
type Plain struct {
	Thread *mlx.Thread
	bundle *models.Bundle
	engine *engine.Engine
	tokens []int32
}

type plainOptions struct{ ModelOptions }

// Open implements Options.
func (o *plainOptions) Open(ctx context.Context, _ Env) (Opened, error) {
	return OpenPlain(ctx, o.Model)
}

// OpenPlain loads the model in a folder and measures it once, unmeasured.
func OpenPlain(ctx context.Context, dir string) (*Plain, error) {
	t, b, err := OpenModel(ctx, dir, models.Options{})
	if err != nil {
		return nil, err
	}
	p := &Plain{Thread: t, bundle: b, engine: engine.New(t, b.Model, b.Tokenizer, engine.Options{})}
	// Once unmeasured: it compiles kernels and allocates memory.
	if p.tokens, _, err = p.Generate(ctx, benchPrompt, benchDecode); err == nil {
		_, _, err = p.Generate(ctx, benchLong, 1)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Plain) Header() figures.Header {
	h := NewHeader(p.bundle.Model.Config().Dtype.String())
	h.Tokens = p.tokens[:64]
	h.Bars = map[string]float64{
		"decode_per_second": 1, "prefill_chunk_512_per_second": 1, "prefill_default_per_second": 1,
	}
	return h
}

// Generate evaluates a prompt of tokens and decodes n tokens greedily, past any end of sequence.
func (p *Plain) Generate(ctx context.Context, prompt, n int) ([]int32, engine.Stats, error) {
	a, err := generate(ctx, p.engine, engine.Request{
		Prompt: TokenIDs(prompt, p.bundle.Model.Config().VocabSize), MaxTokens: &n, IgnoreEOS: true,
	})
	if err == nil && len(a.IDs) != n {
		err = fmt.Errorf("generated %d tokens of %d", len(a.IDs), n)
	}
	return a.IDs, a.Stats, err
}

func (p *Plain) Measure(ctx context.Context) (figures.Metrics, error) {
	if _, err := p.Thread.TimeC(ctx, true); err != nil {
		return nil, err
	}
	_, timed, err := p.Generate(ctx, benchPrompt, benchDecode)
	if err != nil {
		return nil, err
	}
	if _, err := p.Thread.TimeC(ctx, false); err != nil {
		return nil, err
	}
	_, stats, err := p.Generate(ctx, benchPrompt, benchDecode)
	if err != nil {
		return nil, err
	}
	_, long, err := p.Generate(ctx, benchLong, 1)
	if err != nil {
		return nil, err
	}
	steps := float64(benchDecode - 1)
	prefill := benchLong / long.FirstToken.Seconds()
	return figures.Metrics{
		"decode_per_second": steps / stats.Decode.Seconds(),
		// The engine's default chunk is 512. So the same figure is compared with two of the rival:
		// at its chunk of 512, and at its default of 2048.
		"prefill_chunk_512_per_second": prefill,
		"prefill_default_per_second":   prefill,
		"step_ms":                      figures.Milliseconds(stats.Decode) / steps,
		"host_percent_of_step":         100 * timed.Host.Seconds() / timed.Decode.Seconds(),
		"build_percent_of_step":        100 * timed.Build.Seconds() / timed.Decode.Seconds(),
	}, nil
}

func (p *Plain) Close() error {
	p.engine.Close()
	return errors.Join(p.bundle.Close(), p.Thread.Close())
}
