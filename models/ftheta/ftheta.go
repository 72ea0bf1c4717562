// Package ftheta is f_theta: it restores the keys and values of a target's layers from those of its
// drafter's layers. The drafter's layers run as a plain stack over the same text.
//
// Unusual in it:
//
//   - It is linear: two chains without biases and without activations, one for keys and one for
//     values. Each maps all layers of the drafter at a position to one row of rank elements
//     (encoder_k, encoder_v). It maps that row to each layer of the target (decoders_k,
//     decoders_v).
//   - Its rows are those before norm and rotary embedding on both sides. The target's layer norms and
//     rotates what it gets.
//   - Layers of the target may have other numbers of key heads and other head dimensions.
//   - Exact layers keep their own rows, and so do layers that look back no further than the window.
//     Their decoders are not read.
//   - The last layers of some targets attend the keys of others. They have no rows to restore, and
//     their decoders are not read.
//
// The names and the config are Kakeya's (f_theta_config.json); weights are safetensors. The embedding
// scale of the drafter, the exact layers and the bounds are ours: an f_theta serves as it was
// trained.
package ftheta

import (
	"fmt"
	"strconv"
	"strings"

	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// Model is an f_theta for one target. It is used on the MLX thread only. Errors go to the scope.
type Model struct {
	EncoderK, EncoderV   *nn.Linear
	DecodersK, DecodersV *nn.Linear // of all layers, in their order

	config  *Config
	shapes  []lm.KVShape // by layer; the zero value where nothing is restored
	dtype   mlx.Dtype    // that it computes in, the target's
	weights *nn.Weights
}

// New reads the f_theta of a config for a target whose layers keep rows of such shapes. It takes
// over the weights, which have the target's type dtype. Call [Config.Pair] first. Errors about the
// checkpoint come from w.Err.
func New(w *nn.Weights, c *Config, target []lm.KVShape, dtype mlx.Dtype) *Model {
	m := &Model{config: c, dtype: dtype, weights: w, shapes: make([]lm.KVShape, len(target))}
	for i, shape := range target {
		if !c.Exact(i) && c.Bounds(shape.Window).Divides() {
			m.shapes[i] = shape
		}
	}
	w.Sanitize(m.sanitize)
	m.EncoderK = w.Linear("encoder_k", c.in(), c.Rank, false)
	m.EncoderV = w.Linear("encoder_v", c.in(), c.Rank, false)
	var keys, values []nn.Part
	for i, shape := range m.shapes {
		if n := shape.Row(); n > 0 {
			keys = append(keys, nn.Part{Path: "decoders_k." + strconv.Itoa(i), Out: n})
			values = append(values, nn.Part{Path: "decoders_v." + strconv.Itoa(i), Out: n})
		}
	}
	if len(keys) > 0 {
		m.DecodersK = w.Stacked(c.Rank, false, keys...)
		m.DecodersV = w.Stacked(c.Rank, false, values...)
	}
	return m
}

// sanitize drops the decoders of layers that are not restored.
func (m *Model) sanitize(name string) (string, bool) {
	for _, part := range []string{"decoders_k.", "decoders_v."} {
		rest, ok := strings.CutPrefix(name, part)
		number, _, _ := strings.Cut(rest, ".")
		layer, err := strconv.Atoi(number)
		if ok && err == nil && layer >= 0 && layer < m.config.VerifierNumLayers &&
			(layer >= len(m.shapes) || m.shapes[layer].Row() == 0) {
			return name, false
		}
	}
	return name, true
}

// KVShapes returns the shapes of the layers that are restored, the zero value for others.
func (m *Model) KVShapes() []lm.KVShape { return m.shapes }

// Forward maps the keys and the values (rows, layers KV D) of the drafter's layers to the target's.
// It returns those of each layer, (1, KV, rows, D). Entries of layers that are not restored are
// empty.
func (m *Model) Forward(s *mlx.Scope, k, v *mlx.Array) []lm.KV {
	out := make([]lm.KV, len(m.shapes))
	if m.DecodersK == nil {
		return out
	}
	if n := k.Dim(1); n != m.config.in() || v.Dim(1) != n {
		s.Fail(fmt.Errorf("ftheta: rows of %d elements, not %d", n, m.config.in()))
		return out
	}
	k = m.DecodersK.Forward(s, m.EncoderK.Forward(s, s.AsType(k, m.dtype)))
	v = m.DecodersV.Forward(s, m.EncoderV.Forward(s, s.AsType(v, m.dtype)))
	at := 0
	for i, shape := range m.shapes {
		n := shape.Row()
		if n == 0 {
			continue
		}
		split := func(x *mlx.Array) *mlx.Array {
			return s.AsType(nn.SplitHeads(s, s.Slice(x, 1, at, at+n), shape.Heads, shape.Dim), m.dtype)
		}
		out[i] = lm.KV{K: split(k), V: split(v)}
		at += n
	}
	return out
}

// Free releases the weights.
func (m *Model) Free() { m.weights.Free() }
