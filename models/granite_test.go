package models_test

import (
	"strings"
	"testing"

	"tandem/models"
)

// TestGraniteRefusesUnsupportedConfigs expects an error that names what is wrong.
func TestGraniteRefusesUnsupportedConfigs(t *testing.T) {
	for _, c := range []struct {
		fields map[string]any
		want   string
	}{
		{map[string]any{"embedding_multiplier": nil}, "embedding_multiplier is 0"},
		{map[string]any{"attention_multiplier": -1}, "attention_multiplier is -1"},
		{map[string]any{"residual_multiplier": 0}, "residual_multiplier is 0"},
		{map[string]any{"logits_scaling": 0}, "logits_scaling is 0"},
		{map[string]any{"rope_theta": nil}, "rope_theta is missing"},
		{map[string]any{"hidden_act": "gelu"}, `"gelu" is not supported`},
	} {
		files := recorded(t, "granite")
		setConfig(files, c.fields)
		_, err := models.OpenFS(files, "granite").Summary()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want one that has %q", c.fields, err, c.want)
		}
	}
}
