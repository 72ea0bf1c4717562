package nn

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func parseScaling(t *testing.T, text string) *RopeScaling {
	t.Helper()
	var c RopeScaling
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

// TestYarnFollowsTheFormula compares with transformers' formula, computed in float64 by numpy.
func TestYarnFollowsTheFormula(t *testing.T) {
	const head = `{"rope_type":"yarn","factor":8,"original_max_position_embeddings":64,"beta_fast":8`
	for _, c := range []struct {
		text string
		want []float64
	}{
		{head + `}`, []float64{1, 4.464392, 24, 252.9822, 800, 2529.822, 8000, 25298.22}},
		{head + `,"truncate":true}`, []float64{1, 4.464392, 24, 252.9822, 800, 2529.822, 8000, 25298.22}},
		{head + `,"truncate":false}`, []float64{1, 5.123594, 75.32885, 252.9822, 800, 2529.822, 8000, 25298.22}},
	} {
		for i, got := range parseScaling(t, c.text).yarn(16, 10000) {
			if math.Abs(float64(got)/c.want[i]-1) > 1e-6 {
				t.Errorf("%s: wavelength %d is %v, want %v", c.text, i, got, c.want[i])
			}
		}
	}
}

// TestAttentionFactorWinsOverMscales expects transformers' attention_factor, or else mlx_lm's
// quotient of the mscales.
func TestAttentionFactorWinsOverMscales(t *testing.T) {
	plain := 0.1*math.Log(8) + 1
	for _, c := range []struct {
		more string
		want float64
	}{
		{``, plain},
		{`,"attention_factor":1.0`, 1},
		{`,"attention_factor":0.75`, 0.75},
		{`,"attention_factor":null`, plain},
		{`,"attention_factor":1.25,"mscale":0.5,"mscale_all_dim":0.25`, 1.25},
		{`,"mscale":1,"mscale_all_dim":1`, 1},
		{`,"mscale":0.5,"mscale_all_dim":0.25`, (0.05*math.Log(8) + 1) / (0.025*math.Log(8) + 1)},
	} {
		scaling := parseScaling(t, `{"rope_type":"yarn","factor":8`+c.more+`}`)
		if got := scaling.attentionFactor(); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.more, got, c.want)
		}
	}
}

// TestMscalesThatScaleByNothingAreRefused expects an error for each mscale that makes a factor of 0
// or less, and none for a negative one that does not.
func TestMscalesThatScaleByNothingAreRefused(t *testing.T) {
	for more, want := range map[string]string{
		`"mscale":-5,"mscale_all_dim":1`: "mscale of a rotary embedding is -5, too small for a factor of 8",
		`"mscale":1,"mscale_all_dim":-5`: "mscale_all_dim of a rotary embedding is -5, too small",
		`"mscale":-1,"mscale_all_dim":1`: "",
	} {
		var c RopeScaling
		err := json.Unmarshal([]byte(`{"rope_type":"yarn","factor":8,`+more+`}`), &c)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", more, err, want)
		}
	}
}

// TestHarmlessRopeKeysAreRead expects that published sections with keys that change nothing load.
func TestHarmlessRopeKeysAreRead(t *testing.T) {
	for _, text := range []string{
		`{"mrope_interleaved":true,"mrope_section":[11,11,10],"rope_type":"default","rope_theta":1e7,"partial_rotary_factor":0.25}`,
		`{"factor":16.0,"original_max_position_embeddings":4096,"type":"yarn","finetuned":true}`,
		`{"type":"linear","rope_type":"linear","factor":8.0,"low_freq_factor":null,"something":null}`,
		`{"rope_type":"default","factor":1.0}`,
		`{}`,
		`null`,
	} {
		parseScaling(t, text)
	}
}
