package models_test

import (
	"maps"
	"strings"
	"testing"

	"tandem/models"
)

// TestMistral3RefusesUnsupportedConfigs expects an error that names what is wrong.
func TestMistral3RefusesUnsupportedConfigs(t *testing.T) {
	rope := func(fields map[string]any) map[string]any {
		all := map[string]any{"rope_type": "yarn", "rope_theta": 1e6, "factor": 16,
			"original_max_position_embeddings": 24, "llama_4_scaling_beta": 0.1}
		maps.Copy(all, fields)
		return map[string]any{"rope_parameters": all}
	}
	for _, c := range []struct {
		name   string
		fields map[string]any
		want   string
	}{
		{"ministral3", map[string]any{"rope_parameters": nil}, "lacks llama_4_scaling_beta"},
		{"ministral3", rope(map[string]any{"llama_4_scaling_beta": nil}),
			"lacks llama_4_scaling_beta"},
		{"ministral3", rope(map[string]any{"original_max_position_embeddings": nil}),
			"original_max_position_embeddings"},
		{"ministral3", rope(map[string]any{"llama_4_scaling_beta": -1}),
			"llama_4_scaling_beta -1 over 24 positions is not supported"},
		{"ministral3", rope(map[string]any{"original_max_position_embeddings": 0.5}),
			"over 0.5 positions"},
		{"ministral3", map[string]any{"sliding_window": 0}, "sliding_window is 0"},
		{"ministral3", map[string]any{"layer_types": []string{"conv"}}, "lists 1 layers of 3"},
		{"ministral3", map[string]any{"model_type": "mistral3"}, "text_config is missing"},
		{"ministral3", map[string]any{"model_type": "mistral3",
			"text_config": map[string]any{"model_type": "mistral4"}},
			`a text model of type "mistral4" is not supported`},
		{"mistral3", map[string]any{"quantization_config": map[string]any{"quant_method": "fp8"}},
			`its weights are quantized by "fp8"`},
	} {
		files := recorded(t, c.name)
		setConfig(files, c.fields)
		_, err := models.OpenFS(files, c.name).Summary()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want one that has %q", c.fields, err, c.want)
		}
	}
	files := recorded(t, "mistral3")
	retype(files, "model.language_model.layers.0.mlp.up_proj.weight", "F8_E4M3", 2)
	_, err := models.OpenFS(files, "mistral3").Summary()
	if err == nil || !strings.Contains(err.Error(), "F8_E4M3") {
		t.Errorf("weights in FP8: %v", err)
	}
}
