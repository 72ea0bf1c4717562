package drafters

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"tandem/app/control"
	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/tokenizer"
)

// TrialPause is how long a model is left alone before its drafter is measured. A waiting
// measurement looks as often whether the model is idle.
const TrialPause = 500 * time.Millisecond

// trialBlocks is how many drafts of each variant are enough.
const trialBlocks = 48

// trialPrompts ask for what models are asked for most: code with words around it. They are used one
// after the other until there were enough drafts, since some models end soon.
var trialPrompts = []string{
	"Write a Go function that reads a file line by line, counts how often each word occurs, and prints the ten most frequent words with their counts. Explain each step in a comment.",
	"Explain how a hash table works, in plain words, and then show one in Python with get, set and delete.",
	"package main\n\nimport (\n\t\"bufio\"\n\t\"fmt\"\n\t\"os\"\n)\n\n// readLines returns the lines of a file.\nfunc readLines(",
	"Write a short story about a lighthouse keeper who finds a message in a bottle.",
}

// A Target is a model in memory whose drafter is measured, as requests are served by it: the layers
// that drafts read depend on its format.
type Target struct {
	ID        string
	Model     lm.Model
	Tokenizer *tokenizer.Tokenizer
	Caches    cache.Options

	// Render prints the variables of a chat template; nil if the model has none.
	Render func(ctx context.Context, vars []byte) (string, error)
	// AwaitIdle waits until no request holds a model.
	AwaitIdle func(ctx context.Context) error
}

// MeasureVariants measures, while the model is idle, which variant of a drafter drafts best.
// That variant is used from then on and stored with the figures. After an error the drafter is used
// as before. Measuring stops early when ctx ends.
func (f *Finder) MeasureVariants(ctx context.Context, d *Drafter, of Target) error {
	best, err := f.bestVariant(ctx, d, of)
	if err == nil {
		err = f.keepVariant(ctx, of.ID, d, best)
	}
	if err == nil {
		err = d.UseVariant(ctx, best.Settings)
	}
	switch {
	case err == nil:
		d.setVariant(best)
		f.log.Info("the drafter was measured", "model", of.ID, "drafter", d.source,
			"variant", best.Settings, "trials", best.Trials)
	case ctx.Err() == nil: // it is tried again at the next load
		now := d.Variant()
		now.Measuring = false
		d.setVariant(now)
	}
	return err
}

// bestVariant returns the best variant of a drafter, with the figures of each.
func (f *Finder) bestVariant(ctx context.Context, d *Drafter, of Target) (best Variant, err error) {
	variants := d.Variants()
	var blocks []draft.Block
	for _, set := range variants {
		block, err := d.files.Block.With(set)
		if err != nil {
			return best, err
		}
		blocks = append(blocks, block)
	}
	sums, n := make([]float64, len(blocks)), 0
	for _, prompt := range trialPrompts {
		if n >= trialBlocks {
			break
		}
		scores, count, err := f.tryText(ctx, d.files.Thread(), of, blocks, prompt)
		if err != nil {
			return best, err
		}
		n += count
		for i, s := range scores {
			sums[i] += s * float64(count)
		}
	}
	if n == 0 {
		return best, errors.New("the model's answers are too short to measure a drafter")
	}
	first := 0
	for i, set := range variants {
		if sums[i] > sums[first] {
			first = i
		}
		best.Trials = append(best.Trials, control.Trial{
			Embedding: string(set.Embedding), Sliding: string(set.Sliding),
			TokensPerVerify: sums[i] / float64(n), Blocks: n,
		})
	}
	best.Settings = variants[first]
	return best, nil
}

// tryText lets all variants draft along one text. It returns the tokens per verification of each
// variant, and the number of drafts.
func (f *Finder) tryText(ctx context.Context, thread *mlx.Thread, of Target, blocks []draft.Block,
	text string) (scores []float64, n int, err error) {
	prompt, err := of.trialTokens(ctx, text)
	if err != nil {
		return nil, 0, err
	}
	var trial *draft.Trial
	defer func() {
		if trial != nil {
			if err := thread.Do(context.Background(),
				func(s *mlx.Scope) error { trial.Free(s); return nil }); err != nil {
				f.log.Error("freeing the trial of a drafter", "error", err)
			}
		}
	}()
	for more := true; more; {
		if err := of.AwaitIdle(ctx); err != nil {
			return nil, 0, err
		}
		if err := thread.Do(ctx, func(s *mlx.Scope) (err error) {
			if trial == nil {
				trial = draft.NewTrial(of.Model, blocks, of.Caches, prompt)
			}
			more, err = trial.Step(s)
			return err
		}); err != nil {
			return nil, 0, err
		}
	}
	scores, n = trial.Scores()
	return scores, n, nil
}

// trialTokens returns the prompt of a trial, as a chat if the model has a chat template.
func (t Target) trialTokens(ctx context.Context, text string) ([]int32, error) {
	special := true
	if t.Render != nil {
		vars, err := json.Marshal(map[string]any{
			"messages":              []map[string]string{{"role": "user", "content": text}},
			"add_generation_prompt": true,
		})
		if err != nil {
			return nil, err
		}
		if chat, err := t.Render(ctx, vars); err == nil {
			text, special = chat, false
		}
	}
	ids, err := t.Tokenizer.Encode(text, tokenizer.EncodeOptions{AddSpecial: special})
	if err == nil && len(ids) == 0 {
		err = errors.New("the prompt of a trial has no tokens")
	}
	return ids, err
}
