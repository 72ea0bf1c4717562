package models_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"tandem/models"
)

// TestPhi3RefusesUnsupportedConfigs expects an error that names what is wrong.
func TestPhi3RefusesUnsupportedConfigs(t *testing.T) {
	rope := func(fields map[string]any) map[string]any {
		all := map[string]any{"type": "longrope", "short_factor": []float64{1},
			"long_factor": slices.Repeat([]float64{1}, 12)}
		maps.Copy(all, fields)
		return map[string]any{"rope_scaling": all}
	}
	for _, c := range []struct {
		fields map[string]any
		want   string
	}{
		{rope(map[string]any{"type": "yarn"}), `rope type "yarn" is not supported`},
		{rope(map[string]any{"long_mscale": 1.2}), `"long_mscale" of a rotary embedding`},
		{rope(map[string]any{"long_factor": []float64{1}}), "has 1 factors, not 12"},
		{rope(map[string]any{"long_factor": nil}), "has 0 factors, not 12"},
		{rope(map[string]any{"long_factor": slices.Repeat([]float64{0}, 12)}), "factor 0 "},
		{map[string]any{"partial_rotary_factor": 1.5}, "partial_rotary_factor is 1.5"},
		{map[string]any{"partial_rotary_factor": 0.01}, "no rotary embedding"},
		{map[string]any{"original_max_position_embeddings": 0}, "original_max_position_embeddings"},
		{map[string]any{"attention_bias": true}, "attention_bias is not supported"},
		{map[string]any{"intermediate_size": 64}, "mlp.gate_up_proj"},
	} {
		files := recorded(t, "phi3-long")
		setConfig(files, c.fields)
		_, err := models.InspectFS(files, "phi3-long")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want one that has %q", c.fields, err, c.want)
		}
	}
}

// TestPhi3TakesTheNewerForm expects the same model where config.json has rope_parameters.
func TestPhi3TakesTheNewerForm(t *testing.T) {
	files := recorded(t, "phi3-long")
	setConfig(files, map[string]any{"rope_scaling": nil, "rope_theta": nil,
		"partial_rotary_factor": nil, "original_max_position_embeddings": nil,
		"rope_parameters": map[string]any{"rope_type": "longrope", "rope_theta": 10000.0,
			"partial_rotary_factor": 0.75, "original_max_position_embeddings": 64,
			"long_factor":  slices.Repeat([]float64{2}, 12),
			"short_factor": slices.Repeat([]float64{1}, 12)}})
	if _, err := models.InspectFS(files, "phi3-long"); err != nil {
		t.Error(err)
	}
}
