package gguf

// glimmerNames has the four norms of a layer and the gate of attention. glimmerScale reads the norms
// of queries and keys.
var glimmerNames = map[string]string{
	"blk.attn_gate":           "self_attn.gate_proj",
	"blk.attn_q_norm":         "",
	"blk.attn_k_norm":         "",
	"blk.post_attention_norm": "post_attention_layernorm",
	"blk.ffn_norm":            "pre_feedforward_layernorm",
	"blk.post_ffw_norm":       "post_feedforward_layernorm",
}

// glimmerConfig separates the layers with a window from the others.
func glimmerConfig(c *config) {
	c.copyUint("sliding_window", "attention.sliding_window")
	c.fields["layer_types"] = c.windows(4)
	c.fields["qk_scale_factor"] = c.glimmerScale()
	for _, of := range []struct{ field, key string }{{"output_multiplier", "logit_scale"},
		{"final_logit_softcapping", "final_logit_softcapping"}} {
		if _, ok := c.metadata[c.prefix+of.key]; !ok {
			c.fail(lacking(c.prefix + of.key))
		}
		c.copyFloat(of.field, of.key)
	}
}

// windows returns the types of layers. attention.sliding_window_pattern has each, or in how many
// layers the last attends all positions.
func (c *config) windows(fallback int) []string {
	const key = "attention.sliding_window_pattern"
	types, list := []string{}, c.layers(key)
	every := fallback
	if list == nil && c.err == nil {
		every = c.uint(key, fallback)
	}
	depth := c.depth()
	if every < 1 || depth > len(c.model.header.tensors) {
		c.fail(damaged("%s%s is %d for %d layers", c.prefix, key, every, depth))
		return nil
	}
	for i := range max(depth, 0) {
		if list != nil && list[i] != 0 || list == nil && i%every != every-1 {
			types = append(types, "sliding_attention")
		} else {
			types = append(types, "full_attention")
		}
	}
	return types
}

// glimmerScale returns what queries are multiplied by. The converter stored it as the weights of
// their norms, and 1 as the weights of the norms of keys.
func (c *config) glimmerScale() float32 {
	var scale float32
	for _, t := range c.model.header.tensors {
		_, rest, _ := layerOf(t.name)
		if rest != "attn_q_norm.weight" && rest != "attn_k_norm.weight" {
			continue
		}
		values, err := c.model.vector(t.name, c.headDim())
		if err != nil {
			c.fail(err)
			return 0
		}
		want := float32(1)
		if rest == "attn_q_norm.weight" {
			if scale == 0 {
				scale = values[0]
			}
			want = scale
		}
		for _, v := range values {
			if v != want {
				c.fail(unsupported("has %v in %q, which is not supported; supported is %v", v, t.name,
					want))
				return 0
			}
		}
	}
	return scale
}
