package lab

import (
	"context"
	"errors"
	"fmt"
	"math"

	"tandem/app/bench"
	"tandem/app/evidence"
	"tandem/app/figures"
	"tandem/engine"
	"tandem/engine/cache"
)

// What quantized caches may cost at 8 bits.
const maxPerplexityChange = 0.5 // percent

// Held-out text is cut to pieces of this many tokens.
const (
	heldOutPieces = 4
	heldOutPiece  = 512
)

// A bitsArm is the cost of caches with a number of bits per element.
type bitsArm struct {
	recallArm
	bits       int
	perplexity float64
}

// kvBits measures the caches of --kv-bits: needles found, perplexity of held-out text, bytes and
// speed. Prompts take turns, so that all caches run under the same conditions.
func (k *kvquant) kvBits(ctx context.Context, prompts []needlePrompt,
	table func(figures.Table) error, report reporting) error {
	if why := k.notQuantized(); why != "" {
		return table(figures.Table{Title: "kv-bits", Columns: []string{"bits"}, Notes: []string{why}})
	}
	var arms []*bitsArm
	for _, bits := range []int{0, 8, 4} {
		name := fmt.Sprintf("%d bits", bits)
		if bits == 0 {
			name = "whole rows"
		}
		arms = append(arms, &bitsArm{bits: bits,
			recallArm: recallArm{name: name, model: newGauge(k.bundle.Model)}})
	}
	for i, p := range prompts {
		for _, a := range arms {
			fmt.Fprintf(k.log, "\rkv-bits: prompt %d of %d ", i+1, len(prompts))
			if err := k.answerAlone(ctx, &a.recallArm, p, k.tokens,
				engine.Options{KVBits: a.bits}); err != nil {
				return err
			}
		}
	}
	fmt.Fprintln(k.log)
	texts, err := k.heldOut()
	if err != nil {
		return err
	}
	for _, a := range arms {
		if a.perplexity, err = k.perplexity(ctx, texts, a.bits); err != nil {
			return err
		}
	}
	if err := table(k.bitsTable(arms, texts)); err != nil {
		return err
	}
	for _, a := range arms[1:] {
		if err := report("kv-bits, "+a.name, k.bitsRun(arms[0], a)); err != nil {
			return err
		}
	}
	return keepsAt8(arms[0], arms[1])
}

// notQuantized says why --kv-bits changes no cache of the model, or "".
func (e *subject) notQuantized() string {
	some := false
	for _, shape := range e.shapes() {
		if shape.Row() == 0 || shape.Window > 0 {
			continue
		}
		if some = true; cache.GroupSize(shape.Dim) == 0 {
			return fmt.Sprintf("heads of %d elements cannot be quantized", shape.Dim)
		}
	}
	if !some {
		return noFullLayer
	}
	return ""
}

// keepsAt8 returns an error if 8 bits lose what they must keep.
func keepsAt8(whole, eight *bitsArm) error {
	var errs []error
	if !sameFound(eight.samples, whole.samples) {
		errs = append(errs, fmt.Errorf("%w: 8 bits find other needles than whole rows", errLost))
	}
	if by := change(whole, eight); math.Abs(by) > maxPerplexityChange {
		errs = append(errs, fmt.Errorf("8 bits change the perplexity by %.2f %%, at most %.1f may be",
			by, maxPerplexityChange))
	}
	return errors.Join(errs...)
}

// change returns by how many percent the perplexity of held-out text changes.
func change(whole, a *bitsArm) float64 { return 100 * (a.perplexity/whole.perplexity - 1) }

// bitsTable shows what each number of bits costs.
func (k *kvquant) bitsTable(arms []*bitsArm, texts [][]int32) figures.Table {
	tokens := 0
	for _, t := range texts {
		tokens += len(t)
	}
	t := figures.Table{Title: "kv-bits: what quantized caches cost",
		Columns: []string{"caches", "found", "same needles", "perplexity", "change %", "MB",
			"of whole", "prefill s", "decode tokens/s"},
		Notes: []string{k.conditions(),
			fmt.Sprintf("%d prompts of %s, seed %d; perplexity of %d tokens of code that the pocket model was not trained on; times are medians, in turns",
				k.samples, haystacks[0].name, needleSeed, tokens)}}
	whole := arms[0]
	t.Notes = append(t.Notes, k.blindNote(whole.samples)...)
	for _, a := range arms {
		var prefill, rates []float64
		for _, s := range a.samples {
			prefill = append(prefill, s.Prefill.Seconds())
			if s.Tokens > 1 && s.Decode > 0 {
				rates = append(rates, float64(s.Tokens-1)/s.Decode.Seconds())
			}
		}
		var rate any
		if len(rates) > 0 {
			rate = figures.Median(rates)
		}
		last := len(a.held) - 1
		bytes := a.held[last].Exact
		t.Rows = append(t.Rows, []any{a.name,
			fmt.Sprintf("%d/%d", foundIn(a.samples), len(a.samples)),
			sameFound(a.samples, whole.samples), fmt.Sprintf("%.4f", a.perplexity),
			fmt.Sprintf("%+.3f", change(whole, a)), figures.Megabytes(bytes),
			float64(bytes) / float64(whole.held[last].Exact), figures.Median(prefill), rate})
	}
	return t
}

// bitsRun returns the run of quantized caches beside whole ones.
func (k *kvquant) bitsRun(whole, a *bitsArm) evidence.Run {
	last := len(a.held) - 1
	h := a.held[last]
	dtype := k.bundle.Model.Config().Dtype.Size()
	formula := int64(0)
	for _, shape := range k.shapes() {
		row := int64(2 * shape.Row() * dtype)
		if shape.Window > 0 {
			formula += row * int64(min(h.positions, shape.Window))
		} else if shape.Row() > 0 {
			formula += int64(2*shape.Heads*cache.QuantizedBytes(shape.Dim, a.bits, dtype)) *
				int64(h.positions)
		}
	}
	config := k.config(codec{bits: a.bits})
	delete(config, "sink_size")
	delete(config, "window_size")
	return evidence.Run{Kind: evidence.KindKVQuant, At: k.now(), Config: config,
		Cross:  &evidence.Arm{Name: a.name, Samples: a.samples},
		Oracle: &evidence.Arm{Name: whole.name, Samples: whole.samples},
		Memory: &evidence.Bytes{Held: *h.evidence(), Full: whole.held[last].Total(), FormulaExact: formula,
			Tokens: h.positions, Peak: a.peak},
		Details: map[string]any{"perplexity": a.perplexity, "perplexity_whole": whole.perplexity,
			"perplexity_change_pct": change(whole, a)}}
}

// heldOut returns pieces of code that the pocket model was not trained on. Of other models that is not
// known, but all caches read the same.
func (e *subject) heldOut() (pieces [][]int32, err error) {
	code, err := bench.HeldOutCode()
	if err != nil {
		return nil, err
	}
	var all []int32
	for _, text := range code {
		ids, err := e.plainTokens(text + "\n\n")
		if err != nil {
			return nil, err
		}
		all = append(all, ids...)
	}
	for len(all) > 1 && len(pieces) < heldOutPieces {
		n := min(heldOutPiece, len(all))
		pieces, all = append(pieces, all[:n]), all[n:]
	}
	return pieces, nil
}

// perplexity returns the perplexity of the texts, with this number of bits in the caches.
func (e *subject) perplexity(ctx context.Context, texts [][]int32, bits int) (float64, error) {
	run := e.open(e.bundle.Model, engine.Options{KVBits: bits})
	defer run.Close()
	sum, n := 0.0, 0
	for _, text := range texts {
		for tok, err := range run.Generate(ctx, engine.Request{Prompt: text, MaxTokens: new(int),
			PromptLogprobs: true, Fresh: true}) {
			if err != nil {
				return 0, err
			}
			if tok.Logprobs != nil {
				sum, n = sum-float64(tok.Logprobs.Logprob), n+1
			}
		}
	}
	if n == 0 {
		return 0, errors.New("there is no held-out text to measure")
	}
	return math.Exp(sum / float64(n)), nil
}
