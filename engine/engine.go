package engine

import (
	"context"
	"iter"
	"time"

	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/tokenizer"
)

// An Engine serves one model: it queues requests to generate or encode and evaluates them on the MLX thread. Its
// methods may be called from any goroutine.
type Engine struct {
	thread        *mlx.Thread
	tok           *tokenizer.Tokenizer
	config        lm.Config
	contextLength int

	queue       *queue
	scheduler   *scheduler
	drafters    *drafters
	checkpoints *checkpoints
}

// New starts an engine for a loaded model. The model and the thread belong to the caller and must
// outlive the engine.
func New(thread *mlx.Thread, model lm.Model, tok *tokenizer.Tokenizer, opts Options) *Engine {
	config := model.Config()
	opts = opts.withDefaults(config.ContextLength)
	caches := cacheOptions{layout: opts.Layout, chunk: opts.Chunk, bits: opts.KVBits}
	e := &Engine{
		thread: thread, tok: tok, config: config, contextLength: opts.ContextLength,
		queue: newQueue(opts),
		drafters: &drafters{
			thread: thread, caches: caches, log: opts.Logger,
			list: opts.Drafters, noDrafter: opts.NoDrafter, without: opts.Without,
		},
	}
	e.checkpoints = &checkpoints{
		thread: thread, model: model, caches: caches, drafters: e.drafters, log: opts.Logger,
		store: opts.Store, promptOnly: opts.PromptOnly, budget: opts.Checkpoints,
	}
	planner := newPlanner(e.drafters, opts)
	pauses := &pauses{thread: thread, layers: config.Layers, after: pauseAfter}
	e.scheduler = &scheduler{
		queue: e.queue,
		runner: &runner{
			thread: thread, model: model, vocab: config.VocabSize, chunk: opts.Chunk,
			log: opts.Logger, drafters: e.drafters, planner: planner, checkpoints: e.checkpoints,
			pauses: pauses,
		},
		encoder: &encoder{
			thread: thread, model: model, caches: caches, chunk: opts.Chunk, log: opts.Logger,
			pauses: pauses,
		},
		drafters: e.drafters, planner: planner, checkpoints: e.checkpoints,
		share: opts.ThreadShare, chunk: opts.Chunk, stopped: make(chan struct{}),
	}
	go e.scheduler.schedule()
	return e
}

// ContextLength returns the positions a request may use.
func (e *Engine) ContextLength() int { return e.contextLength }

// Queued returns how many requests to generate or encode wait for a place.
func (e *Engine) Queued() int { return e.queue.waiting() }

// SetRoom changes Options.Room, in bytes. Requests in flight go on.
func (e *Engine) SetRoom(bytes int64) { e.queue.setRoom(bytes) }

// Reserved returns the bytes that all in flight may come to take, see Options.SequenceBytes. It is 0 as soon
// as nothing is in flight.
func (e *Engine) Reserved() int64 { return e.queue.reservedBytes() }

// SetCheckpoints changes Options.Checkpoints, in bytes, between two rounds. What is beyond
// the new bound leaves the memory.
func (e *Engine) SetCheckpoints(bytes int64) {
	e.queue.addJob(func() { e.checkpoints.resize(bytes) })
}

// FreeCheckpoints is SetCheckpoints, and returns the bytes that left the memory, because the
// machine is short of it. It waits for the round in progress. What MLX holds for reuse goes back to
// the system too. An engine that is closed frees nothing.
func (e *Engine) FreeCheckpoints(bytes int64) (freed int64) {
	done := make(chan int64, 1)
	if !e.queue.addJob(func() { done <- e.checkpoints.free(bytes) }) {
		return 0
	}
	return <-done
}

// Forget gives up all texts that are kept in memory. Then it calls remove, which may delete
// what is on disk: until remove returns nothing is restored from there or written there.
// Requests in flight and in the queue go on and leave nothing. The error is remove's.
func (e *Engine) Forget(remove func() error) error {
	done := make(chan error, 1)
	if !e.queue.addJob(func() { e.checkpoints.forget(func() { done <- remove() }) }) {
		<-e.scheduler.stopped
		return remove()
	}
	return <-done
}

// Close ends all requests with CodeClosed, waits for the running round and frees their caches. It
// logs what goes wrong: the caller could do no more about it.
func (e *Engine) Close() {
	e.queue.close()
	<-e.scheduler.stopped
}

// Generate continues r.Prompt. Nothing happens before the result is ranged over. Leaving the range,
// or cancelling ctx, ends the generation within one round. An error is yielded once, last, with a
// zero Token. It is an *Error or ctx's.
func (e *Engine) Generate(ctx context.Context, r Request) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		t, err := e.submit(ctx, r)
		if err != nil {
			if r.Done != nil {
				r.Done(Stats{PromptTokens: len(r.Prompt), Err: err})
			}
			yield(Token{}, err)
			return
		}
		if e.consume(ctx, t, yield) && t.stats.Err != nil {
			yield(Token{}, t.stats.Err)
		}
	}
}

// consume hands a task's tokens to yield. It waits until the scheduler has let go of the task,
// however the loop ended, by a panic in its body too. It reports whether yield wants more.
func (e *Engine) consume(ctx context.Context, t *task, yield func(Token, error) bool) (more bool) {
	more = true
	drained := false
	defer func() {
		t.cancel()
		e.queue.signal()
		<-t.left
		switch {
		case !more:
			t.stats.Err = nil // leaving early is no failure
		case !drained:
			// The last tokens may exist, but were not handed over.
			t.stats.Err = ctx.Err()
		}
		if t.req.Done != nil {
			t.stats.Repeats = Repeats(t.tokens[len(t.req.Prompt):])
			t.req.Done(t.stats)
		}
	}()
	drained = t.mail.each(ctx, &t.req, func(tok Token) bool {
		more = false
		more = yield(tok, nil)
		return more
	})
	return more
}

// Encode returns one row for each text, in float32: its pooled hidden states, or logits. It shares
// the device with requests and other encode requests chunk by chunk, and ends within one round after ctx
// does. It restores nothing and keeps nothing. An error is an *Error or ctx's.
func (e *Engine) Encode(ctx context.Context, r EncodeRequest) ([][]float32, Stats, error) {
	t := &encodeTask{EncodeRequest: r, ctx: ctx, left: make(chan struct{}), arrived: time.Now()}
	for _, tokens := range r.Sequences {
		t.stats.PromptTokens += len(tokens)
	}
	err := e.checkEncode(r)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = e.queue.addEncode(t)
	}
	if err != nil {
		t.stats.Err = err
		return nil, t.stats, err
	}
	select {
	case <-t.left:
	case <-ctx.Done():
		e.queue.signal()
		<-t.left
	}
	if t.stats.Err != nil {
		return nil, t.stats, t.stats.Err
	}
	return t.results, t.stats, nil
}

// submit checks r and puts it into the queue.
func (e *Engine) submit(ctx context.Context, r Request) (*task, error) {
	limit, err := e.check(r)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := newTask(ctx, r, limit, e.tok, e.config.EOS)
	t.forgets = e.checkpoints.forgets.Load()
	if r.Speculation.Drafter != None {
		t.stats.NoDrafter = e.drafters.noDrafter
	}
	t.arrived = time.Now()
	for _, id := range r.Generated {
		complete, err := t.addToken(Token{ID: id}, true)
		if err != nil {
			return nil, err
		}
		if complete {
			return e.submitComplete(t)
		}
	}
	if err := e.queue.add(t); err != nil {
		return nil, err
	}
	return t, nil
}

// submitComplete ends a task that has nothing left to generate. It never comes to the scheduler.
func (e *Engine) submitComplete(t *task) (*task, error) {
	if e.queue.isClosed() {
		return nil, errClosed
	}
	t.end(nil, e.drafters.whyPlain(t), e.thread.Memory().Peak)
	return t, nil
}
