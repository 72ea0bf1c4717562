package clients

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"

	"tandem/build/setup"
)

// standIn writes the folder of a model for the scripted engine. It has the pocket model's
// tokenizer, a template with tools and thoughts, and a context that agents find long enough. Its
// few weights are all zero, so that a long prompt takes almost no time.
func standIn(b *setup.Builder, dir string) error {
	const vocab, hidden, inner, head = 4096, 32, 32, 16
	config, err := json.Marshal(map[string]any{
		"architectures": []string{"LlamaForCausalLM"}, "model_type": "llama", "vocab_size": vocab,
		"hidden_size": hidden, "intermediate_size": inner,
		"num_hidden_layers": 1, "num_attention_heads": hidden / head, "num_key_value_heads": 1,
		"head_dim": head, "rms_norm_eps": 1e-6,
		"max_position_embeddings": 1 << 17, "tie_word_embeddings": true, "hidden_act": "silu",
		"bos_token_id": 0, "eos_token_id": []int{0, 2},
	})
	if err != nil {
		return err
	}
	weights, err := zeroWeights(map[string][]int{
		"model.embed_tokens.weight":                      {vocab, hidden},
		"model.layers.0.self_attn.q_proj.weight":         {hidden, hidden},
		"model.layers.0.self_attn.k_proj.weight":         {head, hidden},
		"model.layers.0.self_attn.v_proj.weight":         {head, hidden},
		"model.layers.0.self_attn.o_proj.weight":         {hidden, hidden},
		"model.layers.0.mlp.gate_proj.weight":            {inner, hidden},
		"model.layers.0.mlp.up_proj.weight":              {inner, hidden},
		"model.layers.0.mlp.down_proj.weight":            {hidden, inner},
		"model.layers.0.input_layernorm.weight":          {hidden},
		"model.layers.0.post_attention_layernorm.weight": {hidden},
		"model.norm.weight":                              {hidden},
	})
	if err != nil {
		return err
	}
	files := map[string][]byte{"config.json": config, "model.safetensors": weights,
		"tokenizer_config.json": []byte(`{"eos_token": "<|im_end|>"}`)}
	for name, from := range map[string]string{"tokenizer.json": "models/pocket/tokenizer.json",
		"chat_template.jinja": clientsDir + "/stand-in.jinja"} {
		if files[name], err = os.ReadFile(filepath.Join(b.Root, from)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// zeroWeights returns a safetensors file of float32 zeros: the header's length, the header and the
// numbers.
func zeroWeights(shapes map[string][]int) ([]byte, error) {
	type tensor struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	header, end := map[string]tensor{}, 0
	for name, shape := range shapes {
		start := end
		bytes := 4
		for _, n := range shape {
			bytes *= n
		}
		end += bytes
		header[name] = tensor{"F32", shape, [2]int{start, end}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return append(append(file, text...), make([]byte, end)...), nil
}
