package bench

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"tandem/app/figures"
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
	flowTexts   = 8   // texts of each flow but the probe
	mixedAmount = 500 // requests while memory is watched
)

// A checkpointBench measures checkpoints:
//
//   - what they save in the flows of clients;
//   - what they cost while an answer is written;
//   - how soon a text is back after a restart;
//   - whether they keep to their memory budget.
//
// Everything runs on rings, where a text can continue only from a place that was captured.
type checkpointBench struct {
	thread *mlx.Thread
	bundle *models.Bundle
	loaded *benchDrafters
	code   *workload
	pairs  int  // of a comparison, and texts of the probe, at least
	once   bool // pairs are never doubled
	texts  int  // of each other flow
	mixed  int  // requests of the mixture
	random *rand.Rand
	log    io.Writer // progress, for a person
	wrong  []error   // bars that were missed
}

func openCheckpoints(ctx context.Context, o Options) (bench, error) {
	t, b, err := benchModel(ctx, o.Model, models.Options{})
	if err != nil {
		return nil, err
	}
	c := &checkpointBench{
		thread: t, bundle: b, pairs: figures.MinPairs, texts: flowTexts, mixed: mixedAmount,
		random: rand.New(rand.NewPCG(3, 4)), log: o.Err,
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

func (b *checkpointBench) header() figures.Header {
	h := newHeader()
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

// report measures part by part. It returns an error if less of an answer is restored than its
// checkpoints promise, or if they exceed their memory budget.
func (b *checkpointBench) report(ctx context.Context, table func(figures.Table) error) error {
	for _, part := range []func(context.Context) (figures.Table, error){b.flows, b.captures, b.restarts, b.memory} {
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
		Budget: pool.MostCheckpoints})
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
	r engine.Request) (response, error) {
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
