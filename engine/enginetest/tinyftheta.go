package enginetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
)

// tinyFThetaConfig is that of an f_theta for the tiny models and the tiny drafter.
var tinyFThetaConfig = map[string]any{
	"drafter_num_layers":    2,
	"drafter_num_kv_heads":  2,
	"drafter_head_dim":      16,
	"verifier_num_layers":   3,
	"verifier_num_kv_heads": 2,
	"verifier_head_dim":     16,
	"rank":                  8,
}

// TinyFTheta writes the folder of a small random f_theta that pairs with TinyModel and TinyDrafter
// below t's own folder, and returns its path. fields replace or add fields of its config. Sizes among
// them change the weights too. What it restores is noise, the same every time.
func TinyFTheta(t testing.TB, fields map[string]any) string {
	t.Helper()
	config := maps.Clone(tinyFThetaConfig)
	maps.Copy(config, fields)
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	size := func(name string) int { return config[name].(int) }
	in := size("drafter_num_layers") * size("drafter_num_kv_heads") * size("drafter_head_dim")
	exact, _ := config["exact_layers"].([]int)
	heads, _ := config["verifier_layer_kv_heads"].([]int)
	dims, _ := config["verifier_layer_head_dims"].([]int)
	return writeFolder(t, "f_theta", map[string][]byte{
		"f_theta_config.json": text,
		"model.safetensors": randomTensors(t, nil, func(add addTensor) {
			for _, part := range []string{"k", "v"} {
				add.linear("encoder_"+part, size("rank"), in)
				for i := range size("verifier_num_layers") {
					kv, dim := size("verifier_num_kv_heads"), size("verifier_head_dim")
					if heads != nil {
						kv = heads[i]
					}
					if dims != nil {
						dim = dims[i]
					}
					if !slices.Contains(exact, i) {
						add.linear(fmt.Sprintf("decoders_%s.%d", part, i), kv*dim, size("rank"))
					}
				}
			}
		}),
	})
}
