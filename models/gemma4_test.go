package models_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models"
)

// loadRecorded loads a recorded model.
func loadRecorded(t *testing.T, th *mlx.Thread, name string) *models.Bundle {
	t.Helper()
	b, err := models.OpenFS(recorded(t, name), "").Load(t.Context(), th, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// TestGemma4SharedLayersHaveNoCache expects caches for the layers that have keys, in their order.
func TestGemma4SharedLayersHaveNoCache(t *testing.T) {
	th := enginetest.NewThread(t)
	m := loadRecorded(t, th, "gemma4-e").Model
	caches := m.NewCaches(cache.Options{})
	defer freeCaches(t, th, caches)
	var rings []bool
	for _, c := range caches {
		_, ring := c.(*cache.Rotating)
		rings = append(rings, ring)
	}
	if want := []bool{true, true, false}; !slices.Equal(rings, want) {
		t.Errorf("which caches are rings: %v, want %v", rings, want)
	}
	if n := m.Config().Layers; n != 5 {
		t.Errorf("%d layers, want 5", n)
	}
}

// TestGemma4SharedKeysServeEveryRow runs two texts in one forward, with padding and rows that attend
// by themselves. Each row has the logits that it has when its text is read alone, row by row.
func TestGemma4SharedKeysServeEveryRow(t *testing.T) {
	th := enginetest.NewThread(t)
	m := loadRecorded(t, th, "gemma4-e").Model
	text := func(n, step int) []int32 {
		ids := make([]int32, n)
		for i := range ids {
			ids[i] = int32((i*i + step*i) % m.Config().VocabSize)
		}
		return ids
	}
	texts := [][]int32{text(39, 7), text(21, 3)} // beyond the window of 16
	const last, pad = 4, 3                       // rows of the shared forward
	for _, apart := range []bool{false, true} {
		var batch []lm.Sequence
		var all []cache.Cache
		var got [][]float32
		for _, ids := range texts {
			caches := m.NewCaches(cache.Options{})
			all = append(all, caches...)
			forward(t, th, m, caches, ids[:len(ids)-last], 16)
			batch = append(batch, lm.Sequence{N: last + pad, Pad: pad, Pos: len(ids) - last,
				Apart: apart, Caches: caches})
		}
		enginetest.Do(t, th, func(s *mlx.Scope) error {
			for i := range batch {
				ids := texts[i]
				rows := slices.Concat(ids[len(ids)-last:], make([]int32, pad))
				batch[i].Tokens = mlx.New(s, rows, len(rows))
			}
			logits := m.Unembed(s, m.Forward(s, batch, nil).Hidden)
			if err := s.Eval(append(cache.Stack(all).Arrays(), logits)...); err != nil {
				return err
			}
			var err error
			got, err = enginetest.ReadRows(s, logits)
			return err
		})
		for i, ids := range texts {
			alone := m.NewCaches(cache.Options{})
			want := forward(t, th, m, alone, ids, 1)[len(ids)-last:]
			freeCaches(t, th, alone)
			for r, row := range want {
				for j, w := range row {
					if g := got[i*(last+pad)+r][j]; math.Abs(float64(g-w)) > 1e-4 {
						t.Fatalf("apart %v, text %d, row %d: logit %d is %g, alone %g",
							apart, i, r, j, g, w)
					}
				}
			}
		}
		freeCaches(t, th, all)
	}
}

// TestGemma4RefusesUnsupportedConfigs expects an error that names what is wrong.
func TestGemma4RefusesUnsupportedConfigs(t *testing.T) {
	rope := func(section any) map[string]any { return map[string]any{"rope_parameters": section} }
	for _, c := range []struct {
		name   string
		fields map[string]any
		want   string
	}{
		{"gemma4", map[string]any{"num_kv_shared_layers": 6}, "num_kv_shared_layers is 6"},
		{"gemma4", map[string]any{"num_kv_shared_layers": -1}, "num_kv_shared_layers is -1"},
		{"gemma4", map[string]any{"num_kv_shared_layers": 4},
			"layer 2 has no keys of its own, and no layer of type full_attention"},
		{"gemma4", map[string]any{"layer_types": []string{"full_attention"}}, "layer_types lists 1"},
		{"gemma4", map[string]any{"layer_types": slices.Repeat([]string{"conv"}, 6)},
			`layer type "conv" is not supported`},
		{"gemma4", map[string]any{"global_head_dim": 1 << 20}, "global_head_dim is 1048576"},
		{"gemma4", map[string]any{"num_global_key_value_heads": 0},
			"num_global_key_value_heads is 0"},
		{"gemma4", map[string]any{"num_global_key_value_heads": 3},
			"4 attention heads can't share 3 global"},
		{"gemma4", map[string]any{"sliding_window": 0}, "sliding_window is 0"},
		{"gemma4", map[string]any{"final_logit_softcapping": -1}, "final_logit_softcapping is -1"},
		{"gemma4", map[string]any{"attention_bias": true}, "attention_bias is not supported"},
		{"gemma4", map[string]any{"hidden_activation": "silu"}, `hidden_activation "silu"`},
		{"gemma4", map[string]any{"use_bidirectional_attention": "all"},
			"use_bidirectional_attention all is not supported"},
		{"gemma4", map[string]any{"hidden_size_per_layer_input": 1 << 20},
			"hidden_size_per_layer_input is 1048576"},
		{"gemma4", map[string]any{"hidden_size_per_layer_input": 8,
			"vocab_size_per_layer_input": 64}, "less than the vocabulary of 128"},
		{"gemma4", map[string]any{"enable_moe_block": true}, "num_experts is 0"},
		{"gemma4", map[string]any{"enable_moe_block": true, "num_experts": 4,
			"moe_intermediate_size": 8, "top_k_experts": 5}, "top_k_experts is 5"},
		{"gemma4", rope(map[string]any{"linear_attention": map[string]any{}}),
			`"linear_attention" in rope_parameters is not supported for gemma4`},
		{"gemma4", rope(map[string]any{"full_attention": map[string]any{
			"rope_type": "proportional", "partial_rotary_factor": 1.5}}),
			"rope type proportional has no use for a factor of 0 and a partial_rotary_factor of 1.5"},
		{"gemma4", rope(map[string]any{"sliding_attention": map[string]any{"rope_type": "default"}}),
			"rope_parameters without full_attention is not supported for gemma4"},
		{"gemma4", rope(map[string]any{"full_attention": map[string]any{"rope_type": "longrope"}}),
			`rope type "longrope" is not supported`},
		{"gemma4", map[string]any{"attention_k_eq_v": false},
			"k_proj.weight has shape [32 64], config.json asks for [64 64]"},
	} {
		files := recorded(t, c.name)
		setConfig(files, c.fields)
		_, err := models.OpenFS(files, c.name).Summary()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want one that has %q", c.fields, err, c.want)
		}
	}
}

// TestGemma4TakesPublishedSpellings expects that what published files say otherwise changes nothing.
func TestGemma4TakesPublishedSpellings(t *testing.T) {
	for _, fields := range []map[string]any{
		{"use_bidirectional_attention": nil},
		{"use_bidirectional_attention": false},
		{"hidden_size_per_layer_input": json.RawMessage("null"),
			"num_experts": json.RawMessage("null"), "top_k_experts": json.RawMessage("null")},
		{"layer_types": nil, "sliding_window_pattern": 3},
		{"rope_parameters": nil},
		{"rope_parameters": map[string]any{"rope_type": "default", "rope_theta": nil,
			"full_attention": map[string]any{"rope_theta": 1e6, "rope_type": "proportional",
				"partial_rotary_factor": 0.25}}},
	} {
		files := recorded(t, "gemma4")
		want := lastLogits(t, enginetest.NewThread(t), files)
		setConfig(files, fields)
		if got := lastLogits(t, enginetest.NewThread(t), files); !slices.Equal(got, want) {
			t.Errorf("%v: other logits", fields)
		}
	}
}

// TestGemma4PairsWithItsDrafters gives random drafters of the published shapes the taps of a prompt:
// four layers with a window and one without, of a target with experts, without, and with shared keys.
func TestGemma4PairsWithItsDrafters(t *testing.T) {
	th := enginetest.NewThread(t)
	for _, c := range []struct {
		target string
		layers int
		taps   []int
	}{{"gemma4", 6, []int{0, 2, 4, 5}}, {"gemma4-e", 5, []int{0, 3, 4}},
		{"gemma4-moe-4bit", 3, []int{0, 1, 2}}} {
		b := loadRecorded(t, th, c.target)
		dir := enginetest.TinyDrafter(t, map[string]any{
			"vocab_size": 128, "num_target_layers": c.layers, "num_hidden_layers": 5,
			"block_size": 16, "final_logit_softcapping": 30.0, "sliding_window": 2048,
			"use_sliding_window": true, "max_window_layers": 5, "rope_scaling": nil,
			"rope_theta": 1000000, "tie_word_embeddings": false, "hidden_act": "silu",
			"layer_types": append(slices.Repeat([]string{"sliding_attention"}, 4),
				"full_attention"),
			"dflash_config": map[string]any{"mask_token_id": 4, "target_layer_ids": c.taps},
		})
		d, err := models.LoadDrafter(t.Context(), b, dir, models.DrafterSettings{}, models.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.target, err)
			continue
		}
		for _, logit := range draftOnce(t, th, b.Model, d.Block) {
			if !(math.Abs(float64(logit)) <= 30) {
				t.Errorf("%s: a draft has logit %g, beyond the softcap", c.target, logit)
				break
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestGemma4LeavesOutItsTowers expects a word about what is left out. A file that has nothing else is
// refused.
func TestGemma4LeavesOutItsTowers(t *testing.T) {
	files := recorded(t, "gemma4-unified")
	for name, want := range map[string]string{"gemma4-unified": "images and sound", "gemma4": ""} {
		s, err := models.OpenFS(recorded(t, name), name).Summary()
		if err != nil || s.LeftOut != want {
			t.Errorf("%s leaves out %q, %v, want %q", name, s.LeftOut, err, want)
		}
	}
	rewrite(t, enginetest.NewThread(t), files, func(name string) string {
		if strings.Contains(name, "language_model") {
			return ""
		}
		return name
	}, nil)
	_, err := models.OpenFS(files, "towers").Summary()
	const want = "the checkpoint has parts for images and sound alone, and no text model"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}
