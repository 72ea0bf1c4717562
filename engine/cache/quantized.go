package cache

import (
	"cmp"
	"fmt"
	"slices"

	"tandem/engine/mlx"
)

// A Quantized is a KV cache whose rows take 4 or 8 bits an element. Each group of elements has a
// scale and a bias beside that. A row is quantized as it is written, the first one too. Every query
// attends the quantized rows, its own included. So the result for a position does not depend on how
// its text was cut into updates.
//
// A head's row is one run of 32-bit words: the quantized elements, then the scales, then the biases of
// its groups. So buffers, snapshots and files hold it as they hold any other row. Snapshots of this
// cache hold quantized rows, and it can be restored only from these.
type Quantized struct {
	KV    // of words
	bits  int
	group int         // see Options
	as    *RowFormats // of the rows; nil before the first Update
}

// NewQuantized makes an empty cache that keeps every row with bits per element, 4 or 8. It panics
// for another number.
func NewQuantized(bits int) *Quantized {
	if !ValidBits(bits) || bits == 0 {
		panic(fmt.Sprintf("cache: rows of %d bits an element", bits))
	}
	return &Quantized{bits: bits}
}

// Bits returns how many bits an element takes.
func (c *Quantized) Bits() int { return c.bits }

// ValidBits reports whether bits is valid for Options.Bits.
func ValidBits(bits int) bool { return slices.Contains([]int{0, 4, 8}, bits) }

// GroupSize returns how many elements of a row share a scale, or 0 if rows of dim elements cannot
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

// QuantizedBytes returns the bytes of a quantized row of dim elements, whose scales and biases have
// scale bytes each.
func QuantizedBytes(dim, bits, scale int) int {
	return dim*bits/8 + 2*scale*dim/GroupSize(dim)
}

// packing returns how rows x (1, KV, n, D) are quantized, or why they cannot be.
func (c *Quantized) packing(x *mlx.Array) (mlx.RowFormat, error) {
	p := mlx.RowFormat{Dim: x.Dim(3), Bits: c.bits, Dtype: x.Dtype()}
	p.GroupSize = cmp.Or(c.group, GroupSize(p.Dim))
	if p.GroupSize != 32 && p.GroupSize != 64 || p.Dim%p.GroupSize != 0 {
		return p, fmt.Errorf("cache: heads of %d elements cannot be quantized; %d is no multiple of %d",
			p.Dim, p.Dim, max(p.GroupSize, 32))
	}
	if !slices.Contains([]mlx.Dtype{mlx.Float32, mlx.BFloat16, mlx.Float16}, p.Dtype) {
		return p, fmt.Errorf("cache: rows of type %s cannot be quantized", p.Dtype)
	}
	return p, nil
}

// fits returns how rows k and v are quantized, and an error if this cache cannot take them.
func (c *Quantized) fits(k, v *mlx.Array) (*RowFormats, error) {
	ks, vs := k.Shape(), v.Shape()
	if len(ks) != 4 || len(vs) != 4 || ks[0] != 1 || !slices.Equal(ks[:3], vs[:3]) {
		return nil, fmt.Errorf("cache: rows %v and %v are not (1, KV, n, D)", ks, vs)
	}
	if ks[2] == 0 {
		return nil, fmt.Errorf("cache: update with no rows")
	}
	keys, err := c.packing(k)
	if err != nil {
		return nil, err
	}
	values, err := c.packing(v)
	if err != nil {
		return nil, err
	}
	if c.as != nil && (keys != c.as.K || values != c.as.V) {
		return nil, fmt.Errorf("cache: rows %s%v and %s%v do not fit a cache of %s of %d and %s of %d",
			keys.Dtype, ks, values.Dtype, vs, c.as.K.Dtype, c.as.K.Dim, c.as.V.Dtype, c.as.V.Dim)
	}
	return &RowFormats{keys, values}, nil
}

// Update implements Attention. The number of rows is not bounded.
func (c *Quantized) Update(s *mlx.Scope, k, v *mlx.Array) View {
	as, err := c.fits(k, v)
	if err != nil {
		s.Fail(err)
	}
	if s.Err() != nil || !c.append(s, s.QuantizeRows(k, as.K), s.QuantizeRows(v, as.V)) {
		return View{K: k, V: v}
	}
	c.as = as
	return c.View(s, k.Dim(2))
}

// View implements Attention. Its rows are quantized. It fails the scope before the first Update, which
// sets the type of the rows.
func (c *Quantized) View(s *mlx.Scope, n int) View {
	if c.as == nil && s.Err() == nil {
		s.Fail(fmt.Errorf("cache: no view of quantized rows before the first update"))
	}
	view := c.KV.View(s, n)
	if s.Err() != nil {
		return View{}
	}
	view.Quantized = c.as
	return view
}

// Free implements Cache.
func (c *Quantized) Free(s *mlx.Scope) {
	c.as = nil
	c.KV.Free(s)
}
