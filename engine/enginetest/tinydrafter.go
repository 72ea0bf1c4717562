package enginetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"tandem/engine/mlx"
)

// tinyDrafterConfig is that of a DFlash drafter for the tiny models.
var tinyDrafterConfig = map[string]any{
	"architectures":       []string{"DFlashDraftModel"},
	"model_type":          "qwen3",
	"vocab_size":          260,
	"hidden_size":         64,
	"num_hidden_layers":   2,
	"intermediate_size":   128,
	"num_attention_heads": 4,
	"num_key_value_heads": 2,
	"head_dim":            16,
	"rms_norm_eps":        1e-6,
	"rope_theta":          10000.0,
	"layer_types":         []string{"sliding_attention", "full_attention"},
	"sliding_window":      16,
	"block_size":          8,
	"num_target_layers":   3,
	"dflash_config":       map[string]any{"mask_token_id": 259, "target_layer_ids": []int{0, 2}},
}

// TinyDFlash2 is TinyDrafter for a DFlash 2 drafter, whose dflash_config begins with mask and taps.
func TinyDFlash2(t testing.TB, mask int, taps []int, fields map[string]any) string {
	t.Helper()
	second := map[string]any{
		"architectures": []string{"DFlash2DraftModel"},
		"dflash_config": map[string]any{
			"mask_token_id": mask, "target_layer_ids": taps,
			"conv_kernel_size": 3, "conv_group_size": 16, "selector_rank": 32, "selector_top_k": 16,
			"output_multiplier": 1.5, "final_logit_softcapping": 20.0,
		},
	}
	maps.Copy(second, fields)
	return TinyDrafter(t, second)
}

// TinyDSpark is TinyDrafter for a DSpark drafter with a head of confidence, whose dflash_config begins
// with mask and taps.
func TinyDSpark(t testing.TB, mask int, taps []int, fields map[string]any) string {
	t.Helper()
	spark := map[string]any{
		"architectures": []string{"Qwen3DSparkModel"},
		"layer_types":   []string{"full_attention", "full_attention"},
		"dflash_config": map[string]any{
			"mask_token_id": mask, "target_layer_ids": taps,
			"markov_rank": 32, "enable_confidence_head": true,
		},
	}
	maps.Copy(spark, fields)
	return TinyDrafter(t, spark)
}

// TinyDrafter writes the folder of a small random DFlash drafter that pairs with every TinyModel,
// below t's own folder, and returns its path. fields replace or add fields of its config.json; a
// nil one removes it; sizes among them change the weights too. Its drafts are noise, the same every
// time: next to none is ever accepted.
func TinyDrafter(t testing.TB, fields map[string]any) string {
	t.Helper()
	config := map[string]any{}
	for _, from := range []map[string]any{tinyDrafterConfig, fields} {
		for k, v := range from {
			if config[k] = v; v == nil {
				delete(config, k)
			}
		}
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	return writeFolder(t, "tiny-dflash", map[string][]byte{
		"config.json":       text,
		"model.safetensors": tinyDrafterWeights(t, text),
	})
}

// CutDrafterHead adds to the weights in a drafter's folder the list of the tokens that it speaks of, in
// a type.
func CutDrafterHead(t testing.TB, dir string, d mlx.Dtype, ids ...int32) {
	t.Helper()
	path := filepath.Join(dir, "model.safetensors")
	held := Tensors(t, path)
	var file bytes.Buffer
	Do(t, NewThread(t), func(s *mlx.Scope) error {
		list := []mlx.NamedArray{{Name: "draft_head.ids",
			Array: s.AsType(mlx.New(s, ids, len(ids)), d)}}
		for _, name := range held.Names() {
			list = append(list, mlx.NamedArray{Name: name, Array: held.Load(s, name)})
		}
		return s.WriteTensors(&file, list, nil)
	})
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// tinyDrafterWeights returns a safetensors file with random weights for a
// config.json.
func tinyDrafterWeights(t testing.TB, config []byte) []byte {
	t.Helper()
	var c struct {
		Vocab  int  `json:"vocab_size"`
		Hidden int  `json:"hidden_size"`
		Layers int  `json:"num_hidden_layers"`
		Inner  int  `json:"intermediate_size"`
		Heads  int  `json:"num_attention_heads"`
		KV     int  `json:"num_key_value_heads"`
		Dim    int  `json:"head_dim"`
		Bias   bool `json:"attention_bias"`
		DFlash struct {
			Taps   []int `json:"target_layer_ids"`
			Kernel int   `json:"conv_kernel_size"`
			Group  int   `json:"conv_group_size"`
			Rank   int   `json:"selector_rank"`
			Markov int   `json:"markov_rank"`
		} `json:"dflash_config"`
		Packing *struct {
			Group int `json:"group_size"`
			Bits  int `json:"bits"`
		} `json:"quantization"`
	}
	if err := json.Unmarshal(config, &c); err != nil {
		t.Fatal(err)
	}
	taps := len(c.DFlash.Taps)
	if taps == 0 {
		taps = c.Layers // one for each by rule
	}
	var q *mlx.Quantization
	if p := c.Packing; p != nil {
		q = &mlx.Quantization{GroupSize: p.Group, Bits: p.Bits, Mode: "affine"}
	}
	return randomTensors(t, q, func(add addTensor) {
		norm := func(name string, dim int) { add(name+".weight", 1, 0.2, dim) }
		add.linear("fc", c.Hidden, taps*c.Hidden)
		norm("hidden_norm", c.Hidden)
		for i := range c.Layers {
			path := fmt.Sprintf("layers.%d.", i)
			norm(path+"input_layernorm", c.Hidden)
			attention := func(name string, out, in int) {
				add.linear(path+"self_attn."+name, out, in)
				if c.Bias {
					add(path+"self_attn."+name+".bias", 0, 0.5, out)
				}
			}
			attention("q_proj", c.Heads*c.Dim, c.Hidden)
			attention("k_proj", c.KV*c.Dim, c.Hidden)
			attention("v_proj", c.KV*c.Dim, c.Hidden)
			attention("o_proj", c.Hidden, c.Heads*c.Dim)
			norm(path+"self_attn.q_norm", c.Dim)
			norm(path+"self_attn.k_norm", c.Dim)
			norm(path+"post_attention_layernorm", c.Hidden)
			add.linear(path+"mlp.gate_proj", c.Inner, c.Hidden)
			add.linear(path+"mlp.up_proj", c.Inner, c.Hidden)
			add.linear(path+"mlp.down_proj", c.Hidden, c.Inner)
			if d := c.DFlash; d.Rank > 0 {
				for _, name := range []string{"attention_conv", "mlp_conv"} {
					add(path+name+".base_kernel", 0.3, 0.3, 2, d.Kernel, c.Hidden)
					add.linear(path+name+".kernel_projection", 2*d.Kernel*c.Hidden/d.Group, c.Hidden)
				}
			}
		}
		if rank := c.DFlash.Rank; rank > 0 {
			add("candidate_selector.predecessor_codebook.weight", 0, 1, c.Vocab, rank)
			add("candidate_selector.successor_codebook.weight", 0, 1, c.Vocab, rank)
			add.linear("candidate_selector.hidden_projection", rank, c.Hidden)
		}
		if rank := c.DFlash.Markov; rank > 0 {
			add.linear("markov_head.markov_w1", c.Vocab, rank)
			add.linear("markov_head.markov_w2", c.Vocab, rank)
			add("confidence_head.proj.weight", 0, 0.1, 1, c.Hidden+rank)
			add("confidence_head.proj.bias", 0.5, 0.1, 1)
		}
		norm("norm", c.Hidden)
	})
}
