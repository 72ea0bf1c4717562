package nn

import (
	"fmt"

	"tandem/engine/mlx"
)

// A HeadCutter is a model that lends rows of its head.
type HeadCutter interface {
	// CutHead returns the product with the rows of the head that ids (n) name, which w owns.
	CutHead(w *Weights, ids *mlx.Array) *Linear
}

// CutHead implements [HeadCutter].
func (d *Decoder) CutHead(w *Weights, ids *mlx.Array) *Linear {
	head := &d.EmbedTokens.head
	if d.LMHead != nil {
		head = &d.LMHead.parts[0]
	}
	if head.packed == nil && head.weight.Size() == 0 {
		return nil // the model knows only its sizes, and the drafter is only checked
	}
	cut := head.cut(w.scope, ids).quantizeForDrafts(w)
	arrays := cut.arrays()
	if cut.packs {
		arrays = cut.layout(w.scope)
	}
	w.keep(arrays)
	return &Linear{parts: []matrix{cut}}
}

// draftQuantization is how the CPU holds a plain float32 matrix whose products only draft.
var draftQuantization = mlx.Quantization{GroupSize: 64, Bits: 8, Mode: "affine"}

// quantizeForDrafts returns a matrix for products that may be slightly off. A plain one in float32 is
// quantized where it can be packed.
func (m matrix) quantizeForDrafts(w *Weights) matrix {
	s := w.scope
	if m.quantized() || m.weight.Dtype() != mlx.Float32 || QuantizedRowBytes(m.weight.Dim(0)) == 0 || !w.Packs() {
		return m
	}
	out := matrix{quantization: draftQuantization, packs: true}
	out.weight, out.scales, out.biases = s.Quantize(s.Transpose(m.weight, 1, 0), draftQuantization)
	return out
}

// QuantizedRowBytes returns the bytes of a row of a cut head with width elements, where the CPU computes in
// float32. It returns 0 for a row that is not quantized.
func QuantizedRowBytes(width int) int64 {
	if width%draftQuantization.GroupSize != 0 || !mlx.CanPack(draftQuantization) {
		return 0
	}
	return mlx.PackedBytes(1, width, draftQuantization, false, true)
}

// CutHead reads from the head of target the rows of n ids, with hidden elements each. For a nil
// target only their size is recorded.
func (w *Weights) CutHead(target Lender, ids *mlx.Array, n, hidden int) *Linear {
	w.computed.Cut = Cut{int64(n), int64(hidden)}
	if target == nil || w.stopped() {
		return nil
	}
	of, ok := target.(HeadCutter)
	if !ok {
		w.fail(Unsupported("the drafter reads some rows of its target's head, and this one lends none"))
		return nil
	}
	return of.CutHead(w, ids)
}

// IDs reads a list of ascending token ids, (n) int32. It returns nil if the checkpoint has no list,
// or a list of all tokens.
func (w *Weights) IDs(name string, vocab int) (ids *mlx.Array, n int) {
	shape := w.Shape(name)
	if shape == nil {
		return nil, 0
	}
	if len(shape) != 1 || shape[0] < 1 || shape[0] > vocab {
		w.info(name)
		w.fail(fmt.Errorf("%s has shape %v, not that of 1 to %d token ids", name, shape, vocab))
		return nil, 0
	}
	n = shape[0]
	if ids = w.readIndices(name, n, vocab, true); w.stopped() {
		return ids, n
	}
	if n == vocab {
		return nil, 0
	}
	w.keep([]*mlx.Array{ids})
	return ids, n
}
