package gguf

import (
	"bytes"
	"fmt"
	"math"
	"testing"
)

func (f affineFormat) String() string { return fmt.Sprintf("%d-%d-%s", f.bits, f.group, f.scale) }

// TestLossesAreTrue packs one block at a time and compares each element with the file's, in
// float64. The sum of the errors and the largest must be those reported. No error is larger than
// what half a step and the rounding of scales explain.
func TestLossesAreTrue(t *testing.T) {
	eachFormat(t, func(t *testing.T, k kind, f affineFormat) {
		blocks, refused := sampleBlocks(k, 600), 0
		for len(blocks) > 0 {
			block := blocks[:k.bytes()]
			blocks = blocks[len(block):]
			to := f.memoryFor(1)
			ok := f.pack(k, to, block, fastest)
			want, largest := trueLoss(t, f, unpackSlowly(k, block), to, ok)
			if !ok {
				refused++
				if f.scale == "F32" || largest < 30000 {
					t.Fatalf("a block up to %v is refused", largest)
				}
				continue
			}
			// Of an error that is next to nothing, rounding in float32 leaves another one.
			rounding := largest * 0x1p-21
			got := to.tally
			if got.elements != super || !about64(got.steps, want.steps, 0) ||
				!about64(math.Sqrt(got.squares), math.Sqrt(want.squares), 16*rounding) ||
				!about64(math.Sqrt(got.maxSquare), math.Sqrt(want.maxSquare), rounding) {
				t.Fatalf("the losses are %+v, not %+v, of values up to %v", *got, want, largest)
			}
		}
		if f.scale == "F16" && refused == 0 {
			t.Error("no block is too large for float16, so this tests nothing")
		}
	})
}

func about64(got, want, rounding float64) bool {
	return math.Abs(got-want) <= 1e-5*want+rounding
}

// trueLoss returns the losses of a packed block and its largest value.
func trueLoss(t *testing.T, f affineFormat, s *slowBlock, to packed, ok bool) (sum tally, largest float64) {
	t.Helper()
	levels := float64(int(1)<<f.bits - 1)
	for i := range super {
		y, scale, bias := f.readPacked(to, i)
		e := math.Abs(scale*y + bias - s.value(i))
		rounding := (math.Abs(bias) + levels*math.Abs(scale)) * 0x1p-21
		if f.scale == "F16" {
			rounding = rounding*0x1p10 + levels*0x1p-24 // the last bit of the smallest float16
		}
		steps := 0.504 + math.Abs(float64(s.q[i]-s.zero))/512 // a slope has 8 bits of a fraction
		if s.zero > 0 && s.q[i] == 0 {
			steps = 1.004 // a centred group lacks its largest element
		}
		if ok && e > steps*math.Abs(scale)+rounding {
			t.Fatalf("element %d is %v*%v + %v, not %v", i, scale, y, bias, s.value(i))
		}
		sum.squares += e * e
		sum.maxSquare = max(sum.maxSquare, e*e)
		sum.steps += float64(s.step[i]) * float64(s.step[i]) * s.spacing * s.spacing
		largest = max(largest, math.Abs(s.value(i)))
	}
	return sum, largest
}

// TestKernelsGiveTheSameBytes packs with instructions that every processor has, in pieces and in
// part.
func TestKernelsGiveTheSameBytes(t *testing.T) {
	eachFormat(t, func(t *testing.T, k kind, f affineFormat) {
		const n = 64
		blocks := sampleBlocks(k, n)
		want := f.memoryFor(n)
		f.pack(k, want, blocks, fastest)
		equal := func(what string, got packed) {
			t.Helper()
			if got.weights != nil && !bytes.Equal(got.weights, want.weights) ||
				got.scales != nil && !bytes.Equal(got.scales, want.scales) ||
				got.biases != nil && !bytes.Equal(got.biases, want.biases) ||
				got.tally != nil && *got.tally != *want.tally {
				t.Errorf("%s gives other bytes", what)
			}
		}

		got := f.memoryFor(n)
		f.pack(k, got, blocks, portable)
		equal("the portable kernel", got)
		got = f.memoryFor(n)
		for i := range n {
			part := func(b []byte) []byte { return b[len(b)/n*i : len(b)/n*(i+1)] }
			f.pack(k, packed{weights: part(got.weights), scales: part(got.scales),
				biases: part(got.biases)}, part(blocks), fastest)
		}
		got.tally = nil
		equal("a block at a time", got)

		all := f.memoryFor(n)
		for what, got := range map[string]packed{
			"weights alone": {weights: all.weights}, "the tally alone": {tally: all.tally},
			"scales alone": {scales: all.scales, biases: all.biases},
		} {
			f.pack(k, got, blocks, fastest)
			equal(what, got)
		}
	})
}

// TestExactFormatsHaveTheFilesWeights packs blocks in groups of 16, and rounds scale*y + bias once.
func TestExactFormatsHaveTheFilesWeights(t *testing.T) {
	for k, f := range exactFormats {
		const n = 300
		blocks, to := sampleBlocks(k, n), f.memoryFor(n)
		if !f.pack(k, to, blocks, fastest) {
			t.Fatalf("%v: a scale is not finite", k)
		}
		for i := range n * super {
			y, scale, bias := f.readPacked(to, i)
			s := unpackSlowly(k, blocks[i/super*k.bytes():])
			if got, want := float32(math.FMA(scale, y, bias)), s.float(i%super); got != want {
				t.Fatalf("%v: element %d is %v, not %v", k, i, got, want)
			}
		}
	}
}

// TestScalesThatAreNoNumbersAreRefused puts infinity and others into one of many blocks.
func TestScalesThatAreNoNumbersAreRefused(t *testing.T) {
	for k, forms := range approximations {
		const n = 7
		for _, at := range scalesAt[k] {
			for _, h := range []uint16{0x7c00, 0xfc00, 0x7e00, 0xffff, 0x7c01} {
				blocks := make([]byte, n*k.bytes())
				little.PutUint16(blocks[5*k.bytes()+at:], h)
				for _, by := range []kernel{fastest, portable} {
					for _, f := range append(forms, exactFormats[k]) {
						if f.pack(k, f.memoryFor(n), blocks, by) {
							t.Errorf("%v takes a scale of %#x as %v", k, h, f)
						}
					}
				}
			}
		}
	}
}
