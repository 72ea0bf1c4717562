package enginetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"tandem/engine/mlx"
)

// TinyHead writes the folder of a small random head for multi-token prediction and returns its
// path. The folder lies below t's own. The head pairs with the TinyModel of type qwen3_5. fields
// replace or add fields of its text_config; a quantization among them packs it. Its drafts are
// noise, the same every time.
func TinyHead(t testing.TB, fields map[string]any) string {
	t.Helper()
	text := tinyHeadConfig(fields)
	config, err := json.Marshal(map[string]any{"model_type": "qwen3_5_mtp", "block_size": 3,
		"text_config": text, "quantization": text["quantization"]})
	if err != nil {
		t.Fatal(err)
	}
	return writeFolder(t, "tiny-mtp", map[string][]byte{
		"config.json":       config,
		"model.safetensors": tinyHeadWeights(t, text, ""),
	})
}

// AddTinyHead writes such a head into the folder of a model, as mtp.safetensors.
func AddTinyHead(t testing.TB, model string) {
	t.Helper()
	err := os.WriteFile(filepath.Join(model, "mtp.safetensors"),
		tinyHeadWeights(t, tinyHeadConfig(nil), "mtp."), 0o600)
	if err != nil {
		t.Fatal(err)
	}
}

func tinyHeadConfig(fields map[string]any) map[string]any {
	text := map[string]any{"model_type": "qwen3_5_text", "mtp_num_hidden_layers": 1}
	for _, from := range []map[string]any{tinyConfig, tinyArchitectures["qwen3_5"], fields} {
		maps.Copy(text, from)
	}
	return text
}

// tinyHeadWeights returns a safetensors file with random weights for the head of a text_config.
func tinyHeadWeights(t testing.TB, config map[string]any, prefix string) []byte {
	t.Helper()
	size := func(name string) int { return config[name].(int) }
	hidden, inner, dim := size("hidden_size"), size("intermediate_size"), size("head_dim")
	q, kv := size("num_attention_heads")*dim, size("num_key_value_heads")*dim
	var packing *mlx.Quantization
	if p, ok := config["quantization"].(map[string]any); ok {
		packing = &mlx.Quantization{GroupSize: p["group_size"].(int), Bits: p["bits"].(int),
			Mode: "affine"}
	}
	return randomTensors(t, packing, func(add addTensor) {
		norm := func(name string, dim int) { add(prefix+name+".weight", 1, 0.2, dim) }
		linear := func(name string, out, in int) { add.linear(prefix+name, out, in) }
		norm("pre_fc_norm_embedding", hidden)
		norm("pre_fc_norm_hidden", hidden)
		linear("fc", hidden, 2*hidden)
		for i := range size("mtp_num_hidden_layers") {
			path := fmt.Sprintf("layers.%d.", i)
			norm(path+"input_layernorm", hidden)
			norm(path+"post_attention_layernorm", hidden)
			linear(path+"self_attn.q_proj", 2*q, hidden)
			linear(path+"self_attn.k_proj", kv, hidden)
			linear(path+"self_attn.v_proj", kv, hidden)
			linear(path+"self_attn.o_proj", hidden, q)
			norm(path+"self_attn.q_norm", dim)
			norm(path+"self_attn.k_norm", dim)
			linear(path+"mlp.gate_proj", inner, hidden)
			linear(path+"mlp.up_proj", inner, hidden)
			linear(path+"mlp.down_proj", hidden, inner)
		}
		norm("norm", hidden)
	})
}
