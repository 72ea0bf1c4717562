package enginetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/engine/mlx"
)

// llama.cpp's names of what a head for multi-token prediction has.
var nextNames = strings.NewReplacer(
	"pre_fc_norm_embedding", "nextn.enorm", "pre_fc_norm_hidden", "nextn.hnorm",
	"layers.0.input_layernorm", "attn_norm",
	"layers.0.post_attention_layernorm", "post_attention_norm",
	"layers.0.self_attn.q_proj", "attn_q", "layers.0.self_attn.k_proj", "attn_k",
	"layers.0.self_attn.v_proj", "attn_v", "layers.0.self_attn.o_proj", "attn_output",
	"layers.0.self_attn.q_norm", "attn_q_norm", "layers.0.self_attn.k_norm", "attn_k_norm",
	"layers.0.mlp.gate_proj", "ffn_gate", "layers.0.mlp.up_proj", "ffn_up",
	"layers.0.mlp.down_proj", "ffn_down",
	"fc.", "nextn.eh_proj.", "norm.weight", "nextn.shared_head_norm.weight",
)

// HeadedGGUF writes a GGUF file of qwen35 again, with the head of a TinyHead after its last layer.
// It writes two files of a set below t's own folder and returns the path of the first. The matrices
// of the head are of the type Q8_0. The folder head gets the same weights.
func HeadedGGUF(t testing.TB, model, head string) string {
	t.Helper()
	file := readFile(t, model)
	const key = "qwen35.block_count"
	at := bytes.Index(file, []byte(key))
	if at < 0 {
		t.Fatalf("%s has no %s", model, key)
	}
	const typeUint32 = 4
	at += len(key) + 4 // the type
	layer := binary.LittleEndian.Uint32(file[at:])
	binary.LittleEndian.PutUint32(file[at:], layer+1)
	const entries, start, alignment = 16, 24, 32
	var more []byte
	add := func(name string) { // with the value 1
		more = binary.LittleEndian.AppendUint64(more, uint64(len(name)))
		more = binary.LittleEndian.AppendUint32(append(more, name...), typeUint32)
		more = binary.LittleEndian.AppendUint32(more, 1)
		binary.LittleEndian.PutUint64(file[entries:], binary.LittleEndian.Uint64(file[entries:])+1)
	}
	add("qwen35.nextn_predict_layers")
	pad := -(len(more) + 8 + 4 + 4) & (alignment - 1) // so that the tensors stay aligned
	add(strings.Repeat("p", alignment+pad))
	file = append(file[:start:start], append(more, file[start:]...)...)
	dir := t.TempDir()
	for i, data := range [][]byte{file, headGGUF(t, head, int(layer))} {
		path := filepath.Join(dir, fmt.Sprintf("headed-%05d-of-00002.gguf", i+1))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "headed-00001-of-00002.gguf")
}

// headGGUF returns a GGUF file with the weights of the head in a folder, as those of a layer. It packs
// the matrices, and writes what they became into the folder.
func headGGUF(t testing.TB, head string, layer int) []byte {
	t.Helper()
	const typeF32, typeQ8, alignment = 0, 8, 32
	path := filepath.Join(head, "model.safetensors")
	held := Tensors(t, path)
	var infos, data []byte
	var file bytes.Buffer
	Do(t, NewThread(t), func(s *mlx.Scope) error {
		var list []mlx.NamedArray
		for _, name := range held.Names() {
			a := held.Load(s, name)
			values, err := mlx.Read[float32](s, a)
			if err != nil {
				return err
			}
			full := fmt.Sprintf("blk.%d.%s", layer, nextNames.Replace(name))
			infos = binary.LittleEndian.AppendUint64(infos, uint64(len(full)))
			infos = binary.LittleEndian.AppendUint32(append(infos, full...), uint32(len(a.Shape())))
			for i := range a.Shape() {
				infos = binary.LittleEndian.AppendUint64(infos,
					uint64(a.Shape()[len(a.Shape())-1-i]))
			}
			kind := uint32(typeF32)
			if len(a.Shape()) == 2 {
				kind = typeQ8
			}
			infos = binary.LittleEndian.AppendUint32(infos, kind)
			infos = binary.LittleEndian.AppendUint64(infos, uint64(len(data)))
			if kind == typeQ8 {
				values, data = appendQ8(data, values)
			} else {
				for _, v := range values {
					data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
				}
			}
			data = append(data, make([]byte, -len(data)&(alignment-1))...)
			list = append(list, mlx.NamedArray{Name: name, Array: mlx.New(s, values, a.Shape()...)})
		}
		return s.WriteTensors(&file, list, map[string]string{"format": "mlx"})
	})
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out := binary.LittleEndian.AppendUint32([]byte("GGUF"), 3)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(held.Names())))
	out = append(binary.LittleEndian.AppendUint64(out, 0), infos...)
	return append(append(out, make([]byte, -len(out)&(alignment-1))...), data...)
}

// appendQ8 appends values in blocks of the type Q8_0, and returns what they become.
func appendQ8(data []byte, values []float32) (became []float32, _ []byte) {
	const group, steps, scale = 32, 64, 0x2400 // 1/64 in float16
	for i, v := range values {
		if i%group == 0 {
			data = binary.LittleEndian.AppendUint16(data, scale)
		}
		n := int8(min(max(math.Round(float64(v)*steps), -127), 127))
		data, became = append(data, byte(n)), append(became, float32(n)/steps)
	}
	return became, data
}
