package bench

import (
	"context"
	"errors"
	"fmt"
	"os"

	"tandem/app/figures"
	"tandem/engine"
	"tandem/engine/checkpoint"
)

// restartTokens is the length of a text that is restored after a restart.
const restartTokens = 4000

// restartBar is how many times as fast restoring must be as computing.
var restartBar = figures.Bar{Min: 10}

// restarts compares the time to the first token after a text. One engine only has the text's files
// and restores it, the other one computes it.
func (b *checkpointBench) restarts(ctx context.Context) (t figures.Table, err error) {
	length := min(restartTokens, b.bundle.Model.Config().ContextLength-8)
	t = figures.Table{
		Title: fmt.Sprintf("A prompt of %d tokens after a restart", length),
		Columns: []string{"tokens", "restored", "MB of files", "ms to first token, restored",
			"of it restoring", "recomputed",
			"times as fast", "low", "high", "pairs", "prompts", "at least"},
		Notes: []string{"Each time a store is opened again on all files, and an engine on the store. The system may hold the files in memory, as it does after a restart of the program alone."},
	}
	dir, err := os.MkdirTemp("", "tandem-bench-")
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	texts := make([][]int32, b.pairs)
	for i := range texts {
		texts[i] = b.text(length)
	}
	if err := b.write(ctx, dir, texts...); err != nil {
		return t, err
	}
	bytes, err := folderBytes(dir)
	if err != nil {
		return t, err
	}
	off := b.open(engine.Options{})
	defer off.Close()
	var again, restoring, computing []float64
	ratios := make([][]float64, len(texts))
	measure := func(i int) error {
		restored, recomputed, err := b.restart(ctx, dir, off, texts[i])
		if err != nil {
			return err
		}
		one, two := recomputed.Stats.FirstToken, restored.Stats.FirstToken
		again, restoring, computing = append(again, figures.Milliseconds(two)),
			append(restoring, figures.Milliseconds(restored.Stats.Restore)),
			append(computing, figures.Milliseconds(one))
		ratios[i] = append(ratios[i], one.Seconds()/two.Seconds())
		fmt.Fprintf(b.log, "\rrestart, pair %d ", len(again))
		return nil
	}
	var e figures.Estimate
	for doubled := false; ; doubled = true {
		for i := range texts {
			if err := measure(i); err != nil {
				return t, err
			}
		}
		if e = figures.EstimateOf(ratios); b.once || doubled || !restartBar.Undecided(e) {
			break
		}
	}
	fmt.Fprintln(b.log)
	t.Rows = append(t.Rows, []any{length, length - 1, figures.Megabytes(bytes), figures.Round(figures.Median(again)),
		figures.Round(figures.Median(restoring)), figures.Round(figures.Median(computing)),
		e.Median, e.Low, e.High, e.N, e.Prompts, restartBar.Judge(e)})
	return t, nil
}

// withEngine opens a store and an engine on a folder while f runs.
func (b *checkpointBench) withEngine(dir string,
	f func(*engine.Engine, *checkpoint.Store) error) error {
	store := b.store(dir)
	defer store.Close()
	e := b.open(engine.Options{Checkpoints: b.budget(), Store: store})
	defer e.Close()
	return f(e, store)
}

// firstToken returns a request for the first token after a text.
func firstToken(text []int32) engine.Request {
	return engine.Request{Prompt: text, MaxTokens: new(1), Speculation: withoutDrafts}
}

// write keeps the checkpoints of texts in the files of a folder.
func (b *checkpointBench) write(ctx context.Context, dir string, texts ...[]int32) error {
	return b.withEngine(dir, func(e *engine.Engine, store *checkpoint.Store) error {
		for i, text := range texts {
			if _, err := b.ask(ctx, e, firstToken(text)); err != nil {
				return err
			}
			if err := awaitWritten(ctx, store); err != nil {
				return err
			}
			fmt.Fprintf(b.log, "\rrestart, text %d ", i+1)
		}
		return nil
	})
}

// restart generates the first token after a text twice. One engine knows only the files of a
// folder; off computes the text.
func (b *checkpointBench) restart(ctx context.Context, dir string, off *engine.Engine,
	text []int32) (restored, recomputed Response, err error) {
	if err := b.withEngine(dir, func(e *engine.Engine, _ *checkpoint.Store) (err error) {
		restored, err = b.ask(ctx, e, firstToken(text))
		return err
	}); err != nil {
		return restored, recomputed, err
	}
	if st := restored.Stats; st.CachedTokens != len(text)-1 {
		return restored, recomputed, fmt.Errorf("after a restart %d of %d tokens were restored: %s",
			st.CachedTokens, len(text), st.Miss)
	}
	recomputed, err = b.ask(ctx, off, firstToken(text))
	return restored, recomputed, err
}

// folderBytes returns how many bytes the files of a folder take.
func folderBytes(dir string) (sum int64, err error) {
	files, err := os.ReadDir(dir)
	for _, f := range files {
		info, e := f.Info()
		if e != nil {
			return 0, e
		}
		sum += info.Size()
	}
	return sum, err
}
