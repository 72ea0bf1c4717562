package gguf

import (
	"fmt"
	"slices"
)

// gemma4Names has the norms of Gemma 3, the experts beside the MLP, and what the small ones add to
// each layer.
var gemma4Names = map[string]string{
	"rope_freqs":           "",
	"per_layer_token_embd": "model.embed_tokens_per_layer",
	"per_layer_model_proj": "model.per_layer_model_projection",
	"per_layer_proj_norm":  "model.per_layer_projection_norm",

	"blk.post_attention_norm": "post_attention_layernorm",
	"blk.ffn_norm":            "pre_feedforward_layernorm",
	"blk.post_ffw_norm":       "post_feedforward_layernorm",
	"blk.layer_output_scale":  "layer_scalar=",

	"blk.inp_gate":  "per_layer_input_gate",
	"blk.proj":      "per_layer_projection",
	"blk.post_norm": "post_per_layer_input_norm",

	"blk.pre_ffw_norm_2":      "pre_feedforward_layernorm_2",
	"blk.post_ffw_norm_1":     "post_feedforward_layernorm_1",
	"blk.post_ffw_norm_2":     "post_feedforward_layernorm_2",
	"blk.ffn_gate_inp":        "router.proj",
	"blk.ffn_gate_inp.scale":  "router.scale=",
	"blk.ffn_down_exps.scale": "router.per_expert_scale=",
	"blk.ffn_gate_up_exps":    "experts.switch_mlp.gate_up_proj",
	"blk.ffn_down_exps":       "experts.switch_mlp.down_proj",
}

// gemma4Config separates the layers with a window from the others, whose heads are longer.
func gemma4Config(c *config) {
	types := []string{}
	for _, sliding := range c.layers("attention.sliding_window_pattern") {
		if sliding != 0 {
			types = append(types, "sliding_attention")
		} else {
			types = append(types, "full_attention")
		}
	}
	c.fields["layer_types"] = types
	c.copyUint("sliding_window", "attention.sliding_window")
	c.copyUint("head_dim", "attention.key_length_swa")
	c.copyUint("global_head_dim", "attention.key_length")
	c.gemma4Heads(types)
	c.fields["num_kv_shared_layers"] = c.uint("attention.shared_kv_layers", 0)
	c.fields["hidden_size_per_layer_input"] = c.uint("embedding_length_per_layer_input", 0)
	c.fields["vocab_size_per_layer_input"] = c.fields["vocab_size"]
	c.fields["use_double_wide_mlp"] = false
	if widths := c.layers("feed_forward_length"); widths != nil {
		c.fields["intermediate_size"] = slices.Min(widths)
		c.fields["use_double_wide_mlp"] = slices.Max(widths) > slices.Min(widths)
	}
	c.fields["final_logit_softcapping"] = nil
	c.copyFloat("final_logit_softcapping", "final_logit_softcapping")
	c.checkValue("attention.scale", 0, 1)
	c.gemma4Rope()
	if c.uint("expert_count", 0) > 0 {
		c.fields["enable_moe_block"] = true
		c.copyUint("num_experts", "expert_count")
		c.copyUint("top_k_experts", "expert_used_count")
		c.copyUint("moe_intermediate_size", "expert_feed_forward_length")
	}
}

// gemma4Heads finds the heads of keys of both kinds of layers. A full layer without a matrix of
// values takes them from its keys.
func (c *config) gemma4Heads(types []string) {
	full := slices.Index(types, "full_attention")
	c.fields["attention_k_eq_v"] = false
	if full < 0 {
		return
	}
	name := fmt.Sprintf("blk.%d.attn_v.weight", full)
	c.fields["attention_k_eq_v"] = !c.model.has(name)
	if heads := c.layers("attention.head_count_kv"); heads != nil {
		c.fields["num_global_key_value_heads"] = heads[full]
		if sliding := slices.Index(types, "sliding_attention"); sliding >= 0 {
			c.fields["num_key_value_heads"] = heads[sliding]
		}
	}
}

// gemma4Rope sets the rotary embeddings. In full layers a part of each head is rotated: a factor of
// its tensor is 1 there, and huge elsewhere.
func (c *config) gemma4Rope() {
	theta, ok := c.float("rope.freq_base")
	if !ok {
		theta = 1e6
	}
	sliding, ok := c.float("rope.freq_base_swa")
	if !ok {
		sliding = 1e4
	}
	n := c.uint("attention.key_length", 0) / 2
	factors, err := c.model.vector(ropeFactorsTensor, n)
	if err != nil {
		c.fail(err)
		return
	}
	part := 1.0
	if factors != nil {
		rotated := slices.IndexFunc(factors, func(f float32) bool { return f != 1 })
		if rotated >= 0 {
			part = float64(rotated) / float64(n)
		}
	}
	c.fields["rope_parameters"] = map[string]any{
		"full_attention": map[string]any{"rope_type": "proportional", "rope_theta": theta,
			"partial_rotary_factor": part},
		"sliding_attention": map[string]any{"rope_type": "default", "rope_theta": sliding},
	}
}
