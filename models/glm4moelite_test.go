package models_test

import (
	"strings"
	"testing"

	"tandem/models"
)

// TestGlm4MoeLiteRefusesUnsupportedConfigs expects an error that names what is wrong.
func TestGlm4MoeLiteRefusesUnsupportedConfigs(t *testing.T) {
	for _, c := range []struct {
		name   string
		fields map[string]any
		want   string
	}{
		{"glm4-moe-lite", map[string]any{"kv_lora_rank": 0}, "kv_lora_rank is 0"},
		{"glm4-moe-lite", map[string]any{"kv_lora_rank": 32}, "config.json asks for [48 64]"},
		{"glm4-moe-lite", map[string]any{"q_lora_rank": -1}, "q_lora_rank is -1"},
		{"glm4-moe-lite", map[string]any{"qk_rope_head_dim": 1 << 20}, "qk_rope_head_dim is 1048576"},
		{"glm4-moe-lite", map[string]any{"qk_rope_head_dim": 15}, "no rotary embedding"},
		{"glm4-moe-lite", map[string]any{"v_head_dim": 0}, "v_head_dim is 0"},
		{"glm4-moe-lite", map[string]any{"rope_interleave": false}, "rope_interleave false"},
		{"glm4-moe-lite", map[string]any{"topk_method": "greedy"}, `topk_method "greedy"`},
		{"glm4-moe-lite", map[string]any{"scoring_func": "softmax"}, `scoring_func "softmax"`},
		{"glm4-moe-lite", map[string]any{"num_experts_per_tok": 7}, "num_experts_per_tok is 7"},
		{"glm4-moe-lite", map[string]any{"n_group": 4}, "n_group 4 does not divide"},
		{"glm4-moe-lite", map[string]any{"n_group": 6}, "n_group 6 does not divide"},
		{"glm4-moe-lite", map[string]any{"n_group": 3, "topk_group": 4}, "topk_group is 4"},
		{"glm4-moe-lite", map[string]any{"n_group": 3, "num_experts_per_tok": 3},
			"more than the experts of topk_group 1"},
		{"glm4-moe-lite", map[string]any{"n_shared_experts": 0}, "n_shared_experts is 0"},
		{"glm4-moe-lite", map[string]any{"moe_layer_freq": 0}, "moe_layer_freq is 0"},
		{"glm4-moe-lite", map[string]any{"first_k_dense_replace": -1}, "first_k_dense_replace is -1"},
		{"glm4-moe-lite", map[string]any{"first_k_dense_replace": 2}, "lacks 3 tensors"},
		{"glm4-moe-lite", map[string]any{"n_routed_experts": 1 << 20}, "n_routed_experts is 1048576"},
		{"glm4-moe-lite-published", map[string]any{"qk_nope_head_dim": 40},
			"config.json asks for"},
		{"glm4-moe-lite-published", map[string]any{"num_hidden_layers": 1}, ""},
	} {
		files := recorded(t, c.name)
		setConfig(files, c.fields)
		_, err := models.OpenFS(files, c.name).Summary()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%v: %v", c.fields, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v: %v, want one that has %q", c.fields, err, c.want)
		}
	}
}

// TestGlm4MoeLiteKeepsOneRowForAllHeads expects that a text takes kv_lora_rank and qk_rope_head_dim
// elements a position and layer.
func TestGlm4MoeLiteKeepsOneRowForAllHeads(t *testing.T) {
	s, err := models.OpenFS(recorded(t, "glm4-moe-lite"), "glm4-moe-lite").Summary()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Footprint.SequenceBytes(1024, true), int64(2*1024*(64+16)*4); got != want {
		t.Errorf("1024 tokens take %d bytes, want %d", got, want)
	}
}
