// Package qwen3 is Qwen3 (dense), model type qwen3.
//
// What is unusual in it:
//
//   - Queries and keys are normalised per head before the rotary embedding.
//   - head_dim is its own figure, not hidden_size / num_attention_heads.
package qwen3

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// Args is config.json.
type Args struct {
	HiddenSize            int             `json:"hidden_size"`
	NumHiddenLayers       int             `json:"num_hidden_layers"`
	IntermediateSize      int             `json:"intermediate_size"`
	NumAttentionHeads     int             `json:"num_attention_heads"`
	NumKeyValueHeads      int             `json:"num_key_value_heads"`
	HeadDim               int             `json:"head_dim"`
	RMSNormEps            float64         `json:"rms_norm_eps"`
	VocabSize             int             `json:"vocab_size"`
	MaxPositionEmbeddings int             `json:"max_position_embeddings"`
	AttentionBias         bool            `json:"attention_bias"`
	RopeTheta             *float64        `json:"rope_theta"`
	RopeScaling           *nn.RopeScaling `json:"rope_scaling"`
	RopeParameters        *nn.RopeScaling `json:"rope_parameters"` // newer form of the two above
	TieWordEmbeddings     bool            `json:"tie_word_embeddings"`
	UseSlidingWindow      bool            `json:"use_sliding_window"`
	HiddenAct             string          `json:"hidden_act"`
}

func parseArgs(config []byte) (*Args, error) {
	a := &Args{}
	if err := json.Unmarshal(config, a); err != nil {
		return nil, fmt.Errorf("config.json: %w", err)
	}
	if a.RopeParameters != nil {
		if a.RopeTheta == nil {
			a.RopeTheta = a.RopeParameters.Theta
		}
		if a.RopeScaling == nil {
			a.RopeScaling = a.RopeParameters
		}
	}
	return a, a.check()
}

func (a *Args) check() error {
	err := nn.CheckSizes(
		nn.Size{Name: "hidden_size", Value: a.HiddenSize, Max: nn.MaxHidden},
		nn.Size{Name: "num_hidden_layers", Value: a.NumHiddenLayers, Max: nn.MaxLayers},
		nn.Size{Name: "intermediate_size", Value: a.IntermediateSize, Max: nn.MaxIntermediate},
		nn.Size{Name: "num_attention_heads", Value: a.NumAttentionHeads, Max: nn.MaxHeads},
		nn.Size{Name: "num_key_value_heads", Value: a.NumKeyValueHeads, Max: a.NumAttentionHeads},
		nn.Size{Name: "head_dim", Value: a.HeadDim, Max: nn.MaxHeadDim},
		nn.Size{Name: "vocab_size", Value: a.VocabSize, Max: nn.MaxVocab},
		nn.Size{Name: "max_position_embeddings", Value: a.MaxPositionEmbeddings, Max: nn.MaxPositions},
	)
	switch {
	case err != nil:
		return err
	case a.NumAttentionHeads%a.NumKeyValueHeads != 0:
		return fmt.Errorf("config.json: %d attention heads can't share %d key and value heads", a.NumAttentionHeads, a.NumKeyValueHeads)
	case !(a.RMSNormEps > 0):
		return fmt.Errorf("config.json: rms_norm_eps is %v, not above 0", a.RMSNormEps)
	case a.RopeTheta == nil:
		return errors.New("config.json: rope_theta is missing")
	case a.UseSlidingWindow:
		return &nn.UnsupportedError{Message: "config.json: use_sliding_window is not supported for qwen3"}
	}
	return nn.CheckActivation("hidden_act", a.HiddenAct, "silu", "swish")
}

// Attention of one layer.
type Attention struct {
	QKVProj *nn.Linear
	OProj   *nn.Linear
	QKNorm  *nn.HeadNorm
	heads   nn.Heads
	rope    *nn.Rope
	layer   int
}

func newAttention(w *nn.Weights, path string, a *Args, rope *nn.Rope, layer int) *Attention {
	h := nn.Heads{Q: a.NumAttentionHeads, KV: a.NumKeyValueHeads, Dim: a.HeadDim, Scale: float32(math.Pow(float64(a.HeadDim), -0.5))}
	return &Attention{
		QKVProj: w.Stacked(a.HiddenSize, a.AttentionBias,
			nn.Part{Path: path + ".q_proj", Out: h.Q * h.Dim},
			nn.Part{Path: path + ".k_proj", Out: h.KV * h.Dim},
			nn.Part{Path: path + ".v_proj", Out: h.KV * h.Dim}),
		OProj:  w.Linear(path+".o_proj", h.Q*h.Dim, a.HiddenSize, a.AttentionBias),
		QKNorm: w.HeadNorm(path+".q_norm", path+".k_norm", h, a.RMSNormEps, 0),
		heads:  h,
		rope:   rope,
		layer:  layer,
	}
}

// Forward maps the rows x (rows, H) of b.
func (t *Attention) Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	qk, v := t.heads.Split(s, t.QKVProj.Forward(s, x))
	return t.OProj.Forward(s, t.heads.Attend(s, t.QKNorm.Forward(s, qk), v, t.rope, b, t.layer))
}

// MLP of one layer.
type MLP struct {
	GateUpProj *nn.Linear
	DownProj   *nn.Linear
}

func newMLP(w *nn.Weights, path string, a *Args) *MLP {
	return &MLP{
		GateUpProj: w.Stacked(a.HiddenSize, false,
			nn.Part{Path: path + ".gate_proj", Out: a.IntermediateSize},
			nn.Part{Path: path + ".up_proj", Out: a.IntermediateSize}),
		DownProj: w.Linear(path+".down_proj", a.IntermediateSize, a.HiddenSize, false),
	}
}

// Forward maps rows x (rows, H).
func (m *MLP) Forward(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	return m.DownProj.Forward(s, nn.SwiGLU(s, m.GateUpProj.Forward(s, x)))
}

// Block is one layer.
type Block struct {
	SelfAttn               *Attention
	MLP                    *MLP
	InputLayernorm         *nn.RMSNorm
	PostAttentionLayernorm *nn.RMSNorm
}

func newBlock(w *nn.Weights, path string, a *Args, rope *nn.Rope, layer int) *Block {
	return &Block{
		SelfAttn:               newAttention(w, path+".self_attn", a, rope, layer),
		MLP:                    newMLP(w, path+".mlp", a),
		InputLayernorm:         w.RMSNorm(path+".input_layernorm", a.HiddenSize, a.RMSNormEps, 0),
		PostAttentionLayernorm: w.RMSNorm(path+".post_attention_layernorm", a.HiddenSize, a.RMSNormEps, 0),
	}
}

// Forward maps the rows x (rows, H) of b.
func (l *Block) Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	x = s.Add(x, l.SelfAttn.Forward(s, l.InputLayernorm.Forward(s, x), b))
	return s.Add(x, l.MLP.Forward(s, l.PostAttentionLayernorm.Forward(s, x)))
}

// Model implements lm.Model.
type Model struct {
	EmbedTokens *nn.Embedding
	Layers      []*Block
	Norm        *nn.RMSNorm
	LMHead      *nn.Linear // nil = tied to EmbedTokens

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
	rope := w.Rope(a.HeadDim, *a.RopeTheta, false, a.RopeScaling)
	for i := range a.NumHiddenLayers {
		m.Layers = append(m.Layers, newBlock(w, fmt.Sprintf("model.layers.%d", i), a, rope, i))
	}
	m.Norm = w.RMSNorm("model.norm", a.HiddenSize, a.RMSNormEps, 0)
	if !a.TieWordEmbeddings {
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

// sanitize drops the head where it is tied.
func (a *Args) sanitize(name string) (string, bool) {
	return name, !(a.TieWordEmbeddings && strings.HasPrefix(name, "lm_head."))
}
