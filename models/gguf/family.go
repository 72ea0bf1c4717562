package gguf

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A model is the content of one GGUF file, or of a set of them.
type model struct {
	header *header
	files  []io.ReaderAt // in which the tensors lie
	losses []Loss
}

// A family is how one general.architecture becomes a model in Hugging Face's form.
type family struct {
	modelType string

	// names holds where the tensors of this family alone go, in the form of commonNames. It goes
	// before commonNames; an empty target means that the tensor is not needed.
	names map[string]string

	// interleaved says that rows of queries and keys are as llama.cpp rotates a Llama.
	interleaved bool

	// config sets what config.json says of this family alone.
	config func(c *config)
}

// families holds every supported general.architecture.
var families = map[string]family{
	"llama": {modelType: "llama", interleaved: true, config: llamaConfig},
}

// Where the tensors of most families go. A key of a layer is what follows blk.N. in a name, its
// target what follows model.layers.N.
var (
	commonNames = map[string]string{
		"token_embd":  "model.embed_tokens",
		"output_norm": "model.norm",
		"output":      "lm_head",
	}
	commonLayerNames = map[string]string{
		"attn_norm":          "input_layernorm",
		"attn_q":             "self_attn.q_proj",
		"attn_k":             "self_attn.k_proj",
		"attn_v":             "self_attn.v_proj",
		"attn_output":        "self_attn.o_proj",
		"attn_q_norm":        "self_attn.q_norm",
		"attn_k_norm":        "self_attn.k_norm",
		"ffn_norm":           "post_attention_layernorm",
		"ffn_gate":           "mlp.gate_proj",
		"ffn_up":             "mlp.up_proj",
		"ffn_down":           "mlp.down_proj",
		"ffn_gate_inp":       "mlp.gate",
		"ffn_gate_exps":      "mlp.switch_mlp.gate_proj",
		"ffn_up_exps":        "mlp.switch_mlp.up_proj",
		"ffn_gate_up_exps":   "mlp.switch_mlp.gate_up_proj",
		"ffn_down_exps":      "mlp.switch_mlp.down_proj",
		"ffn_gate_inp_shexp": "mlp.shared_expert_gate",
		"ffn_gate_shexp":     "mlp.shared_expert.gate_proj",
		"ffn_up_shexp":       "mlp.shared_expert.up_proj",
		"ffn_down_shexp":     "mlp.shared_expert.down_proj",
	}
)

// family returns how the model's architecture is read.
func (m *model) family() (family, error) {
	name := m.header.metadata.text("general.architecture")
	f, ok := families[name]
	if !ok {
		return f, unsupported("is a GGUF file of the architecture %q, which is not supported; "+
			"supported are %s", name, strings.Join(slices.Sorted(maps.Keys(families)), ", "))
	}
	return f, nil
}

// rename returns the name of a tensor in Hugging Face's form, empty if it is not needed.
func (f *family) rename(name string) (string, error) {
	stem, suffix := name, ""
	for _, s := range []string{".weight", ".bias"} {
		if cut, ok := strings.CutSuffix(name, s); ok {
			stem, suffix = cut, s
		}
	}
	to, known := f.names[stem]
	if !known {
		to, known = commonNames[stem]
	}
	if rest, ok := strings.CutPrefix(stem, "blk."); ok {
		number, stem, _ := strings.Cut(rest, ".")
		layer, err := strconv.ParseUint(number, 10, 16)
		if err == nil && strconv.FormatUint(layer, 10) == number {
			to, known = f.names["blk."+stem]
			if !known {
				to, known = commonLayerNames[stem]
			}
			if to != "" {
				to = "model.layers." + number + "." + to
			}
		}
	}
	switch {
	case !known || suffix == "":
		return "", unsupported("has the tensor %q, which is not supported in this architecture",
			name)
	case to == "":
		return "", nil
	}
	return to + suffix, nil
}

// sources returns the tensors that the model needs, and what becomes of each.
func (m *model) sources() ([]*source, error) {
	f, err := m.family()
	if err != nil {
		return nil, err
	}
	c := m.newConfig()
	half := 0
	if f.interleaved {
		half = c.headDim() / 2
	}
	var sources []*source
	seen := map[string]string{}
	for _, t := range m.header.tensors {
		to, err := f.rename(t.name)
		if err != nil {
			return nil, err
		}
		if to == "" {
			continue
		}
		if other, twice := seen[to]; twice {
			return nil, damaged("tensors %q and %q are the same", other, t.name)
		}
		seen[to] = t.name
		s := &source{tensor: t, to: to}
		if strings.Contains(to, ".q_proj.") || strings.Contains(to, ".k_proj.") {
			s.half = half
		}
		_, plain := plainTypes[t.kind]
		switch packed := !plain; {
		case packed && (len(t.shape) < 2 || !strings.HasSuffix(to, ".weight")):
			return nil, unsupported("has %q as %v, which only a matrix may be", t.name, t.kind)
		case s.half > 0 && s.rows()%(2*s.half) != 0:
			return nil, damaged("tensor %q has %d rows, which are no heads of %d", t.name,
				s.rows(), 2*half)
		}
		if err := m.pack(s); err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	if len(sources) == 0 {
		return nil, damaged("it has no tensors")
	}
	return sources, c.err
}

// pack chooses how a tensor is packed.
func (m *model) pack(s *source) error {
	if p, ok := packings[s.kind]; ok {
		s.pack = &p
	}
	a, ok := approximations[s.kind]
	if !ok {
		return nil
	}
	var loss Loss
	var err error
	s.pack, loss, err = a.choose(m.files[s.file], &s.tensor)
	m.losses = append(m.losses, loss)
	return err
}

// A config collects what config.json says. The first error stays.
type config struct {
	fields   map[string]any
	metadata metadata
	prefix   string // of the architecture's keys
	err      error
}

func (m *model) newConfig() *config {
	return &config{fields: map[string]any{}, metadata: m.header.metadata,
		prefix: m.header.metadata.text("general.architecture") + "."}
}

// config returns config.json.
func (m *model) config(sources []*source) ([]byte, error) {
	f, err := m.family()
	if err != nil {
		return nil, err
	}
	c := m.newConfig()
	c.fields["model_type"] = f.modelType
	c.count("hidden_size", "embedding_length")
	c.count("num_hidden_layers", "block_count")
	c.count("intermediate_size", "feed_forward_length")
	c.count("num_attention_heads", "attention.head_count")
	c.fields["num_key_value_heads"] = c.uint("attention.head_count_kv",
		c.uint("attention.head_count", 0))
	c.fields["head_dim"] = c.headDim()
	c.number("rms_norm_eps", "attention.layer_norm_rms_epsilon")
	c.number("rope_theta", "rope.freq_base")
	c.count("max_position_embeddings", "context_length")
	tied := true
	for _, s := range sources {
		switch s.to {
		case "lm_head.weight":
			tied = false
		case "model.embed_tokens.weight":
			c.fields["vocab_size"] = s.rows()
		}
	}
	c.fields["tie_word_embeddings"] = tied
	if id := m.header.metadata.id("tokenizer.ggml.bos_token_id"); id >= 0 {
		c.fields["bos_token_id"] = id
	}
	if id := m.header.metadata.id("tokenizer.ggml.eos_token_id"); id >= 0 {
		c.fields["eos_token_id"] = id
	}
	f.config(c)
	if q := quantization(sources); q != nil {
		c.fields["quantization"] = q
	}
	if c.err != nil {
		return nil, c.err
	}
	return marshal(c.fields), nil
}

// uint returns a whole number of the architecture, or otherwise.
func (c *config) uint(key string, otherwise int) int {
	n, err := c.metadata.uint(c.prefix+key, otherwise, math.MaxInt32)
	if err != nil && c.err == nil {
		c.err = err
	}
	return n
}

// count copies a whole number, which must be there.
func (c *config) count(field, key string) {
	if _, ok := c.metadata[c.prefix+key]; !ok && c.err == nil {
		c.err = fmt.Errorf("its metadata lacks %s%s", c.prefix, key)
	}
	c.fields[field] = c.uint(key, 0)
}

// number copies a number, if it is there. It is a float32, which is written as short as it can be.
func (c *config) number(field, key string) {
	v, ok := c.metadata[c.prefix+key]
	if !ok {
		return
	}
	n, ok := v.(float64)
	if !ok || math.IsNaN(n) || math.IsInf(n, 0) {
		if c.err == nil {
			c.err = fmt.Errorf("%s%s is %.40v, which is no number", c.prefix, key, v)
		}
		return
	}
	c.fields[field] = float32(n)
}

// headDim returns the elements of a head of keys.
func (c *config) headDim() int {
	heads := c.uint("attention.head_count", 0)
	return c.uint("attention.key_length", c.uint("embedding_length", 0)/max(heads, 1))
}

// llamaConfig refuses what a Llama of llama.cpp may have and model type llama has not.
func llamaConfig(c *config) {
	if c.uint("expert_count", 0) > 0 && c.err == nil {
		c.err = unsupported("is a Llama with experts, which is not supported")
	}
}

// quantization returns the section of that name: the most frequent packing for all modules, and the
// others by module. It is nil if no tensor is packed.
func quantization(sources []*source) map[string]any {
	type form struct {
		Mode      string `json:"mode"`
		Bits      int    `json:"bits"`
		GroupSize int    `json:"group_size"`
	}
	modules := map[string]form{}
	counts := map[form]int{}
	var most form
	for _, s := range sources {
		p := s.pack
		if p == nil {
			continue
		}
		f := form{p.mode, p.bits, p.group}
		modules[s.module()] = f
		if counts[f]++; counts[f] > counts[most] {
			most = f
		}
	}
	if len(modules) == 0 {
		return nil
	}
	section := map[string]any{"mode": most.Mode, "bits": most.Bits, "group_size": most.GroupSize}
	for path, f := range modules {
		if f != most {
			section[path] = f
		}
	}
	return section
}
