package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// An image writes a GGUF file for a test.
type image struct {
	bytes.Buffer
	entries int
	leave   string // keys that are not set begin with it, if not empty
	tensors []imageTensor
}

type imageTensor struct {
	name  string
	kind  kind
	shape []int // as in safetensors
	data  []byte
}

func (m *image) put(v any) { binary.Write(&m.Buffer, binary.LittleEndian, v) }

func (m *image) text(s string) {
	m.put(uint64(len(s)))
	m.WriteString(s)
}

// set adds an entry of metadata.
func (m *image) set(key string, value any) {
	if strings.HasPrefix(key, m.leave) && m.leave != "" {
		return
	}
	m.entries++
	m.text(key)
	switch v := value.(type) {
	case string:
		m.put(uint32(typeString))
		m.text(v)
	case bool:
		m.put(uint32(typeBool))
		m.put(v)
	case int:
		m.put(uint32(typeUint32))
		m.put(uint32(v))
	case float64:
		m.put(uint32(typeFloat64))
		m.put(v)
	case float32:
		m.put(uint32(typeFloat32))
		m.put(v)
	case []string:
		m.put([]uint32{typeArray, typeString})
		m.put(uint64(len(v)))
		for _, s := range v {
			m.text(s)
		}
	case []float32:
		m.put([]uint32{typeArray, typeFloat32})
		m.put(uint64(len(v)))
		m.put(v)
	case []int32:
		m.put([]uint32{typeArray, typeInt32})
		m.put(uint64(len(v)))
		m.put(v)
	default:
		panic(fmt.Sprintf("a value of type %T", value))
	}
}

// add adds a tensor. data may be nil for one of zeros.
func (m *image) add(name string, k kind, data []byte, shape ...int) {
	n := k.bytes()
	for _, d := range shape {
		n *= d
	}
	n /= k.block()
	if data == nil {
		data = make([]byte, n)
	}
	if len(data) != n {
		panic(fmt.Sprintf("%s has %d bytes, not %d", name, len(data), n))
	}
	m.tensors = append(m.tensors, imageTensor{name, k, shape, data})
}

// file returns the bytes of the file.
func (m *image) file() []byte {
	out := &image{}
	out.WriteString("GGUF")
	out.put(uint32(3))
	out.put([]uint64{uint64(len(m.tensors)), uint64(m.entries)})
	out.Write(m.Bytes())
	at := 0
	for _, t := range m.tensors {
		out.text(t.name)
		out.put(uint32(len(t.shape)))
		for i := range t.shape {
			out.put(uint64(t.shape[len(t.shape)-1-i]))
		}
		out.put(uint32(t.kind))
		out.put(uint64(at))
		at += (len(t.data) + defaultAlignment - 1) / defaultAlignment * defaultAlignment
	}
	pad := func() { out.Write(make([]byte, -out.Len()&(defaultAlignment-1))) }
	for _, t := range m.tensors {
		pad()
		out.Write(t.data)
	}
	return out.Bytes()
}

// smallest returns a Llama of one layer, whose tokenizer has the tokens a, b, ab and an end.
func smallest() *image { return smallestWithout("-") }

// smallestWithout is smallest without the keys that begin with a prefix.
func smallestWithout(prefix string) *image {
	m := &image{leave: prefix}
	defer func() { m.leave = "-" }()
	m.set("general.architecture", "llama")
	for key, n := range map[string]int{"embedding_length": 64, "block_count": 1,
		"feed_forward_length": 32, "attention.head_count": 2, "attention.head_count_kv": 1,
		"context_length": 128} {
		m.set("llama."+key, n)
	}
	m.set("llama.attention.layer_norm_rms_epsilon", float32(1e-5))
	m.set("llama.rope.freq_base", float32(1e4))
	m.set("tokenizer.ggml.model", "gpt2")
	m.set("tokenizer.ggml.pre", "smollm")
	m.set("tokenizer.ggml.tokens", []string{"a", "b", "ab", "<|im_end|>"})
	m.set("tokenizer.ggml.token_type", []int32{1, 1, 1, tokenControl})
	m.set("tokenizer.ggml.merges", []string{"a b"})
	m.set("tokenizer.ggml.eos_token_id", 3)
	m.set("tokenizer.chat_template", "{{ messages[0].content }}")
	m.add("token_embd.weight", q8_0, nil, 4, 64)
	for name, shape := range map[string][2]int{"attn_q": {64, 64}, "attn_k": {32, 64},
		"attn_v": {32, 64}, "attn_output": {64, 64}, "ffn_gate": {32, 64}, "ffn_up": {32, 64},
		"ffn_down": {64, 32}} {
		m.add("blk.0."+name+".weight", q4_1, nil, shape[0], shape[1])
	}
	for _, name := range []string{"blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"} {
		m.add(name+".weight", f32, nil, 64)
	}
	return m
}

// open opens the bytes of a file.
func open(t testing.TB, file []byte) (*Folder, error) {
	t.Helper()
	return Open(fstest.MapFS{"model.gguf": {Data: file, ModTime: time.Unix(1, 0)}}, "model.gguf")
}

func mustRead(t testing.TB, fsys fs.FS, name string) []byte {
	t.Helper()
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
