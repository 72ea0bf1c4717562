package dflash_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models/dflash"
	"tandem/models/nn"
)

// TestStoredFormsGiveTheSameDrafter reads the same weights as other programs store them: under a
// prefix, and with q, k and v in one matrix.
func TestStoredFormsGiveTheSameDrafter(t *testing.T) {
	th := enginetest.NewThread(t)
	f := openFixture(t, "causal")
	on := newTarget(t, th, f, mlx.Float32)
	for _, c := range []struct {
		name, prefix string
		fused        bool
	}{{"draft.", "draft.", false}, {"model.", "model.", false}, {"fused", "", true},
		{"draft. and fused", "draft.", true}} {
		var file bytes.Buffer
		enginetest.Do(t, th, func(s *mlx.Scope) error {
			var tensors []mlx.NamedArray
			for _, name := range f.weights.Names() {
				a := f.weights.Load(s, name)
				before, isQ := strings.CutSuffix(name, "q_proj.weight")
				switch {
				case !c.fused || !strings.Contains(name, "self_attn.") ||
					strings.HasSuffix(name, "norm.weight") ||
					strings.HasSuffix(name, "o_proj.weight"):
				case isQ:
					name = before + "qkv_proj.weight"
					a = s.Concat(0, a, f.weights.Load(s, before+"k_proj.weight"),
						f.weights.Load(s, before+"v_proj.weight"))
				default:
					continue
				}
				tensors = append(tensors, mlx.NamedArray{Name: c.prefix + name, Array: a})
			}
			return s.WriteTensors(&file, tensors, nil)
		})
		m := open(t, th, enginetest.OpenTensors(t, file.Bytes()), f.config, on, f.Settings)
		if got := run(t, th, f, m, on, 0); !isEqual(got) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestPackedWeightsEqualTheirPlainForm compares random matrices of 8 bits with plain ones, also for
// the rows of keys and values alone. One matrix stays plain, so that it can't be stacked with its
// neighbours.
func TestPackedWeightsEqualTheirPlainForm(t *testing.T) {
	th := enginetest.NewThread(t)
	f := openFixture(t, "causal")
	on := newTarget(t, th, f, mlx.Float32)
	blocks := f.read(t, th, on)
	const group = 32
	rng := rand.New(rand.NewPCG(1, 2))
	var packed, plain bytes.Buffer
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		var p, u []mlx.NamedArray
		for _, name := range f.weights.Names() {
			info, _ := f.weights.Info(name)
			if len(info.Shape) == 1 || name == "layers.1.self_attn.k_proj.weight" {
				same := mlx.NamedArray{Name: name,
					Array: s.AsType(f.weights.Load(s, name), mlx.Float32)}
				p, u = append(p, same), append(u, same)
				continue
			}
			out, in := info.Shape[0], info.Shape[1]
			words := make([]uint32, out*in/4)
			for i := range words {
				words[i] = rng.Uint32()
			}
			w := mlx.New(s, words, out, in/4)
			each := make([]float32, out*in/group) // bytes spread by 74
			for i := range each {
				each[i] = float32((1 + rng.Float64()) / math.Sqrt(float64(in)) / 74)
			}
			scales := mlx.New(s, each, out, in/group)
			biases := s.Mul(scales, s.Scalar(-127.5, mlx.Float32))
			q := mlx.Quantization{GroupSize: group, Bits: 8, Mode: "affine"}
			module := strings.TrimSuffix(name, "weight")
			p = append(p, mlx.NamedArray{Name: name, Array: w},
				mlx.NamedArray{Name: module + "scales", Array: scales},
				mlx.NamedArray{Name: module + "biases", Array: biases})
			u = append(u, mlx.NamedArray{Name: name,
				Array: s.Dequantize(w, scales, biases, q, mlx.Float32)})
		}
		keep := make([]*mlx.Array, 0, len(p)+len(u))
		for _, x := range slices.Concat(p, u) {
			keep = append(keep, x.Array)
		}
		if err := s.Eval(keep...); err != nil {
			return err
		}
		return errors.Join(s.WriteTensors(&packed, p, nil), s.WriteTensors(&plain, u, nil))
	})
	drafts := func(file *bytes.Buffer) []dflash.RecordedBlock {
		m := open(t, th, enginetest.OpenTensors(t, file.Bytes()), f.config, on, f.Settings)
		p := &path{m: m, on: on, caches: m.NewCaches(cache.Options{})}
		defer p.free(t, th)
		got := slices.Clone(blocks)
		for i, b := range blocks {
			p.extend(t, th, b.Context, 32)
			rows, drafts := p.draft(t, th, b.Anchor, b.N)
			got[i].Logits, got[i].Drafts = slices.Concat(rows...), drafts
		}
		return got
	}
	var c dflash.Parity
	want := drafts(&plain)
	for i, b := range drafts(&packed) {
		if err := c.Compare(b.Logits, b.Drafts, want[i]); err != nil {
			t.Error(err)
		}
	}
	if t.Logf("%+v", c); !isEqual(c) {
		t.Errorf("%+v", c)
	}
}

// TestBlockBeginsWithKnownTokens expects that a mask token among the known ones changes no row
// after it, and another token does.
func TestBlockBeginsWithKnownTokens(t *testing.T) {
	th := enginetest.NewThread(t)
	for _, name := range []string{"full", "causal"} {
		f := openFixture(t, name)
		on := newTarget(t, th, f, mlx.Float32)
		m := open(t, th, f.weights, f.config, on, f.Settings)
		p := &path{m: m, on: on, caches: m.NewCaches(cache.Options{})}
		p.extend(t, th, 30, 16)
		draft := func(known []int32, n int) (rows [][]float32) {
			enginetest.Do(t, th, func(s *mlx.Scope) (err error) {
				hidden := m.Forward(s, nil, mlx.New(s, known, len(known)), n, 30, p.caches)
				rows, err = enginetest.ReadRows(s, m.Unembed(s, hidden))
				return err
			})
			return rows
		}
		want := draft([]int32{5}, 7)
		for k := 2; k < 8; k++ {
			known := slices.Repeat([]int32{m.MaskToken()}, k)
			known[0] = 5
			if off := largestOff(draft(known, 8-k), want[k-1:]); !(off <= 1e-4) {
				t.Errorf("%s: %d known tokens, masks but for the first, changed logits by %g", name, k, off)
			}
			known[k-1] = 7
			if off := largestOff(draft(known, 8-k), want[k-1:]); off < 0.1 {
				t.Errorf("%s: the last of %d known tokens changed logits by %g", name, k, off)
			}
		}
		p.free(t, th)
	}
}

// TestDraftWindowReadsTheLastRows expects that a block reads the last 20 rows of its context under
// a window of 20, and none before them. A causal layer keeps no more rows than it reads.
func TestDraftWindowReadsTheLastRows(t *testing.T) {
	const context, window = 60, 20
	th := enginetest.NewThread(t)
	for _, name := range []string{"full", "second-full", "all-causal", "second-causal", "bidirectional"} {
		f := openFixture(t, name)
		on := newTarget(t, th, f, mlx.Float32)
		f.Settings.Window = window
		m := open(t, th, f.weights, f.config, on, f.Settings)
		// draft returns what a block guesses if the signs of one row of the taps are changed.
		draft := func(changed int) [][]float32 {
			p := &path{m: m, on: on, caches: m.NewCaches(cache.Options{Chunk: 1})}
			defer p.free(t, th)
			p.change(t, th, context, changed)
			for i, c := range p.caches {
				kept := c.Arrays()[0].Dim(2)
				if most := window + cache.MaxBlock; m.IsCausal(i) && kept > most {
					t.Errorf("%s: layer %d keeps %d rows, %d are read", name, i, kept, most)
				}
			}
			rows, _ := p.draft(t, th, 5, 1)
			return rows
		}
		want := draft(-1)
		if off := largestOff(draft(context-window-1), want); off != 0 {
			t.Errorf("%s: the row before the window changes logits by %g", name, off)
		}
		if off := largestOff(draft(context-window), want); off < 1e-4 {
			t.Errorf("%s: the first row of the window changes logits by %g", name, off)
		}
	}
}

// TestWindowOfOneReadsNoContext expects that a sliding layer with a window of one row sees its
// block alone.
func TestWindowOfOneReadsNoContext(t *testing.T) {
	th := enginetest.NewThread(t)
	f := openFixture(t, "causal")
	on := newTarget(t, th, f, mlx.Float32)
	config := with(t, f.config, map[string]any{"sliding_window": 1,
		"layer_types": slices.Repeat([]string{nn.SlidingAttention}, 3)})
	for _, d := range []dflash.Direction{dflash.Causal, dflash.Bidirectional} {
		m := open(t, th, f.weights, config, on, dflash.Settings{Sliding: d})
		draft := func(changed int) [][]float32 {
			p := &path{m: m, on: on, caches: m.NewCaches(cache.Options{Chunk: 1})}
			defer p.free(t, th)
			p.change(t, th, 8, changed)
			rows, _ := p.draft(t, th, 5, 3)
			return rows
		}
		if off := largestOff(draft(7), draft(-1)); off != 0 {
			t.Errorf("%s: the last row of the context changes logits by %g", d, off)
		}
	}
}

// change appends rows of context up to a count, and changes the signs of one of them.
func (p *path) change(t testing.TB, th *mlx.Thread, to, changed int) {
	t.Helper()
	for at := range to {
		enginetest.Do(t, th, func(s *mlx.Scope) error {
			taps := p.on.TapsOf(s, len(p.m.Taps()), at, at+1)
			if at == changed {
				for i, x := range taps {
					taps[i] = s.Mul(x, s.Scalar(-1, x.Dtype()))
				}
			}
			p.m.Context(s, taps, at, p.caches)
			return s.Eval(p.caches.Arrays()...)
		})
	}
}

// largestOff returns the largest difference of two lists of rows.
func largestOff(a, b [][]float32) (off float64) {
	for i := range a {
		for j := range a[i] {
			off = max(off, math.Abs(float64(a[i][j]-b[i][j])))
		}
	}
	return off
}

// TestMisuseFailsTheScope expects an error of one sentence, and a context that did not change.
func TestMisuseFailsTheScope(t *testing.T) {
	th := enginetest.NewThread(t)
	f := openFixture(t, "causal")
	on := newTarget(t, th, f, mlx.Float32)
	m := open(t, th, f.weights, f.config, on, f.Settings)
	for _, c := range []struct {
		name string
		fn   func(s *mlx.Scope, caches []cache.Cache)
		want string
	}{
		{"no drafts", func(s *mlx.Scope, caches []cache.Cache) { m.Forward(s, nil, mlx.New(s, []int32{1}, 1), 0, 0, caches) }, "a block of 0 drafts after 1 known tokens; this drafter makes 1 to 7"},
		{"more than trained with known ones", func(s *mlx.Scope, caches []cache.Cache) {
			m.Forward(s, nil, mlx.New(s, []int32{1, 2, 3}, 3), 6, 0, caches)
		}, "a block of 6 drafts after 3 known tokens; this drafter makes 1 to 5"},
		{"more than trained", func(s *mlx.Scope, caches []cache.Cache) { m.Forward(s, nil, mlx.New(s, []int32{1}, 1), 8, 0, caches) }, "a block of 8 drafts"},
		{"taps missing", func(s *mlx.Scope, caches []cache.Cache) { m.Context(s, on.TapsOf(s, 2, 0, 4)[:1], 0, caches) }, "1 taps, not those of layers [1 3]"},
		{"taps missing beside a block", func(s *mlx.Scope, caches []cache.Cache) {
			m.Forward(s, on.TapsOf(s, 2, 0, 4)[:1], mlx.New(s, []int32{1}, 1), 2, 4, caches)
		}, "1 taps, not those of layers [1 3]"},
		{"taps of another width", func(s *mlx.Scope, caches []cache.Cache) { m.Context(s, on.TapsOf(s, 4, 0, 4)[:2], 0, caches) }, ""},
	} {
		caches := m.NewCaches(cache.Options{})
		err := th.Do(t.Context(), func(s *mlx.Scope) error {
			c.fn(s, caches)
			if caches[0].Offset() != 0 {
				t.Errorf("%s: the context grew", c.name)
			}
			return s.Err()
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	if err := th.Do(t.Context(), func(s *mlx.Scope) error { return nil }); err != nil {
		t.Error(err)
	}
}

// TestBlockSizeIsWhatCachesCanDrop expects that no block is longer than the caches can drop at
// once.
func TestBlockSizeIsWhatCachesCanDrop(t *testing.T) {
	th := enginetest.NewThread(t)
	f := openFixture(t, "causal")
	on := newTarget(t, th, f, mlx.Float32)
	for trained, want := range map[int]int{2: 2, 8: 8, 32: 32, 33: 32, 1024: 32} {
		m := open(t, th, f.weights, with(t, f.config, map[string]any{"block_size": trained}), on,
			f.Settings)
		if got := m.BlockSize(); got != want {
			t.Errorf("trained for %d: blocks of %d, want %d", trained, got, want)
		}
		// The largest block can be drafted and dropped when the ring is full.
		p := &path{m: m, on: on, caches: m.NewCaches(cache.Options{Chunk: 1})}
		p.extend(t, th, 72, 16)
		p.draft(t, th, 3, want-1)
		p.free(t, th)
	}
}

// with changes fields of a config.json.
func with(t testing.TB, config []byte, fields map[string]any) []byte {
	t.Helper()
	var c map[string]any
	if err := json.Unmarshal(config, &c); err != nil {
		t.Fatal(err)
	}
	for k, v := range fields {
		if c[k] = v; v == nil {
			delete(c, k)
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// noTensors is an empty checkpoint.
type noTensors struct{}

func (noTensors) Names() []string                           { return nil }
func (noTensors) Info(string) (mlx.TensorInfo, bool)        { return mlx.TensorInfo{}, false }
func (noTensors) Load(s *mlx.Scope, name string) *mlx.Array { panic("load of " + name) }

// TestPublishedDrafterIsRead asks for the weights of published drafters.
func TestPublishedDrafterIsRead(t *testing.T) {
	gemma := []byte(`{
		"architectures": ["DFlashDraftModel"], "block_size": 16, "num_target_layers": 30, "vocab_size": 262144,
		"dflash_config": {"mask_token_id": 4, "target_layer_ids": [1, 6, 11, 17, 22, 27]},
		"layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention", "full_attention"],
		"sliding_window": 2048, "use_sliding_window": true, "rms_norm_eps": 1e-6, "rope_theta": 1000000, "rope_scaling": null,
		"hidden_size": 2816, "num_hidden_layers": 5, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
		"intermediate_size": 5632, "final_logit_softcapping": 30.0, "tie_word_embeddings": true}`)
	oss := []byte(`{
		"architectures": ["DFlashDraftModel"], "model_type": "gpt_oss", "block_size": 8, "vocab_size": 201088,
		"dflash_config": {"mask_token_id": 200000, "target_layer_ids": [1, 6, 11, 16, 21]}, "attention_bias": true,
		"rms_norm_eps": 1e-5, "rope_theta": 150000, "hidden_size": 2880, "num_hidden_layers": 8,
		"num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 7680}`)
	th := enginetest.NewThread(t)
	for _, c := range []struct {
		name              string
		config            []byte
		on                *dflash.RecordedTarget
		weights, variants int
	}{
		{"gemma-4-26B-A4B-it", gemma, dflash.NewTarget(lm.Config{VocabSize: 262144, HiddenSize: 2816,
			Layers: 30, Dtype: mlx.BFloat16}, 53), 429_689_088, 4},
		{"gpt-oss-20b", oss, dflash.NewTarget(lm.Config{VocabSize: 201088, HiddenSize: 2880,
			Layers: 24, Dtype: mlx.BFloat16}, 1), 784_767_104, 1},
	} {
		enginetest.Do(t, th, func(s *mlx.Scope) error {
			w := nn.NewWeights(s, noTensors{}, nil)
			m, err := dflash.New(w, c.config, c.on, dflash.Settings{})
			if err != nil {
				return err
			}
			if got := w.Parameters(); got != int64(c.weights) {
				t.Errorf("%s: %d weights, want %d", c.name, got, c.weights)
			}
			if got := len(m.Variants()); got != c.variants {
				t.Errorf("%s: %d variants, want %d", c.name, got, c.variants)
			}
			return nil
		})
	}
}
