package gguf

import "math"

// isFinite reports whether a float16 is a number and not infinite.
func isFinite(h uint16) bool { return h&0x7c00 != 0x7c00 }

// fromHalf returns the value of a float16 that is finite.
func fromHalf(h uint16) float32 {
	sign, exponent, fraction := uint32(h&0x8000)<<16, uint32(h>>10&31), uint32(h&0x3ff)
	if exponent == 0 { // a fraction without a leading one
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*0x1p-24))
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// halfTimes returns 2^shift times a float16, and whether that is finite.
func halfTimes(h, shift uint16) (uint16, bool) {
	sign, exponent, fraction := h&0x8000, h>>10&31, h&0x3ff
	switch {
	case exponent == 31:
		return h, false
	case exponent == 0:
		for ; shift > 0 && fraction < 0x400; shift-- {
			fraction <<= 1
		}
		if fraction < 0x400 {
			return sign | fraction, true
		}
		exponent, fraction = 1, fraction&0x3ff
	}
	exponent += shift
	return sign | exponent<<10 | fraction, exponent < 31
}

func putFloat(b []byte, v float32) { little.PutUint32(b, math.Float32bits(v)) }
