// Package gemma3 is Gemma 3 (text), model types gemma3_text and gemma3.
//
// What is unusual in it:
//
//   - Embeddings are multiplied by sqrt(hidden_size), rounded to bfloat16.
//   - Norms multiply by 1 + weight, and there are four in each layer: before
//     and after attention, before and after the MLP.
//   - Queries and keys are normalised per head before the rotary embedding.
//   - The scores' scale comes from query_pre_attn_scalar, not from head_dim.
//   - Most layers attend a sliding window. They have a rotary base of their
//     own; rope scaling applies to the full layers only.
//   - Residuals are clipped to the range of float16 if that is the type.
//   - The MLP's gate is a tanh-approximated GELU.
//   - The head is tied to the embedding if the checkpoint has no lm_head.
package gemma3

import (
	"cmp"
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

// Args is config.json, or its text_config.
type Args struct {
	nn.Args

	QueryPreAttnScalar        float64         `json:"query_pre_attn_scalar"`
	SlidingWindow             int             `json:"sliding_window"`
	SlidingWindowPattern      int             `json:"sliding_window_pattern"`
	LayerTypes                []string        `json:"layer_types"` // newer form of the pattern
	RopeTheta                 float64         `json:"rope_theta"`
	RopeLocalBaseFreq         float64         `json:"rope_local_base_freq"`
	RopeScaling               *nn.RopeScaling `json:"rope_scaling"`
	RopeParameters            *ropeParameters `json:"rope_parameters"` // newer form of the three above
	HiddenActivation          string          `json:"hidden_activation"`
	UseBidirectionalAttention any             `json:"use_bidirectional_attention"`
	FinalLogitSoftcapping     *float64        `json:"final_logit_softcapping"`
	AttnLogitSoftcapping      *float64        `json:"attn_logit_softcapping"`
}

type ropeParameters struct {
	Full    *nn.RopeScaling `json:"full_attention"`
	Sliding *nn.RopeScaling `json:"sliding_attention"`
}

// parseArgs reads config.json over the defaults of the architecture, which
// published configs rely on.
func parseArgs(config []byte) (*Args, error) {
	outer := struct {
		ModelType  string          `json:"model_type"`
		VocabSize  int             `json:"vocab_size"`
		TextConfig json.RawMessage `json:"text_config"`
	}{VocabSize: 262208}
	if err := json.Unmarshal(config, &outer); err != nil {
		return nil, fmt.Errorf("config.json: %w", err)
	}
	a := &Args{
		Args: nn.Args{
			HiddenSize: 1152, NumHiddenLayers: 26, IntermediateSize: 6912, NumAttentionHeads: 4, NumKeyValueHeads: 1,
			HeadDim: 256, RMSNormEps: 1e-6, VocabSize: 262144, MaxPositionEmbeddings: 32768,
		},
		QueryPreAttnScalar: 256, SlidingWindow: 512, SlidingWindowPattern: 6, RopeTheta: 1e6, RopeLocalBaseFreq: 1e4,
	}
	if outer.ModelType == "gemma3" {
		config = outer.TextConfig
		a.NumAttentionHeads, a.NumKeyValueHeads = 8, 4
		a.VocabSize = outer.VocabSize
	}
	if err := json.Unmarshal(config, a); err != nil {
		return nil, fmt.Errorf("config.json: %w", err)
	}
	if p := a.RopeParameters; p != nil {
		if p.Full != nil {
			a.RopeScaling = p.Full
			if p.Full.Theta != nil {
				a.RopeTheta = *p.Full.Theta
			}
		}
		if p.Sliding != nil && p.Sliding.Theta != nil {
			a.RopeLocalBaseFreq = *p.Sliding.Theta
		}
	}
	return a, a.check()
}

func (a *Args) check() error {
	err := cmp.Or(
		a.Check(
			nn.Size{Name: "sliding_window", Value: a.SlidingWindow, Max: nn.MaxPositions},
			nn.Size{Name: "sliding_window_pattern", Value: a.SlidingWindowPattern, Max: nn.MaxLayers}),
		a.CheckLayerTypes(a.LayerTypes),
		nn.CheckActivation("hidden_activation", a.HiddenActivation, "gelu_pytorch_tanh"))
	switch {
	case err != nil:
		return err
	case !(a.QueryPreAttnScalar > 0):
		return fmt.Errorf("config.json: query_pre_attn_scalar is %v, not above 0", a.QueryPreAttnScalar)
	case a.UseBidirectionalAttention != nil && a.UseBidirectionalAttention != false:
		return &nn.UnsupportedError{Message: "config.json: use_bidirectional_attention makes an encoder, which does not generate; look for a model made for text generation"}
	case a.RopeParameters != nil && a.RopeParameters.Full == nil && a.RopeParameters.Sliding == nil:
		return errors.New("config.json: rope_parameters has neither full_attention nor sliding_attention")
	case a.RopeParameters != nil && a.RopeParameters.Sliding.Kind() != "default":
		return &nn.UnsupportedError{Message: fmt.Sprintf("config.json: rope type %q of sliding_attention is not supported, only default", a.RopeParameters.Sliding.Kind())}
	case a.FinalLogitSoftcapping != nil || a.AttnLogitSoftcapping != nil:
		return &nn.UnsupportedError{Message: "config.json: logit softcapping is not part of Gemma 3"}
	}
	return nil
}

// sliding reports whether a layer attends a window only.
func (a *Args) sliding(layer int) bool {
	if a.LayerTypes != nil {
		return a.LayerTypes[layer] == "sliding_attention"
	}
	return (layer+1)%a.SlidingWindowPattern != 0
}

// Block is one layer.
type Block struct {
	SelfAttn                 *nn.Attention
	MLP                      *nn.MLP
	InputLayernorm           *nn.RMSNorm
	PostAttentionLayernorm   *nn.RMSNorm
	PreFeedforwardLayernorm  *nn.RMSNorm
	PostFeedforwardLayernorm *nn.RMSNorm
}

func newBlock(w *nn.Weights, path string, a *Args, rope *nn.Rope, layer int) *Block {
	heads := a.Heads(a.QueryPreAttnScalar)
	attention := w.Attention(path+".self_attn", a.HiddenSize, heads, false, rope, layer)
	attention.QKNorm = w.HeadNorm(path+".self_attn.q_norm", path+".self_attn.k_norm", heads, a.RMSNormEps, 1)
	norm := func(name string) *nn.RMSNorm { return w.RMSNorm(path+name, a.HiddenSize, a.RMSNormEps, 1) }
	return &Block{
		SelfAttn:                 attention,
		MLP:                      w.MLP(path+".mlp", a.HiddenSize, a.IntermediateSize, false, nn.GeGLU),
		InputLayernorm:           norm(".input_layernorm"),
		PostAttentionLayernorm:   norm(".post_attention_layernorm"),
		PreFeedforwardLayernorm:  norm(".pre_feedforward_layernorm"),
		PostFeedforwardLayernorm: norm(".post_feedforward_layernorm"),
	}
}

// Forward maps the rows x (rows, H) of b.
func (l *Block) Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	r := l.SelfAttn.Forward(s, l.InputLayernorm.Forward(s, x), b)
	x = clipResidual(s, x, l.PostAttentionLayernorm.Forward(s, r))
	r = l.MLP.Forward(s, l.PreFeedforwardLayernorm.Forward(s, x))
	return clipResidual(s, x, l.PostFeedforwardLayernorm.Forward(s, r))
}

// clipResidual returns x + y, within the range of float16 if that is the type.
func clipResidual(s *mlx.Scope, x, y *mlx.Array) *mlx.Array {
	if x.Dtype() != mlx.Float16 {
		return s.Add(x, y)
	}
	const most = 65504
	sum := s.Add(s.AsType(x, mlx.Float32), s.AsType(y, mlx.Float32))
	sum = s.Clip(sum, s.Scalar(-most, mlx.Float32), s.Scalar(most, mlx.Float32))
	return s.AsType(sum, mlx.Float16)
}

// Model implements lm.Model and lm.Embedder.
type Model struct {
	EmbedTokens *nn.Embedding
	Layers      []*Block
	Norm        *nn.RMSNorm
	LMHead      *nn.Linear // nil = tied to EmbedTokens

	args       *Args
	embedScale float64
	weights    *nn.Weights
}

// New builds the model of a config.json on its weights, which it owns from
// then on. The caller asks w.Err.
func New(w *nn.Weights, config []byte) (*Model, error) {
	a, err := parseArgs(config)
	if err != nil {
		return nil, err
	}
	w.Sanitize(sanitize)
	m := &Model{
		EmbedTokens: w.Embedding("model.embed_tokens", a.VocabSize, a.HiddenSize),
		args:        a,
		embedScale:  bfloat16(math.Sqrt(float64(a.HiddenSize))),
		weights:     w,
	}
	full := w.Rope(a.HeadDim, a.RopeTheta, false, a.RopeScaling)
	local := w.Rope(a.HeadDim, a.RopeLocalBaseFreq, false, nil)
	for i := range a.NumHiddenLayers {
		rope := full
		if a.sliding(i) {
			rope = local
		}
		m.Layers = append(m.Layers, newBlock(w, fmt.Sprintf("model.layers.%d", i), a, rope, i))
	}
	m.Norm = w.RMSNorm("model.norm", a.HiddenSize, a.RMSNormEps, 1)
	if w.Has("lm_head.weight") {
		m.LMHead = w.Linear("lm_head", a.HiddenSize, a.VocabSize, false)
	}
	return m, nil
}

// bfloat16 rounds v to that type.
func bfloat16(v float64) float64 {
	bits := math.Float32bits(float32(v))
	bits += 0x7fff + bits>>16&1 // to the nearest, ties to even
	return float64(math.Float32frombits(bits &^ 0xffff))
}

// Forward implements lm.Model.
func (m *Model) Forward(s *mlx.Scope, b lm.Batch, taps []int) lm.Output {
	x := m.EmbedTokens.Forward(s, nn.Tokens(s, b))
	x = s.Mul(x, s.Scalar(m.embedScale, x.Dtype()))
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
func (m *Model) EmbedScale() float64 { return m.embedScale }

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
		if m.args.sliding(i) {
			caches[i] = cache.New(opts, m.args.SlidingWindow)
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
	_, err := parseArgs(config)
	if err != nil {
		return nil, err
	}
	return sanitize, nil
}

// Layers checks a config.json and returns what each layer keeps of a text.
func Layers(config []byte) ([]nn.Kept, error) {
	a, err := parseArgs(config)
	if err != nil {
		return nil, err
	}
	layers := make([]nn.Kept, a.NumHiddenLayers)
	for i := range layers {
		if layers[i] = a.KeptRows(0); a.sliding(i) {
			layers[i].Window = a.SlidingWindow
		}
	}
	return layers, nil
}

// sanitize drops the vision half of a checkpoint and the prefix of the text half.
func sanitize(name string) (string, bool) {
	if strings.HasPrefix(name, "vision_tower.") || strings.HasPrefix(name, "multi_modal_projector.") {
		return "", false
	}
	return strings.TrimPrefix(name, "language_model."), true
}
