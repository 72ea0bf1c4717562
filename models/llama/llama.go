// Package llama is Llama 2 and 3, model type llama, and Mistral, which is the
// same model under another name.
//
// What is unusual in it:
//
//   - Projections may have biases (attention_bias, mlp_bias).
//   - Layers that layer_types calls sliding_attention attend a window; all do
//     in a Mistral with a sliding_window and no layer_types.
package llama

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
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

	ModelType         string   `json:"model_type"`
	AttentionBias     bool     `json:"attention_bias"`
	MLPBias           bool     `json:"mlp_bias"`
	RopeTraditional   bool     `json:"rope_traditional"`
	TieWordEmbeddings bool     `json:"tie_word_embeddings"`
	LayerTypes        []string `json:"layer_types"`
	SlidingWindow     int      `json:"sliding_window"`
	HiddenAct         string   `json:"hidden_act"`
}

func parseArgs(config []byte) (*Args, error) {
	// As in the code the checkpoints were made with, heads are tied unless
	// config.json says otherwise.
	a := &Args{Args: nn.Args{MaxPositionEmbeddings: 2048}, TieWordEmbeddings: true}
	if err := json.Unmarshal(config, a); err != nil {
		return nil, fmt.Errorf("config.json: %w", err)
	}
	if a.NumKeyValueHeads == 0 {
		a.NumKeyValueHeads = a.NumAttentionHeads
	}
	if a.HeadDim == 0 && a.NumAttentionHeads > 0 {
		a.HeadDim = a.HiddenSize / a.NumAttentionHeads
	}
	a.Merge()
	if a.RopeTheta == nil {
		a.RopeTheta = new(10000.0)
	}
	// Mistral says it of all layers at once; a Llama has no windows but those
	// of layer_types.
	if a.ModelType == "mistral" && a.LayerTypes == nil && a.SlidingWindow != 0 {
		a.LayerTypes = slices.Repeat([]string{"sliding_attention"}, max(min(a.NumHiddenLayers, nn.MaxLayers), 0))
	}
	return a, a.check()
}

func (a *Args) check() error {
	window := nn.Size{Name: "sliding_window", Value: a.SlidingWindow, Max: nn.MaxPositions}
	if slices.Contains(a.LayerTypes, "sliding_attention") {
		if err := nn.CheckSizes(window); err != nil {
			return err
		}
	}
	return cmp.Or(
		a.Check(),
		a.CheckLayerTypes(a.LayerTypes),
		nn.CheckActivation("hidden_act", a.HiddenAct, "silu", "swish"))
}

// window returns the positions a layer attends, 0 for all.
func (a *Args) window(layer int) int {
	if a.LayerTypes != nil && a.LayerTypes[layer] == "sliding_attention" {
		return a.SlidingWindow
	}
	return 0
}

// newBlock reads one layer.
func newBlock(w *nn.Weights, path string, a *Args, rope *nn.Rope, layer int) *nn.Block {
	return &nn.Block{
		SelfAttn:               w.Attention(path+".self_attn", a.HiddenSize, a.Heads(float64(a.HeadDim)), a.AttentionBias, rope, layer),
		MLP:                    w.MLP(path+".mlp", a.HiddenSize, a.IntermediateSize, a.MLPBias, nn.SwiGLU),
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
	w.Sanitize(a.sanitize)
	m := &Model{
		EmbedTokens: w.Embedding("model.embed_tokens", a.VocabSize, a.HiddenSize),
		args:        a,
		weights:     w,
	}
	rope := w.Rope(a.HeadDim, *a.RopeTheta, a.RopeTraditional, a.RopeScaling)
	for i := range a.NumHiddenLayers {
		m.Layers = append(m.Layers, newBlock(w, fmt.Sprintf("model.layers.%d", i), a, rope, i))
	}
	m.Norm = w.RMSNorm("model.norm", a.HiddenSize, a.RMSNormEps, 0)
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
	for i := range caches {
		caches[i] = cache.New(opts, m.args.window(i))
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
		layers[i] = a.KeptRows(a.window(i))
	}
	return layers, nil
}

// sanitize drops rotary frequencies that old converters stored, and the head
// where it is tied.
func (a *Args) sanitize(name string) (string, bool) {
	drop := strings.HasSuffix(name, ".rotary_emb.inv_freq") || a.TieWordEmbeddings && strings.HasPrefix(name, "lm_head.")
	return name, !drop
}
