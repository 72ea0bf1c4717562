package gguf

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A model is the content of one GGUF file, or of a set of them.
type model struct {
	header *header
	files  []io.ReaderAt // that hold the tensors
	losses []Loss
	scan   lossScan // how many bits a tensor needs

	leftOut map[string]bool // see Folder.LeftOut
	noHead  string          // see Folder.NoHead
}

// A lossScan says what decides how many bits a tensor needs.
type lossScan int

const (
	scanSamples lossScan = iota
	scanAll              // its weights
	scanHeader           // nothing: each gets the fewest that its kind may have
)

// A family is how one general.architecture becomes a model in Hugging Face's form.
type family struct {
	modelType string

	// names holds where the tensors of this family alone go, in the form of commonNames. It goes
	// before commonNames. An empty target means that the tensor is not needed, and one that ends
	// with = takes no .weight or .bias.
	names map[string]string

	// interleaved says that rows of queries and keys are as llama.cpp rotates a Llama.
	interleaved bool

	// shifted ends the names of norms to whose weights the converter added 1. It may be empty.
	shifted string

	// flat lists ends of names of tensors (A, B) that are vectors here.
	flat []string

	// tiled says that value heads of delta nets are in the order of a headOrder.
	tiled bool

	// predicts says that a layer that predicts a further token becomes a head.
	predicts bool

	// gating is how experts are scored, as expert_gating_func numbers it.
	gating gating

	// config sets what config.json says of this family alone. It may be nil.
	config func(c *config)
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

// projectorArchitecture is the architecture of mmproj files.
const projectorArchitecture = "clip"

// towers begin the names of tensors that let a model see or hear. Ollama's files have them beside
// the text model's. They are left out.
var towers = []struct{ prefix, what string }{
	{"v.", "images"}, {"mm.a.", "sound"}, {"mm.", "images"}, {"a.", "sound"},
}

// towerOf returns the input of a tensor's tower, or "" for one of the text model.
func towerOf(name string) string {
	for _, t := range towers {
		if strings.HasPrefix(name, t.prefix) {
			return t.what
		}
	}
	return ""
}

// errTowersOnly returns the error of a file that holds no text model.
func errTowersOnly() error {
	return unsupported("holds what lets a model see or hear, and no model; " +
		"name the file of the model itself")
}

// family returns how the model's architecture is read.
func (m *model) family() (family, error) {
	name := m.header.metadata.string("general.architecture")
	f, ok := families[name]
	if name == projectorArchitecture {
		return f, errTowersOnly()
	}
	if name == "" {
		return f, lacking("general.architecture")
	}
	if !ok {
		return f, unsupported("is a GGUF file of the architecture %.40q, which is not supported; "+
			"take a model of a supported one: %s", name,
			strings.Join(slices.Sorted(maps.Keys(families)), ", "))
	}
	return f, nil
}

// has reports whether the file has a tensor of a name.
func (m *model) has(name string) bool {
	return slices.ContainsFunc(m.header.tensors, func(t tensor) bool { return t.name == name })
}

// layerOf returns the layer of a tensor, and what follows it in the name. ok is false for a tensor
// outside the layers.
func layerOf(name string) (layer int, rest string, ok bool) {
	rest, ok = strings.CutPrefix(name, "blk.")
	number, rest, _ := strings.Cut(rest, ".")
	n, err := strconv.ParseUint(number, 10, 16)
	return int(n), rest, ok && err == nil && strconv.FormatUint(n, 10) == number
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
	if layer, stem, ok := layerOf(stem); ok {
		to, known = f.names["blk."+stem]
		if !known {
			to, known = commonLayerNames[stem]
		}
		if to != "" {
			to = fmt.Sprintf("model.layers.%d.%s", layer, to)
		}
	}
	exact, whole := strings.CutSuffix(to, "=")
	switch {
	case !known || suffix == "" && !whole:
		return "", unsupported("has the tensor %q, which is not supported in this architecture; "+
			"take another file of the model",
			name)
	case whole || to == "":
		return exact, nil
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
	depth := c.depth()
	var sources []*source
	var predictors []tensor
	seen := map[string]string{}
	m.leftOut = map[string]bool{}
	for _, t := range m.header.tensors {
		if what := towerOf(t.name); what != "" {
			m.leftOut[what] = true
			continue
		}
		if layer, _, ok := layerOf(t.name); ok && layer >= depth && c.predictors() > 0 {
			predictors = append(predictors, t)
			continue
		}
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
		if err := m.finish(&f, c, s); err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	if len(sources) == 0 && len(m.leftOut) > 0 {
		return nil, errTowersOnly()
	}
	if len(sources) == 0 {
		return nil, damaged("it has no tensors")
	}
	head, why, err := m.head(&f, c, depth, predictors)
	if err != nil {
		return nil, err
	}
	m.noHead = why
	return append(sources, head...), c.err
}

// finish says how a tensor is undone and packed.
func (m *model) finish(f *family, c *config, s *source) error {
	matrix := len(s.shape) >= 2 // in the file
	if err := f.restore(c, s); err != nil {
		return err
	}
	_, plain := plainTypes[s.kind]
	if packed := !plain; packed && (!matrix || !strings.HasSuffix(s.to, ".weight")) {
		return unsupported("has %q as %v, which only a matrix may be; "+
			"take another quantization, such as Q4_K_M", s.name, s.kind)
	}
	if err := m.pack(s); err != nil {
		return err
	}
	return s.checkColumns()
}

// restore says how to undo what llama.cpp's converter changed in a tensor.
func (f *family) restore(c *config, s *source) error {
	t := &s.tensor
	if f.interleaved && (strings.Contains(s.to, ".q_proj.") || strings.Contains(s.to, ".k_proj.")) {
		if s.half = c.headDim() / 2; c.err != nil {
			return c.err
		}
		if s.half > 0 && s.rows()%(2*s.half) != 0 {
			return damaged("tensor %q has %d rows, which are no heads of %d", t.name, s.rows(), 2*s.half)
		}
	}
	if f.shifted != "" && strings.HasSuffix(s.to, f.shifted) {
		s.shift = 1
	}
	s.log = strings.HasSuffix(s.to, ".A_log")
	if (s.shift != 0 || s.log) && t.kind != f32 {
		return unsupported("has %q as %v, which only F32 may be; "+
			"take another quantization, such as Q4_K_M", t.name, t.kind)
	}
	two := len(t.shape) == 2
	switch {
	case two && hasSuffix(s.to, convolutions):
		s.shape = []int{t.shape[0], t.shape[1], 1}
	case two && hasSuffix(s.to, f.flat):
		s.shape = []int{t.shape[0] * t.shape[1]}
	case len(t.shape) == 1 && strings.HasSuffix(s.to, ".shared_expert_gate.weight"):
		s.shape = []int{1, t.shape[0]}
	}
	if f.tiled {
		return c.restoreHeads(s)
	}
	return nil
}

// convolutions end the names of kernels. They are (A, B) in a file, and (A, B, 1) in MLX's form.
var convolutions = []string{".conv.conv.weight", ".conv1d.weight"}

// pack chooses how a tensor is packed.
func (m *model) pack(s *source) error {
	if p, ok := packings[s.kind]; ok {
		s.packing = &p
	}
	if !s.kind.isApproximated() {
		return nil
	}
	if m.scan == scanHeader {
		s.packing = approximations[s.kind][0].packing(s.kind)
		return nil
	}
	var loss Loss
	var err error
	s.packing, loss, err = choose(m.files[s.file], &s.tensor, m.scan == scanAll)
	m.losses = append(m.losses, loss)
	return err
}

// hasSuffix reports whether a name has one of several ends.
func hasSuffix(name string, ends []string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(name, end) })
}
