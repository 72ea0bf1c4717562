package gguf

// deltaNames has the gated delta nets, and the names of Qwen3-Next and Qwen3.5 beside them.
var deltaNames = map[string]string{
	"blk.post_attention_norm": "post_attention_layernorm",
	"blk.attn_qkv":            "linear_attn.in_proj_qkv",
	"blk.attn_gate":           "linear_attn.in_proj_z",
	"blk.ssm_in":              "linear_attn.in_proj_qkvz",
	"blk.ssm_ba":              "linear_attn.in_proj_ba",
	"blk.ssm_alpha":           "linear_attn.in_proj_a",
	"blk.ssm_beta":            "linear_attn.in_proj_b",
	"blk.ssm_conv1d":          "linear_attn.conv1d",
	"blk.ssm_a":               "linear_attn.A_log=",
	"blk.ssm_dt":              "linear_attn.dt_bias=",
	"blk.ssm_norm":            "linear_attn.norm",
	"blk.ssm_out":             "linear_attn.out_proj",
}

// delta is the sizes of gated delta nets.
type delta struct {
	keyHeads, valueHeads int
	keyDim, valueDim     int
	kernel               int
}

// maxDelta bounds each size of a delta.
const maxDelta = 1 << 14

// delta returns the sizes of gated delta nets.
func (c *config) delta() delta {
	size := func(key string) int {
		n := c.uint(key, 0)
		if n < 1 || n > maxDelta*maxDelta {
			c.fail(damaged("%s%s is %d", c.prefix, key, n))
			return 1
		}
		return n
	}
	d := delta{
		keyHeads: size("ssm.group_count"), valueHeads: size("ssm.time_step_rank"),
		keyDim: size("ssm.state_size"), kernel: size("ssm.conv_kernel"),
	}
	d.valueDim = size("ssm.inner_size") / d.valueHeads
	if max(d.keyHeads, d.valueHeads, d.keyDim, d.valueDim, d.kernel) > maxDelta || d.valueDim == 0 ||
		d.valueHeads%d.keyHeads != 0 {
		c.fail(damaged("its delta nets have %d key heads of %d and %d value heads of %d",
			d.keyHeads, d.keyDim, d.valueHeads, d.valueDim))
	}
	return d
}

// deltaConfig copies the sizes of delta nets and of the experts that follow them.
func deltaConfig(c *config) {
	d := c.delta()
	c.fields["linear_num_key_heads"], c.fields["linear_key_head_dim"] = d.keyHeads, d.keyDim
	c.fields["linear_num_value_heads"], c.fields["linear_value_head_dim"] = d.valueHeads, d.valueDim
	c.fields["linear_conv_kernel_dim"] = d.kernel
	c.fields["full_attention_interval"] = c.uint("full_attention_interval", 4)
	if recurrent := c.layers("attention.recurrent_layers"); recurrent != nil {
		types := []string{}
		for _, is := range recurrent {
			if is != 0 {
				types = append(types, "linear_attention")
			} else {
				types = append(types, "full_attention")
			}
		}
		c.fields["layer_types"] = types
	}
	rotated := c.uint("rope.dimension_count", c.headDim())
	c.fields["partial_rotary_factor"] = float64(rotated) / float64(max(c.headDim(), 1))
	if c.uint("expert_count", 0) == 0 {
		return
	}
	qwen3MoEConfig(c)
	c.copyUint("shared_expert_intermediate_size", "expert_shared_feed_forward_length")
}
