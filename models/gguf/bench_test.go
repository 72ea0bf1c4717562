package gguf

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// BenchmarkRepack packs random blocks of each kind, on one goroutine. Its rate is of bytes of the
// file.
func BenchmarkRepack(b *testing.B) {
	random := rand.NewChaCha8([32]byte{})
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		if _, plain := plainTypes[k]; plain {
			continue
		}
		b.Run(k.String(), func(b *testing.B) {
			p, ok := packings[k]
			if !ok {
				p = *approximations[k][0].packing(k)
			}
			blocks := make([]byte, chunkBytes/k.bytes()*k.bytes())
			random.Read(blocks)
			for i := 1; i < len(blocks); i += 2 {
				blocks[i] &= 0xbf // finite, wherever a float16 is
			}
			elements := len(blocks) / k.bytes() * k.block()
			side := elements / 16 * scaleBytes["F32"]
			to := packed{weights: make([]byte, elements*p.bits/8), scales: make([]byte, side),
				biases: make([]byte, side)}
			if !ok { // as in a load
				to.tally = &tally{}
			}
			b.SetBytes(int64(len(blocks)))
			for b.Loop() {
				p.pack(to, blocks)
			}
		})
	}
}
