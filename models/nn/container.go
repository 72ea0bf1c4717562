package nn

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tandem/engine/mlx"
)

// A container is a form in which another program than MLX stores matrices that MLX multiplies. Its
// bytes are the same as in a mode of MLX. Names, types and shapes of the tensors differ.
type container struct {
	divides bool // the global scale divides weights; in other containers it multiplies them
	centred bool // affine without biases: a weight is its scale times (n - half of all values)
}

// hfQuantization is quantization_config in the form of transformers.
type hfQuantization struct {
	Method string `json:"quant_method"`

	// of modelopt, in config.json or one level down in hf_quant_config.json
	Algorithm    string          `json:"quant_algo"`
	Quantization *hfQuantization `json:"quantization"`

	// of compressed-tensors
	Format string          `json:"format"`
	Groups json.RawMessage `json:"config_groups"`
}

// ReadQuantization parses the section quantization or quantization_config of config.json, or
// hf_quant_config.json. It takes MLX's own form, and the containers that MLX's modes are published
// in. It returns nil for null and for an empty section.
func ReadQuantization(section json.RawMessage) (*Quantization, error) {
	if len(section) == 0 || string(section) == "null" {
		return nil, nil
	}
	var hf hfQuantization
	if err := json.Unmarshal(section, &hf); err != nil {
		return nil, err
	}
	if hf.Quantization != nil {
		hf = *hf.Quantization
		hf.Method = "modelopt"
	}
	foreign := func(mode string, c container) (*Quantization, error) {
		return &Quantization{module: module{Mode: mode}, container: &c}, nil
	}
	switch hf.Method {
	case "":
		var q Quantization
		if err := json.Unmarshal(section, &q); err != nil {
			return nil, err
		}
		m := q.withDefaults()
		p, known := findMode(m.Mode)
		if !known {
			return nil, modeError("it", m.Mode)
		}
		return &q, p.check("it", m)
	case "mxfp4", "mxfp8":
		return foreign(hf.Method, container{})
	case "modelopt":
		if hf.Algorithm == "NVFP4" {
			return foreign("nvfp4", container{})
		}
		return nil, foreignError(hf.Method + " " + hf.Algorithm)
	case "compressed-tensors":
		switch {
		case hf.Format == "nvfp4-pack-quantized":
			return foreign("nvfp4", container{divides: true})
		case hf.Format == "mxfp4-pack-quantized":
			return foreign("mxfp4", container{})
		case hf.Format == "pack-quantized" && hf.centredInt4():
			return foreign("affine", container{centred: true})
		}
		return nil, foreignError(hf.Method + " " + hf.Format)
	}
	return nil, foreignError(hf.Method)
}

// centredInt4 reports whether all groups of modules have symmetric weights of 4 bits, the only ones
// of their format that mlx_lm reads.
func (hf *hfQuantization) centredInt4() bool {
	var groups map[string]struct {
		Weights struct {
			Bits      int   `json:"num_bits"`
			Symmetric *bool `json:"symmetric"`
		} `json:"weights"`
	}
	if json.Unmarshal(hf.Groups, &groups) != nil {
		return false
	}
	for _, g := range groups {
		if g.Weights.Bits != 4 || g.Weights.Symmetric != nil && !*g.Weights.Symmetric {
			return false
		}
	}
	return len(groups) > 0
}

func foreignError(what string) error {
	return Unsupported("its weights are quantized by %q; supported are MLX's own modes, and mxfp4, "+
		"mxfp8, and modelopt and compressed-tensors with nvfp4, mxfp4 or symmetric int4 "+
		"(look for an mlx-community version of this model)", strings.TrimSpace(what))
}

// tensorNames maps the ends of names in containers to MLX's.
var tensorNames = []struct{ of, to string }{
	{".weight_packed", ".weight"},
	{".weight_scale", ".scales"},
	{".weight_scale_inv", ".scales"},
	{".weight_scale_2", globalScale},
	{".weight_global_scale", globalScale},
}

// unusedTensors end the names of tensors for quantized activations and caches, and of shapes.
var unusedTensors = []string{
	".weight_shape", ".input_scale", ".input_global_scale", ".output_scale", ".q_scale", ".k_scale",
	".v_scale",
}

// globalScale ends the name of a tensor that scales all weights of a matrix, or of each expert.
const globalScale = ".global_scale"

// Tensor returns what MLX calls a tensor of the checkpoint. keep is false for a container's tensor
// that is not used.
func (q *Quantization) Tensor(name string) (to string, keep bool) {
	if q == nil || q.container == nil {
		return name, true
	}
	for _, n := range tensorNames {
		if path, ok := strings.CutSuffix(name, n.of); ok {
			return path + n.to, true
		}
	}
	return name, !slices.ContainsFunc(unusedTensors,
		func(end string) bool { return strings.HasSuffix(name, end) })
}

// Types of quantized weights and of scales in containers. MLX's own forms have U32, and U8 or floats.
var (
	foreignWeights = []string{"U32", "I32", "U8", "F8_E4M3"}
	foreignScales  = append([]string{"F8_E4M3", "F8_E8M0"}, scaleTypes...)
)

// centred reports whether biases follow from scales.
func (q *Quantization) centred() bool {
	return q != nil && q.container != nil && q.container.centred
}

// types returns the types that quantized weights and their scales may have.
func (q *Quantization) types() (weight, scales []string) {
	if q != nil && q.container != nil {
		return foreignWeights, foreignScales
	}
	return weightTypes, scaleTypes
}

// isQuantized reports whether a tensor can only be the quantized weight of a container.
func (q *Quantization) isQuantized(weight mlx.TensorInfo) bool {
	return q != nil && q.container != nil && slices.Contains(foreignWeights, weight.Dtype)
}

// words returns how many words of 32 bits a row of a quantized weight has. Rows begin at axis lead.
// They may be divided into blocks. It returns 0 if the rows are not whole words.
func words(weight mlx.TensorInfo, lead int) int {
	if len(weight.Shape) <= lead {
		return 0
	}
	n := 1
	for _, d := range weight.Shape[lead:] {
		n *= d
	}
	if weight.Dtype == "U32" || weight.Dtype == "I32" {
		return n
	}
	if last(weight.Shape)%4 != 0 {
		return 0
	}
	return n / 4
}

// globalFactor reads what all weights of a matrix (out) or a stack (E, out) are multiplied by. It
// returns nil if the checkpoint has no such tensor.
func (w *Weights) globalFactor(path string, q mlx.Quantization, shape []int) *mlx.Array {
	name := path + globalScale
	if !w.Has(name) {
		if q.Mode == "nvfp4" && w.config != nil && w.config.container != nil {
			w.fail(fmt.Errorf("%s lacks the scale of its whole matrix (.weight_scale_2 or "+
				".weight_global_scale); download the model again", path))
		}
		return nil
	}
	if q.Mode != "nvfp4" {
		w.fail(Unsupported("%s has a global scale, which only nvfp4 has, not %s", path, q.Mode))
	}
	stack := 1
	if len(shape) == 2 {
		stack = shape[0]
	}
	info, _ := w.info(name)
	if info.Size() != int64(stack) {
		w.fail(Unsupported("%s has shape %v; supported is one scale for each matrix", name,
			info.Shape))
	}
	w.computed.Quantized += 4*int64(stack)*int64(last(shape)) - info.Bytes
	x := w.load(name, floatTypes, info.Shape)
	s := w.scope
	if w.stopped() {
		return s.Zeros(mlx.Float32, shape...)
	}
	x = s.Reshape(s.AsType(x, mlx.Float32), stack)
	switch {
	case w.config == nil || w.config.container == nil:
		// MLX scales so that the largest product of a scale and a value is the global scale.
		const largest = 448 * 6 // of float8 e4m3, times that of float4 e2m1
		x = s.Div(x, s.Scalar(largest, mlx.Float32))
	case w.config.container.divides:
		x = s.Div(s.Scalar(1, mlx.Float32), x)
	}
	if len(shape) == 2 {
		x = s.ExpandDims(x, 1)
	}
	return s.Contiguous(s.BroadcastTo(x, shape...))
}
