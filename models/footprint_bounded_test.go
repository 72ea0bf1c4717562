package models_test

import (
	"fmt"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/restore"
	"tandem/models"
)

// TestFootprintOfBoundedTextEqualsCaches compares the predicted memory of a text with the caches of
// pairs: with exact layers, with layers that slide, whose banks are rings or keep every row, and with
// rows in 8 bits.
func TestFootprintOfBoundedTextEqualsCaches(t *testing.T) {
	th := enginetest.NewThread(t)
	const tokens = cache.MaxChunk // buffers grow by a divisor of this number
	for _, c := range []struct {
		arch  string
		theta map[string]any
		opts  cache.Options
	}{
		{"qwen3", nil, cache.Options{}},
		{"qwen3", map[string]any{"exact_layers": []int{0, 2}, "window_size": 30}, cache.Options{}},
		{"gemma3_text", map[string]any{"window_size": 6}, cache.Options{}},
		{"gemma3_text", map[string]any{"window_size": 6}, cache.Options{Layout: cache.Full}},
		{"gemma3_text", map[string]any{"window_size": 16}, cache.Options{}}, // sliding layers stay
	} {
		name := fmt.Sprint(c.arch, c.theta, c.opts.Layout)
		p := loadRestored(t, th, c.arch, nil, c.theta)
		s, err := models.Inspect(enginetest.TinyModel(t, c.arch))
		if err != nil {
			t.Fatal(err)
		}
		drafter, err := models.MeasureDrafter(enginetest.TinyDrafter(t, nil))
		if err != nil {
			t.Fatal(err)
		}
		f := s.Footprint.Bounded(p.ftheta.Config)
		if c.opts.Layout == cache.Full {
			f = f.Full()
		}
		m := p.model(t)
		caches, _, err := restore.Prefill(t.Context(), th, m, byteText(tokens), 0, c.opts)
		if err != nil {
			t.Fatal(err)
		}
		held := m.Bytes(caches)
		// One layer is copied, see TestPeakOfABoundedTextIsPredicted.
		const row = 2 * 2 * 16 * 4
		copied := int64(2 * row * p.ftheta.Config.Bounds(0).JoinedRows(tokens, tokens))
		if got := f.Text(tokens, true) - copied; got != held.Exact+held.Own+held.Restored {
			t.Errorf("%s: %d tokens are predicted to take %d bytes, and take %+v", name, tokens, got, held)
		}
		if got := drafter.Text(tokens, true); got < held.Source || held.Source == 0 {
			t.Errorf("%s: the drafter's layers are predicted to take %d bytes, and take %d", name, got,
				held.Source)
		}
		restore.Release(th, caches)
		p.close(t)
	}
}

// TestPeakOfABoundedTextIsPredicted reads a chunk and takes a step after a long text. What these hold
// beside the caches, compared with the same layers unbounded, is within what the footprint counts.
func TestPeakOfABoundedTextIsPredicted(t *testing.T) {
	th := enginetest.NewThread(t)
	const tokens = 8192
	fields := map[string]any{"max_position_embeddings": 2 * tokens, "head_dim": 128}
	dir := enginetest.TinyModel(t, "qwen3", fields)
	b, err := models.Load(t.Context(), th, dir, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s, err := models.Inspect(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := models.ReadFTheta(enginetest.TinyFTheta(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	f := s.Footprint
	const layers, row = 3, 2 * 2 * 128 * 4
	bounds := c.Bounds(0)
	counted := f.Bounded(c).Text(tokens, true) - f.Text(tokens, true) -
		int64(layers*row*(bounds.OwnRows()+bounds.Front()))
	o := restore.Options{Sink: *c.SinkSize, Window: *c.WindowSize,
		Source: tokenSource{b.Model.(restorable)}}
	bounded := bound(t, b.Model, o)
	for n, limit := range map[int]int64{1: 1 << 20, 8: 1 << 20, cache.MaxChunk: counted} {
		plain, got := besideCaches(t, th, b.Model, tokens, n), besideCaches(t, th, bounded, tokens, n)
		t.Logf("%d rows: %d bytes, unbounded %d, counted %d", n, got, plain, counted)
		if more := got - plain; more > limit || n == cache.MaxChunk && more < limit/4 {
			t.Errorf("%d rows after %d positions take %d bytes more than unbounded, of %d", n, tokens,
				more, limit)
		}
	}
}

// besideCaches returns the peak of what a forward of n tokens holds beside what was there before. Its
// caches have room for them, and hold tokens less a chunk.
func besideCaches(t *testing.T, th *mlx.Thread, m lm.Model, tokens, n int,
	opts ...cache.Options) int64 {
	t.Helper()
	o := cache.Options{Rows: tokens}
	for _, o = range opts {
		o.Rows = tokens
	}
	caches, _, err := restore.Prefill(t.Context(), th, m, byteText(tokens-cache.MaxChunk), 0, o)
	if err != nil {
		t.Fatal(err)
	}
	defer restore.Release(th, caches)
	var before int64
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		s.ClearCache()
		s.ResetPeak()
		before = s.Memory().Active
		out := m.Forward(s, lm.Batch{{Tokens: mlx.New(s, byteText(n), n), N: n,
			Pos: caches[0].Offset(), Caches: caches}}, nil)
		return s.Eval(append(caches.Arrays(), out.Hidden)...)
	})
	return th.Memory().Peak - before
}

// TestExactLayersAreCountedByCache makes one layer after another exact, in a model in which some layers
// have no cache. Only the number of the cache of attention leaves nothing bounded.
func TestExactLayersAreCountedByCache(t *testing.T) {
	th := enginetest.NewThread(t)
	const tokens = cache.MaxChunk
	files := recorded(t, "nemotron-h")
	b, err := models.LoadFS(t.Context(), th, files, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s, err := models.InspectFS(files, "nemotron-h")
	if err != nil {
		t.Fatal(err)
	}
	bounded := bound(t, b.Model, testBounds).Bounded()
	if len(bounded) != 1 {
		t.Fatalf("caches %v are of attention", bounded)
	}
	layers := b.Model.Config().Layers
	for exact := range layers {
		c, err := models.ReadFTheta(enginetest.TinyFTheta(t, map[string]any{
			"exact_layers": []int{exact}, "verifier_num_layers": layers}))
		if err != nil {
			t.Fatal(err)
		}
		got, whole := s.Footprint.Bounded(c).Text(tokens, true), s.Footprint.Text(tokens, true)
		if (got == whole) != (exact == bounded[0]) {
			t.Errorf("with cache %d exact and %v of attention, a text takes %d bytes, unbounded %d", exact,
				bounded, got, whole)
		}
	}
}
