package nn

import (
	"fmt"
)

// DeltaArgs is what config.json says about gated delta nets, and which layers are gated delta nets.
// An architecture with a [GatedDelta] embeds it in its own args.
type DeltaArgs struct {
	FullAttentionInterval int      `json:"full_attention_interval"`
	LayerTypes            []string `json:"layer_types"` // newer form of the interval
	LinearNumValueHeads   int      `json:"linear_num_value_heads"`
	LinearNumKeyHeads     int      `json:"linear_num_key_heads"`
	LinearKeyHeadDim      int      `json:"linear_key_head_dim"`
	LinearValueHeadDim    int      `json:"linear_value_head_dim"`
	LinearConvKernelDim   int      `json:"linear_conv_kernel_dim"`
}

// CheckDelta refuses sizes outside their limits, and layers of other types. of holds the number of
// layers.
func (a *DeltaArgs) CheckDelta(of *Args) error {
	err := CheckSizes(
		Size{"full_attention_interval", a.FullAttentionInterval, MaxLayers},
		Size{"linear_num_value_heads", a.LinearNumValueHeads, MaxHeads},
		Size{"linear_num_key_heads", a.LinearNumKeyHeads, a.LinearNumValueHeads},
		Size{"linear_key_head_dim", a.LinearKeyHeadDim, MaxHeadDim},
		Size{"linear_value_head_dim", a.LinearValueHeadDim, MaxHeadDim},
		Size{"linear_conv_kernel_dim", a.LinearConvKernelDim, 64})
	switch {
	case err != nil:
		return err
	case a.LinearNumValueHeads%a.LinearNumKeyHeads != 0:
		return fmt.Errorf("config.json: %d linear value heads can't share %d key heads",
			a.LinearNumValueHeads, a.LinearNumKeyHeads)
	case a.LinearConvKernelDim < 2:
		return fmt.Errorf("config.json: linear_conv_kernel_dim is %d, which is no convolution",
			a.LinearConvKernelDim)
	}
	return of.CheckLayerTypes(a.LayerTypes, FullAttention, LinearAttention)
}

// Linear reports whether a layer is a gated delta net.
func (a *DeltaArgs) Linear(layer int) bool {
	if a.LayerTypes != nil {
		return a.LayerTypes[layer] == LinearAttention
	}
	return (layer+1)%a.FullAttentionInterval != 0
}

// StateCacheSpec returns what a gated delta net keeps of a text.
func (a *DeltaArgs) StateCacheSpec() CacheSpec {
	state := a.LinearNumValueHeads * a.LinearValueHeadDim * a.LinearKeyHeadDim
	tail := (a.LinearConvKernelDim - 1) * a.convWidth()
	return CacheSpec{State: state + tail}
}

// NormOffset returns what is added to the weights of norms, except the norms of the delta nets: 1,
// or 0 if a conversion to MLX has added it. Such a conversion has also turned conv1d.
func (a *DeltaArgs) NormOffset(w *Weights, layers int) float64 {
	for i := range layers {
		shape := w.Shape(fmt.Sprintf("model.layers.%d.linear_attn.conv1d.weight", i))
		if len(shape) == 3 && shape[2] != 1 {
			return 1
		}
	}
	return 0
}

// valueWidth is the elements of a row's values, convWidth the elements of queries, keys and values,
// the input of the convolution.
func (a *DeltaArgs) valueWidth() int { return a.LinearNumValueHeads * a.LinearValueHeadDim }
func (a *DeltaArgs) convWidth() int {
	return 2*a.LinearNumKeyHeads*a.LinearKeyHeadDim + a.valueWidth()
}

// qkvzOrder returns which outputs of in_proj_qkvz are the queries of all heads, then their keys,
// their values and their z. For each key head the module has one query and one key. The values and
// the z of the value heads that share it follow.
func (a *DeltaArgs) qkvzOrder() []int32 {
	key, values := a.LinearKeyHeadDim, a.shared()*a.LinearValueHeadDim
	return perKeyHead(a.LinearNumKeyHeads, key, key, values, values)
}

// baOrder returns which outputs of in_proj_ba are b of all value heads, and then a of all.
func (a *DeltaArgs) baOrder() []int32 {
	return perKeyHead(a.LinearNumKeyHeads, a.shared(), a.shared())
}

// shared is the value heads that share a key head.
func (a *DeltaArgs) shared() int { return a.LinearNumValueHeads / a.LinearNumKeyHeads }

// perKeyHead returns the outputs of a module that has for each head some of every kind. Those of the
// first kind come first, by head.
func perKeyHead(heads int, kinds ...int) []int32 {
	var width int
	for _, n := range kinds {
		width += n
	}
	order := make([]int32, 0, heads*width)
	at := 0
	for _, n := range kinds {
		for h := range heads {
			for i := range n {
				order = append(order, int32(h*width+at+i))
			}
		}
		at += n
	}
	return order
}
