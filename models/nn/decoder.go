package nn

import (
	"fmt"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// A Decoder is what all decoders share: token embedding, layers, final norm and head. It implements
// [Model]. An architecture whose forward differs embeds a Decoder and replaces the method.
type Decoder struct {
	EmbedTokens *Embedding
	Layers      []Layer
	Norm        *RMSNorm
	LMHead      *Linear // nil = tied to EmbedTokens, or not read

	config     lm.Config
	embedScale float64
	weights    *Weights
}

// A Layer is one block of a decoder.
type Layer interface {
	// Forward maps the rows x (rows, H) of b and appends to their caches of this layer.
	Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array

	// NewCache makes the empty cache of this layer for one sequence, or nil if it keeps nothing.
	NewCache(opts cache.Options) cache.Cache
}

// A DecoderSpec says what differs between the decoders of architectures.
type DecoderSpec struct {
	Args       *Args
	NewLayer   func(path string, layer int) Layer // reads the layer at path
	EmbedScale float64                            // multiplies embeddings; 0 = 1
	NormOffset float64                            // of the final norm, see [Weights.RMSNorm]
	Tied       bool                               // the embedding is the head too
}

// Decoder reads the decoder of a checkpoint, which then owns the weights. Tensors have the names
// that [Architecture].Sanitize gives them.
func (w *Weights) Decoder(spec DecoderSpec) *Decoder {
	a := spec.Args
	d := &Decoder{
		EmbedTokens: w.Embedding("model.embed_tokens", a.VocabSize, a.HiddenSize),
		embedScale:  spec.EmbedScale,
		weights:     w,
	}
	if d.embedScale == 0 {
		d.embedScale = 1
	}
	for i := range a.NumHiddenLayers {
		d.Layers = append(d.Layers, spec.NewLayer(fmt.Sprintf("model.layers.%d", i), i))
	}
	d.Norm = w.RMSNorm("model.norm", a.HiddenSize, a.RMSNormEps, spec.NormOffset)
	if !spec.Tied && !w.NoHead {
		d.LMHead = w.Linear(headPath, a.HiddenSize, a.VocabSize, false)
	}
	d.config = lm.Config{
		VocabSize:     a.VocabSize,
		HiddenSize:    a.HiddenSize,
		Layers:        len(d.Layers),
		ContextLength: a.MaxPositionEmbeddings,
		Dtype:         d.EmbedTokens.Dtype(),
	}
	return d
}

// RopeDecoder is Decoder for blocks that share one rotary embedding of whole heads.
func (w *Weights) RopeDecoder(a *Args, r *RopeArgs, tied bool,
	newBlock func(w *Weights, path string, rope *Rope, layer int) *Block) *Decoder {
	rope := w.Rope(a.HeadDim, *r.RopeTheta, r.RopeTraditional, r.RopeScaling)
	return w.Decoder(DecoderSpec{
		Args:     a,
		NewLayer: func(path string, i int) Layer { return newBlock(w, path, rope, i) },
		Tied:     tied,
	})
}

// Forward implements lm.Model.
func (d *Decoder) Forward(s *mlx.Scope, b lm.Batch, taps []int) lm.Output {
	return d.Run(s, d.EmbedScaled(s, Tokens(s, b)), taps, func(x *mlx.Array, i int) *mlx.Array {
		return d.Layers[i].Forward(s, x, b)
	})
}

// EmbedScaled returns the rows (n, H) of tokens (n), as the first layer takes them.
func (d *Decoder) EmbedScaled(s *mlx.Scope, tokens *mlx.Array) *mlx.Array {
	x := d.EmbedTokens.Forward(s, tokens)
	if d.embedScale != 1 {
		x = s.Mul(x, s.Scalar(d.embedScale, x.Dtype()))
	}
	return x
}

// Run maps the rows x (rows, H) by all layers and the final norm. forward maps by one layer; of the
// arrays that it makes, the next layer gets only the rows, since the scope may pause in between.
func (d *Decoder) Run(s *mlx.Scope, x *mlx.Array, taps []int,
	forward func(x *mlx.Array, layer int) *mlx.Array) lm.Output {
	tapped := make([]*mlx.Array, len(taps))
	var live []*mlx.Array // of tapped
	mark := s.Mark()
	for i := range d.Layers {
		x = forward(x, i)
		for k, layer := range taps {
			if layer == i {
				tapped[k] = x
				live = append(live, x)
			}
		}
		s.Pause(mark, append(live, x)...)
	}
	hidden := d.Norm.Forward(s, x)
	for k, layer := range taps {
		if layer == len(d.Layers) {
			tapped[k] = hidden
		}
	}
	return lm.Output{Hidden: hidden, Taps: tapped}
}

// Tokens returns the token ids (rows) of all sequences of b.
func Tokens(s *mlx.Scope, b lm.Batch) *mlx.Array {
	if len(b) == 1 {
		return b[0].Tokens
	}
	tokens := make([]*mlx.Array, len(b))
	for i, q := range b {
		tokens[i] = q.Tokens
	}
	return s.Concat(0, tokens...)
}

// Unembed implements lm.Model.
func (d *Decoder) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array { return d.Head(s, hidden) }

// Head implements lm.Embedder.
func (d *Decoder) Head(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	if d.LMHead != nil {
		return d.LMHead.Forward(s, hidden)
	}
	return d.EmbedTokens.Unembed(s, hidden)
}

// Embed implements lm.Embedder.
func (d *Decoder) Embed(s *mlx.Scope, tokens *mlx.Array) *mlx.Array {
	return d.EmbedTokens.Forward(s, tokens)
}

// EmbedScale implements lm.Embedder.
func (d *Decoder) EmbedScale() float64 { return d.embedScale }

// NewCaches implements lm.Model.
func (d *Decoder) NewCaches(opts cache.Options) []cache.Cache {
	var caches []cache.Cache
	for _, l := range d.Layers {
		if c := l.NewCache(opts); c != nil {
			caches = append(caches, c)
		}
	}
	return caches
}

// KVShapes implements lm.Restorable.
func (d *Decoder) KVShapes() []lm.KVShape {
	var shapes []lm.KVShape
	for _, m := range d.weights.parts.mixers {
		r, ok := m.(Recordable)
		if !ok {
			continue
		}
		cache, shape := r.KVShape()
		for len(shapes) <= cache {
			shapes = append(shapes, lm.KVShape{})
		}
		shapes[cache] = shape
	}
	return shapes
}

// Config implements lm.Model.
func (d *Decoder) Config() lm.Config { return d.config }

// Free implements lm.Model.
func (d *Decoder) Free() { d.weights.Free() }
