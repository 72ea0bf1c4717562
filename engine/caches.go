package engine

import "tandem/engine/cache"

// cacheOptions are what the caches of all requests have in common.
type cacheOptions struct {
	layout cache.Layout
	chunk  int
	bits   int // of the model's caches
}

// ofModel returns the options of the model's caches of a request with at most that many positions,
// or 0 if unknown.
func (o cacheOptions) ofModel(positions int) cache.Options {
	options := o.ofDraft(positions)
	options.Bits = o.bits
	return options
}

// ofDraft is ofModel for the caches of drafts. They are small, and what they lose costs accepted
// tokens.
func (o cacheOptions) ofDraft(positions int) cache.Options {
	return cache.Options{Layout: o.layout, Chunk: o.chunk, Rows: positions}
}
