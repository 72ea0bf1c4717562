package bench

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"github.com/spf13/pflag"

	"tandem/app/figures"
	"tandem/app/home"
	"tandem/app/pool"
	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/checkpoint"
	"tandem/engine/mlx"
	"tandem/models"
)

// A checkpointBench measures checkpoints:
//
//   - what they cost while an answer is written;
//   - how soon a prompt is restored after a restart.
//
// Everything runs on rings, where a text can continue only from a place that was captured.
type checkpointBench struct {
	thread *mlx.Thread
	bundle *models.Bundle
	loaded *Drafters
	code   *Workload
	pairs  int  // of a comparison, at least
	once   bool // pairs are never doubled
	random *rand.Rand
	log    io.Writer // progress, for a person
}

type checkpointOptions struct {
	ModelOptions
	pairs int // of a comparison, at least; 0 = figures.MinPairs
	quick bool
}

// Flags implements Options.
func (o *checkpointOptions) Flags(f *pflag.FlagSet) {
	o.ModelOptions.Flags(f)
	pairsFlag(f, &o.pairs)
	QuickFlag(f, &o.quick)
}

// Open implements Options.
func (o *checkpointOptions) Open(ctx context.Context, e Env) (Opened, error) {
	t, b, err := OpenModel(ctx, o.Model, models.Options{})
	if err != nil {
		return nil, err
	}
	c := &checkpointBench{
		thread: t, bundle: b, pairs: figures.MinPairs,
		random: rand.New(rand.NewPCG(3, 4)), log: e.Err,
	}
	if c.loaded, err = LoadDrafters(ctx, b, o.Model, nil, models.Options{}); err == nil {
		var all Workloads
		all, err = NewWorkloads(b.Tokenizer)
		c.code = all.Code
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if o.quick {
		c.pairs, c.once = 2, true
	}
	if o.pairs > 0 {
		c.pairs = o.pairs
	}
	return c, nil
}

func (b *checkpointBench) Header() figures.Header {
	return NewHeader(b.bundle.Model.Config().Dtype.String())
}

func (b *checkpointBench) Close() error {
	return errors.Join(b.loaded.Close(), b.bundle.Close(), b.thread.Close())
}

// Report measures part by part.
func (b *checkpointBench) Report(ctx context.Context, table func(figures.Table) error) error {
	for _, part := range []func(context.Context) (figures.Table, error){b.captures, b.restarts} {
		t, err := part(ctx)
		if err != nil {
			return err
		}
		if err := table(t); err != nil {
			return err
		}
	}
	return nil
}

// open starts an engine on rings.
func (b *checkpointBench) open(o engine.Options) *engine.Engine {
	o.Layout = cache.Ring
	return engine.New(b.thread, b.bundle.Model, b.bundle.Tokenizer, o)
}

// budget returns how many bytes the checkpoints of a served model may take in memory.
func (*checkpointBench) budget() int64 { return home.Memory() / pool.CheckpointMemory }

// store opens a store of checkpoint files in a folder.
func (b *checkpointBench) store(dir string) *checkpoint.Store {
	return checkpoint.NewStore(checkpoint.StoreOptions{Dir: dir, Key: "bench", Context: "bench",
		Budget: pool.MaxCheckpoints})
}

// awaitWritten waits until a store has nothing to write, because writing would slow the next
// measurement.
func awaitWritten(ctx context.Context, s *checkpoint.Store) error {
	for s.Busy() {
		if err := ctx.Err(); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	if failure := s.Failure(); failure != "" {
		return errors.New(failure)
	}
	return nil
}

// ask generates all tokens that a request asks for, past any end of sequence.
func (b *checkpointBench) ask(ctx context.Context, e *engine.Engine,
	r engine.Request) (Response, error) {
	r.IgnoreEOS = true
	return generate(ctx, e, r)
}

// text returns n random ids, a text that no request has had before.
func (b *checkpointBench) text(n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(100 + b.random.IntN(min(b.bundle.Model.Config().VocabSize, 4000)-100))
	}
	return ids
}

// withoutDrafts is for requests whose decoding is not measured.
var withoutDrafts = engine.Speculation{Drafter: engine.None}
