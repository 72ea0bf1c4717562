package gguf

import (
	"slices"
	"strings"
)

// nemotronNames has layers that are one thing each. The converter interleaves the rows of queries
// and keys alike. Without positions that changes nothing, so they stay as they are.
var nemotronNames = map[string]string{
	"blk.attn_norm":   "norm",
	"blk.attn_q":      "mixer.q_proj",
	"blk.attn_k":      "mixer.k_proj",
	"blk.attn_v":      "mixer.v_proj",
	"blk.attn_output": "mixer.o_proj",

	"blk.ssm_in":     "mixer.in_proj",
	"blk.ssm_conv1d": "mixer.conv1d",
	"blk.ssm_dt":     "mixer.dt_bias=",
	"blk.ssm_a":      "mixer.A_log=",
	"blk.ssm_d":      "mixer.D=",
	"blk.ssm_norm":   "mixer.norm",
	"blk.ssm_out":    "mixer.out_proj",

	"blk.ffn_up":          "mixer.up_proj",
	"blk.ffn_down":        "mixer.down_proj",
	"blk.ffn_gate_inp":    "mixer.gate",
	"blk.exp_probs_b":     "mixer.gate.e_score_correction_bias=",
	"blk.ffn_up_exps":     "mixer.switch_mlp.up_proj",
	"blk.ffn_down_exps":   "mixer.switch_mlp.down_proj",
	"blk.ffn_up_shexp":    "mixer.shared_experts.up_proj",
	"blk.ffn_down_shexp":  "mixer.shared_experts.down_proj",
	"blk.ffn_latent_down": "mixer.fc1_latent_proj",
	"blk.ffn_latent_up":   "mixer.fc2_latent_proj",
}

// nemotronFlat are rows of one element, and a norm with a row for each group.
var nemotronFlat = []string{".A_log", ".mixer.D", ".mixer.norm.weight"}

// nemotronConfig tells the kinds of layers: attention has heads of keys, an MLP a width, and a mixer
// neither.
func nemotronConfig(c *config) {
	each := func(key string) []int {
		list := c.layers(key)
		if list == nil {
			c.fail(damaged("%s%s is not one number a layer", c.prefix, key))
		}
		return list
	}
	heads, widths := each("attention.head_count_kv"), each("feed_forward_length")
	experts := c.uint("expert_count", 0) > 0
	pattern := make([]byte, len(heads))
	for i := range min(len(heads), len(widths)) {
		switch {
		case heads[i] > 0:
			pattern[i] = '*'
		case widths[i] == 0:
			pattern[i] = 'M'
		case experts:
			pattern[i] = 'E'
		default:
			pattern[i] = '-'
		}
	}
	c.fields["hybrid_override_pattern"] = string(pattern)
	c.fields["layer_norm_epsilon"] = c.fields["rms_norm_eps"]
	c.fields["mlp_hidden_act"], c.fields["mamba_hidden_act"] = "relu2", "silu"
	c.fields["attention_bias"] = c.has(".attn_q.bias")
	c.fields["mlp_bias"] = c.has(".ffn_up.bias")
	c.fields["mamba_proj_bias"] = c.has(".ssm_in.bias")
	c.fields["use_conv_bias"] = c.has(".ssm_conv1d.bias")
	c.copyUint("mamba_num_heads", "ssm.time_step_rank")
	c.copyUint("ssm_state_size", "ssm.state_size")
	c.copyUint("n_groups", "ssm.group_count")
	c.copyUint("conv_kernel", "ssm.conv_kernel")
	c.fields["mamba_head_dim"] = c.uint("ssm.inner_size", 0) / max(c.uint("ssm.time_step_rank", 0), 1)
	c.uint("rope.dimension_count", 0) // it has no positions
	if experts {
		c.scoredExperts()
		c.copyUint("moe_shared_expert_intermediate_size", "expert_shared_feed_forward_length")
		if n := c.uint("moe_latent_size", 0); n > 0 {
			c.fields["moe_latent_size"] = n
		}
	}
}

// has reports whether the name of any tensor ends with end.
func (c *config) has(end string) bool {
	return slices.ContainsFunc(c.model.header.tensors,
		func(t tensor) bool { return strings.HasSuffix(t.name, end) })
}
