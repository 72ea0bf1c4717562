package models_test

import (
	"slices"
	"strings"
	"testing"

	"tandem/engine/enginetest"
	"tandem/models"
)

// TestLFM2RefusesUnsupportedConfigs expects an error that names what is wrong.
func TestLFM2RefusesUnsupportedConfigs(t *testing.T) {
	for _, c := range []struct {
		name   string
		fields map[string]any
		want   string
	}{
		{"lfm2", map[string]any{"full_attn_idxs": []int{1, 9}}, "full_attn_idxs has layer 9 of 4"},
		{"lfm2", map[string]any{"full_attn_idxs": nil}, "layer_types is missing"},
		{"lfm2", map[string]any{"layer_types": []string{"conv", "conv", "conv", "conv"}},
			"contradict"},
		{"lfm2", map[string]any{"full_attn_idxs": nil,
			"layer_types": []string{"conv", "sliding_attention", "conv", "conv"}},
			`"sliding_attention" is not supported`},
		{"lfm2", map[string]any{"conv_L_cache": 1}, "conv_L_cache is 1"},
		{"lfm2", map[string]any{"conv_L_cache": 1 << 20}, "conv_L_cache is 1048576"},
		{"lfm2", map[string]any{"block_dim": 32}, "block_dim 32"},
		{"lfm2", map[string]any{"block_ff_dim": -1}, "block_ff_dim is -1"},
		{"lfm2", map[string]any{"block_multiple_of": 0}, "block_multiple_of is 0"},
		{"lfm2", map[string]any{"block_ffn_dim_multiplier": -1.0}, "block_ffn_dim_multiplier is -1"},
		{"lfm2", map[string]any{"num_attention_heads": 0}, "num_attention_heads is 0"},
		{"lfm2", map[string]any{"block_ff_dim": 1600}, "config.json asks for [1088 64]"},
		{"lfm2", map[string]any{"rope_scaling": map[string]any{"rope_type": "linear", "factor": 2}},
			`rope type "linear" is not supported`},
		{"lfm2-moe", map[string]any{"num_experts_per_tok": 7}, "num_experts_per_tok is 7"},
		{"lfm2-moe", map[string]any{"num_experts": 0}, "num_experts is 0"},
		{"lfm2-moe", map[string]any{"num_experts": 5000}, "num_experts is 5000"},
		{"lfm2-moe", map[string]any{"num_dense_layers": -1}, "num_dense_layers is -1"},
		{"lfm2-moe", map[string]any{"num_experts": 7}, "config.json asks for [7 64]"},
	} {
		files := recorded(t, c.name)
		setConfig(files, c.fields)
		_, err := models.OpenFS(files, c.name).Summary()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want one that has %q", c.fields, err, c.want)
		}
	}
}

// TestLFM2TakesBothSpellings expects the same model where config.json lists the layers otherwise.
func TestLFM2TakesBothSpellings(t *testing.T) {
	for _, fields := range []map[string]any{
		{"full_attn_idxs": nil,
			"layer_types": []string{"full_attention", "conv", "full_attention", "conv"}},
		{"block_ff_dim": nil, "intermediate_size": 160},
		{"block_ff_dim": 128, "block_auto_adjust_ff_dim": false, "block_multiple_of": nil},
		{"tie_word_embeddings": nil, "tie_embedding": true},
		{"rope_parameters": map[string]any{"rope_theta": 10000.0, "rope_type": "default"},
			"rope_theta": 5.0},
	} {
		files := recorded(t, "lfm2")
		want := lastLogits(t, enginetest.NewThread(t), files)
		setConfig(files, fields)
		if got := lastLogits(t, enginetest.NewThread(t), files); !slices.Equal(got, want) {
			t.Errorf("%v: other logits", fields)
		}
	}
}
