package mlx

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestTiledAttentionOfPackedRows attends packed rows that lie in a longer buffer, on each target that
// the processor can run. The result is that of the unpacked rows. No bit of a row depends on the rows
// that come with it.
func TestTiledAttentionOfPackedRows(t *testing.T) {
	th := newThread(t)
	const heads, shared, room, keys = 6, 2, 200, 150
	for on := range targets() {
		for _, c := range []struct{ bits, key, value int }{
			{4, 64, 64}, {8, 64, 64}, {4, 32, 96}, {8, 96, 32}, {4, 128, 256},
		} {
			r := rand.New(rand.NewPCG(7, uint64(c.key)))
			queries, sinks := normal(r, heads*keys*c.key), normal(r, heads)
			k, v := normal(r, shared*room*c.key), normal(r, shared*room*c.value)
			packing := func(dim int) *RowFormat {
				p := &RowFormat{Dim: dim, GroupSize: 64, Bits: c.bits, Dtype: Float32}
				if dim%64 != 0 {
					p.GroupSize = 32
				}
				return p
			}
			attend := func(from, to int) (rows []float32) { // (to-from, heads, value)
				do(t, th, func(s *Scope) (err error) {
					o := AttentionOptions{Scale: 0.125, Causal: true, Sinks: New(s, sinks, heads),
						Keys: packing(c.key), Values: packing(c.value)}
					q := s.Slice(New(s, queries, 1, heads, keys, c.key), 2, from, to)
					pk := s.QuantizeRows(New(s, k, 1, shared, room, c.key), *o.Keys)
					pv := s.QuantizeRows(New(s, v, 1, shared, room, c.value), *o.Values)
					if want := o.Keys.Dim*c.bits/32 + 2*c.key/o.Keys.GroupSize; pk.Dim(3) != want {
						return fmt.Errorf("%d words, want %d", pk.Dim(3), want)
					}
					if err := s.Eval(q, o.Sinks, pk, pv); err != nil { // slices of them have strides
						return err
					}
					pk, pv = s.Slice(pk, 2, 0, to), s.Slice(pv, 2, 0, to)
					out := s.tiledAttention(q, pk, pv, o, on)
					if from == 0 {
						all, err := Read[float32](s, s.Contiguous(s.Transpose(s.CausalAttention(q, s.DequantizeRows(pk,
							*o.Keys), s.DequantizeRows(pv, *o.Values), o.Scale, o.Sinks), 0, 2, 1, 3)))
						if err != nil {
							return err
						}
						got, err := Read[float32](s, out)
						if err != nil {
							return err
						}
						for i := range all {
							if !(math.Abs(float64(got[i]-all[i])) <= 1e-5) {
								return fmt.Errorf("%+v: number %d is %g, want %g", c, i, got[i], all[i])
							}
						}
					}
					rows, err = Read[float32](s, out)
					return err
				})
				return rows
			}
			whole := attend(0, keys)
			row := heads * c.value
			for _, cut := range [][2]int{{0, 1}, {62, 63}, {63, 65}, {64, 128}, {149, 150}} {
				if !slices.Equal(attend(cut[0], cut[1]), whole[cut[0]*row:cut[1]*row]) {
					t.Errorf("target %d, %+v: rows %v have other bits than among all", on, c, cut)
				}
			}
		}
	}
}

// TestTiledAttentionRefusesOtherPackings expects an error for packed rows that would be read beyond
// their end, or as other numbers.
func TestTiledAttentionRefusesOtherPackings(t *testing.T) {
	th := newThread(t)
	good := RowFormat{Dim: 64, GroupSize: 64, Bits: 4, Dtype: Float32}
	for _, c := range []struct {
		what   string
		change func(o *AttentionOptions, k, v *[]int, d *Dtype)
		want   string
	}{
		{"keys alone", func(o *AttentionOptions, _, _ *[]int, _ *Dtype) { o.Values = nil }, "alike"},
		{"values alone", func(o *AttentionOptions, _, _ *[]int, _ *Dtype) { o.Keys = nil }, "float32"},
		{"other bits", func(o *AttentionOptions, _, _ *[]int, _ *Dtype) { o.Keys.Bits = 8 }, "alike"},
		{"3 bits", func(o *AttentionOptions, _, _ *[]int, _ *Dtype) { o.Keys.Bits, o.Values.Bits = 3, 3 },
			"cannot read"},
		{"no group", func(o *AttentionOptions, _, _ *[]int, _ *Dtype) { o.Keys.GroupSize = 0 },
			"cannot read"},
		{"scales of 16 bits", func(o *AttentionOptions, _, _ *[]int, _ *Dtype) {
			o.Values.Dtype = BFloat16
		}, "cannot read"},
		{"fewer words", func(_ *AttentionOptions, k, _ *[]int, _ *Dtype) { (*k)[3]-- }, "not packed"},
		{"fewer axes", func(_ *AttentionOptions, _, v *[]int, _ *Dtype) { *v = (*v)[1:] },
			"not packed"},
		{"other words", func(_ *AttentionOptions, _, _ *[]int, d *Dtype) { *d = Int32 }, "uint32"},
		{"fewer values", func(_ *AttentionOptions, _, v *[]int, _ *Dtype) { (*v)[2]-- }, "can't attend"},
		{"wider keys", func(o *AttentionOptions, k, _ *[]int, _ *Dtype) {
			o.Keys.Dim, (*k)[3] = 128, 20
		}, "can't attend"},
	} {
		err := th.Do(t.Context(), func(s *Scope) error {
			keys, values, d := good, good, Uint32
			o := AttentionOptions{Scale: 1, Keys: &keys, Values: &values}
			k, v := []int{1, 2, 3, 10}, []int{1, 2, 3, 10}
			c.change(&o, &k, &v, &d)
			return s.Eval(s.TiledAttention(s.Zeros(Float32, 1, 4, 1, 64), s.Zeros(d, k...),
				s.Zeros(d, v...), o))
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}
