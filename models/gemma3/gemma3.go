// Package gemma3 is Gemma 3 (text), model types gemma3_text and gemma3.
//
// Unusual in it:
//
//   - Embeddings are multiplied by sqrt(hidden_size), rounded to bfloat16.
//   - Norms multiply by 1 + weight.
//   - Each layer has four norms: before and after attention, before and after the MLP.
//   - Queries and keys are normalised per head before the rotary embedding.
//   - The scale of the scores comes from query_pre_attn_scalar, not from head_dim.
//   - Most layers attend a sliding window. They have a rotary base of their own.
//   - Rope scaling applies to the full layers only.
//   - Residuals are clipped to the range of float16 if that is the type.
//   - The MLP's gate is a tanh-approximated GELU.
package gemma3

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// args is config.json, or its text_config. It implements nn.Architecture.
type args struct {
	nn.Args
	nn.LMHeadArgs
	nn.RopeOrder

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

// UnmarshalJSON refuses sections for layers that Gemma 3 does not have.
func (p *ropeParameters) UnmarshalJSON(text []byte) error {
	type plain ropeParameters // without this method
	if err := json.Unmarshal(text, (*plain)(p)); err != nil {
		return err
	}
	if p.Full == nil && p.Sliding == nil {
		return errors.New("rope_parameters has neither full_attention nor sliding_attention")
	}
	return nn.CheckKeys(text, "%q in rope_parameters is not supported for gemma3", nn.FullAttention,
		nn.SlidingAttention)
}

// Parse reads and checks a config.json. Published ones leave out what equals the defaults of the
// architecture.
func Parse(config []byte) (nn.Architecture, error) {
	outer := struct {
		nn.LMHeadArgs
		ModelType  string          `json:"model_type"`
		VocabSize  int             `json:"vocab_size"`
		TextConfig json.RawMessage `json:"text_config"`
	}{VocabSize: 262208}
	if err := nn.ReadConfig(config, &outer); err != nil {
		return nil, err
	}
	a := &args{
		Args: nn.Args{
			HiddenSize: 1152, NumHiddenLayers: 26, IntermediateSize: 6912,
			NumAttentionHeads: 4, NumKeyValueHeads: 1, HeadDim: 256,
			RMSNormEps: 1e-6, VocabSize: 262144, MaxPositionEmbeddings: 32768,
		},
		QueryPreAttnScalar: 256, SlidingWindow: 512, SlidingWindowPattern: 6,
		RopeTheta: 1e6, RopeLocalBaseFreq: 1e4,
	}
	if outer.ModelType == "gemma3" {
		config = outer.TextConfig
		a.NumAttentionHeads, a.NumKeyValueHeads = 8, 4
		a.VocabSize = outer.VocabSize
	}
	if err := nn.ReadConfig(config, a); err != nil {
		return nil, err
	}
	a.TieWordEmbeddings = cmp.Or(a.TieWordEmbeddings, outer.TieWordEmbeddings)
	a.mergeRope()
	a.Stretch(a.RopeScaling)
	if err := a.check(); err != nil {
		return nil, err
	}
	return a, nil
}

// mergeRope moves rope_parameters into the older fields.
func (a *args) mergeRope() {
	p := a.RopeParameters
	if p != nil && p.Full != nil {
		a.RopeScaling = p.Full
	}
	if a.RopeScaling != nil && a.RopeScaling.Theta != nil {
		a.RopeTheta = *a.RopeScaling.Theta
	}
	if p != nil && p.Sliding != nil && p.Sliding.Theta != nil {
		a.RopeLocalBaseFreq = *p.Sliding.Theta
	}
}

func (a *args) check() error {
	err := cmp.Or(
		a.Check(
			nn.Size{Name: "sliding_window", Value: a.SlidingWindow, Max: nn.MaxPositions},
			nn.Size{Name: "sliding_window_pattern", Value: a.SlidingWindowPattern,
				Max: nn.MaxLayers}),
		a.CheckLayerTypes(a.LayerTypes, nn.FullAttention, nn.SlidingAttention),
		a.RopeScaling.CheckFullRotary(), a.CheckNotTraditional(),
		nn.CheckActivation("hidden_activation", a.HiddenActivation, "gelu_pytorch_tanh"))
	switch {
	case err != nil:
		return err
	case !(a.QueryPreAttnScalar > 0):
		return fmt.Errorf("config.json: query_pre_attn_scalar is %v, not above 0",
			a.QueryPreAttnScalar)
	case a.UseBidirectionalAttention != nil && a.UseBidirectionalAttention != false:
		return nn.Unsupported("config.json: use_bidirectional_attention makes an encoder, " +
			"which does not generate; look for a model made for text generation")
	case a.RopeParameters != nil && a.RopeParameters.Sliding.Kind() != "default":
		return nn.Unsupported("config.json: rope type %q of sliding_attention "+
			"is not supported, only default", a.RopeParameters.Sliding.Kind())
	case a.RopeParameters != nil && a.RopeParameters.Sliding.CheckFullRotary() != nil:
		return a.RopeParameters.Sliding.CheckFullRotary()
	case a.FinalLogitSoftcapping != nil || a.AttnLogitSoftcapping != nil:
		return nn.Unsupported("config.json: logit softcapping is not part of Gemma 3")
	}
	return nil
}

// block is one layer.
type block struct {
	SelfAttn                 *nn.Attention
	MLP                      *nn.MLP
	InputLayernorm           *nn.RMSNorm
	PostAttentionLayernorm   *nn.RMSNorm
	PreFeedforwardLayernorm  *nn.RMSNorm
	PostFeedforwardLayernorm *nn.RMSNorm
}

// newBlock reads one layer.
func (a *args) newBlock(w *nn.Weights, path string, rope *nn.Rope, layer int) *block {
	heads := a.Heads(a.QueryPreAttnScalar)
	attention := w.Attention(path+".self_attn", nn.AttentionSpec{
		Hidden: a.HiddenSize, Heads: heads, Rope: rope, Layer: layer, Window: a.window(layer),
	})
	attention.QKNorm = w.HeadNorm(path+".self_attn", heads, a.RMSNormEps, 1)
	norm := func(name string) *nn.RMSNorm { return w.RMSNorm(path+name, a.HiddenSize, a.RMSNormEps, 1) }
	return &block{
		SelfAttn: attention,
		MLP: w.MLP(path+".mlp", a.HiddenSize, a.IntermediateSize, false,
			nn.GeGLU),
		InputLayernorm:           norm(".input_layernorm"),
		PostAttentionLayernorm:   norm(".post_attention_layernorm"),
		PreFeedforwardLayernorm:  norm(".pre_feedforward_layernorm"),
		PostFeedforwardLayernorm: norm(".post_feedforward_layernorm"),
	}
}

// Forward implements nn.Layer.
func (l *block) Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	r := l.SelfAttn.Forward(s, l.InputLayernorm.Forward(s, x), b)
	x = clipResidual(s, x, l.PostAttentionLayernorm.Forward(s, r))
	r = l.MLP.Forward(s, l.PreFeedforwardLayernorm.Forward(s, x))
	return clipResidual(s, x, l.PostFeedforwardLayernorm.Forward(s, r))
}

// NewCache implements nn.Layer.
func (l *block) NewCache(opts cache.Options) cache.Cache { return l.SelfAttn.NewCache(opts) }

// clipResidual returns x + y, within the range of float16 if that is the type.
func clipResidual(s *mlx.Scope, x, y *mlx.Array) *mlx.Array {
	if x.Dtype() != mlx.Float16 {
		return s.FusedAdd(x, y)
	}
	const maxFloat16 = 65504
	sum := s.Add(s.AsType(x, mlx.Float32), s.AsType(y, mlx.Float32))
	sum = s.Clip(sum, s.Scalar(-maxFloat16, mlx.Float32), s.Scalar(maxFloat16, mlx.Float32))
	return s.AsType(sum, mlx.Float16)
}

func (a *args) New(w *nn.Weights) nn.Model {
	full := w.Rope(a.HeadDim, a.RopeTheta, false, a.RopeScaling)
	local := w.Rope(a.HeadDim, a.RopeLocalBaseFreq, false, nil)
	return w.Decoder(nn.DecoderSpec{
		Args: &a.Args,
		NewLayer: func(path string, i int) nn.Layer {
			if a.window(i) > 0 {
				return a.newBlock(w, path, local, i)
			}
			return a.newBlock(w, path, full, i)
		},
		EmbedScale: roundToBfloat16(math.Sqrt(float64(a.HiddenSize))),
		NormOffset: 1,
		Tied:       a.Tied(w),
	})
}

// roundToBfloat16 rounds v to the nearest bfloat16, ties to even.
func roundToBfloat16(v float64) float64 {
	bits := math.Float32bits(float32(v))
	bits += 0x7fff + bits>>16&1
	return float64(math.Float32frombits(bits &^ 0xffff))
}

// window returns the positions that a layer attends, 0 for all.
func (a *args) window(layer int) int {
	sliding := (layer+1)%a.SlidingWindowPattern != 0
	if a.LayerTypes != nil {
		sliding = a.LayerTypes[layer] == nn.SlidingAttention
	}
	if sliding {
		return a.SlidingWindow
	}
	return 0
}

func (a *args) CacheSpec(layer int) nn.CacheSpec { return a.KVCacheSpec(a.window(layer)) }
