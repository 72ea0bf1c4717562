package mlx

import (
	"math"
	"testing"
)

// TestEachFloat8HasItsValue unpacks and multiplies all codes of mxfp8's elements: a sign, four bits of
// an exponent less 7, and three of a mantissa, without infinities. The two NaNs are left out.
func TestEachFloat8HasItsValue(t *testing.T) {
	const group, rows = 32, 8
	packed := make([]uint32, rows*group/4)
	want := make([]float32, rows*group)
	for code := range want {
		if code&0x7F == 0x7F {
			continue // 0 in its place
		}
		packed[code/4] |= uint32(code) << (code % 4 * 8)
		exponent, mantissa := code>>3&15, float64(code&7)/8
		value := math.Ldexp(1+mantissa, exponent-7)
		if exponent == 0 {
			value = math.Ldexp(mantissa, -6)
		}
		want[code] = float32(math.Copysign(value, float64(0x80-code)-0.5))
	}
	if want[0x7E] != 448 || want[0x81] != -1./512 || want[0x38] != 1 {
		t.Fatalf("the table has %v, %v and %v", want[0x7E], want[0x81], want[0x38])
	}
	identity := make([]float32, group*group)
	for i := range group {
		identity[i*group+i] = 1
	}
	do(t, newThread(t), func(s *Scope) error {
		q := Quantization{GroupSize: group, Bits: 8, Mode: "mxfp8"}
		w := New(s, packed, rows, group/4)
		for _, scale := range []struct {
			code  uint8
			value float32
		}{{127, 1}, {130, 8}, {120, 1. / 128}} {
			scales := New(s, []uint8{scale.code}, 1, 1)
			scales = s.Concat(0, scales, scales, scales, scales, scales, scales, scales, scales)
			unpacked, err := Read[float32](s, s.Dequantize(w, scales, nil, q, Float32))
			if err != nil {
				return err
			}
			product := s.QuantizedMatMul(New(s, identity, group, group), w, scales, nil, q)
			multiplied, err := Read[float32](s, s.Contiguous(s.Transpose(product, 1, 0)))
			if err != nil {
				return err
			}
			for code, value := range want {
				if value *= scale.value; unpacked[code] != value {
					t.Errorf("code %#x times %v is unpacked as %v, want %v", code, scale.value,
						unpacked[code], value)
				}
				if multiplied[code] != value {
					t.Errorf("code %#x times %v is multiplied as %v, want %v", code, scale.value,
						multiplied[code], value)
				}
			}
		}
		return nil
	})
}
