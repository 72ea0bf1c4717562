package engine

import (
	"context"
	"iter"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"tandem/engine/cache"
	"tandem/engine/checkpoint"
	"tandem/engine/draft"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/tokenizer"
)

// Limits of one engine.
const (
	MaxQueue  = 64 // requests waiting; one more is refused with CodeQueueFull
	MaxActive = 8  // requests that share the model; one more waits until one of them ends
	MaxShort  = 2  // short requests (Options.Short) that share it beside those
)

// Options of an Engine. The zero value is what serving wants.
type Options struct {
	ContextLength int          // positions; zero or more than the model's means the model's
	Chunk         int          // prompt rows per forward; zero means cache.MaxChunk, more is cut to it
	Layout        cache.Layout // of sliding-window layers
	KVBits        int          // of the model's caches, see cache.Options.Bits; those of drafters have none
	Queue         int          // zero means MaxQueue
	Active        int          // zero means MaxActive

	// Text returns the bytes that a text of so many positions takes. Room bounds the bytes that all
	// in flight may come to take, however long their answers become. A request for which there is
	// no room waits, and those after it. A request that is alone always has room. A nil Text bounds
	// nothing. SetRoom changes Room.
	Text func(positions int) int64
	Room int64

	// Short is the length, in positions, of texts that have memory of their own: beside a text that
	// takes a whole context, as far as Room is larger than that. Requests that cannot become
	// longer, such as an editor's completions, go there ahead of requests that wait. They also have
	// MaxShort places of their own. Zero reserves neither.
	Short int

	Logger *slog.Logger // nil discards

	// Checkpoints bounds the bytes of states kept for requests that begin alike; 0 keeps none.
	// SetCheckpoints changes it.
	Checkpoints int64

	// PromptOnly keeps no checkpoints inside answers, only at their ends. It is there to measure
	// what those inside are good for.
	PromptOnly bool

	// Store keeps checkpoints on disk too and brings them back; nil does not. It belongs to the
	// caller and must outlive the engine.
	Store *checkpoint.Store

	// Drafters propose for the model, the preferred one first. They belong to the caller and must
	// outlive the engine.
	Drafters []draft.Drafter

	// NoDrafter says why a drafter that belongs to the model is not among Drafters; empty if none
	// is missing.
	NoDrafter string

	// Without says why drafters of these names are not among Drafters, for requests that name one.
	Without map[string]string

	// Policies keeps what is learned of drafters from launch to launch, under the model's Name. Nil
	// keeps it as long as the engine lives.
	Policies draft.Store
	Name     string

	// ThreadShare is shared by the engines of one thread; nil if there is no other.
	ThreadShare *ThreadShare
}

// An Engine owns one model's queue and schedules its requests on the MLX thread. Its methods may be
// called from any goroutine.
type Engine struct {
	thread *mlx.Thread
	model  lm.Model
	config lm.Config
	tok    *tokenizer.Tokenizer
	opts   Options

	mu              sync.Mutex
	waiting         queue[*task]
	waitingReadings queue[*reader]
	jobs            []func() // for the scheduler, between two rounds
	reserved        int64    // bytes, see Reserved
	forgets         int      // calls of Forget so far; the scheduler writes it
	closed          bool
	changed         func() // set by tests: called, with mu held, when one of the above changes

	// The scheduler's:
	selector       *draft.Selector                // of requests decoded as most are
	otherSelectors map[decodeMode]*draft.Selector // of others; what they learn is not stored
	arms           []draft.Arm
	batchPolicy    batchPolicy
	contexts       contexts
	readers        []*reader // readings in flight
	readingNext    bool      // where both wait, a reading is admitted next
	promptShares   fairShares
	readShares     fairShares
	trie           *checkpoint.Trie // nil before the first request, and without checkpoints
	held           held

	wake    chan struct{} // capacity 1: something arrived or was cancelled
	stopped chan struct{} // closed when the scheduler has ended
}

// New starts an engine for a loaded model. The model and the thread belong to the caller and must
// outlive the engine.
func New(thread *mlx.Thread, model lm.Model, tok *tokenizer.Tokenizer, opts Options) *Engine {
	config := model.Config()
	if opts.ContextLength <= 0 || opts.ContextLength > config.ContextLength {
		opts.ContextLength = config.ContextLength
	}
	if opts.Chunk <= 0 || opts.Chunk > cache.MaxChunk {
		opts.Chunk = cache.MaxChunk
	}
	if opts.Queue <= 0 {
		opts.Queue = MaxQueue
	}
	if opts.Active <= 0 {
		opts.Active = MaxActive
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	e := &Engine{
		thread: thread, model: model, config: config, tok: tok, opts: opts,
		wake:    make(chan struct{}, 1),
		stopped: make(chan struct{}),
	}
	for _, d := range opts.Drafters {
		_, own := d.(draft.Prediction)
		e.arms = append(e.arms, draft.Arm{Name: d.Name(), Limit: d.MaxDrafts(), Own: own})
	}
	e.selector = draft.NewSelector(opts.Name, e.arms, opts.Policies)
	e.otherSelectors = map[decodeMode]*draft.Selector{}
	go e.schedule()
	return e
}

// ContextLength returns the positions a request may use.
func (e *Engine) ContextLength() int { return e.opts.ContextLength }

// Queued returns how many requests and readings wait for a place.
func (e *Engine) Queued() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.queued()
}

// queued is Queued for callers that hold mu.
func (e *Engine) queued() int { return len(e.waiting.list) + len(e.waitingReadings.list) }

// Close ends all requests with CodeClosed, waits for the running round and frees their caches. It
// logs what goes wrong: the caller could do no more about it.
func (e *Engine) Close() {
	e.mu.Lock()
	e.closed = true
	e.notify()
	e.mu.Unlock()
	e.signal()
	<-e.stopped
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
		e.signal()
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

// submit checks r and puts it into the queue.
func (e *Engine) submit(ctx context.Context, r Request) (*task, error) {
	limit, err := e.check(r)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	seed := rand.Uint64N(1 << 53) // exact in JSON readers whose numbers are doubles
	if r.Seed != nil {
		seed = *r.Seed
	}
	t := newTask(ctx, r, seed, limit, e.tok)
	if r.Speculation.Drafter != None {
		t.stats.NoDrafter = e.opts.NoDrafter
	}
	t.arrived = time.Now()
	over := false
	for _, id := range r.Generated {
		if over, err = e.addToken(t, Token{ID: id}, true); err != nil {
			return nil, err
		}
		if over {
			break
		}
	}

	e.mu.Lock()
	defer e.mu.Unlock()
	t.forgets = e.forgets
	switch {
	case e.closed:
		return nil, errClosed
	case over: // nothing is left to generate
		e.finish(t, nil)
		return t, nil
	case len(r.Generated) > 0: // it was admitted when it began
		e.waiting.list = slices.Insert(e.waiting.list, 0, t)
	case e.queued() >= e.opts.Queue:
		return nil, errQueueFull
	default:
		e.waiting.list = append(e.waiting.list, t)
	}
	e.notify()
	e.signal()
	return t, nil
}

var (
	errClosed = &Error{Code: CodeClosed,
		Message: "the model was unloaded; send the request again"}
	errQueueFull = &Error{Code: CodeQueueFull,
		Message: "the model is busy and its queue is full; try again in a second"}
)

// notify tells a test that what mu guards has changed. The caller holds mu.
func (e *Engine) notify() {
	if e.changed != nil {
		e.changed()
	}
}

// signal wakes the scheduler.
func (e *Engine) signal() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// cacheOptions returns the options of the model's caches of a request with at most so many positions;
// 0 means not known.
func (e *Engine) cacheOptions(positions int) cache.Options {
	o := e.contextOptions(positions)
	o.Bits = e.opts.KVBits
	return o
}

// contextOptions is cacheOptions for the caches of drafters. They are small, and what they lose costs
// accepted tokens.
func (e *Engine) contextOptions(positions int) cache.Options {
	return cache.Options{Layout: e.opts.Layout, Chunk: e.opts.Chunk, Rows: positions}
}
