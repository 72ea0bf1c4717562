package gguf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func TestHostileHeaders(t *testing.T) {
	put := binary.LittleEndian.PutUint64
	whole := smallest().file()
	for name, c := range map[string]struct {
		change func(file []byte) []byte
		want   string
	}{
		"another format": {func(f []byte) []byte { f[0] = 'g'; return f }, "is no GGUF file, though it is named as one; name another file, or download it again"},
		"big-endian": {func(f []byte) []byte { copy(f[4:], []byte{0, 0, 0, 3}); return f },
			"big-endian"},
		"version": {func(f []byte) []byte { f[4] = 1; return f }, "version 1"},
		"tensors": {func(f []byte) []byte { put(f[8:], 1<<60); return f }, "tensors"},
		"entries": {func(f []byte) []byte { put(f[16:], 1<<60); return f }, "entries"},
		"key":     {func(f []byte) []byte { put(f[24:], 1<<60); return f }, "text"},
		"cut header": {func(f []byte) []byte { return f[:100] },
			"cut short"},
		"cut data": {func(f []byte) []byte { return f[:len(f)-64] }, "cut short"},
		"empty":    {func(f []byte) []byte { return nil }, "is no GGUF file, though it is named as one; name another file, or download it again"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, c.change(append([]byte(nil), whole...)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, which does not say %q", err, c.want)
			}
		})
	}
}

// image.raw adds an entry of metadata whose value is given as it is in a file.
func (m *image) raw(key string, kind uint32, values ...any) *image {
	m.entries++
	m.text(key)
	m.put(kind)
	for _, v := range values {
		m.put(v)
	}
	return m
}

func TestHostileParts(t *testing.T) {
	tensor := func(change func(m *image)) *image {
		m := smallest()
		change(m)
		return m
	}
	for name, c := range map[string]struct {
		image *image
		want  string
	}{
		"array of 2^60": {smallest().raw("x", typeArray, uint32(typeUint8), uint64(1)<<60),
			"elements of x"},
		"long text":       {smallest().raw("x", typeString, uint64(math.MaxUint64)), "text"},
		"array of arrays": {smallest().raw("x", typeArray, uint32(typeArray), uint64(1)), "unknown"},
		"unknown type":    {smallest().raw("x", 99), "unknown type 99"},
		"key twice": {smallest().raw("llama.block_count", typeUint8, uint8(1)),
			"llama.block_count"},
		"alignment": {smallest().raw("general.alignment", typeUint32, uint32(3)), "power of two"},
		"tensor twice": {tensor(func(m *image) {
			m.add("output.weight", f32, nil, 1)
			m.add("output.weight", f32, nil, 1)
		}), "twice"},
		"unknown kind": {tensor(func(m *image) {
			m.add("output.weight", f32, nil, 4, 64)
			m.tensors[len(m.tensors)-1].kind = 99
		}), "unknown kind 99, which is not supported; take another quantization"},
		"other kind": {tensor(func(m *image) {
			m.add("output.weight", f32, nil, 4, 64)
			m.tensors[len(m.tensors)-1].kind = 16
		}), "IQ2_XXS"},
		"half a block": {tensor(func(m *image) {
			m.add("output.weight", f32, nil, 4, 60)
			m.tensors[len(m.tensors)-1].kind = q8_0
		}), "blocks of 32"},
		"huge": {tensor(func(m *image) {
			m.add("output.weight", f32, nil, 1, 1)
			m.tensors[len(m.tensors)-1].shape = []int{math.MaxInt32, math.MaxInt32, math.MaxInt32}
		}), "extent"},
		"unknown tensor": {tensor(func(m *image) { m.add("blk.0.patch_embd.weight", f32, nil, 1) }),
			"blk.0.patch_embd.weight"},
		"unknown architecture": {tensor(func(m *image) {
			s := strings.Replace(m.String(), "llama", "lemma", 1)
			m.Reset()
			m.WriteString(s)
		}), `"lemma", which is not supported; take a model of a supported one: `},
		"packed norm": {tensor(func(m *image) { m.add("blk.1.attn_norm.weight", q8_0, nil, 64) }),
			"only a matrix"},
		"no head": {tensor(func(m *image) { m.add("blk.1.attn_q.weight", q8_0, nil, 31, 64) }),
			"heads of 32"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, c.image.file())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, which does not say %q", err, c.want)
			}
		})
	}
}

func TestOverlap(t *testing.T) {
	m := &image{}
	m.add("a", f32, nil, 64)
	m.add("b", f32, nil, 64)
	file := m.file()
	at := strings.Index(string(file), "b\x01\x00\x00\x00") + 1 + 4 + 8 + 4
	binary.LittleEndian.PutUint64(file[at:], 32)
	if _, err := open(t, file); err == nil || !strings.Contains(err.Error(), "overlap") {
		t.Errorf("tensors that overlap are read: %v", err)
	}
	binary.LittleEndian.PutUint64(file[at:], 1<<60)
	_, err := open(t, file)
	if _, ok := errors.AsType[*TruncatedError](err); !ok {
		t.Errorf("a tensor far beyond the end is read: %v", err)
	}
}

// An error is one sentence that fits a line, however much of the file it is about.
func TestErrorsAreShort(t *testing.T) {
	long := strings.Repeat("x\n", 1<<10)
	many := make([]int32, 1<<16)
	for key, values := range map[string][]any{
		"general.alignment":       {long, 1 << 31},
		"general.architecture":    {long},
		"llama.block_count":       {long, many, 1 << 31},
		"llama.rope.freq_base":    {long, many},
		"llama.rope.scaling.type": {long},
		"llama.attention.causal":  {long, many},
		"tokenizer.ggml.model":    {long, many},
		"tokenizer.ggml.pre":      {long, many},
	} {
		for _, value := range values {
			m := smallestWithout(key)
			m.leave = ""
			m.set(key, value)
			_, err := open(t, m.file())
			if err == nil || len(err.Error()) > 400 || strings.ContainsAny(err.Error(), "\n") ||
				strings.Contains(err.Error(), "0000000") {
				t.Errorf("%s = %.10v: the error is %.500q", key, value, err)
			}
		}
	}
}

// TestHeaderAloneIsEnough opens recorded files whose tensors are not numbers. A check before a
// download has nothing but headers.
func TestHeaderAloneIsEnough(t *testing.T) {
	files, err := filepath.Glob("../testdata/gguf/*.gguf")
	if err != nil {
		t.Fatal(err)
	}
	read := 0 // files that Open reads tensors of
	for _, name := range files {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		h, err := readHeader(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		for i := h.tensors[0].offset; i < int64(len(file)); i++ {
			file[i] = 0xff
		}
		fsys := fstest.MapFS{"model.gguf": {Data: file}}
		if _, err := OpenHeader(fsys, "model.gguf"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Open(fsys, "model.gguf"); err != nil {
			read++
		}
	}
	if read < 3 {
		t.Errorf("tensors are read of %d of %d files", read, len(files))
	}
}

// TestVectorsAreBounded gives a head of a length that no model has.
func TestVectorsAreBounded(t *testing.T) {
	const n = maxVector + 1
	m := &model{scan: scanHeader, header: &header{tensors: []tensor{
		{name: ropeFactorsTensor, kind: f32, shape: []int{n}, bytes: 4 * n}}}}
	if _, err := m.vector(ropeFactorsTensor, n); err == nil {
		t.Error("a head of any length is read")
	}
}
