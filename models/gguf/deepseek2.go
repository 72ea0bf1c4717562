package gguf

// deepseek2Names has latent attention, whose maps of keys and values llama.cpp splits as MLX's
// conversions do.
var deepseek2Names = map[string]string{
	"blk.attn_q_a":       "self_attn.q_a_proj",
	"blk.attn_q_a_norm":  "self_attn.q_a_layernorm",
	"blk.attn_q_b":       "self_attn.q_b_proj",
	"blk.attn_kv_a_mqa":  "self_attn.kv_a_proj_with_mqa",
	"blk.attn_kv_a_norm": "self_attn.kv_a_layernorm",
	"blk.attn_k_b":       "self_attn.embed_q",
	"blk.attn_v_b":       "self_attn.unembed_out",
	"blk.exp_probs_b":    "mlp.gate.e_score_correction_bias=",
	"blk.ffn_gate_shexp": "mlp.shared_experts.gate_proj",
	"blk.ffn_up_shexp":   "mlp.shared_experts.up_proj",
	"blk.ffn_down_shexp": "mlp.shared_experts.down_proj",
}

// vocabularyOfGLM is the size of GLM-4.7-Flash's vocabulary. Its files may lack expert_gating_func.
const vocabularyOfGLM = 154880

// deepseek2Config reads what GLM-4.7-Flash computes. Other models of the architecture differ in how
// they score experts, or stretch their rotary embedding.
func deepseek2Config(c *config) {
	if kind := c.metadata.string(c.prefix + "rope.scaling.type"); kind != "" && kind != "none" {
		c.fail(unsupported("has a rotary embedding of the type %.40q, which is not supported in the "+
			"architecture deepseek2", kind))
	}
	rank, turned := c.uint("attention.kv_lora_rank", 0), c.uint("rope.dimension_count", 0)
	c.copyUint("kv_lora_rank", "attention.kv_lora_rank")
	c.copyUint("qk_rope_head_dim", "rope.dimension_count")
	c.copyUint("v_head_dim", "attention.value_length_mla")
	c.copyUint("qk_nope_head_dim", "attention.key_length_mla")
	c.fields["qk_nope_head_dim"] = c.uint("attention.key_length_mla", 0) - turned
	if row := c.uint("attention.key_length", rank+turned); row != rank+turned { // of the cache
		c.fail(unsupported("has %sattention.key_length = %d, which is not supported; supported is %d",
			c.prefix, row, rank+turned))
	}
	c.checkValue("attention.value_length", float64(rank))
	c.fields["q_lora_rank"] = nil
	if q := c.uint("attention.q_lora_rank", 0); q > 0 {
		c.fields["q_lora_rank"] = q
	}
	c.fields["n_routed_experts"] = nil
	_, scored := c.metadata[c.prefix+"expert_gating_func"]
	if !scored && c.fields["vocab_size"] != vocabularyOfGLM {
		c.fail(unsupported("has no %sexpert_gating_func, and so experts of a DeepSeek-V2, which are "+
			"not supported", c.prefix))
	}
	if c.uint("expert_count", 0) > 0 {
		c.copyUint("first_k_dense_replace", "leading_dense_block_count")
		c.scoredExperts()
	}
}

// scoredExperts copies the sizes of experts that are scored by themselves.
func (c *config) scoredExperts() {
	c.copyUint("n_routed_experts", "expert_count")
	c.copyUint("num_experts_per_tok", "expert_used_count")
	c.copyUint("moe_intermediate_size", "expert_feed_forward_length")
	c.fields["n_shared_experts"] = nil
	if n := c.uint("expert_shared_count", 0); n > 0 {
		c.fields["n_shared_experts"] = n
	}
	c.fields["norm_topk_prob"] = c.boolean("expert_weights_norm")
	c.fields["routed_scaling_factor"] = 1
	if scale, ok := c.float("expert_weights_scale"); ok && scale != 0 {
		c.fields["routed_scaling_factor"] = scale
	}
	c.fields["n_group"] = max(c.uint("expert_group_count", 1), 1)
	c.fields["topk_group"] = max(c.uint("expert_group_used_count", 1), 1)
}
