package models_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"tandem/models"
)

// TestNemotronHRefusesUnsupportedConfigs expects an error that names what is wrong.
func TestNemotronHRefusesUnsupportedConfigs(t *testing.T) {
	for _, c := range []struct {
		fields map[string]any
		want   string
	}{
		{map[string]any{"hybrid_override_pattern": nil}, "hybrid_override_pattern is missing"},
		{map[string]any{"hybrid_override_pattern": "ME*M?"}, `layer type "?" is not supported`},
		{map[string]any{"hybrid_override_pattern": ""}, "num_hidden_layers is 0"},
		{map[string]any{"hybrid_override_pattern": "ME*ME"}, "lacks"},
		{map[string]any{"hybrid_override_pattern": "-E-E-"}, "neither M nor *"},
		{map[string]any{"n_routed_experts": 5000}, "n_routed_experts is 5000"},
		{map[string]any{"hybrid_override_pattern": nil,
			"layer_types": []string{"mamba", "rwkv"}}, `"rwkv" is not supported`},
		{map[string]any{"layer_norm_epsilon": 0.0}, "rms_norm_eps is 0"},
		{map[string]any{"n_groups": 3}, "8 heads of mamba can't share 3 groups"},
		{map[string]any{"n_groups": 0}, "n_groups is 0"},
		{map[string]any{"mamba_num_heads": 1 << 20}, "mamba_num_heads is 1048576"},
		{map[string]any{"ssm_state_size": 0}, "ssm_state_size is 0"},
		{map[string]any{"conv_kernel": 1}, "conv_kernel is 1"},
		{map[string]any{"conv_kernel": 5}, "config.json asks for"},
		{map[string]any{"time_step_limit": []float64{1, 0.5}}, "time_step_limit [1 0.5]"},
		{map[string]any{"time_step_limit": []float64{1}}, "time_step_limit [1]"},
		{map[string]any{"time_step_limit": []string{"a", "b"}}, "invalid number"},
		{map[string]any{"mlp_hidden_act": "silu"}, `mlp_hidden_act "silu"`},
		{map[string]any{"moe_intermediate_size": 0}, "moe_intermediate_size is 0"},
		{map[string]any{"moe_latent_size": -1}, "moe_latent_size is -1"},
		{map[string]any{"num_experts_per_tok": 9}, "num_experts_per_tok is 9"},
		{map[string]any{"hybrid_override_pattern": nil,
			"layers_block_type": []string{"mamba", "moe", "attention", "mamba", "mlp"}}, ""},
		{map[string]any{"time_step_limit": []float64{0, 1}}, ""},
	} {
		files := recorded(t, "nemotron-h")
		setConfig(files, c.fields)
		_, err := models.OpenFS(files, "nemotron-h").Summary()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%v: %v", c.fields, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v: %v, want one that has %q", c.fields, err, c.want)
		}
	}
}

// TestNemotronHReadsInfinity expects a model from a config.json with the bounds of time steps that
// its authors publish, which no JSON has.
func TestNemotronHReadsInfinity(t *testing.T) {
	for limit, want := range map[string]string{
		"[0.0, Infinity]": "", "[Infinity, Infinity]": "time_step_limit", "[0.0, NaN, 1]": "time_step_limit",
	} {
		files := recorded(t, "nemotron-h")
		config := string(files["config.json"].Data)
		files["config.json"] = &fstest.MapFile{
			Data: []byte(strings.Replace(config, "{", `{"time_step_limit": `+limit+",", 1))}
		_, err := models.OpenFS(files, "nemotron-h").Summary()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want one that has %q", limit, err, want)
		}
	}
}
