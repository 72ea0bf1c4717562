package bench

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"tandem/app/home"
	"tandem/app/pool"
	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/checkpoint"
	"tandem/engine/mlx"
	"tandem/models"
)

// How often the bench of checkpoints measures.
const (
	flowTexts   = 8   // of each flow but the probe
	mixedAmount = 500 // requests, until which memory is watched
)

// A checkpointBench measures what checkpoints save in what clients do, what
// they cost while an answer is written, how soon a text is back after a restart,
// and whether they keep within their memory. All of it is on rings, where
// a text cannot be taken up but where it was captured.
type checkpointBench struct {
	thread *mlx.Thread
	bundle *models.Bundle
	loaded *benchDrafters
	code   *workload
	pairs  int  // of a comparison, and texts of the probe, at least
	once   bool // never doubles them
	texts  int  // of each other flow
	mixed  int  // requests
	random *rand.Rand
	log    io.Writer // progress, for a person
	wrong  []error   // what must not be
}

func openCheckpoints(ctx context.Context, o Options) (bench, error) {
	t, b, err := benchModel(ctx, o.Model, models.Options{})
	if err != nil {
		return nil, err
	}
	c := &checkpointBench{
		thread: t, bundle: b, pairs: minPairs, texts: flowTexts, mixed: mixedAmount, random: rand.New(rand.NewPCG(3, 4)), log: o.Err,
	}
	if c.loaded, err = loadBenchDrafters(ctx, b, o.Model, nil, models.Options{}); err == nil {
		var all workloads
		all, err = newWorkloads(b.Tokenizer)
		c.code = all.code
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if o.Quick {
		c.pairs, c.once, c.texts, c.mixed = 2, true, 1, 40
	}
	if o.Pairs > 0 {
		c.pairs = o.Pairs
	}
	return c, nil
}

func (b *checkpointBench) header() benchHeader {
	h := newBenchHeader()
	h.DType = b.bundle.Model.Config().Dtype.String()
	return h
}

func (b *checkpointBench) Close() error {
	var err error
	if b.loaded != nil {
		err = b.loaded.Close()
	}
	return errors.Join(err, b.bundle.Close(), b.thread.Close())
}

// report measures part by part. It is an error if less is restored of an answer
// than its checkpoints promise, and if they take more memory than they may.
func (b *checkpointBench) report(ctx context.Context, table func(BenchTable) error) error {
	for _, part := range []func(context.Context) (BenchTable, error){b.flows, b.captures, b.restarts, b.Memory} {
		t, err := part(ctx)
		if err != nil {
			return err
		}
		if err := table(t); err != nil {
			return err
		}
	}
	return errors.Join(b.wrong...)
}

// Open starts an engine on rings.
func (b *checkpointBench) Open(o engine.Options) *engine.Engine {
	o.Layout = cache.Ring
	return engine.New(b.thread, b.bundle.Model, b.bundle.Tokenizer, o)
}

// budget is what checkpoints may take in memory where they are served.
func (*checkpointBench) budget() int64 { return home.Memory() / pool.CheckpointMemory }

// store opens files in a folder.
func (b *checkpointBench) store(dir string) *checkpoint.Store {
	return checkpoint.NewStore(checkpoint.StoreOptions{Dir: dir, Key: "bench", Context: "bench", Budget: pool.MostCheckpoints})
}

// written waits until a store has nothing to write: it would slow what is
// measured next.
func written(ctx context.Context, s *checkpoint.Store) error {
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

// Ask answers a request to the last token that is asked for.
func (b *checkpointBench) Ask(ctx context.Context, e *engine.Engine, r engine.Request) (response, error) {
	var a response
	r.IgnoreEOS = true
	r.Done = func(s engine.Stats) { a.stats = s }
	for tok, err := range e.Generate(ctx, r) {
		if err != nil {
			return a, err
		}
		a.ids = append(a.ids, tok.ID)
	}
	return a, nil
}

// text returns n ids that nobody has sent yet.
func (b *checkpointBench) text(n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(100 + b.random.IntN(min(b.bundle.Model.Config().VocabSize, 4000)-100))
	}
	return ids
}

// plainly is how requests are decoded whose decoding is not what is measured.
var plainly = engine.Speculation{Drafter: engine.None}
