package lab

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"tandem/app/bench"
	"tandem/app/evidence"
	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/restore"
)

// Names of arms.
const (
	armOracle     = "oracle"
	armSinkWindow = "sink-window"
	armIdentity   = "identity"
	armFTheta     = "f_theta"
	exactLayers   = "S5 + " // exact layers keep every row
)

// loopNative is the loop of restore.Decode, which waits for each token.
const loopNative = "native_decode"

// A recallArm is one way to keep what was read.
type recallArm struct {
	name   string
	model  *gauge
	source restore.Source // or nil
	from   string         // origin of what source restores
	exact  []int          // caches that keep every row; nil if all or no caches do
	engine *engine.Engine // nil for arms that decode by other means

	bypass bool // the primitives of the native cache
	forced bool // one forward over the answer

	samples []evidence.Sample
	prompts [][]int32
	ids     [][]int32
	held    []held
	alone   []time.Duration
	peak    int64
}

// An armResult is an arm's result on one prompt.
type armResult struct {
	evidence.Sample
	asked []int32 // the prompt
	ids   []int32
	held  held          // at the end of the prompt
	alone time.Duration // of the source by itself on the prompt
	peak  int64         // of MLX's memory, 0 = not measured
}

// add keeps a result.
func (a *recallArm) add(r armResult) {
	a.samples, a.prompts = append(a.samples, r.Sample), append(a.prompts, r.asked)
	a.ids = append(a.ids, r.ids)
	a.held, a.alone = append(a.held, r.held), append(a.alone, r.alone)
	a.peak = max(a.peak, r.peak)
}

// clear removes all results.
func (a *recallArm) clear() {
	a.samples, a.prompts, a.ids, a.held, a.alone, a.peak = nil, nil, nil, nil, nil, 0
}

// arms opens all arms that the subject has, the oracle first. The caller closes them.
func (e *subject) arms() ([]*recallArm, error) {
	list := []*recallArm{{name: armOracle}}
	add := func(name string, source restore.Source, from string, exact []int) {
		list = append(list, &recallArm{name: name, source: source, from: from, exact: exact})
	}
	identity, exact := restore.Identity(e.bundle.Model), e.exactCaches()
	add(armSinkWindow, nil, "", nil)
	add(armIdentity, identity, evidence.FromOwnRows, nil)
	if len(exact) > 0 {
		add(exactLayers+armIdentity, identity, evidence.FromOwnRows, exact)
	}
	best := list[2]
	if e.ftheta != nil {
		source := restore.FTheta(e.ftheta.Stack, e.ftheta.Projection)
		if len(e.ftheta.Config.ExactLayers) == 0 {
			add(armFTheta, source, evidence.FromFTheta, nil)
			best = list[len(list)-1]
		}
		if len(exact) > 0 {
			add(exactLayers+armFTheta, source, evidence.FromFTheta, exact)
			if best.name == armIdentity {
				best = list[len(list)-1]
			}
		}
	}
	list = append(list,
		&recallArm{name: restore.NativeBypass, bypass: true},
		&recallArm{name: armOracle + ", teacher-forced", forced: true},
		&recallArm{name: best.name + ", teacher-forced", forced: true, source: best.source,
			from: best.from, exact: best.exact})
	for i, a := range list {
		m, err := e.bound(a, i == 0 || a.bypass || a.name == armOracle+", teacher-forced")
		if err != nil {
			return nil, err
		}
		a.model = newGauge(m)
	}
	return list, nil
}

// bound returns the model of an arm. The target itself keeps every row.
func (e *subject) bound(a *recallArm, full bool) (lm.Model, error) {
	if full {
		return e.bundle.Model, nil
	}
	sink, window := e.bounds()
	return restore.New(e.bundle.Model, restore.Options{Sink: sink, Window: window, Exact: a.exact,
		Source: a.source})
}

// answer lets an arm answer a prompt in at most that many tokens.
func (e *subject) answer(ctx context.Context, a *recallArm, ids []int32, n needle,
	limit int) (armResult, error) {
	before := a.model.counts()
	a.model.prompt = len(ids)
	var r armResult
	var err error
	switch {
	case a.forced:
		r, err = e.force(ctx, a, ids, n)
	case a.bypass:
		r, err = e.decodeNatively(ctx, a, ids, limit)
	default:
		r, err = e.generate(ctx, a, ids, limit)
	}
	if err != nil {
		return r, err
	}
	r.Text = strings.TrimSpace(e.bundle.Tokenizer.Decode(r.ids, true))
	r.Expected, r.Correct = n.code, new(n.found(r.Text))
	r.LoopedFrom = new(engine.Repeats(r.ids))
	r.held, r.asked = a.model.read, ids
	r.Held = r.held.evidence()
	r.Prompt, r.Tokens = len(ids), len(r.ids)
	r.RestoredRows, r.EvictedRows = a.model.restored(before), a.model.held.evicted
	r.KVBits = a.model.held.bits
	if a.source == nil {
		return r, nil
	}
	// Restoring is part of the forwards, so its share is not measured. What the source takes by
	// itself says about how much it is.
	r.alone, err = e.timeSource(ctx, a.source, ids)
	return r, err
}

// generate answers by the engine.
func (e *subject) generate(ctx context.Context, a *recallArm, ids []int32,
	limit int) (r armResult, err error) {
	request := engine.Request{Prompt: ids, MaxTokens: &limit, Fresh: true,
		Speculation: engine.Speculation{Drafter: engine.None},
		Done: func(st engine.Stats) {
			r.Prefill, r.Decode, r.peak = st.FirstToken-st.Queue, st.Decode, st.PeakBytes
		}}
	for tok, err := range a.engine.Generate(ctx, request) {
		if err != nil {
			return r, err
		}
		r.ids = append(r.ids, tok.ID)
	}
	return r, nil
}

// decodeNatively answers by the primitives of the native cache.
func (e *subject) decodeNatively(ctx context.Context, a *recallArm, ids []int32,
	limit int) (r armResult, err error) {
	start := time.Now()
	caches, logits, err := restore.Prefill(ctx, e.thread, a.model, ids, 0,
		cache.Options{Rows: len(ids) + limit})
	if err != nil {
		return r, err
	}
	defer restore.Release(e.thread, caches)
	r.Prefill = time.Since(start)
	start = time.Now()
	r.ids, err = restore.Decode(ctx, e.thread, a.model, caches, logits, limit,
		e.bundle.Model.Config().EOS...)
	r.Decode, r.Loop = time.Since(start), loopNative
	return r, err
}

// force reads the code's own tokens and answers with the likeliest one at each place. The text of these
// must have the code in it. An answer in other words counts as wrong, so this measures too little.
func (e *subject) force(ctx context.Context, a *recallArm, ids []int32,
	n needle) (r armResult, err error) {
	code, err := e.plainTokens(n.code)
	if err != nil {
		return r, err
	}
	start := time.Now()
	caches, logits, err := restore.Prefill(ctx, e.thread, a.model, ids, 0,
		cache.Options{Rows: len(ids) + len(code)})
	if err != nil {
		return r, err
	}
	defer restore.Release(e.thread, caches)
	r.Prefill = time.Since(start)
	start = time.Now()
	r.ids = []int32{likeliestOf(logits)}
	if len(code) > 1 {
		rest, err := e.likeliestAfter(ctx, a.model, caches, code[:len(code)-1])
		if err != nil {
			return r, err
		}
		r.ids = append(r.ids, rest...)
	}
	r.Decode, r.Loop = time.Since(start), evidence.ModeTeacherForced
	return r, nil
}

// likeliestAfter appends tokens to the caches in one forward and returns the likeliest token after
// each.
func (e *subject) likeliestAfter(ctx context.Context, m lm.Model, caches cache.Stack,
	tokens []int32) (ids []int32, err error) {
	err = e.thread.Do(ctx, func(s *mlx.Scope) error {
		n := len(tokens)
		out := m.Forward(s, lm.Batch{{Tokens: mlx.New(s, tokens, n), N: n,
			Pos: caches[0].Offset(), Caches: caches}}, nil)
		next := s.AsType(s.Argmax(m.Unembed(s, out.Hidden), -1), mlx.Int32)
		if err := s.Eval(append(caches.Arrays(), next)...); err != nil {
			return err
		}
		ids, err = mlx.Read[int32](s, next)
		return err
	})
	return ids, err
}

// timeSource returns how long a source takes for a prompt by itself, in chunks.
func (e *subject) timeSource(ctx context.Context, source restore.Source,
	ids []int32) (time.Duration, error) {
	caches := cache.Stack(source.NewCaches(cache.Options{Rows: len(ids)}))
	defer restore.Release(e.thread, caches)
	start := time.Now()
	for at := 0; at < len(ids); at += cache.MaxChunk {
		chunk := ids[at:min(at+cache.MaxChunk, len(ids))]
		err := e.thread.Do(ctx, func(s *mlx.Scope) error {
			n := len(chunk)
			made := source.KeysValues(s, lm.Batch{{Tokens: mlx.New(s, chunk, n), N: n, Pos: at,
				Caches: caches}})
			arrays := caches.Arrays()
			for _, kv := range made {
				if kv.K != nil {
					arrays = append(arrays, kv.K, kv.V)
				}
			}
			return errors.Join(s.Err(), s.Eval(arrays...))
		})
		if err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

// likeliestOf returns the token of the largest logit, the lowest of several.
func likeliestOf(logits []float32) int32 {
	best := 0
	for i, v := range logits {
		if v > logits[best] {
			best = i
		}
	}
	return int32(best)
}

// difference says where an arm that must equal the oracle differs from its answer to a sample, or ""
// if it does not. A bounded layer sums in another order. So a divergence is excused where the
// oracle's two best tokens are nearly equal. In 16 bits a sum differs by more, and it is enough
// that both find the needle or neither does.
func (e *subject) difference(ctx context.Context, a, oracle *recallArm, i int) (string, error) {
	if slices.Equal(a.ids[i], oracle.ids[i]) {
		return "", nil
	}
	if e.bundle.Model.Config().Dtype != mlx.Float32 &&
		*a.samples[i].Correct == *oracle.samples[i].Correct {
		return "", nil
	}
	u := bench.DivergenceJudge{Thread: e.thread, Model: e.bundle.Model,
		Open: func(m lm.Model) *engine.Engine { return e.open(m, engine.Options{}) }}
	d, err := u.Judge(ctx, engine.Request{Prompt: oracle.prompts[i], Fresh: true,
		Seed: new(uint64(0))}, oracle.ids[i], a.ids[i])
	if err != nil || d.Excused {
		return "", err
	}
	return d.String(), nil
}

// differsAnywhere is difference for all samples: it says where the first one differs.
func (e *subject) differsAnywhere(ctx context.Context, a, oracle *recallArm) (string, error) {
	for i := range a.samples {
		if why, err := e.difference(ctx, a, oracle, i); why != "" || err != nil {
			return why, err
		}
	}
	return "", nil
}
