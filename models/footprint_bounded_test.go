package models_test

import (
	"fmt"
	"strings"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/restore"
	"tandem/models"
)

// TestFootprintOfBoundedTextEqualsCaches compares the predicted memory of a text with the caches of
// pairs: with exact layers, also in rows of 8 bits, and with layers that slide, whose banks are rings or
// keep every row.
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
		{"qwen3", map[string]any{"exact_layers": []int{1}, "verifier_head_dim": 32},
			cache.Options{Bits: 8}},
		{"gemma3_text", map[string]any{"window_size": 6}, cache.Options{}},
		{"gemma3_text", map[string]any{"window_size": 6}, cache.Options{Layout: cache.Full}},
		{"gemma3_text", map[string]any{"window_size": 16}, cache.Options{}}, // sliding layers stay
	} {
		name := fmt.Sprint(c.arch, c.theta, c.opts)
		fields := map[string]any{}
		if dim, ok := c.theta["verifier_head_dim"]; ok {
			fields["head_dim"] = dim
		}
		dir := enginetest.TinyModel(t, c.arch, fields)
		p := loadRestoredFrom(t, th, dir, nil, c.theta)
		s, err := models.Inspect(dir)
		if err != nil {
			t.Fatal(err)
		}
		drafter, err := measureDrafter(enginetest.TinyDrafter(t, nil))
		if err != nil {
			t.Fatal(err)
		}
		f, err := s.Footprint.Bounded(p.ftheta.Config).QuantizedKV(c.opts.Bits)
		if err != nil {
			t.Fatal(err)
		}
		if c.opts.Layout == cache.Full {
			f = f.Full()
		}
		m := p.model(t)
		caches, _, err := restore.Prefill(t.Context(), th, m, byteText(tokens), 0, c.opts)
		if err != nil {
			t.Fatal(err)
		}
		held := m.Bytes(caches)
		if got := f.Held(tokens, true); got != held.Exact+held.Window+held.Restored {
			t.Errorf("%s: %d tokens are predicted to take %d bytes, and take %+v", name, tokens, got, held)
		}
		if got := drafter.SequenceBytes(tokens, true); got < held.Source || held.Source == 0 {
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
	const most = 8192
	dir := enginetest.TinyModel(t, "qwen3", map[string]any{"max_position_embeddings": 2 * most,
		"head_dim": 128})
	b, err := models.Load(t.Context(), th, dir, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s, err := models.Inspect(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []struct {
		tokens, window int
		grows          bool // the caches have no room for the last rows
	}{
		{most, cache.DefaultWindow, false}, {600, 512, false}, {4096, 1024, false},
		{2 * cache.MaxChunk, cache.DefaultWindow, true}, {2 * cache.MaxChunk, 512, true},
	} {
		c, err := models.ReadFTheta(enginetest.TinyFTheta(t, map[string]any{"window_size": p.window}))
		if err != nil {
			t.Fatal(err)
		}
		f := s.Footprint.Bounded(c)
		counted := f.SequenceBytes(p.tokens, true) - f.Held(p.tokens, true)
		bounded := bound(t, b.Model, restore.Options{Sink: *c.SinkSize, Window: *c.WindowSize,
			Source: tokenSource{b.Model.(restorable)}})
		const few = 1<<20 + 1<<16 // bytes: an array of the text's positions, and small ones
		for n, limit := range map[int]int64{1: few, 8: few, cache.MaxChunk: counted} {
			if p.grows && n < cache.MaxChunk {
				continue
			}
			plain := besideCaches(t, th, b.Model, p.tokens, n)
			got := besideCaches(t, th, bounded, p.tokens, n)
			t.Logf("%+v: %d rows: %d bytes, unbounded %d, counted %d", p, n, got, plain, counted)
			// Where caches grow, the copies of those that are not bounded are as large.
			if more := got - plain; more > limit || n == cache.MaxChunk && !p.grows && more < limit/6 {
				t.Errorf("%+v: %d rows take %d bytes more than unbounded, of %d", p, n, more, limit)
			}
		}
	}
}

// TestCopiesOnAGPUAreThoseOfLayersAhead counts copies on a GPU. It counts those of all layers at most.
// A GPU runs ahead by several layers with small copies. Large copies fill its command buffers sooner.
func TestCopiesOnAGPUAreThoseOfLayersAhead(t *testing.T) {
	for _, c := range []struct {
		tokens, layers, heads, want int
	}{{1 << 14, 3, 2, 3}, {1 << 14, 12, 2, 10}, {1 << 17, 12, 32, 4}} {
		tokens := c.tokens
		s, err := models.Inspect(enginetest.TinyModel(t, "qwen3", map[string]any{"head_dim": 128,
			"num_hidden_layers": c.layers, "num_key_value_heads": c.heads,
			"num_attention_heads": c.heads, "max_position_embeddings": tokens}))
		if err != nil {
			t.Fatal(err)
		}
		theta, err := models.ReadFTheta(enginetest.TinyFTheta(t, nil))
		if err != nil {
			t.Fatal(err)
		}
		f := s.Footprint.Bounded(theta).DequantizingKV(true)
		got := f.SequenceBytes(tokens, true) - f.Held(tokens, true)
		layer := int64(tokens) * int64(c.heads) * 2 * 128 * 4
		if n := float64(got) / float64(layer); n < float64(c.want) || n > 0.6+float64(c.want)*1.05 {
			t.Errorf("%+v: copies are those of %.2f layers", c, n)
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
// have no cache. Only the number of the cache of attention leaves nothing bounded. An f_theta that
// numbers all layers is refused.
func TestExactLayersAreCountedByCache(t *testing.T) {
	th := enginetest.NewThread(t)
	const tokens = cache.MaxChunk
	files := recorded(t, "nemotron-h")
	b, err := models.OpenFS(files, "").Load(t.Context(), th, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s, err := models.OpenFS(files, "nemotron-h").Summary()
	if err != nil {
		t.Fatal(err)
	}
	bounded := bound(t, b.Model, testBounds).Bounded()
	if len(bounded) != 1 {
		t.Fatalf("caches %v are of attention", bounded)
	}
	layers := b.Model.Config().Layers
	shape := b.Model.(restorable).KVShapes()[bounded[0]]
	for n, want := range map[int]string{layers: "and 3 of them keep something", 3: "", 2: "keep something"} {
		c, err := models.ReadFTheta(enginetest.TinyFTheta(t, map[string]any{"verifier_num_layers": n,
			"verifier_num_kv_heads": shape.Heads, "verifier_head_dim": shape.Dim}))
		if err == nil {
			err = models.PairFTheta(b, c)
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("an f_theta of %d layers, for %d: %v", n, layers, err)
		}
	}
	for exact := range layers {
		c, err := models.ReadFTheta(enginetest.TinyFTheta(t, map[string]any{
			"exact_layers": []int{exact}, "verifier_num_layers": layers}))
		if err != nil {
			t.Fatal(err)
		}
		got, whole := s.Footprint.Bounded(c).SequenceBytes(tokens, true), s.Footprint.SequenceBytes(tokens, true)
		if (got == whole) != (exact == bounded[0]) {
			t.Errorf("with cache %d exact and %v of attention, a text takes %d bytes, unbounded %d", exact,
				bounded, got, whole)
		}
	}
}
