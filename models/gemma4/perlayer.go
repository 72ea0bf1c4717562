package gemma4

import (
	"math"

	"tandem/engine/mlx"
	"tandem/models/nn"
)

// perLayer makes the inputs of all layers, P elements each: of the token, by a table of its own,
// and of the row that enters the first layer.
type perLayer struct {
	EmbedTokens    *nn.Embedding // (V, layers P)
	Projection     *nn.Linear    // (layers P)
	ProjectionNorm *nn.RMSNorm   // (P)

	layers, width int     // P
	scale         float64 // of the projection
}

func newPerLayer(w *nn.Weights, a *args) *perLayer {
	layers, width := a.NumHiddenLayers, *a.HiddenSizePerLayerInput
	return &perLayer{
		EmbedTokens: w.Embedding("model.embed_tokens_per_layer", a.VocabSizePerLayerInput,
			layers*width),
		Projection: w.Linear("model.per_layer_model_projection", a.HiddenSize, layers*width,
			false),
		ProjectionNorm: w.RMSNorm("model.per_layer_projection_norm", width, a.RMSNormEps, 0),
		layers:         layers, width: width,
		scale: math.Pow(float64(a.HiddenSize), -0.5),
	}
}

// Forward returns the input (rows, P) of each layer, for tokens (rows) with rows x (rows, H).
func (p *perLayer) Forward(s *mlx.Scope, tokens, x *mlx.Array) []*mlx.Array {
	rows := x.Dim(0)
	scaled := func(y *mlx.Array, factor float64) *mlx.Array {
		return s.Mul(y, s.Scalar(factor, y.Dtype()))
	}
	projected := scaled(p.Projection.Forward(s, x), p.scale)
	projected = p.ProjectionNorm.Forward(s, s.Reshape(projected, rows, p.layers, p.width))
	embedded := scaled(p.EmbedTokens.Forward(s, tokens), math.Sqrt(float64(p.width)))
	embedded = s.Reshape(embedded, rows, p.layers, p.width)
	all := scaled(s.Add(projected, embedded), math.Sqrt2/2)
	inputs := make([]*mlx.Array, p.layers)
	for i := range inputs {
		inputs[i] = s.Reshape(s.Slice(all, 1, i, i+1), rows, p.width)
	}
	return inputs
}

// layerInput adds the own input of one layer to its rows.
type layerInput struct {
	Gate       *nn.Linear // (P)
	Projection *nn.Linear // (H)
	PostNorm   *nn.RMSNorm
}

// newLayerInput reads the modules of the layer at path.
func newLayerInput(w *nn.Weights, path string, a *args) *layerInput {
	width := *a.HiddenSizePerLayerInput
	return &layerInput{
		Gate:       w.Linear(path+".per_layer_input_gate", a.HiddenSize, width, false),
		Projection: w.Linear(path+".per_layer_projection", width, a.HiddenSize, false),
		PostNorm:   a.Norm(w, path+".post_per_layer_input_norm"),
	}
}

// Forward returns what the input (rows, P) adds to the rows x (rows, H), which gate it.
func (l *layerInput) Forward(s *mlx.Scope, x, input *mlx.Array) *mlx.Array {
	gated := nn.GatedGELU(s, l.Gate.Forward(s, x), input)
	return l.PostNorm.Forward(s, l.Projection.Forward(s, gated))
}
