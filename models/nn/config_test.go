package nn

import (
	"strings"
	"testing"
)

// A number that float64 holds and float32 does not makes every logit NaN.
func TestNumbersThatFloat32CannotHold(t *testing.T) {
	for text, want := range map[string]string{
		`{"rope_theta":1e300}`:                          "rope_theta is 1e+300",
		`{"rope_theta":-1e38}`:                          "rope_theta is -1e+38",
		`{"rope_theta":1e-45}`:                          "rope_theta is 1e-45",
		`{"rope_parameters":{"factor":1e-300}}`:         "factor is 1e-300",
		`{"rope_scaling":{"long_factor":[1,1e39]}}`:     "long_factor is 1e+39",
		`{"deep":{"a":{"base":1e39}}}`:                  "base is 1e+39",
		`{"rope_theta":0}`:                              "",
		`{"rope_theta":1e37,"eps":1e-37,"other":1e300}`: "",
	} {
		var args struct {
			RopeArgs
			Eps     float64 `json:"eps"`
			Scaling *struct {
				Long []float64 `json:"long_factor"`
			} `json:"rope_scaling"`
			Deep map[string]struct {
				Base *float64 `json:"base"`
			} `json:"deep"`
		}
		err := ReadConfig([]byte(text), &args)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
