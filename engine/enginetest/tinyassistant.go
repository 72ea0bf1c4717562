package enginetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
)

// tinyAssistantConfig is the text_config of an assistant for the TinyModel of type gemma3_text.
var tinyAssistantConfig = map[string]any{
	"model_type":                  "gemma4_text",
	"vocab_size":                  260,
	"hidden_size":                 32,
	"num_hidden_layers":           2,
	"intermediate_size":           64,
	"num_attention_heads":         4,
	"num_key_value_heads":         2,
	"head_dim":                    16,
	"global_head_dim":             16,
	"rms_norm_eps":                1e-6,
	"layer_types":                 []string{"sliding_attention", "full_attention"},
	"sliding_window":              16,
	"hidden_size_per_layer_input": 0,
}

// TinyAssistant writes the folder of a small random assistant of Gemma 4 below t's own folder and
// returns its path. target is how many hidden elements its target has. fields replace or add fields
// of its text_config. Its drafts are noise, the same every time.
func TinyAssistant(t testing.TB, target int, fields map[string]any) string {
	t.Helper()
	text := maps.Clone(tinyAssistantConfig)
	maps.Copy(text, fields)
	config, err := json.Marshal(map[string]any{"model_type": "gemma4_assistant",
		"backbone_hidden_size": target, "tie_word_embeddings": true, "text_config": text})
	if err != nil {
		t.Fatal(err)
	}
	return writeFolder(t, "tiny-assistant", map[string][]byte{
		"config.json":       config,
		"model.safetensors": tinyAssistantWeights(t, target, text),
	})
}

// tinyAssistantWeights returns a safetensors file with random weights for a text_config.
func tinyAssistantWeights(t testing.TB, target int, config map[string]any) []byte {
	t.Helper()
	size := func(name string) int { return config[name].(int) }
	hidden, inner := size("hidden_size"), size("intermediate_size")
	return randomTensors(t, nil, func(add addTensor) {
		norm := func(name string, dim int) { add(name+".weight", 1, 0.2, dim) }
		add("model.embed_tokens.weight", 0, 0.2, size("vocab_size"), hidden)
		add.linear("pre_projection", hidden, 2*target)
		add.linear("post_projection", target, hidden)
		for i, kind := range config["layer_types"].([]string) {
			path, dim := fmt.Sprintf("model.layers.%d.", i), size("head_dim")
			if kind == "full_attention" {
				dim = size("global_head_dim")
			}
			add.linear(path+"self_attn.q_proj", size("num_attention_heads")*dim, hidden)
			add.linear(path+"self_attn.o_proj", hidden, size("num_attention_heads")*dim)
			norm(path+"self_attn.q_norm", dim)
			for _, name := range []string{"input", "post_attention", "pre_feedforward",
				"post_feedforward"} {
				norm(path+name+"_layernorm", hidden)
			}
			add.linear(path+"mlp.gate_proj", inner, hidden)
			add.linear(path+"mlp.up_proj", inner, hidden)
			add.linear(path+"mlp.down_proj", hidden, inner)
			add(path+"layer_scalar", 1, 0.1, 1)
		}
		norm("model.norm", hidden)
	})
}
