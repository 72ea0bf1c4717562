package models_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// tapRows runs tokens through the model in one forward, which appends them to the caches. It
// returns, by row, the outputs of all layers.
func tapRows(t testing.TB, th *mlx.Thread, m lm.Model, caches []cache.Cache,
	tokens []int32) [][]float32 {
	t.Helper()
	return pausedTapRows(t, th, m, caches, tokens, nil)
}

// pausedTapRows is tapRows. Unless pause is nil, each layer is evaluated apart, and pause is called after
// it.
func pausedTapRows(t testing.TB, th *mlx.Thread, m lm.Model, caches []cache.Cache, tokens []int32,
	pause func(*mlx.Scope)) [][]float32 {
	t.Helper()
	var out [][]float32
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		between := func(mark int, live []*mlx.Array) {
			if pause != nil && s.EvalSince(mark, append(live, cache.Stack(caches).Arrays()...)...) == nil {
				pause(s)
			}
		}
		// Taps come in the order asked for. This asks for the last layer first.
		var layers []int
		for i := range m.Config().Layers {
			layers = append([]int{i}, layers...)
		}
		q := lm.Sequence{Tokens: mlx.New(s, tokens, len(tokens)), N: len(tokens),
			Pos: caches[0].Offset(), Caches: caches}
		var o lm.Output
		s.WithPause(between, func() error { o = m.Forward(s, lm.Batch{q}, layers); return nil })
		slices.Reverse(o.Taps)
		joined := s.Contiguous(s.AsType(s.Concat(-1, o.Taps...), mlx.Float32))
		keep := []*mlx.Array{joined}
		for _, c := range caches {
			keep = append(keep, c.Arrays()...)
		}
		if err := s.Eval(keep...); err != nil {
			return err
		}
		var err error
		out, err = enginetest.ReadRows(s, joined)
		return err
	})
	return out
}

// tapCases are recorded models of each kind of layer.
var tapCases = []exactCase{
	{"gemma3", "bfloat16", false},
	{"gemma3", "float32", false},
	{"gemma4-e", "float32", false},
	{"gemma4-moe", "float32", true},
	{"glimmer", "float32", false},
	{"glm4-moe-lite", "float32", true},
	{"glm4-moe-lite-4bit", "bfloat16", false},
	{"gpt-oss", "float32", true},
	{"gpt-oss-published", "bfloat16", false},
	{"granite", "float32", false},
	{"lfm2", "bfloat16", true},
	{"lfm2", "float32", false},
	{"llama", "bfloat16", true},
	{"llama", "float32", false},
	{"llama-sliding", "float32", true},
	{"ministral3", "float32", false},
	{"mistral3", "float32", true},
	{"nemotron-h", "float32", false},
	{"phi3", "float32", false},
	{"qwen2", "float32", false},
	{"qwen3", "bfloat16", false},
	{"qwen3", "float32", false},
	{"qwen3-moe", "float32", false},
	{"qwen3-next-moe", "float32", false},
	{"qwen35", "float32", false},
	{"smollm3", "float32", false},
}

// tapSuite compares the taps of prefill chunks, of decode steps and of verify blocks with the taps
// of one clean forward. The second half of each block is rolled back.
func tapSuite(t *testing.T, th *mlx.Thread, cases []exactCase, layout cache.Layout,
	compare compareFunc) {
	for _, c := range cases {
		if c.long && !enginetest.Long {
			continue
		}
		t.Run(c.name+"/"+c.dtype, func(t *testing.T) { c.runTaps(t, th, layout, compare) })
	}
}

// runTaps is the suite on one model.
func (c exactCase) runTaps(t *testing.T, th *mlx.Thread, layout cache.Layout,
	compare compareFunc) {
	f, b := c.load(t, th)
	defer b.Close()
	if layout == cache.Full && !hasRings(t, th, b.Model) { // both layouts are the same
		return
	}
	e := f.expected(t, th, c.dtype)
	text := slices.Concat(e.prompt, e.ids)
	opts := cache.Options{Layout: layout}
	clean := b.Model.NewCaches(opts)
	want := tapRows(t, th, b.Model, clean, text)
	freeCaches(t, th, clean)
	check := func(what string, at int, got [][]float32) {
		for i, row := range got {
			compare(fmt.Sprintf("%s %s, %s, position %d", c.name, c.dtype, what, at+i), row,
				want[at+i])
		}
	}

	// Prefill in chunks, then decode steps.
	chunks, blocks := []int{7}, []int{2, 16}
	if enginetest.Long {
		chunks, blocks = []int{1, 7, 16, 32}, []int{2, 4, 8, 16}
	}
	for _, chunk := range chunks {
		caches := b.Model.NewCaches(opts)
		for at := 0; at < len(text); {
			n := min(chunk, len(text)-at)
			if at >= len(e.prompt) {
				n = 1
			}
			check(fmt.Sprintf("chunks of %d", chunk), at,
				tapRows(t, th, b.Model, caches, text[at:at+n]))
			at += n
		}
		freeCaches(t, th, caches)
	}

	// With pauses, while the same model reads another text between the layers.
	{
		caches := b.Model.NewCaches(opts)
		other := b.Model.NewCaches(opts)
		pauses := 0
		check("with pauses", 0, pausedTapRows(t, th, b.Model, caches, text, func(s *mlx.Scope) {
			pauses++
			done := make(chan error)
			go func() {
				done <- th.Do(t.Context(), func(s *mlx.Scope) error {
					q := lm.Sequence{Tokens: mlx.New(s, text[:3], 3), N: 3, Pos: other[0].Offset(), Caches: other}
					out := b.Model.Forward(s, lm.Batch{q}, nil)
					return s.Eval(append(cache.Stack(other).Arrays(), out.Hidden)...)
				})
			}()
			for {
				select {
				case err := <-done:
					if err != nil {
						t.Error(err)
					}
					return
				default:
					s.Yield()
				}
			}
		}))
		if pauses != b.Model.Config().Layers {
			t.Errorf("%d pauses between %d layers", pauses, b.Model.Config().Layers)
		}
		freeCaches(t, th, caches)
		freeCaches(t, th, other)
	}

	// Verify blocks: the rows of accepted tokens, with wrong tokens after them.
	for _, k := range blocks {
		caches := b.Model.NewCaches(opts)
		at := len(e.prompt)
		check("prompt", 0, tapRows(t, th, b.Model, caches, text[:at]))
		for ; at+k <= len(text); at += k / 2 {
			block := slices.Clone(text[at : at+k])
			for i := k / 2; i < k; i++ {
				block[i] = (block[i] + 1) % int32(b.Model.Config().VocabSize)
			}
			check(fmt.Sprintf("blocks of %d", k), at,
				tapRows(t, th, b.Model, caches, block)[:k/2])
			for _, c := range caches {
				if err := c.Trim(k - k/2); err != nil {
					t.Fatal(err)
				}
			}
		}
		freeCaches(t, th, caches)
	}
}

// TestBitTaps holds the bit tier for the taps that a drafter gets.
func TestBitTaps(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	for _, layout := range []cache.Layout{cache.Ring, cache.Full}[:layouts()] {
		t.Run(string(layout), func(t *testing.T) {
			var d enginetest.Diff
			tapSuite(t, enginetest.NewThread(t), tapCases, layout, d.Compare)
			d.Check(t)
		})
	}
}

// TestBitTapsControl runs the suite under OpenBLAS, where bits differ.
func TestBitTapsControl(t *testing.T) {
	enginetest.Control(t, func(d *enginetest.Diff) {
		tapSuite(t, enginetest.NewBLASThread(t), tapCases[1:2], cache.Ring, d.Compare)
	})
}

// TestTapIsOutputOfItsLayer expects, in every recorded family, that the final norm scales the tap of
// the last layer: each element by its weight, and each row by one factor. Parity holds what follows
// that norm.
func TestTapIsOutputOfItsLayer(t *testing.T) {
	th := enginetest.NewThread(t)
	for _, c := range tapCases {
		if c.dtype != "float32" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			_, b := c.load(t, th)
			defer b.Close()
			last := b.Model.Config().Layers - 1
			if off := unevenScale(t, th, b.Model, last); !(off < 1e-3) {
				t.Errorf("the final norm does not scale the last tap: off by %g", off)
			}
			if off := unevenScale(t, th, b.Model, last-1); !(off > 0.1) {
				t.Errorf("the final norm scales the tap before the last too: off by only %g", off)
			}
		})
	}
}

// unevenScale returns by how much the factors from a tap to the hidden states differ between rows.
// Each factor is first divided by the factor of its row's first element.
func unevenScale(t *testing.T, th *mlx.Thread, m lm.Model, tap int) (worst float64) {
	t.Helper()
	var hidden, tapped [][]float32
	caches := m.NewCaches(cache.Options{})
	defer freeCaches(t, th, caches)
	enginetest.Do(t, th, func(s *mlx.Scope) (err error) {
		out := m.Forward(s, lm.Batch{{Tokens: mlx.New(s, []int32{5, 6, 7}, 3), N: 3,
			Caches: caches}}, []int{tap})
		if hidden, err = enginetest.ReadRows(s, out.Hidden); err == nil {
			tapped, err = enginetest.ReadRows(s, out.Taps[0])
		}
		return err
	})
	factor := func(row, i int) float64 {
		return float64(hidden[row][i]) / float64(tapped[row][i])
	}
	for row := range hidden {
		for i := range hidden[row] {
			of, first := factor(row, i)/factor(row, 0), factor(0, i)/factor(0, 0)
			worst = math.Max(worst, math.Abs(of/first-1)) // a NaN stays
		}
	}
	return worst
}
