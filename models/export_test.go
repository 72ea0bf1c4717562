package models

import "tandem/models/ftheta"

// Held returns the part of Text that the caches take.
func (f Footprint) Held(tokens int, wide bool) int64 {
	held, _ := f.sequenceBytes(tokens, wide)
	return held
}

// PairFTheta checks an f_theta of any drafter against a model.
func PairFTheta(b *Bundle, c *ftheta.Config) error {
	m := b.Model.(*model)
	return c.Pair(c.DrafterNumLayers, c.DrafterNumKVHeads*c.DrafterHeadDim, m.layers, m.KVShapes())
}
