package gguf

import (
	"cmp"
	"math"
)

// families holds every supported general.architecture.
var families = map[string]family{
	"deepseek2": {modelType: "glm4_moe_lite", names: deepseek2Names, gating: sigmoidGating,
		config: deepseek2Config},
	"gemma3": {modelType: "gemma3_text", names: gemma3Names, shifted: "norm.weight",
		config: gemma3Config},
	"gemma4": {modelType: "gemma4_text", names: gemma4Names, gating: softmaxGating,
		config: gemma4Config},
	"granite":  {modelType: "granite", interleaved: true, config: graniteConfig},
	"gpt-oss":  {modelType: "gpt_oss", names: gptOSSNames, gating: chosenGating, config: gptOSSConfig},
	"lfm2":     {modelType: "lfm2", names: lfm2Names, config: lfm2Config},
	"lfm2moe":  {modelType: "lfm2_moe", names: lfm2Names, gating: sigmoidGating, config: lfm2Config},
	"llama":    {modelType: "llama", names: llamaNames, interleaved: true, config: llamaConfig},
	"mistral3": {modelType: "ministral3", interleaved: true, config: ministralConfig},
	"muse-glimmer": {modelType: "muse_glimmer", names: glimmerNames, interleaved: true,
		shifted: "layernorm.weight", config: glimmerConfig},
	"nemotron_h": {modelType: "nemotron_h", names: nemotronNames, flat: nemotronFlat,
		config: nemotronConfig},
	"nemotron_h_moe": {modelType: "nemotron_h", names: nemotronNames, flat: nemotronFlat,
		gating: sigmoidGating, config: nemotronConfig},
	"phi3":  {modelType: "phi3", names: phi3Names, config: phi3Config},
	"qwen2": {modelType: "qwen2"},
	"qwen3": {modelType: "qwen3"},
	"qwen35": {modelType: "qwen3_5_text", names: deltaNames, tiled: true, predicts: true,
		config: deltaConfig},
	"qwen35moe": {modelType: "qwen3_5_moe_text", names: deltaNames, tiled: true, predicts: true,
		gating: softmaxGating, config: deltaConfig},
	"qwen3moe": {modelType: "qwen3_moe", gating: softmaxGating, config: qwen3MoEConfig},
	"qwen3next": {modelType: "qwen3_next", names: deltaNames, gating: softmaxGating,
		config: deltaConfig},
	"smollm3": {modelType: "smollm3", interleaved: true},
}

// llamaNames leaves out what ropeFactors finds.
var llamaNames = map[string]string{"rope_freqs": ""}

// llamaConfig refuses what model type llama does not support in a Llama of llama.cpp, and finds its
// biases. A Llama with biases of queries, keys and values alone is what others call a Qwen2.
func llamaConfig(c *config) {
	if c.uint("expert_count", 0) > 0 {
		c.fail(unsupported("is a Llama with experts, which is not supported"))
	}
	switch has := c.model.has; {
	case has("blk.0.attn_output.bias"):
		c.fields["attention_bias"] = true
	case has("blk.0.attn_q.bias"):
		c.fields["model_type"] = "qwen2"
	}
	c.fields["mlp_bias"] = c.model.has("blk.0.ffn_up.bias")
}

// ministralConfig puts the growth of queries into the section of the rotary embedding.
func ministralConfig(c *config) {
	scaling, ok := c.fields["rope_scaling"].(map[string]any)
	if !ok {
		scaling = map[string]any{"rope_type": "default"}
	}
	if beta, ok := c.float("attention.temperature_scale"); ok {
		scaling["llama_4_scaling_beta"] = beta
	}
	if mscale, ok := c.float("rope.scaling.yarn_log_multiplier"); ok && mscale != 0 {
		scaling["mscale"], scaling["mscale_all_dim"] = 1, mscale
	}
	c.fields["rope_scaling"] = scaling
}

// graniteConfig copies the multipliers.
func graniteConfig(c *config) {
	c.copyFloat("embedding_multiplier", "embedding_scale")
	c.copyFloat("attention_multiplier", "attention.scale")
	c.copyFloat("residual_multiplier", "residual_scale")
	c.copyFloat("logits_scaling", "logit_scale")
}

// phi3Names has the joined projections.
var phi3Names = map[string]string{
	"blk.attn_qkv":       "self_attn.qkv_proj",
	"blk.ffn_up":         "mlp.gate_up_proj",
	"rope_factors_long":  "",
	"rope_factors_short": "",
}

// phi3Config finds the factors of a long rotary embedding among the tensors. llama.cpp and mlx_lm
// ignore the sliding window of Phi-3 4k.
func phi3Config(c *config) {
	c.checkWindow(2047)
	rotated := c.uint("rope.dimension_count", c.headDim())
	c.fields["partial_rotary_factor"] = float64(rotated) / float64(max(c.headDim(), 1))
	long, err := c.model.vector("rope_factors_long.weight", rotated/2)
	if err != nil || long == nil {
		c.err = cmp.Or(c.err, err)
		return
	}
	short, err := c.model.vector("rope_factors_short.weight", rotated/2)
	if err != nil || short == nil {
		c.err = cmp.Or(c.err, err, damaged("it has rope_factors_long and no rope_factors_short"))
		return
	}
	c.fields["rope_scaling"] = map[string]any{"type": "longrope", "short_factor": short,
		"long_factor": long}
	c.copyUint("original_max_position_embeddings", "rope.scaling.original_context_length")
	original := float64(c.uint("rope.scaling.original_context_length", 0))
	factor := float64(c.uint("context_length", 0)) / original
	scale := 1.0
	if factor > 1 {
		scale = math.Sqrt(1 + math.Log(factor)/math.Log(original))
	}
	c.checkValue("rope.scaling.attn_factor", scale)
}

// qwen3MoEConfig copies the sizes of experts. Every layer has them, and the scores of the chosen
// ones add up to 1.
func qwen3MoEConfig(c *config) {
	c.copyUint("num_experts", "expert_count")
	c.copyUint("num_experts_per_tok", "expert_used_count")
	c.copyUint("moe_intermediate_size", "expert_feed_forward_length")
	c.fields["norm_topk_prob"] = true
	c.fields["decoder_sparse_step"] = 1
}

// gemma3Names has the two norms after attention and MLP.
var gemma3Names = map[string]string{
	"blk.post_attention_norm": "post_attention_layernorm",
	"blk.ffn_norm":            "pre_feedforward_layernorm",
	"blk.post_ffw_norm":       "post_feedforward_layernorm",
}

// Layers of the sizes of Gemma 3 that also see.
const (
	layersOf4B  = 34
	layersOf12B = 48
	layersOf27B = 62
)

// gemma3Config sets what llama.cpp knows about a Gemma 3 without its metadata.
func gemma3Config(c *config) {
	c.copyUint("sliding_window", "attention.sliding_window")
	c.fields["sliding_window_pattern"] = c.uint("attention.sliding_window_pattern", 6)
	c.fields["rope_local_base_freq"] = float32(10000)
	c.copyFloat("rope_local_base_freq", "rope.freq_base_swa")
	c.fields["query_pre_attn_scalar"] = c.headDim()
	if c.uint("block_count", 0) == layersOf27B { // the one size whose scale does not follow from its heads
		c.fields["query_pre_attn_scalar"] = c.uint("embedding_length", 0) / max(c.heads(), 1)
	}
	c.checkValue("attention.scale", 0, 1/math.Sqrt(float64(c.fields["query_pre_attn_scalar"].(int))))
	if _, ok := c.fields["rope_theta"]; !ok {
		c.fields["rope_theta"] = float32(1e6)
	}
	c.checkValue("final_logit_softcapping", mistakenCap, 0)
	c.gemma3Corrections()
}

// mistakenCap is a cap of the logits in Ollama's files of Gemma 3. The makers' config.json has no
// cap in any size, so it is ignored.
const mistakenCap = 30

// gemma3Corrections sets what files of Ollama's lack: the sizes that also see stretch the rotary
// embedding of their full layers.
func (c *config) gemma3Corrections() {
	_, stretched := c.metadata[c.prefix+"rope.scaling.factor"]
	switch c.uint("block_count", 0) {
	case layersOf4B, layersOf12B, layersOf27B:
		if !stretched {
			c.fields["rope_scaling"] = map[string]any{"rope_type": "linear", "factor": 8}
		}
	}
}

// gptOSSNames has the sinks, the router, and the norm after attention.
var gptOSSNames = map[string]string{
	"blk.attn_sinks":          "self_attn.sinks=",
	"blk.post_attention_norm": "post_attention_layernorm",
	"blk.ffn_gate_inp":        "mlp.router",
}

// gptOSSConfig sets what every published gpt-oss has and its metadata lacks: the ramp of its rotary
// embedding begins and ends between dimensions.
func gptOSSConfig(c *config) {
	if scaling, ok := c.fields["rope_scaling"].(map[string]any); ok && scaling["rope_type"] == "yarn" {
		scaling["truncate"] = false
	}
	c.copyUint("num_local_experts", "expert_count")
	c.copyUint("num_experts_per_tok", "expert_used_count")
	c.copyUint("intermediate_size", "expert_feed_forward_length")
	c.copyUint("sliding_window", "attention.sliding_window")
	c.fields["attention_bias"] = true
}

// lfm2Names has the short convolutions, and the makers' names of MLPs.
var lfm2Names = map[string]string{
	"token_embd_norm":        "model.embedding_norm",
	"output_norm":            "model.embedding_norm",
	"blk.attn_norm":          "operator_norm",
	"blk.attn_q_norm":        "self_attn.q_layernorm",
	"blk.attn_k_norm":        "self_attn.k_layernorm",
	"blk.attn_output":        "self_attn.out_proj",
	"blk.shortconv.conv":     "conv.conv",
	"blk.shortconv.in_proj":  "conv.in_proj",
	"blk.shortconv.out_proj": "conv.out_proj",
	"blk.ffn_norm":           "ffn_norm",
	"blk.ffn_gate":           "feed_forward.w1",
	"blk.ffn_up":             "feed_forward.w3",
	"blk.ffn_down":           "feed_forward.w2",
	"blk.ffn_gate_inp":       "feed_forward.gate",
	"blk.exp_probs_b":        "feed_forward.expert_bias=",
	"blk.ffn_gate_exps":      "feed_forward.switch_mlp.gate_proj",
	"blk.ffn_up_exps":        "feed_forward.switch_mlp.up_proj",
	"blk.ffn_down_exps":      "feed_forward.switch_mlp.down_proj",
}

// lfm2Config finds the layers with a convolution: they have no heads of keys.
func lfm2Config(c *config) {
	types := []string{}
	for _, heads := range c.layers("attention.head_count_kv") {
		if heads == 0 {
			types = append(types, "conv")
		} else {
			types = append(types, "full_attention")
		}
	}
	c.fields["layer_types"] = types
	c.fields["norm_eps"] = c.fields["rms_norm_eps"]
	c.fields["tie_embedding"] = c.fields["tie_word_embeddings"]
	c.fields["block_ff_dim"] = c.fields["intermediate_size"]
	c.fields["block_auto_adjust_ff_dim"] = false
	c.copyUint("conv_L_cache", "shortconv.l_cache")
	if c.uint("expert_count", 0) == 0 {
		return
	}
	c.copyUint("num_experts", "expert_count")
	c.copyUint("num_experts_per_tok", "expert_used_count")
	c.copyUint("moe_intermediate_size", "expert_feed_forward_length")
	c.copyUint("num_dense_layers", "leading_dense_block_count")
	c.fields["norm_topk_prob"], c.fields["use_expert_bias"] = true, true
	c.fields["routed_scaling_factor"] = 1
	c.copyFloat("routed_scaling_factor", "expert_weights_scale")
}
