package gemma4

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tandem/models/nn"
)

// args is config.json, or its text_config. It implements nn.Architecture.
type args struct {
	nn.Args
	nn.LMHeadArgs
	nn.RopeOrder

	LayerTypes                []string        `json:"layer_types"`
	SlidingWindow             int             `json:"sliding_window"`
	SlidingWindowPattern      int             `json:"sliding_window_pattern"` // without layer_types
	RopeParameters            *ropeParameters `json:"rope_parameters"`
	GlobalHeadDim             *int            `json:"global_head_dim"`            // of full layers
	NumGlobalKeyValueHeads    *int            `json:"num_global_key_value_heads"` // where keys are values
	AttentionKEqV             bool            `json:"attention_k_eq_v"`
	NumKVSharedLayers         int             `json:"num_kv_shared_layers"`
	UseDoubleWideMLP          bool            `json:"use_double_wide_mlp"`
	FinalLogitSoftcapping     *float64        `json:"final_logit_softcapping"` // nil = none
	HiddenActivation          string          `json:"hidden_activation"`
	AttentionBias             bool            `json:"attention_bias"`
	UseBidirectionalAttention any             `json:"use_bidirectional_attention"`

	// With an input of its own for each layer.
	HiddenSizePerLayerInput *int `json:"hidden_size_per_layer_input"` // nil or 0 = none
	VocabSizePerLayerInput  int  `json:"vocab_size_per_layer_input"`

	// With experts.
	EnableMoEBlock      bool `json:"enable_moe_block"`
	NumExperts          int  `json:"num_experts"`
	TopKExperts         int  `json:"top_k_experts"`
	MoEIntermediateSize int  `json:"moe_intermediate_size"`

	kvSource []int // by layer, the cache whose keys and values it attends

	// externalKV says that all layers are KV-shared, and kvSource are caches of another model.
	externalKV bool
}

type ropeParameters struct {
	Full    *nn.RopeScaling `json:"full_attention"`
	Sliding *nn.RopeScaling `json:"sliding_attention"`
}

// UnmarshalJSON refuses sections for layers that Gemma 4 does not have.
func (p *ropeParameters) UnmarshalJSON(text []byte) error {
	type plain ropeParameters // without this method
	if err := json.Unmarshal(text, (*plain)(p)); err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		known := key == nn.FullAttention || key == nn.SlidingAttention
		says := string(fields[key])
		if !known && says != "null" && !(key == "rope_type" && says == `"default"`) {
			return nn.Unsupported("%q in rope_parameters is not supported for gemma4", key)
		}
	}
	return nil
}

// Parse reads and checks a config.json. What it leaves out has the defaults of mlx_lm.
func Parse(config []byte) (nn.Architecture, error) {
	var outer struct {
		VocabSize int `json:"vocab_size"`
	}
	if err := nn.ReadConfig(config, &outer); err != nil {
		return nil, err
	}
	softcap := 30.0
	a := &args{
		Args: nn.Args{
			HiddenSize: 1536, NumHiddenLayers: 35, IntermediateSize: 6144,
			NumAttentionHeads: 8, NumKeyValueHeads: 1, HeadDim: 256,
			RMSNormEps: 1e-6, VocabSize: 262144, MaxPositionEmbeddings: 131072,
		},
		SlidingWindow: 512, SlidingWindowPattern: 5, GlobalHeadDim: new(512),
		NumKVSharedLayers: 20, UseDoubleWideMLP: true, FinalLogitSoftcapping: &softcap,
		HiddenSizePerLayerInput: new(256), VocabSizePerLayerInput: 262144,
	}
	head, err := nn.ReadTextConfig(config, a)
	if err != nil {
		return nil, err
	}
	a.VocabSize = cmp.Or(outer.VocabSize, a.VocabSize)
	a.TieWordEmbeddings = cmp.Or(a.TieWordEmbeddings, head.TieWordEmbeddings)
	if err := a.check(); err != nil {
		return nil, err
	}
	a.setDefaults()
	return a, a.setKVSources()
}

// setDefaults fills in what follows from other fields.
func (a *args) setDefaults() {
	if a.GlobalHeadDim == nil {
		a.GlobalHeadDim = &a.HeadDim
	}
	if a.NumGlobalKeyValueHeads == nil || !a.AttentionKEqV {
		a.NumGlobalKeyValueHeads = &a.NumKeyValueHeads
	}
	if a.RopeParameters == nil {
		a.RopeParameters = &ropeParameters{Full: &nn.RopeScaling{
			Type: "proportional", Theta: new(1e6), PartialRotaryFactor: new(0.25),
		}}
	}
	if p := a.RopeParameters; p.Sliding == nil {
		p.Sliding = &nn.RopeScaling{}
	}
	for i := len(a.LayerTypes); i < a.NumHiddenLayers; i++ {
		kind := nn.SlidingAttention
		if (i+1)%a.SlidingWindowPattern == 0 {
			kind = nn.FullAttention
		}
		a.LayerTypes = append(a.LayerTypes, kind)
	}
}

// setKVSources finds the layer whose keys and values each layer attends: its own, or those of the last
// layer of its type that has some.
func (a *args) setKVSources() error {
	last := map[string]int{}
	for i, kind := range a.LayerTypes {
		if i < a.NumHiddenLayers-a.NumKVSharedLayers {
			last[kind] = i
		}
		source, ok := last[kind]
		if !ok {
			return fmt.Errorf("config.json: layer %d has no keys of its own, "+
				"and no layer of type %s before it has some", i, kind)
		}
		a.kvSource = append(a.kvSource, source)
	}
	return nil
}

func (a *args) check() error {
	err := cmp.Or(
		a.Check(
			nn.Size{Name: "sliding_window", Value: a.SlidingWindow, Max: nn.MaxPositions},
			nn.Size{Name: "sliding_window_pattern", Value: a.SlidingWindowPattern,
				Max: nn.MaxLayers}),
		a.CheckLayerTypes(a.LayerTypes, nn.FullAttention, nn.SlidingAttention),
		nn.CheckActivation("hidden_activation", a.HiddenActivation, "gelu_pytorch_tanh"),
		a.checkFullLayers(), a.checkPerLayer(), a.checkExperts())
	switch {
	case err != nil:
		return err
	case a.NumKVSharedLayers < 0 || a.NumKVSharedLayers >= a.NumHiddenLayers:
		return fmt.Errorf("config.json: num_kv_shared_layers is %d, which is not between 0 and %d",
			a.NumKVSharedLayers, a.NumHiddenLayers-1)
	case a.FinalLogitSoftcapping != nil && !(*a.FinalLogitSoftcapping > 0):
		return fmt.Errorf("config.json: final_logit_softcapping is %v, not above 0",
			*a.FinalLogitSoftcapping)
	case a.RopeParameters != nil && a.RopeParameters.Full == nil:
		return nn.Unsupported("config.json: rope_parameters without full_attention is not supported " +
			"for gemma4")
	case a.AttentionBias:
		return nn.Unsupported("config.json: attention_bias is not supported for gemma4")
	}
	switch a.UseBidirectionalAttention {
	case nil, false, "vision": // images see themselves whole; they are not read
	default:
		return nn.Unsupported("config.json: use_bidirectional_attention %v is not supported for gemma4",
			a.UseBidirectionalAttention)
	}
	return nil
}

// checkFullLayers refuses sizes of the heads of full layers outside their limits.
func (a *args) checkFullLayers() error {
	if d := a.GlobalHeadDim; d != nil && *d == 0 {
		a.GlobalHeadDim = nil // as mlx_lm reads it
	}
	if d := a.GlobalHeadDim; d != nil {
		size := nn.Size{Name: "global_head_dim", Value: *d, Max: nn.MaxHeadDim}
		if err := nn.CheckSizes(size); err != nil {
			return err
		}
	}
	kv := a.NumGlobalKeyValueHeads
	if kv == nil || !a.AttentionKEqV {
		return nil
	}
	err := nn.CheckSizes(nn.Size{Name: "num_global_key_value_heads", Value: *kv,
		Max: a.NumAttentionHeads})
	if err == nil && a.NumAttentionHeads%*kv != 0 {
		err = fmt.Errorf("config.json: %d attention heads can't share %d global key and value heads",
			a.NumAttentionHeads, *kv)
	}
	return err
}

// checkPerLayer refuses sizes of the inputs of layers outside their limits, and a table that lacks
// some tokens.
func (a *args) checkPerLayer() error {
	if a.HiddenSizePerLayerInput == nil {
		a.HiddenSizePerLayerInput = new(0)
	}
	if *a.HiddenSizePerLayerInput == 0 {
		return nil
	}
	err := nn.CheckSizes(
		nn.Size{Name: "hidden_size_per_layer_input", Value: *a.HiddenSizePerLayerInput,
			Max: nn.MaxHidden},
		nn.Size{Name: "vocab_size_per_layer_input", Value: a.VocabSizePerLayerInput,
			Max: nn.MaxVocab})
	if err == nil && a.VocabSizePerLayerInput < a.VocabSize {
		err = fmt.Errorf("config.json: vocab_size_per_layer_input is %d, less than the vocabulary of %d",
			a.VocabSizePerLayerInput, a.VocabSize)
	}
	return err
}

// checkExperts refuses sizes of experts outside their limits.
func (a *args) checkExperts() error {
	if !a.EnableMoEBlock {
		return nil
	}
	return nn.CheckSizes(
		nn.Size{Name: "num_experts", Value: a.NumExperts, Max: nn.MaxExperts},
		nn.Size{Name: "top_k_experts", Value: a.TopKExperts, Max: a.NumExperts},
		nn.Size{Name: "moe_intermediate_size", Value: a.MoEIntermediateSize,
			Max: nn.MaxIntermediate})
}

// window returns the positions that a layer attends, 0 for all.
func (a *args) window(layer int) int {
	if a.LayerTypes[layer] == nn.SlidingAttention {
		return a.SlidingWindow
	}
	return 0
}

// kvShared reports whether a layer has no keys and values of its own.
func (a *args) kvShared(layer int) bool { return a.externalKV || a.kvSource[layer] != layer }

// heads returns the heads of a layer. Their scores are not scaled.
func (a *args) heads(layer int) nn.Heads {
	if a.window(layer) > 0 {
		return nn.Heads{Q: a.NumAttentionHeads, KV: a.NumKeyValueHeads, Dim: a.HeadDim, Scale: 1}
	}
	return nn.Heads{
		Q: a.NumAttentionHeads, KV: *a.NumGlobalKeyValueHeads, Dim: *a.GlobalHeadDim, Scale: 1,
	}
}

// intermediate returns the width of the MLP of a layer.
func (a *args) intermediate(layer int) int {
	if a.UseDoubleWideMLP && a.kvShared(layer) {
		return 2 * a.IntermediateSize
	}
	return a.IntermediateSize
}

func (a *args) CacheSpec(layer int) nn.CacheSpec {
	if a.kvShared(layer) {
		return nn.CacheSpec{}
	}
	h := a.heads(layer)
	return nn.KVCacheSpec(h.KV, h.Dim, a.window(layer))
}

// Sanitize implements nn.Architecture. Published experts get the names of conversions to MLX. Keys
// and values that a layer has and does not use are dropped.
func (a *args) Sanitize(name string) (string, bool) {
	name, keep := a.LMHeadArgs.Sanitize(name)
	if a.unusedKeys(name) {
		return name, false
	}
	name = strings.Replace(name, ".experts.switch_glu.", ".experts.switch_mlp.", 1)
	for _, part := range []string{".gate_up_proj", ".down_proj"} {
		if path, ok := strings.CutSuffix(name, ".experts"+part); ok {
			name = path + ".experts.switch_mlp" + part + ".weight"
		}
	}
	return name, keep
}

// unusedKeys reports whether a tensor makes keys or values of a layer that attends those of another
// one. Conversions and finetunes still have them.
func (a *args) unusedKeys(name string) bool {
	rest, ok := strings.CutPrefix(name, "model.layers.")
	number, module, _ := strings.Cut(rest, ".")
	layer, err := strconv.Atoi(number)
	if !ok || err != nil || layer < 0 || layer >= a.NumHiddenLayers || !a.kvShared(layer) {
		return false
	}
	module, ok = strings.CutPrefix(module, "self_attn.")
	return ok && slices.ContainsFunc([]string{"k_proj.", "v_proj.", "k_norm."},
		func(part string) bool { return strings.HasPrefix(module, part) })
}
