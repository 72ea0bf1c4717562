package pool

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"tandem/app/control"
	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/mlx"
	"tandem/engine/tokenizer"
	"tandem/models"
)

// TrialPause is how long a model is left alone before its drafter is measured. A waiting
// measurement looks as often whether the model is idle.
const TrialPause = 500 * time.Millisecond

// trialBlocks is how many drafts of each reading are enough.
const trialBlocks = 48

// trialPrompts ask for what models are asked for most: code with words around it. They are used one
// after the other until there were enough drafts, since some models end soon.
var trialPrompts = []string{
	"Write a Go function that reads a file line by line, counts how often each word occurs, and prints the ten most frequent words with their counts. Explain each step in a comment.",
	"Explain how a hash table works, in plain words, and then show one in Python with get, set and delete.",
	"package main\n\nimport (\n\t\"bufio\"\n\t\"fmt\"\n\t\"os\"\n)\n\n// readLines returns the lines of a file.\nfunc readLines(",
	"Write a short story about a lighthouse keeper who finds a message in a bottle.",
}

// tryReadings measures, while the model is idle, which reading of a drafter's checkpoint drafts best.
// That reading is used from then on and stored with the figures. Measuring stops early when ctx
// ends.
func (m *Model) tryReadings(ctx context.Context, d *Drafter) error {
	variants := d.Readings()
	var blocks []draft.Block
	for _, set := range variants {
		block, err := d.files.Block.With(set)
		if err != nil {
			return err
		}
		blocks = append(blocks, block)
	}
	sums, n := make([]float64, len(blocks)), 0
	for _, prompt := range trialPrompts {
		if n >= trialBlocks {
			break
		}
		scores, count, err := m.tryText(ctx, blocks, prompt)
		if err != nil {
			return err
		}
		n += count
		for i, s := range scores {
			sums[i] += s * float64(count)
		}
	}
	if n == 0 {
		return errors.New("the model's answers are too short to measure a drafter")
	}
	best := 0
	var trials []control.Trial
	for i, set := range variants {
		if sums[i] > sums[best] {
			best = i
		}
		trials = append(trials, control.Trial{
			Embedding: string(set.Embedding), Sliding: string(set.Sliding),
			TokensPerVerify: sums[i] / float64(n), Blocks: n,
		})
	}
	return m.useReading(ctx, d, variants[best], trials)
}

// tryText lets all readings draft along one text. It returns the tokens per verification of each
// reading, and the number of drafts.
func (m *Model) tryText(ctx context.Context, blocks []draft.Block,
	text string) (scores []float64, n int, err error) {
	p := m.pool
	prompt, err := m.trialTokens(ctx, text)
	if err != nil {
		return nil, 0, err
	}
	var trial *draft.Trial
	defer func() {
		if trial != nil {
			if err := p.thread.Do(context.Background(),
				func(s *mlx.Scope) error { trial.Free(s); return nil }); err != nil {
				p.log.Error("freeing the trial of a drafter", "error", err)
			}
		}
	}()
	for more := true; more; {
		if err := m.AwaitIdle(ctx); err != nil {
			return nil, 0, err
		}
		if err := p.thread.Do(ctx, func(s *mlx.Scope) (err error) {
			if trial == nil {
				// On the model as it is served: the layers that drafts read depend on that.
				trial = draft.NewTrial(m.served(), blocks,
					cache.Options{Bits: m.kvBits, Layout: m.cacheLayout()}, prompt)
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

// useReading stores a reading and drafts with it.
func (m *Model) useReading(ctx context.Context, d *Drafter, set models.DrafterSettings,
	trials []control.Trial) error {
	p := m.pool
	if err := m.keepReading(ctx, d.source, set, trials); err != nil {
		return err
	}
	if err := d.Read(ctx, set); err != nil {
		return err
	}
	p.mu.Lock()
	d.settings, d.trials, d.open = set, trials, false
	p.mu.Unlock()
	p.log.Info("the drafter was measured", "model", m.row.ID, "drafter", d.source, "reading", set,
		"trials", trials)
	return nil
}

// trialTokens returns the prompt of a trial, as a chat if the model has a chat template.
func (m *Model) trialTokens(ctx context.Context, text string) ([]int32, error) {
	special := true
	if m.chats.plain.template != nil {
		vars, err := json.Marshal(map[string]any{
			"messages":              []map[string]string{{"role": "user", "content": text}},
			"add_generation_prompt": true,
		})
		if err != nil {
			return nil, err
		}
		if chat, err := m.chats.plain.Render(ctx, vars); err == nil {
			text, special = chat, false
		}
	}
	ids, err := m.bundle.Tokenizer.Encode(text, tokenizer.EncodeOptions{AddSpecial: special})
	if err == nil && len(ids) == 0 {
		err = errors.New("the prompt of a trial has no tokens")
	}
	return ids, err
}

// AwaitIdle waits until no request holds this model or another. Error: that of ctx.
func (m *Model) AwaitIdle(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		m.pool.mu.Lock()
		users, _ := m.pool.usage()
		m.pool.mu.Unlock()
		if users == 0 {
			return nil
		}
		select {
		case <-time.After(TrialPause):
		case <-ctx.Done():
		}
	}
}
