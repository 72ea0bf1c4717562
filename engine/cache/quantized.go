package cache

import (
	"fmt"
	"slices"

	"tandem/engine/mlx"
)

// A Quantized is a KV cache whose rows take 4 or 8 bits an element, and a scale and a bias for each
// group of elements. A row is quantized as it is written, the first one too, and every query attends
// the quantized rows, its own included. So the result for a position does not depend on how its text
// was cut into updates.
//
// A head's row lies in one run of words of 32 bits: the packed elements, then the scales, then the
// biases of its groups. So buffers, snapshots and files hold it as they hold any other row. Snapshots
// of this cache hold packed rows, and it can be restored from no others.
type Quantized struct {
	KV   // of words
	bits int
	k, v packedRows // zero before the first Update
}

// NewQuantized makes an empty cache that keeps every row in so many bits an element, 4 or 8.
// It panics for another number.
func NewQuantized(bits int) *Quantized {
	if !ValidBits(bits) || bits == 0 {
		panic(fmt.Sprintf("cache: rows of %d bits an element", bits))
	}
	return &Quantized{bits: bits}
}

// ValidBits reports whether Options.Bits can be so many.
func ValidBits(bits int) bool { return slices.Contains([]int{0, 4, 8}, bits) }

// GroupSize returns how many elements of a row share a scale, or 0 if rows of so many elements cannot
// be quantized.
func GroupSize(dim int) int {
	switch {
	case dim > 0 && dim%64 == 0:
		return 64
	case dim > 0 && dim%32 == 0:
		return 32
	}
	return 0
}

// QuantizedBytes returns the bytes of a quantized row of dim elements, whose scales and biases have so
// many bytes each.
func QuantizedBytes(dim, bits, scale int) int {
	return dim*bits/8 + 2*scale*dim/GroupSize(dim)
}

// packedRows says what the rows of keys or of values are when they are not packed.
type packedRows struct {
	dim   int // elements of a head
	bits  int
	dtype mlx.Dtype
}

// newPackedRows returns what describes rows x (1, KV, n, D), or why they cannot be packed.
func newPackedRows(x *mlx.Array, bits int) (packedRows, error) {
	p := packedRows{dim: x.Dim(3), bits: bits, dtype: x.Dtype()}
	switch {
	case GroupSize(p.dim) == 0:
		return p, fmt.Errorf("cache: heads of %d elements cannot be quantized; %d is no multiple of 32",
			p.dim, p.dim)
	case p.scaleBytes() == 0:
		return p, fmt.Errorf("cache: rows of type %s cannot be quantized", p.dtype)
	}
	return p, nil
}

// scaleBytes returns the bytes of a scale, 0 if rows of the type cannot be packed.
func (p packedRows) scaleBytes() int {
	switch p.dtype {
	case mlx.Float32:
		return 4
	case mlx.BFloat16, mlx.Float16:
		return 2
	}
	return 0
}

// words returns the words of a head's packed elements, and those of its scales and biases.
func (p packedRows) words() (elements, scales int) {
	elements = p.dim * p.bits / 32
	return elements, QuantizedBytes(p.dim, p.bits, p.scaleBytes())/4 - elements
}

func (p packedRows) quantization() mlx.Quantization {
	return mlx.Quantization{GroupSize: GroupSize(p.dim), Bits: p.bits, Mode: "affine"}
}

// pack quantizes rows (1, KV, n, D) to (1, KV, n, words) of uint32.
func (p packedRows) pack(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	elements, scales, biases := s.Quantize(x, p.quantization())
	return s.Concat(3, elements, s.View(s.Concat(3, scales, biases), mlx.Uint32))
}

// unpack undoes pack, as far as it can be undone.
func (p packedRows) unpack(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	elements, scales := p.words()
	groups := p.dim / GroupSize(p.dim)
	both := s.View(s.Slice(x, 3, elements, elements+scales), p.dtype)
	return s.Dequantize(s.Slice(x, 3, 0, elements), s.Slice(both, 3, 0, groups),
		s.Slice(both, 3, groups, 2*groups), p.quantization(), p.dtype)
}

// fits returns how rows k and v are packed, and an error if this cache cannot take them.
func (c *Quantized) fits(k, v *mlx.Array) (keys, values packedRows, err error) {
	ks, vs := k.Shape(), v.Shape()
	if len(ks) != 4 || len(vs) != 4 || ks[0] != 1 || !slices.Equal(ks[:3], vs[:3]) {
		return keys, values, fmt.Errorf("cache: rows %v and %v are not (1, KV, n, D)", ks, vs)
	}
	if ks[2] == 0 {
		return keys, values, fmt.Errorf("cache: update with no rows")
	}
	if keys, err = newPackedRows(k, c.bits); err == nil {
		values, err = newPackedRows(v, c.bits)
	}
	if err == nil && c.k.dim > 0 && (keys != c.k || values != c.v) {
		err = fmt.Errorf("cache: rows %s%v and %s%v do not fit a cache of %s of %d and %s of %d",
			k.Dtype(), ks, v.Dtype(), vs, c.k.dtype, c.k.dim, c.v.dtype, c.v.dim)
	}
	return keys, values, err
}

// Update implements Attention. The number of rows is not bounded.
func (c *Quantized) Update(s *mlx.Scope, k, v *mlx.Array) View {
	keys, values, err := c.fits(k, v)
	if err != nil {
		s.Fail(err)
	}
	if s.Err() != nil {
		return View{K: k, V: v}
	}
	if !c.append(s, keys.pack(s, k), values.pack(s, v)) {
		return View{K: k, V: v}
	}
	c.k, c.v = keys, values
	return c.View(s, k.Dim(2))
}

// View implements Attention. The rows it hands out have the type of those that were written. It fails
// the scope before the first Update, which tells that type.
func (c *Quantized) View(s *mlx.Scope, n int) View {
	if c.k.dim == 0 && s.Err() == nil {
		s.Fail(fmt.Errorf("cache: no view of quantized rows before the first update"))
	}
	view := c.KV.View(s, n)
	if s.Err() != nil {
		return View{}
	}
	view.K, view.V = c.k.unpack(s, view.K), c.v.unpack(s, view.V)
	return view
}

// Free implements Cache.
func (c *Quantized) Free(s *mlx.Scope) {
	c.k, c.v = packedRows{}, packedRows{}
	c.KV.Free(s)
}
