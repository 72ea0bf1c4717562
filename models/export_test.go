package models

// Held returns the part of Text that the caches take.
func (f Footprint) Held(tokens int, wide bool) int64 {
	held, _ := f.text(tokens, wide)
	return held
}
