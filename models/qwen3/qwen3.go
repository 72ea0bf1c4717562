// Package qwen3 is Qwen3 (dense), model type qwen3.
//
// What is unusual in it:
//
//   - Queries and keys are normalised per head before the rotary embedding.
//   - head_dim is its own figure, not hidden_size / num_attention_heads.
//   - Qwen3-Embedding is stored without its head and without the prefix "model."
//     of its names.
package qwen3

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// Args is config.json.
type Args struct {
	nn.Args
	nn.RopeArgs

	AttentionBias     bool   `json:"attention_bias"`
	TieWordEmbeddings bool   `json:"tie_word_embeddings"`
	UseSlidingWindow  bool   `json:"use_sliding_window"`
	HiddenAct         string `json:"hidden_act"`
}

func parseArgs(config []byte) (*Args, error) {
	a := &Args{}
	if err := json.Unmarshal(config, a); err != nil {
		return nil, fmt.Errorf("config.json: %w", err)
	}
	a.Merge()
	return a, a.check()
}

func (a *Args) check() error {
	err := cmp.Or(a.Check(), nn.CheckActivation("hidden_act", a.HiddenAct, "silu", "swish"))
	switch {
	case err != nil:
		return err
	case a.RopeTheta == nil:
		return errors.New("config.json: rope_theta is missing")
	case a.UseSlidingWindow:
		return &nn.UnsupportedError{Message: "config.json: use_sliding_window is not supported for qwen3"}
	}
	return nil
}

// newBlock reads one layer.
func newBlock(w *nn.Weights, path string, a *Args, rope *nn.Rope, layer int) *nn.Block {
	heads := a.Heads(float64(a.HeadDim))
	attention := w.Attention(path+".self_attn", a.HiddenSize, heads, a.AttentionBias, rope, layer)
	attention.QKNorm = w.HeadNorm(path+".self_attn.q_norm", path+".self_attn.k_norm", heads, a.RMSNormEps, 0)
	return &nn.Block{
		SelfAttn:               attention,
		MLP:                    w.MLP(path+".mlp", a.HiddenSize, a.IntermediateSize, false, nn.SwiGLU),
		InputLayernorm:         w.RMSNorm(path+".input_layernorm", a.HiddenSize, a.RMSNormEps, 0),
		PostAttentionLayernorm: w.RMSNorm(path+".post_attention_layernorm", a.HiddenSize, a.RMSNormEps, 0),
	}
}

// Model implements lm.Model and lm.Embedder.
type Model struct {
	EmbedTokens *nn.Embedding
	Layers      []*nn.Block
	Norm        *nn.RMSNorm
	LMHead      *nn.Linear // nil = tied to EmbedTokens, or not read

	args    *Args
	weights *nn.Weights
}

// New builds the model of a config.json on its weights, which it owns from
// then on. The caller asks w.Err.
func New(w *nn.Weights, config []byte) (*Model, error) {
	a, err := parseArgs(config)
	if err != nil {
		return nil, err
	}
	head := !a.TieWordEmbeddings && !w.NoHead
	w.Sanitize(a.sanitize)
	m := &Model{
		EmbedTokens: w.Embedding("model.embed_tokens", a.VocabSize, a.HiddenSize),
		args:        a,
		weights:     w,
	}
	rope := w.Rope(a.HeadDim, *a.RopeTheta, false, a.RopeScaling)
	for i := range a.NumHiddenLayers {
		m.Layers = append(m.Layers, newBlock(w, fmt.Sprintf("model.layers.%d", i), a, rope, i))
	}
	m.Norm = w.RMSNorm("model.norm", a.HiddenSize, a.RMSNormEps, 0)
	if head {
		m.LMHead = w.Linear("lm_head", a.HiddenSize, a.VocabSize, false)
	}
	return m, nil
}

// Forward implements lm.Model.
func (m *Model) Forward(s *mlx.Scope, b lm.Batch, taps []int) lm.Output {
	x := m.EmbedTokens.Forward(s, nn.Tokens(s, b))
	out := nn.NewTaps(taps)
	for i, l := range m.Layers {
		x = l.Forward(s, x, b)
		out.Add(i, x)
	}
	return lm.Output{Hidden: m.Norm.Forward(s, x), Taps: out.Outputs}
}

// Embed implements lm.Embedder.
func (m *Model) Embed(s *mlx.Scope, tokens *mlx.Array) *mlx.Array {
	return m.EmbedTokens.Forward(s, tokens)
}

// EmbedScale implements lm.Embedder.
func (m *Model) EmbedScale() float64 { return 1 }

// Unembed implements lm.Model.
func (m *Model) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	if m.LMHead != nil {
		return m.LMHead.Forward(s, hidden)
	}
	return m.EmbedTokens.Unembed(s, hidden)
}

// NewCaches implements lm.Model.
func (m *Model) NewCaches(opts cache.Options) []cache.Cache {
	caches := make([]cache.Cache, len(m.Layers))
	for i := range caches {
		caches[i] = cache.New(opts, 0)
	}
	return caches
}

// Config implements lm.Model.
func (m *Model) Config() lm.Config {
	return lm.Config{
		VocabSize:     m.args.VocabSize,
		HiddenSize:    m.args.HiddenSize,
		Layers:        len(m.Layers),
		ContextLength: m.args.MaxPositionEmbeddings,
		Dtype:         m.EmbedTokens.Dtype(),
	}
}

// Free implements lm.Model.
func (m *Model) Free() { m.weights.Free() }

// Names checks a config.json and returns what the model calls a tensor of the
// checkpoint, and whether it uses it.
func Names(config []byte) (func(name string) (to string, keep bool), error) {
	a, err := parseArgs(config)
	if err != nil {
		return nil, err
	}
	return a.sanitize, nil
}

// Layers checks a config.json and returns what each layer keeps of a text.
func Layers(config []byte) ([]nn.Kept, error) {
	a, err := parseArgs(config)
	if err != nil {
		return nil, err
	}
	layers := make([]nn.Kept, a.NumHiddenLayers)
	for i := range layers {
		layers[i] = a.KeptRows(0)
	}
	return layers, nil
}

// sanitize drops the head where it is tied, and adds the prefix that embedding models are
// published without.
func (a *Args) sanitize(name string) (string, bool) {
	for _, bare := range []string{"embed_tokens.", "layers.", "norm."} {
		if strings.HasPrefix(name, bare) {
			return "model." + name, true
		}
	}
	return name, !(a.TieWordEmbeddings && strings.HasPrefix(name, "lm_head."))
}
