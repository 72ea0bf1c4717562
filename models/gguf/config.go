package gguf

import (
	"fmt"
	"math"
	"slices"
)

// A config collects what config.json says. The first error stays.
type config struct {
	fields   map[string]any
	metadata metadata
	prefix   string // of the architecture's keys
	model    *model
	read     map[string]bool // numbers that were asked for
	err      error
}

func (m *model) newConfig() *config {
	return &config{model: m, fields: map[string]any{}, read: map[string]bool{},
		metadata: m.header.metadata, prefix: m.header.metadata.string("general.architecture") + "."}
}

// config returns config.json.
func (m *model) config(sources []*source) ([]byte, error) {
	f, err := m.family()
	if err != nil {
		return nil, err
	}
	c := m.newConfig()
	c.fields["model_type"] = f.modelType
	c.copyUint("hidden_size", "embedding_length")
	c.fields["num_hidden_layers"] = c.depth()
	c.widths()
	c.copyUint("num_attention_heads", "attention.head_count")
	c.fields["num_key_value_heads"] = c.maxUint("attention.head_count_kv", c.heads())
	c.fields["head_dim"] = c.headDim()
	c.copyFloat("rms_norm_eps", "attention.layer_norm_rms_epsilon")
	c.copyFloat("rope_theta", "rope.freq_base")
	c.copyUint("max_position_embeddings", "context_length")
	tied := true
	for _, s := range sources {
		switch s.to {
		case "lm_head.weight":
			tied = false
		case "model.embed_tokens.weight":
			c.fields["vocab_size"] = s.rows()
		case headPrefix + "fc.weight":
			c.fields["mtp_num_hidden_layers"] = 1
		}
	}
	c.fields["tie_word_embeddings"] = tied
	if id := m.header.metadata.id("tokenizer.ggml.bos_token_id"); id >= 0 {
		c.fields["bos_token_id"] = id
	}
	if id := m.header.metadata.id("tokenizer.ggml.eos_token_id"); id >= 0 {
		c.fields["eos_token_id"] = id
	}
	c.ropeScaling()
	if c.err == nil && f.modelType == "llama" {
		c.err = m.ropeFactors(c)
	}
	if f.config != nil {
		f.config(c)
	}
	c.checkFixed(f.gating)
	if q := quantization(sources); q != nil {
		c.fields["quantization"] = q
	}
	if c.err != nil {
		return nil, c.err
	}
	return marshal(c.fields)
}

// predictors returns how many layers after the last predict further tokens. They do not count as
// layers of the model, see model.head.
func (c *config) predictors() int { return c.uint("nextn_predict_layers", 0) }

// depth returns the number of layers, without the predictors. Without layers it fails and returns
// 0.
func (c *config) depth() int {
	if _, ok := c.metadata[c.prefix+"block_count"]; !ok {
		c.fail(lacking(c.prefix + "block_count"))
	}
	blocks, predictors := c.uint("block_count", 0), c.predictors()
	if blocks <= predictors {
		c.fail(damaged("%sblock_count is %d with %d layers that predict further tokens, so that no "+
			"layer is left", c.prefix, blocks, predictors))
		return 0
	}
	return blocks - predictors
}

// widths copies the width of MLPs. Files of a model that has experts in all layers may lack it.
func (c *config) widths() {
	key := "feed_forward_length"
	if _, ok := c.metadata[c.prefix+key]; !ok && c.uint("expert_count", 0) > 0 {
		key = "expert_feed_forward_length"
	}
	c.copyUint("intermediate_size", key)
}

// uint returns an integer of the architecture, or fallback.
func (c *config) uint(key string, fallback int) int {
	c.read[key] = true
	n, err := c.metadata.uint(c.prefix+key, fallback, math.MaxInt32)
	if err != nil {
		c.fail(err)
	}
	return n
}

// maxUint returns the largest number of a key that may have one for each layer.
func (c *config) maxUint(key string, fallback int) int {
	if list := c.list(key); list != nil {
		return slices.Max(list)
	}
	return c.uint(key, fallback)
}

// layers returns the numbers of a key that has one for each layer, or nil if it has one for all.
// Predictors are left out. The list is never empty. A family that asks for it may have layers that
// differ, see checkSame.
func (c *config) layers(key string) []int {
	c.read[key] = true
	return c.list(key)
}

// list is layers for what every family must have alike, see checkSame.
func (c *config) list(key string) []int {
	list := c.metadata.ints(c.prefix + key)
	if list == nil {
		return nil
	}
	out := make([]int, len(list))
	for i, n := range list {
		if n < 0 || n > math.MaxInt32 {
			c.fail(fmt.Errorf("%s%s has %d for layer %d", c.prefix, key, n, i))
			n = 0
		}
		out[i] = int(n)
	}
	depth, blocks := c.depth(), c.uint("block_count", 0)
	if len(out) != blocks {
		c.fail(fmt.Errorf("%s%s has %d numbers for %d layers", c.prefix, key, len(out), blocks))
	}
	if len(out) != blocks || depth == 0 {
		return nil
	}
	return out[:depth]
}

// fail records the first error.
func (c *config) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// copyUint copies an integer, which must be there.
func (c *config) copyUint(field, key string) {
	if _, ok := c.metadata[c.prefix+key]; !ok {
		c.fail(lacking(c.prefix + key))
	}
	c.fields[field] = c.maxUint(key, 0)
}

// boolean returns a boolean of the architecture, or false.
func (c *config) boolean(key string) bool {
	c.read[key] = true
	v, ok := c.metadata[c.prefix+key]
	on, is := v.(bool)
	if ok && !is {
		c.fail(fmt.Errorf("%s%s is %s, which is neither true nor false", c.prefix, key, abbreviated(v)))
	}
	return on
}

// copyFloat copies a number, if the file has it.
func (c *config) copyFloat(field, key string) {
	if v, ok := c.float(key); ok {
		c.fields[field] = v
	}
}

// float returns a number of the architecture. It is a float32, which is written as short as
// possible.
func (c *config) float(key string) (n float32, ok bool) {
	c.read[key] = true
	v, ok := c.metadata[c.prefix+key]
	if !ok {
		return 0, false
	}
	switch v := v.(type) {
	case int64:
		return float32(v), true
	case float64:
		if finite(float32(v)) {
			return float32(v), true
		}
	}
	c.fail(fmt.Errorf("%s%s is %s, which is no number", c.prefix, key, abbreviated(v)))
	return 0, false
}

// finite reports whether JSON can have a number.
func finite(n float32) bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// headDim returns the elements of a head of keys.
func (c *config) headDim() int {
	return c.uint("attention.key_length", c.uint("embedding_length", 0)/max(c.heads(), 1))
}

// heads returns the heads of queries.
func (c *config) heads() int { return c.maxUint("attention.head_count", 0) }

// quantization returns the section of that name: the most frequent packing for all modules, and the
// others by module. It is nil if no tensor is packed.
func quantization(sources []*source) map[string]any {
	type format struct {
		Mode      string `json:"mode"`
		Bits      int    `json:"bits"`
		GroupSize int    `json:"group_size"`
	}
	modules := map[string]format{}
	counts := map[format]int{}
	var common format
	for _, s := range sources {
		p := s.packing
		if p == nil {
			continue
		}
		f := format{p.mode, p.bits, p.group}
		modules[s.module()] = f
		if counts[f]++; counts[f] > counts[common] {
			common = f
		}
	}
	if len(modules) == 0 {
		return nil
	}
	section := map[string]any{"mode": common.Mode, "bits": common.Bits, "group_size": common.GroupSize}
	for path, f := range modules {
		if f != common {
			section[path] = f
		}
	}
	return section
}
