package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/spf13/pflag"

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
	benchAfter  = 65   // tokens of a decode after one of [Plain.Contexts]
)

// Plain measures decode and prefill of one model.
type Plain struct {
	Thread   *mlx.Thread
	Contexts []int // tokens of the prompts to measure; none = the usual two
	bundle   *models.Bundle
	engine   *engine.Engine
	tokens   []int32
}

type plainOptions struct {
	ModelOptions
	contexts []int
}

// Flags implements Options.
func (o *plainOptions) Flags(f *pflag.FlagSet) {
	o.ModelOptions.Flags(f)
	f.Func("context", "measure a prompt of `TOKENS` and what is decoded after it; may be given several times",
		func(text string) error {
			var n int
			err := Positive(&n)(text)
			o.contexts = append(o.contexts, n)
			return err
		})
}

// Open implements Options.
func (o *plainOptions) Open(ctx context.Context, _ Env) (Opened, error) {
	return OpenPlain(ctx, o.Model, o.contexts...)
}

// OpenPlain loads the model in a folder and measures it once, unmeasured. contexts are as in [Plain].
func OpenPlain(ctx context.Context, dir string, contexts ...int) (*Plain, error) {
	t, b, err := OpenModel(ctx, dir, models.Options{})
	if err != nil {
		return nil, err
	}
	p := &Plain{Thread: t, Contexts: contexts, bundle: b,
		engine: engine.New(t, b.Model, b.Tokenizer, engine.Options{})}
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
	if len(p.Contexts) == 0 {
		h.Bars = map[string]float64{
			"decode_per_second": 1, "prefill_chunk_512_per_second": 1, "prefill_default_per_second": 1,
		}
	}
	return h
}

// DecodeAt and PrefillOf name the metrics of one of [Plain.Contexts].
func DecodeAt(context int) string { return fmt.Sprintf("decode_at_%d_per_second", context) }

func PrefillOf(context int) string { return fmt.Sprintf("prefill_of_%d_per_second", context) }

// Generate evaluates a prompt of tokens and decodes n tokens greedily, past any end of sequence.
func (p *Plain) Generate(ctx context.Context, prompt, n int) ([]int32, engine.Stats, error) {
	if most := p.bundle.Info.ContextLength - n; prompt > most {
		return nil, engine.Stats{}, fmt.Errorf(
			"a prompt of %d tokens is too long for this model; choose at most %d", prompt, most)
	}
	a, err := generate(ctx, p.engine, engine.Request{
		Prompt: TokenIDs(prompt, p.bundle.Model.Config().VocabSize), MaxTokens: &n, IgnoreEOS: true,
	})
	if err == nil && len(a.IDs) != n {
		err = fmt.Errorf("generated %d tokens of %d", len(a.IDs), n)
	}
	return a.IDs, a.Stats, err
}

func (p *Plain) Measure(ctx context.Context) (figures.Metrics, error) {
	m := figures.Metrics{}
	bandwidth := 0. // of a CPU
	if !p.Thread.GPU() {
		bandwidth = readBandwidth(mlx.Threads())
		m["bandwidth_gigabytes_per_second"] = bandwidth / 1e9
	}
	if len(p.Contexts) == 0 {
		return m, p.measure(ctx, m, bandwidth)
	}
	for _, n := range p.Contexts {
		_, stats, err := p.Generate(ctx, n, benchAfter)
		if err != nil {
			return nil, err
		}
		m[PrefillOf(n)] = float64(n) / stats.FirstToken.Seconds()
		m[DecodeAt(n)] = (benchAfter - 1) / stats.Decode.Seconds()
		p.addStep(m, fmt.Sprintf("_at_%d", n), stats, benchAfter-1, bandwidth)
	}
	return m, nil
}

// addStep adds the time of a step of plain decoding. If the bandwidth of memory is known, it adds the floor
// of that time: what it takes to read all weights, and the keys, values and states of the text.
func (p *Plain) addStep(m figures.Metrics, at string, stats engine.Stats, steps int, bandwidth float64) {
	step := figures.Milliseconds(stats.Decode) / float64(steps)
	m["step"+at+"_ms"] = step
	if bandwidth == 0 {
		return
	}
	read := float64(p.bundle.Info.Bytes + stats.KVExact + stats.KVWindow)
	floor := 1000 * read / bandwidth
	m["step"+at+"_reads_bytes"], m["floor"+at+"_ms"], m["step"+at+"_per_floor"] = read, floor, step/floor
}

// readBandwidth returns how many bytes of memory some threads read together in a second.
func readBandwidth(threads int) float64 {
	const size, page = 256 << 20, 4 << 10
	memory := make([]byte, size)
	for i := 0; i < size; i += page {
		memory[i] = 1 // pages without data are all the same one
	}
	best := time.Duration(math.MaxInt64)
	for range 5 {
		start := time.Now()
		var reads sync.WaitGroup
		for part := range slices.Chunk(memory, (size+threads-1)/threads) {
			reads.Go(func() { bytes.IndexByte(part, 2) }) // with vectors, so memory is what it waits for
		}
		reads.Wait()
		best = min(best, time.Since(start))
	}
	return size / best.Seconds()
}

// measure measures the usual two prompts.
func (p *Plain) measure(ctx context.Context, m figures.Metrics, bandwidth float64) error {
	if _, err := p.Thread.TimeC(ctx, true); err != nil {
		return err
	}
	_, timed, err := p.Generate(ctx, benchPrompt, benchDecode)
	if err != nil {
		return err
	}
	if _, err := p.Thread.TimeC(ctx, false); err != nil {
		return err
	}
	_, stats, err := p.Generate(ctx, benchPrompt, benchDecode)
	if err != nil {
		return err
	}
	_, long, err := p.Generate(ctx, benchLong, 1)
	if err != nil {
		return err
	}
	const steps = benchDecode - 1
	prefill := benchLong / long.FirstToken.Seconds()
	m["decode_per_second"] = steps / stats.Decode.Seconds()
	// The engine's default chunk is 512. So the same figure is compared with two of the rival:
	// at its chunk of 512, and at its default of 2048.
	m["prefill_chunk_512_per_second"], m["prefill_default_per_second"] = prefill, prefill
	m["host_percent_of_step"] = 100 * timed.Host.Seconds() / timed.Decode.Seconds()
	m["build_percent_of_step"] = 100 * timed.Build.Seconds() / timed.Decode.Seconds()
	p.addStep(m, "", stats, steps, bandwidth)
	return nil
}

func (p *Plain) Close() error {
	p.engine.Close()
	return errors.Join(p.bundle.Close(), p.Thread.Close())
}
