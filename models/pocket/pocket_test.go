package pocket

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"testing"
)

func read(t *testing.T, name string, v any) {
	t.Helper()
	data, err := fs.ReadFile(Files(), name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

type config struct {
	ModelType         string `json:"model_type"`
	VocabSize         int    `json:"vocab_size"`
	HiddenSize        int    `json:"hidden_size"`
	NumHiddenLayers   int    `json:"num_hidden_layers"`
	IntermediateSize  int    `json:"intermediate_size"`
	NumAttentionHeads int    `json:"num_attention_heads"`
	NumKeyValueHeads  int    `json:"num_key_value_heads"`
	HeadDim           int    `json:"head_dim"`
	TieWordEmbeddings bool   `json:"tie_word_embeddings"`
	EOSTokenID        []int  `json:"eos_token_id"`
	PadTokenID        int    `json:"pad_token_id"`
}

// TestWeightsFitTheConfig compares names, shapes and types of the weights with config.json.
func TestWeightsFitTheConfig(t *testing.T) {
	var c config
	read(t, "config.json", &c)
	if c.ModelType != "gemma3_text" || !c.TieWordEmbeddings {
		t.Fatalf("config.json: model_type %q, tie_word_embeddings %t",
			c.ModelType, c.TieWordEmbeddings)
	}
	query, keyValue := c.NumAttentionHeads*c.HeadDim, c.NumKeyValueHeads*c.HeadDim
	want := map[string][]int{
		"model.embed_tokens.weight": {c.VocabSize, c.HiddenSize},
		"model.norm.weight":         {c.HiddenSize},
	}
	for i := range c.NumHiddenLayers {
		for name, shape := range map[string][]int{
			"input_layernorm":            {c.HiddenSize},
			"post_attention_layernorm":   {c.HiddenSize},
			"pre_feedforward_layernorm":  {c.HiddenSize},
			"post_feedforward_layernorm": {c.HiddenSize},
			"self_attn.q_proj":           {query, c.HiddenSize},
			"self_attn.k_proj":           {keyValue, c.HiddenSize},
			"self_attn.v_proj":           {keyValue, c.HiddenSize},
			"self_attn.o_proj":           {c.HiddenSize, query},
			"self_attn.q_norm":           {c.HeadDim},
			"self_attn.k_norm":           {c.HeadDim},
			"mlp.gate_proj":              {c.IntermediateSize, c.HiddenSize},
			"mlp.up_proj":                {c.IntermediateSize, c.HiddenSize},
			"mlp.down_proj":              {c.HiddenSize, c.IntermediateSize},
		} {
			want[fmt.Sprintf("model.layers.%d.%s.weight", i, name)] = shape
		}
	}

	file, err := fs.ReadFile(Files(), "model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	header := map[string]json.RawMessage{}
	size := binary.LittleEndian.Uint64(file)
	if err := json.Unmarshal(file[8:8+size], &header); err != nil {
		t.Fatal(err)
	}
	delete(header, "__metadata__")
	for name, raw := range header {
		var tensor struct {
			DType       string
			Shape       []int
			DataOffsets [2]int `json:"data_offsets"`
		}
		if err := json.Unmarshal(raw, &tensor); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(tensor.Shape, want[name]) || tensor.DType != "BF16" {
			t.Errorf("%s: %s %v, want BF16 %v", name, tensor.DType, tensor.Shape, want[name])
		}
		if end := 8 + int(size) + tensor.DataOffsets[1]; end > len(file) {
			t.Errorf("%s ends at byte %d of %d", name, end, len(file))
		}
	}
	if len(header) != len(want) {
		missing := slices.DeleteFunc(slices.Sorted(maps.Keys(want)),
			func(name string) bool { return header[name] != nil })
		t.Errorf("%d tensors, want %d; missing: %v", len(header), len(want), missing)
	}
}

// TestSpecialTokensHaveTheirIDs compares the tokenizer with the ids in config.json and
// generation_config.json.
func TestSpecialTokensHaveTheirIDs(t *testing.T) {
	var c, generation config
	read(t, "config.json", &c)
	read(t, "generation_config.json", &generation)
	var tokenizer struct {
		AddedTokens []struct {
			ID      int
			Content string
			Special bool
		} `json:"added_tokens"`
		Model struct{ Vocab map[string]int }
	}
	read(t, "tokenizer.json", &tokenizer)
	if n := len(tokenizer.Model.Vocab); n != c.VocabSize {
		t.Errorf("tokenizer has %d tokens, config.json says %d", n, c.VocabSize)
	}
	ids := map[string]int{}
	for _, token := range tokenizer.AddedTokens {
		ids[token.Content] = token.ID
	}
	for _, name := range []string{
		"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|fim_prefix|>", "<|fim_suffix|>",
		"<|fim_middle|>",
		"<|mask|>", "<tool_call>", "</tool_call>", "<|pad|>",
	} {
		if _, ok := ids[name]; !ok {
			t.Errorf("%s is no added token", name)
		}
	}
	end := []int{ids["<|endoftext|>"], ids["<|im_end|>"]}
	if !slices.Equal(c.EOSTokenID, end) || !slices.Equal(generation.EOSTokenID, end) {
		t.Errorf("eos_token_id: config.json %v, generation_config.json %v, want %v",
			c.EOSTokenID, generation.EOSTokenID, end)
	}
	if c.PadTokenID != ids["<|pad|>"] {
		t.Errorf("pad_token_id %d, want %d", c.PadTokenID, ids["<|pad|>"])
	}
}
