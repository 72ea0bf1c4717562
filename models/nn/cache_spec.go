package nn

import (
	"fmt"

	"tandem/engine/cache"
)

// A CacheSpec says what one layer keeps of a text in its cache. The zero value keeps nothing.
type CacheSpec struct {
	Row    int  // elements a position, in the type that the model computes in; 0 if recurrent
	Key    int  // of these, elements of a head's key
	Value  int  // and of its value
	Window int  // positions that the layer looks back; 0 = all
	State  int  // float32 elements, however long the text is
	Latent bool // attention reads rows that are not quantized, see [LatentAttention]
}

// KVCacheSpec returns the spec of a layer that keeps keys and values of heads heads; window 0 = all
// positions.
func KVCacheSpec(heads, dim, window int) CacheSpec {
	return CacheSpec{Row: 2 * heads * dim, Key: dim, Value: dim, Window: window}
}

// Keeps reports whether the layer has a cache.
func (k CacheSpec) Keeps() bool { return k.Row > 0 || k.State > 0 }

// Quantizes reports whether cache.Options.Bits changes what the layer keeps.
func (k CacheSpec) Quantizes() bool { return k.Row > 0 && k.Window == 0 }

// CheckBits returns why the layer cannot keep rows of bits per element, or nil.
func (k CacheSpec) CheckBits(bits int) error {
	if !cache.ValidBits(bits) {
		return fmt.Errorf("keys and values of %d bits are not supported; choose 8, 4 or 0", bits)
	}
	if bits == 0 || !k.Quantizes() {
		return nil
	}
	for _, size := range []int{k.Key, k.Value} {
		if cache.GroupSize(size) == 0 {
			return Unsupported("keys and values of %d bits need heads whose size is a multiple of 32, "+
				"and it has heads of %d", bits, size)
		}
	}
	return nil
}

// RowBytes returns the bytes of a position. Elements have element bytes, unless bits is not 0 and
// the layer keeps rows of bits per element. CheckBits must accept bits.
func (k CacheSpec) RowBytes(element, bits int) int {
	if bits == 0 || !k.Quantizes() {
		return k.Row * element
	}
	return k.Row / (k.Key + k.Value) *
		(cache.QuantizedBytes(k.Key, bits, element) + cache.QuantizedBytes(k.Value, bits, element))
}
