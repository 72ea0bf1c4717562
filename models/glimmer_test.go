package models_test

import (
	"strings"
	"testing"

	"tandem/models"
)

// TestGlimmerRefusesUnsupportedConfigs expects an error that names what is wrong.
func TestGlimmerRefusesUnsupportedConfigs(t *testing.T) {
	for _, c := range []struct {
		fields map[string]any
		want   string
	}{
		{map[string]any{"layer_types": []string{"conv", "conv", "conv", "conv"}},
			`"conv" is not supported`},
		{map[string]any{"layer_rope_theta": []float64{0}}, "layer_rope_theta lists 1 layers of 4"},
		{map[string]any{"layer_rope_theta": []float64{0, 1e4, 0, 0}},
			"layer_rope_theta 10000 is not supported"},
		{map[string]any{"sliding_window": -1}, "sliding_window is -1"},
		{map[string]any{"post_norm_eps": 0}, "post_norm_eps is 0"},
		{map[string]any{"final_logit_softcapping": 0}, "final_logit_softcapping is 0"},
		{map[string]any{"rope_scaling": map[string]any{"rope_type": "yarn", "factor": 2}},
			`rope type "yarn" is not supported`},
		{map[string]any{"hidden_activation": "gelu"}, `"gelu" is not supported`},
		{map[string]any{"num_hidden_layers": 1 << 30}, "num_hidden_layers is 1073741824"},
	} {
		files := recorded(t, "glimmer")
		setConfig(files, c.fields)
		_, err := models.OpenFS(files, "glimmer").Summary()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want one that has %q", c.fields, err, c.want)
		}
	}
}
