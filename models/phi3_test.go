package models_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"tandem/engine/enginetest"
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
		{rope(map[string]any{"rope_theta": 5}), "rope_theta is 10000, but 5 in the section"},
		{map[string]any{"partial_rotary_factor": nil, "rope_parameters": map[string]any{
			"rope_type": "default", "rope_theta": 5}}, "rope_theta is 10000, but 5 in the section"},
		{rope(map[string]any{"partial_rotary_factor": 0.5}),
			"partial_rotary_factor is 0.75, but 0.5 in the section"},
		{rope(map[string]any{"original_max_position_embeddings": 32}),
			"original_max_position_embeddings is 64, but 32 in the section"},
		{map[string]any{"partial_rotary_factor": 1.5}, "partial_rotary_factor is 1.5"},
		{map[string]any{"partial_rotary_factor": 0.01}, "no rotary embedding"},
		{map[string]any{"original_max_position_embeddings": 0}, "original_max_position_embeddings"},
		{map[string]any{"attention_bias": true}, "attention_bias is not supported"},
		{map[string]any{"intermediate_size": 64}, "mlp.gate_up_proj"},
	} {
		files := recorded(t, "phi3-long")
		setConfig(files, c.fields)
		_, err := models.OpenFS(files, "phi3-long").Summary()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want one that has %q", c.fields, err, c.want)
		}
	}
}

// TestPhi3ReadsEitherSection expects the same logits where a section of the rotary embedding says
// what the recorded config.json says outside of it.
func TestPhi3ReadsEitherSection(t *testing.T) {
	th := enginetest.NewThread(t)
	want := lastLogits(t, th, recorded(t, "phi3-long"))
	for _, section := range []string{"rope_scaling", "rope_parameters"} {
		files := recorded(t, "phi3-long")
		var config struct {
			RopeTheta float64        `json:"rope_theta"`
			Scaling   map[string]any `json:"rope_scaling"`
		}
		if err := json.Unmarshal(files["config.json"].Data, &config); err != nil {
			t.Fatal(err)
		}
		maps.Copy(config.Scaling, map[string]any{"rope_theta": config.RopeTheta,
			"partial_rotary_factor": 0.75, "original_max_position_embeddings": 64})
		setConfig(files, map[string]any{"rope_scaling": nil, "rope_theta": nil,
			"partial_rotary_factor": nil, "original_max_position_embeddings": nil})
		setConfig(files, map[string]any{section: config.Scaling})
		if got := lastLogits(t, th, files); !slices.Equal(got, want) {
			t.Errorf("%s: other logits", section)
		}
		// a theta that the test above would miss if both were the default
		config.Scaling["rope_theta"] = 2 * config.RopeTheta
		setConfig(files, map[string]any{section: config.Scaling})
		if got := lastLogits(t, th, files); slices.Equal(got, want) {
			t.Errorf("%s: its rope_theta changes nothing", section)
		}
	}
}
