package models_test

import (
	"slices"
	"strings"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models"
)

// TestRecurrentStatesEqualOneRowDecode compares, to the bit in the bit tier, the states of
// recurrent layers after padding, after dropped rows, and captured inside a chunk.
func TestRecurrentStatesEqualOneRowDecode(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	for name, layers := range map[string]int{"lfm2": 2, "nemotron-h": 2, "qwen35": 3} {
		t.Run(name, func(t *testing.T) { testRecurrentStates(t, name, layers) })
	}
}

// testRecurrentStates does so for a recorded model that has so many recurrent layers.
func testRecurrentStates(t *testing.T, name string, recurrent int) {
	th := enginetest.NewThread(t)
	b, err := models.OpenFS(openFixture(t, name).files, "").Load(t.Context(), th, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	m, text := b.Model, make([]int32, 60)
	for i := range text {
		text[i] = int32(i * i * 7 % m.Config().VocabSize)
	}
	// run evaluates the tokens from the caches' offset on, with padding.
	run := func(caches cache.Stack, to, pad int) {
		t.Helper()
		enginetest.Do(t, th, func(s *mlx.Scope) error {
			at := caches[0].Offset()
			tokens := slices.Concat(text[at:to], make([]int32, pad))
			n := len(tokens)
			m.Forward(s, lm.Batch{{Tokens: mlx.New(s, tokens, n), N: n, Pad: pad, Apart: pad > 0,
				Pos: at, Caches: caches}}, nil)
			if err := caches.Trim(pad); err != nil {
				return err
			}
			return s.Eval(caches.Arrays()...)
		})
	}
	state := func(p *cache.Snapshot) (out []float32) {
		t.Helper()
		enginetest.Do(t, th, func(s *mlx.Scope) error {
			tail, state := p.State()
			for _, x := range []*mlx.Array{tail, state} {
				part, err := mlx.Read[float32](s, x)
				if err != nil {
					return err
				}
				out = append(out, part...)
			}
			p.Release()
			return nil
		})
		return out
	}
	states := func(caches cache.Stack) (all [][]float32) {
		t.Helper()
		for _, c := range caches {
			if _, ok := c.(*cache.Recurrent); !ok {
				continue
			}
			var p *cache.Snapshot
			enginetest.Do(t, th, func(s *mlx.Scope) (err error) {
				p,
					err = c.Snapshot(s, 0)
				return err
			})
			all = append(all, state(p))
		}
		return all
	}
	want := make([][][]float32, len(text)+1) // after so many rows, by layer
	plain := cache.Stack(m.NewCaches(cache.Options{}))
	for i := range text {
		run(plain, i+1, 0)
		want[i+1] = states(plain)
	}
	freeCaches(t, th, plain)
	if len(want[1]) != recurrent {
		t.Fatalf("%d recurrent layers, want %d", len(want[1]), recurrent)
	}
	var d enginetest.Diff
	check := func(what string, got [][]float32, at int) {
		for i := range got {
			d.Compare(what, got[i], want[at][i])
		}
	}
	pads := []int{0, 7}
	if enginetest.Long {
		pads = []int{0, 1, 7}
	}
	for _, n := range []int{1, 5, 8, 40} {
		for _, pad := range pads {
			for _, drop := range []int{0, 1, 5} {
				caches := cache.Stack(m.NewCaches(cache.Options{}))
				run(caches, 3, 0)
				for _, c := range caches {
					if n == 1 {
						break
					}
					if err := c.Schedule(3, 4, 3+n); err != nil {
						t.Fatal(err)
					}
				}
				run(caches, 3+n, pad)
				if n > 1 {
					for layer, at := 0, 0; layer < len(caches); layer++ {
						captured := caches[layer].Captured()
						if _, ok := caches[layer].(*cache.Recurrent); !ok {
							for _, p := range captured {
								enginetest.Do(t, th,
									func(*mlx.Scope) error { p.Release(); return nil })
							}
							continue
						}
						d.Compare("captured in a chunk", state(captured[0]), want[4][at])
						d.Compare("captured at its end", state(captured[1]), want[3+n][at])
						at++
					}
				}
				drop := min(drop, n)
				if err := caches.Trim(drop); err != nil {
					t.Fatal(err)
				}
				check("after dropped rows", states(caches), 3+n-drop)
				run(caches, 3+n+2, 3)
				check("after further rows", states(caches), 3+n+2)
				freeCaches(t, th, caches)
			}
		}
	}
	d.Check(t)
}

func TestQwen35RefusesUnsupportedConfigs(t *testing.T) {
	th := enginetest.NewThread(t)
	for _, c := range []struct {
		fields map[string]any
		want   string
	}{
		{map[string]any{"num_experts": 8, "num_experts_per_tok": 9, "moe_intermediate_size": 64, "shared_expert_intermediate_size": 64}, "num_experts_per_tok is 9, which is not between 1 and 8"},
		{map[string]any{"attn_output_gate": false}, "attn_output_gate"},
		{map[string]any{"layer_types": []string{"full_attention"}}, "lists 1 layers of 3"},
		{map[string]any{"layer_types": []string{"linear_attention", "sliding_attention", "linear_attention"}}, `"sliding_attention" is not supported`},
		{map[string]any{"partial_rotary_factor": 1.5}, "partial_rotary_factor is 1.5"},
	} {
		_, err := models.Load(t.Context(), th, enginetest.TinyModel(t, "qwen3_5", c.fields),
			models.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want one that has %q", c.fields, err, c.want)
		}
	}
}
