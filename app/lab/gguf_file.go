package lab

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
)

// A ggufKind is a kind of tensor in a GGUF file.
type ggufKind struct {
	name         string
	number       uint32
	block, bytes int // elements and bytes of a block

	// tame gives a block of random bytes the scales of a real one: finite, and in the K kinds no
	// part far below the others.
	tame func(block []byte)
}

// Kinds of a file that the load bench writes.
var (
	kindF32   = ggufKind{"F32", 0, 1, 4, func(b []byte) { copy(b, []byte{0, 0, 0x80, 0x3f}) }}
	kindF16   = ggufKind{"F16", 1, 1, 2, func(b []byte) { b[1] &^= 0x40 }}
	kindBF16  = ggufKind{"BF16", 30, 1, 2, func(b []byte) { b[1] &^= 0x40 }}
	kindQ4_0  = ggufKind{"Q4_0", 2, 32, 18, halves(0)}
	kindQ4_1  = ggufKind{"Q4_1", 3, 32, 20, halves(0, 2)}
	kindQ5_0  = ggufKind{"Q5_0", 6, 32, 22, halves(0)}
	kindQ5_1  = ggufKind{"Q5_1", 7, 32, 24, halves(0, 2)}
	kindQ8_0  = ggufKind{"Q8_0", 8, 32, 34, halves(0)}
	kindQ4_K  = ggufKind{"Q4_K", 12, 256, 144, halves(0, 2)}
	kindQ5_K  = ggufKind{"Q5_K", 13, 256, 176, halves(0, 2)}
	kindIQ4NL = ggufKind{"IQ4_NL", 20, 32, 18, halves(0)}
	kindIQ4XS = ggufKind{"IQ4_XS", 23, 256, 136, halves(0)}
	kindIQ3S  = ggufKind{"IQ3_S", 21, 256, 110, halves(0)}
	kindIQ3XX = ggufKind{"IQ3_XXS", 18, 256, 98, halves(0)}
	kindIQ2XX = ggufKind{"IQ2_XXS", 16, 256, 66, halves(0)}
	kindIQ2XS = ggufKind{"IQ2_XS", 17, 256, 74, halves(0)}
	kindIQ2S  = ggufKind{"IQ2_S", 22, 256, 82, halves(0)}
	kindMXFP4 = ggufKind{"MXFP4", 39, 32, 17, func(b []byte) { b[0] = 118 + b[0]&7 }}
	kindQ2_K  = ggufKind{"Q2_K", 10, 256, 84, tameQ2}
	kindQ3_K  = ggufKind{"Q3_K", 11, 256, 110, tameQ3}
	kindQ6_K  = ggufKind{"Q6_K", 14, 256, 210, tameQ6}
)

// halves returns a function that makes the float16 at each offset a number from 2^-9 to 2^-8.
func halves(offsets ...int) func([]byte) {
	return func(b []byte) {
		for _, at := range offsets {
			b[at+1] = b[at+1]&3 | 0x18
		}
	}
}

// tameQ2 gives all parts the upper half of shares.
func tameQ2(b []byte) {
	for i := range b[:16] {
		b[i] |= 0x88
	}
	halves(80, 82)(b)
}

// tameQ3 gives all parts shares of 16 or more, of either sign.
func tameQ3(b []byte) {
	for i := 104; i < 108; i++ {
		b[i] = b[i] & 0x55 * 3
	}
	halves(108)(b)
}

// tameQ6 gives all parts shares of 64 or more, of either sign.
func tameQ6(b []byte) {
	for i := 192; i < 208; i++ {
		b[i] = b[i]&0xbf | ^b[i]>>1&0x40
	}
	halves(208)(b)
}

// A ggufTensor is a random tensor of a file.
type ggufTensor struct {
	name  string
	kind  ggufKind
	shape []int // the shortest stride first, as in the file
}

func (t ggufTensor) bytes() int {
	n := t.kind.bytes
	for _, d := range t.shape {
		n *= d
	}
	return n / t.kind.block
}

// A ggufShape holds the sizes of a random model in the form of Qwen3.
type ggufShape struct {
	hidden, inner, heads, kvHeads, headDim, vocab int
}

// qwen17 is Qwen3-1.7B, whose Q4_K_M is a file of 1.1 GB.
var (
	qwen17    = ggufShape{2048, 6144, 16, 8, 128, 151936}
	smallGGUF = ggufShape{256, 512, 4, 2, 64, 1024}
)

// A ggufMix returns the kind of a matrix: its name without layer and ending, the layer, and how many
// layers there are.
type ggufMix func(name string, layer, layers int) ggufKind

// onlyKind is a file of one kind.
func onlyKind(k ggufKind) ggufMix { return func(string, int, int) ggufKind { return k } }

// q4KM is llama.cpp's mix of that name.
func q4KM(name string, layer, layers int) ggufKind {
	end := layer < layers/8 || layer >= 7*layers/8 || (layer-layers/8)%3 == 2
	if name == "token_embd" || end && (name == "attn_v" || name == "ffn_down") {
		return kindQ6_K
	}
	return kindQ4_K
}

// tensors returns the tensors of a model with that many layers.
func (s ggufShape) tensors(mix ggufMix, layers int) (list []ggufTensor) {
	matrix := func(name string, layer, in, out int) {
		path := fmt.Sprintf("blk.%d.%s", layer, name)
		if layer < 0 {
			path = name
		}
		list = append(list, ggufTensor{path + ".weight", mix(name, layer, layers), []int{in, out}})
	}
	norm := func(path string, n int) {
		list = append(list, ggufTensor{path + ".weight", kindF32, []int{n}})
	}
	matrix("token_embd", -1, s.hidden, s.vocab)
	norm("output_norm", s.hidden)
	for i := range layers {
		path := fmt.Sprintf("blk.%d.", i)
		norm(path+"attn_norm", s.hidden)
		matrix("attn_q", i, s.hidden, s.heads*s.headDim)
		matrix("attn_k", i, s.hidden, s.kvHeads*s.headDim)
		matrix("attn_v", i, s.hidden, s.kvHeads*s.headDim)
		matrix("attn_output", i, s.heads*s.headDim, s.hidden)
		norm(path+"attn_q_norm", s.headDim)
		norm(path+"attn_k_norm", s.headDim)
		norm(path+"ffn_norm", s.hidden)
		matrix("ffn_gate", i, s.hidden, s.inner)
		matrix("ffn_up", i, s.hidden, s.inner)
		matrix("ffn_down", i, s.inner, s.hidden)
	}
	return list
}

// layersFor returns the number of layers, at least one, with which a file has nearly the given
// bytes.
func (s ggufShape) layersFor(mix ggufMix, bytes int) int {
	for n := 2; ; n++ {
		if sizeOf(s.tensors(mix, n)) > bytes {
			return n - 1
		}
	}
}

func sizeOf(tensors []ggufTensor) (bytes int) {
	for _, t := range tensors {
		bytes += t.bytes()
	}
	return bytes
}

// ggufAlignment is where the data of each tensor begins, the format's default.
const ggufAlignment = 32

// write writes a model with random weights, the same every time, and returns its bytes.
func (s ggufShape) write(path string, mix ggufMix, layers int) (size int64, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	tensors := s.tensors(mix, layers)
	header := s.header(tensors, layers)
	header = append(header, make([]byte, -len(header)&(ggufAlignment-1))...)
	size = int64(len(header))
	w := bufio.NewWriterSize(f, 1<<20)
	if _, err := w.Write(header); err != nil {
		return 0, err
	}
	random := rand.NewChaCha8([32]byte{})
	buffer := make([]byte, 1<<20)
	for _, t := range tensors {
		n := t.bytes()
		size += int64(n + -n&(ggufAlignment-1))
		for left := n; left > 0; {
			part := buffer[:min(left, len(buffer)/t.kind.bytes*t.kind.bytes)]
			random.Read(part)
			for block := range slices.Chunk(part, t.kind.bytes) {
				t.kind.tame(block)
			}
			if _, err := w.Write(part); err != nil {
				return 0, err
			}
			left -= len(part)
		}
		if _, err := w.Write(make([]byte, -n&(ggufAlignment-1))); err != nil {
			return 0, err
		}
	}
	return size, w.Flush()
}

// header returns what comes before the tensors: metadata, with a tokenizer of a few tokens, and what
// the tensors are.
func (s ggufShape) header(tensors []ggufTensor, layers int) []byte {
	var metadata ggufMetadata
	metadata.add("general.architecture", "qwen3")
	metadata.add("qwen3.block_count", uint32(layers))
	metadata.add("qwen3.context_length", uint32(4096))
	metadata.add("qwen3.embedding_length", uint32(s.hidden))
	metadata.add("qwen3.feed_forward_length", uint32(s.inner))
	metadata.add("qwen3.attention.head_count", uint32(s.heads))
	metadata.add("qwen3.attention.head_count_kv", uint32(s.kvHeads))
	metadata.add("qwen3.attention.key_length", uint32(s.headDim))
	metadata.add("qwen3.attention.value_length", uint32(s.headDim))
	metadata.add("qwen3.attention.layer_norm_rms_epsilon", float32(1e-6))
	metadata.add("qwen3.rope.freq_base", float32(1e6))
	metadata.add("tokenizer.ggml.model", "gpt2")
	metadata.add("tokenizer.ggml.pre", "qwen2")
	metadata.add("tokenizer.ggml.tokens", []string{"a", "b", "ab", "<|im_end|>"})
	metadata.add("tokenizer.ggml.token_type", []int32{1, 1, 1, 3})
	metadata.add("tokenizer.ggml.merges", []string{"a b"})
	metadata.add("tokenizer.ggml.eos_token_id", uint32(3))

	var out ggufMetadata
	out.WriteString("GGUF")
	out.put(uint32(3), uint64(len(tensors)), uint64(metadata.entries), metadata.Bytes())
	at := 0
	for _, t := range tensors {
		out.text(t.name)
		out.put(uint32(len(t.shape)))
		for _, d := range t.shape {
			out.put(uint64(d))
		}
		out.put(t.kind.number, uint64(at))
		at += t.bytes() + -t.bytes()&(ggufAlignment-1)
	}
	return out.Bytes()
}

// ggufMetadata writes entries of metadata.
type ggufMetadata struct {
	bytes.Buffer
	entries int
}

func (m *ggufMetadata) put(values ...any) {
	for _, v := range values {
		binary.Write(&m.Buffer, binary.LittleEndian, v) // a buffer takes everything
	}
}

func (m *ggufMetadata) text(s string) { m.put(uint64(len(s)), []byte(s)) }

// add adds an entry. Its types are the format's.
func (m *ggufMetadata) add(key string, value any) {
	const typeUint32, typeInt32, typeFloat32, typeString, typeArray = 4, 5, 6, 8, 9
	m.entries++
	m.text(key)
	switch v := value.(type) {
	case uint32:
		m.put(uint32(typeUint32), v)
	case float32:
		m.put(uint32(typeFloat32), v)
	case string:
		m.put(uint32(typeString))
		m.text(v)
	case []string:
		m.put(uint32(typeArray), uint32(typeString), uint64(len(v)))
		for _, s := range v {
			m.text(s)
		}
	case []int32:
		m.put(uint32(typeArray), uint32(typeInt32), uint64(len(v)), v)
	}
}
