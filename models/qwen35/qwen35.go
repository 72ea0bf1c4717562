// Package qwen35 is Qwen3.5 and Qwen3.6 (text half), dense and with experts, model
// types qwen3_5, qwen3_5_moe and the same with _text.
//
// What is unusual in it:
//
//   - Of every full_attention_interval layers (4) all but the last are gated
//     delta nets, whose state does not grow (GatedDelta): they need exact restore
//     points and leave padding out.
//   - The others are attention whose q_proj has a gate beside each query, and
//     whose rotary embedding turns only the first quarter of a head.
//   - Queries and keys are normalised per head before the rotary embedding.
//   - Norms multiply by 1 + weight as published; MLX's conversions have added the
//     1 already. Which it is shows in the layout of conv1d, as for mlx_lm's
//     Model.sanitize. The norm inside the delta nets is stored as it is used.
//   - Layers with experts have one besides that all rows share, behind a gate.
//   - Checkpoints hold a vision half and heads for multi-token prediction
//     (mtp.*), which are not loaded.
package qwen35

import (
	"fmt"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// Block is one layer.
type Block struct {
	LinearAttn             *GatedDelta   // nil = SelfAttn
	SelfAttn               *nn.Attention // nil = LinearAttn
	MLP                    *nn.MLP       // nil = MoE
	MoE                    *nn.MoE       // nil = MLP; the checkpoint calls both mlp
	InputLayernorm         *nn.RMSNorm
	PostAttentionLayernorm *nn.RMSNorm
}

// newBlock reads one layer. offset is that of its norms' weights.
func newBlock(w *nn.Weights, path string, a *Args, rope *nn.Rope, offset float64, layer int) *Block {
	norm := func(name string) *nn.RMSNorm { return w.RMSNorm(path+name, a.HiddenSize, a.RMSNormEps, offset) }
	l := &Block{
		InputLayernorm:         norm(".input_layernorm"),
		PostAttentionLayernorm: norm(".post_attention_layernorm"),
	}
	if a.NumExperts > 0 {
		l.MoE = w.MoE(path+".mlp", a.HiddenSize, a.experts())
	} else {
		l.MLP = w.MLP(path+".mlp", a.HiddenSize, a.IntermediateSize, false, nn.SwiGLU)
	}
	if a.linear(layer) {
		l.LinearAttn = newGatedDelta(w, path+".linear_attn", a, layer)
		return l
	}
	heads := a.Heads(float64(a.HeadDim))
	l.SelfAttn = w.GatedAttention(path+".self_attn", a.HiddenSize, heads, a.AttentionBias, rope, layer)
	l.SelfAttn.QKNorm = w.HeadNorm(path+".self_attn.q_norm", path+".self_attn.k_norm", heads, a.RMSNormEps, offset)
	return l
}

// Forward maps the rows x (rows, H) of b.
func (l *Block) Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	mix := l.InputLayernorm.Forward(s, x)
	if l.LinearAttn != nil {
		mix = l.LinearAttn.Forward(s, mix, b)
	} else {
		mix = l.SelfAttn.Forward(s, mix, b)
	}
	x = s.Add(x, mix)
	rows := l.PostAttentionLayernorm.Forward(s, x)
	if l.MoE != nil {
		return s.Add(x, l.MoE.Forward(s, rows))
	}
	return s.Add(x, l.MLP.Forward(s, rows))
}

// Model implements lm.Model and lm.Embedder.
type Model struct {
	EmbedTokens *nn.Embedding
	Layers      []*Block
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
	w.Sanitize(a.sanitize)
	m := &Model{
		EmbedTokens: w.Embedding("model.embed_tokens", a.VocabSize, a.HiddenSize),
		args:        a,
		weights:     w,
	}
	rope := w.Rope(int(float64(a.HeadDim)**a.PartialRotaryFactor), *a.RopeTheta, false, a.RopeScaling)
	offset := a.normOffset(w)
	for i := range a.NumHiddenLayers {
		m.Layers = append(m.Layers, newBlock(w, fmt.Sprintf("model.layers.%d", i), a, rope, offset, i))
	}
	m.Norm = w.RMSNorm("model.norm", a.HiddenSize, a.RMSNormEps, offset)
	if !a.TieWordEmbeddings && !w.NoHead {
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
	for i, l := range m.Layers {
		if l.LinearAttn != nil {
			caches[i] = l.LinearAttn.newCache()
		} else {
			caches[i] = cache.New(opts, 0)
		}
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
		if layers[i] = a.KeptRows(0); a.linear(i) {
			layers[i] = nn.Kept{State: a.LinearNumValueHeads*a.LinearValueHeadDim*a.LinearKeyHeadDim + (a.LinearConvKernelDim-1)*a.convWidth()}
		}
	}
	return layers, nil
}
