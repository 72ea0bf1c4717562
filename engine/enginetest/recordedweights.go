package enginetest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"
	"testing"
)

// A recipe says how a recording's random weights are made, so that no file has to bring them.
// build/fixtures/_weights.py has the rules, and follows them in Python.
type recipe struct {
	Type     string  `json:"type"` // as safetensors names it
	Shape    []int   `json:"shape"`
	Center   int64   `json:"center"`
	Step     int64   `json:"step"`
	Exponent int     `json:"exponent"`
	Mask     uint64  `json:"mask"`
	Values   []int64 `json:"values"` // in place of random ones
}

// finer is how many bits of precision a type has beyond eight.
var finer = map[string]int{"F32": 15, "F16": 3, "BF16": 0}

// appendDrawn appends the elements of the tensor of that name.
func (r recipe) appendDrawn(b []byte, seed int, name string) []byte {
	size := 1
	for _, n := range r.Shape {
		size *= n
	}
	start := uint64(crc32.ChecksumIEEE(fmt.Appendf(nil, "%d %s", seed, name))) << 32
	for i := range size {
		z := (start + uint64(i)) * 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		if fine, ok := finer[r.Type]; ok {
			b = r.appendFloat(b, z, fine)
			continue
		}
		v := r.Center + int64(z>>32&r.Mask)
		if r.Values != nil {
			v = r.Values[i]
		}
		b = r.appendInt(b, v)
	}
	return b
}

func (r recipe) appendFloat(b []byte, z uint64, fine int) []byte {
	n := -int64(45)
	for shift := 40; shift < 64; shift += 4 {
		n += int64(z >> shift & 15)
	}
	n = n<<fine + int64(z%(1<<fine))
	v := math.Ldexp(float64(r.Center<<fine+r.Step*n), r.Exponent-fine) // exact
	switch r.Type {
	case "F32":
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
	case "BF16":
		return binary.LittleEndian.AppendUint16(b, uint16(math.Float32bits(float32(v))>>16))
	}
	return binary.LittleEndian.AppendUint16(b, halfBits(v))
}

// halfBits returns the bits of a number that a normal float16 holds.
func halfBits(v float64) uint16 {
	if v == 0 {
		return 0
	}
	bits := math.Float64bits(v)
	return uint16(bits>>63)<<15 + uint16(bits>>52&0x7ff-1023+15)<<10 + uint16(bits>>42&0x3ff)
}

func (r recipe) appendInt(b []byte, v int64) []byte {
	switch r.Type {
	case "U32", "I32":
		return binary.LittleEndian.AppendUint32(b, uint32(v))
	case "I64":
		return binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return append(b, byte(v))
}

// safetensors returns a file of tensors, byte for byte as the recorder's.
func safetensors(t testing.TB, seed int, tensors map[string]recipe) []byte {
	t.Helper()
	type entry struct {
		Type    string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	var data []byte
	header := map[string]any{"__metadata__": map[string]string{"format": "mlx"}}
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		r, from := tensors[name], len(data)
		data = r.appendDrawn(data, seed, name)
		header[name] = entry{r.Type, r.Shape, [2]int{from, len(data)}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text, data)
}
