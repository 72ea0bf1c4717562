package models_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"tandem/engine/enginetest"
	"tandem/models"
)

// TestQwen2AttendsItsWindows compares a Qwen2 whose last layer slides with a Llama of the same
// weights whose last layer does, over a text of several windows. mlx_lm takes no notice of Qwen2's
// windows.
func TestQwen2AttendsItsWindows(t *testing.T) {
	th := enginetest.NewThread(t)
	text := make([]int32, 70)
	for i := range text {
		text[i] = int32(i * i * 7 % 128)
	}
	with := func(fields map[string]any) []float32 {
		files := recorded(t, "qwen2")
		setConfig(files, fields)
		return logitsAfter(t, th, files, text, 32)
	}
	llama := recorded(t, "qwen2")
	setConfig(llama, map[string]any{"model_type": "llama", "attention_bias": true,
		"layer_types": []string{"full_attention", "sliding_attention"}, "sliding_window": 16})
	addOutputBiases(t, llama)
	want := logitsAfter(t, th, llama, text, 32)
	full := with(nil)
	if slices.Equal(full, want) {
		t.Fatal("a window of 16 makes no difference")
	}
	for name, c := range map[string]struct {
		fields map[string]any
		want   []float32
	}{
		"from max_window_layers on": {map[string]any{"use_sliding_window": true}, want},
		"as layer_types says": {map[string]any{"use_sliding_window": true, "max_window_layers": 0,
			"layer_types": []string{"full_attention", "sliding_attention"}}, want},
		"from the second layer on of a default": {map[string]any{"use_sliding_window": true,
			"max_window_layers": nil}, full},
		"switched off": {map[string]any{"layer_types": []string{"sliding_attention",
			"sliding_attention"}}, full},
	} {
		if got := with(c.fields); !slices.Equal(got, c.want) {
			t.Errorf("%s: other logits", name)
		}
	}
}

// addOutputBiases adds biases of zero to the output projections of attention.
func addOutputBiases(t *testing.T, files fstest.MapFS) {
	t.Helper()
	rewrite(t, enginetest.NewThread(t), files, asIs, map[string][]int{
		"model.layers.0.self_attn.o_proj.bias": {64},
		"model.layers.1.self_attn.o_proj.bias": {64},
	})
}

// TestConfigsThatQwenAndSmolLMCannotComputeAreRefused expects a sentence that names the field.
func TestConfigsThatQwenAndSmolLMCannotComputeAreRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		fields map[string]any
		want   string
	}{
		{"qwen2", map[string]any{"use_sliding_window": true, "sliding_window": 0}, "sliding_window is 0"},
		{"qwen2", map[string]any{"layer_types": []string{"full_attention"}}, "lists 1 layers of 2"},
		{"qwen2", map[string]any{"hidden_act": "relu"}, `"relu" is not supported`},
		{"qwen3-moe", map[string]any{"num_experts": 1 << 20}, "num_experts is 1048576"},
		{"qwen3-moe", map[string]any{"num_experts": -1}, "num_experts is -1"},
		{"qwen3-moe", map[string]any{"num_experts_per_tok": 7}, "num_experts_per_tok is 7, which is not between 1 and 6"},
		{"qwen3-moe", map[string]any{"decoder_sparse_step": 0}, "decoder_sparse_step is 0"},
		{"qwen3-moe", map[string]any{"moe_intermediate_size": nil}, "moe_intermediate_size is 0"},
		{"qwen3-moe", map[string]any{"use_sliding_window": true}, "use_sliding_window is not supported"},
		{"qwen3-moe", map[string]any{"rope_theta": nil}, "rope_theta is missing"},
		{"qwen3-moe", map[string]any{"mlp_only_layers": []int{0}}, "lacks 3 tensors (model.layers.0.mlp.gate_proj.weight, "},
		{"qwen3-moe-published", map[string]any{"num_experts": 7}, "mlp.gate.weight has shape [6 64], config.json asks for [7 64]"},
		{"qwen3-next-moe", map[string]any{"linear_num_value_heads": 3}, "3 linear value heads can't share 2 key heads"},
		{"qwen3-next-moe", map[string]any{"linear_num_key_heads": 1}, "conv1d.weight has shape [160 4 1], config.json asks for [112 4 1]"},
		{"qwen3-next-moe", map[string]any{"full_attention_interval": 0}, "full_attention_interval is 0"},
		{"qwen3-next-moe", map[string]any{"partial_rotary_factor": 1.5}, "partial_rotary_factor is 1.5"},
		{"qwen3-next-moe", map[string]any{"shared_expert_intermediate_size": nil}, "shared_expert_intermediate_size is 0"},
		{"qwen3-next-moe", map[string]any{"use_sliding_window": true}, "use_sliding_window is not supported"},
		{"smollm3", map[string]any{"no_rope_layers": []int{1}}, "no_rope_layers lists 1 layers of 3"},
		{"smollm3", map[string]any{"no_rope_layer_interval": 0}, "no_rope_layer_interval is 0"},
		{"smollm3", map[string]any{"use_sliding_window": true}, "use_sliding_window is not supported"},
		{"smollm3", map[string]any{"layer_types": slices.Repeat([]string{"sliding_attention"}, 3)}, `"sliding_attention" is not supported`},
	} {
		files := recorded(t, c.name)
		setConfig(files, c.fields)
		_, err := models.OpenFS(files, c.name).Summary()
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s, %v: %v, want one line that has %q", c.name, c.fields, err, c.want)
		}
	}
}

// TestMissingExpertIsRefused takes away one expert of six.
func TestMissingExpertIsRefused(t *testing.T) {
	files := recorded(t, "qwen3-moe-published")
	rewrite(t, enginetest.NewThread(t), files, func(name string) string {
		if strings.Contains(name, ".experts.5.") {
			return ""
		}
		return name
	}, nil)
	const want = "lacks 6 tensors (model.layers.0.mlp.experts.5.gate_proj.weight, "
	if _, err := models.OpenFS(files, "x").Summary(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want one that has %q", err, want)
	}
}
