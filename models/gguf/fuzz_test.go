package gguf

import (
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/engine/mlx"
)

// FuzzHeader opens any bytes as a file. What opens shows tensors that mlx accepts, and files of
// JSON.
func FuzzHeader(f *testing.F) {
	whole := smallest().file()
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	for end := 0; end < 2<<10; end += 5 { // cut in the magic, a number, a key, an array, a tensor
		f.Add(whole[:end])
	}
	notASCII := smallest()
	notASCII.set("llama.\xff", 1)
	f.Add(notASCII.file())
	largest := smallest()
	largest.entries++
	largest.text("llama.attention.key_length")
	largest.put(uint32(typeInt64))
	largest.put(int64(math.MaxInt64))
	f.Add(largest.file())
	f.Add(scored([]string{"a", "b", "ab", strings.Repeat("ab", 99)}, -1).file())
	huge := smallest()
	huge.set("llama.rope.scaling.type", "linear")
	huge.set("llama.rope.scaling.factor", 1e300)
	f.Add(huge.file())
	f.Add(withoutLayers().file())
	recorded, err := filepath.Glob("../testdata/gguf/*.gguf")
	if err != nil || len(recorded) == 0 {
		f.Fatalf("no recorded files: %v", err)
	}
	for _, name := range recorded {
		file, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file[:16<<10]) // the header
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		d, err := open(t, file)
		if err != nil {
			return
		}
		for _, name := range d.names() {
			if name == weightsFile {
				continue
			}
			if text := mustRead(t, d, name); !json.Valid(text) {
				t.Errorf("%s is not JSON: %.200q", name, text)
			}
		}
		w, err := d.Open(weightsFile)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		info, err := fs.Stat(d, weightsFile)
		if err != nil {
			t.Fatal(err)
		}
		tensors, err := mlx.OpenTensors(w.(io.ReaderAt), info.Size())
		if err != nil {
			return // more tensors than it takes
		}
		for _, name := range tensors.Names() {
			_, _ = tensors.Data(name) // a scale that is not a number is an error
		}
		exact, err := d.OpenExact()
		if err != nil {
			t.Fatal(err)
		}
		if exact != nil {
			defer exact.Close()
			_, _ = io.Copy(io.Discard, exact)
		}
	})
}

// withoutLayers returns a model whose one layer predicts further tokens.
func withoutLayers() *image {
	m := smallestWithout("llama.attention.head_count_kv")
	m.set("llama.nextn_predict_layers", 1)
	m.leave = ""
	m.set("llama.attention.head_count_kv", []int32{1})
	return m
}

// FuzzConfig reads metadata of any values as each architecture. It finds no config or one of JSON,
// and ends in either case.
func FuzzConfig(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, architecture := range slices.Sorted(maps.Keys(families)) {
			m := &model{header: anyHeader(r, architecture), scan: scanHeader}
			sources, err := m.sources()
			if err != nil && seed%2 == 0 {
				continue
			}
			text, err := m.config(sources)
			if err == nil && !json.Valid(text) {
				t.Errorf("%s: its config is not JSON: %.200q", architecture, text)
			}
		}
	})
}

// anyHeader returns a header of a few tensors. Its numbers are likely ones, or the largest and the
// least there can be.
func anyHeader(r *rand.Rand, architecture string) *header {
	h := &header{metadata: metadata{"general.architecture": architecture}}
	blocks := int64(1 + r.IntN(3))
	layers := func() any {
		list := make([]int64, max(0, blocks+int64(r.IntN(8)/7)))
		for i := range list {
			list[i] = int64(r.IntN(3))
		}
		return list
	}
	values := []func() any{layers,
		func() any { return int64(r.IntN(4)) },
		func() any { return int64(32 << r.IntN(3)) },
		func() any { return []any{int64(math.MaxInt32), int64(-1), int64(math.MaxInt64)}[r.IntN(3)] },
		func() any { return []float64{0, 1, 1e-5, math.NaN(), math.Inf(1), -1e300}[r.IntN(6)] },
		func() any { return []any{"", "yarn", "linear", true, []string{"a"}, []int64{}}[r.IntN(6)] },
	}
	for _, key := range keysOf(architecture) {
		if r.IntN(3) > 0 {
			h.metadata[architecture+"."+key] = values[min(r.IntN(12), r.IntN(len(values)))]()
		}
	}
	if r.IntN(4) > 0 {
		h.metadata[architecture+".block_count"] = blocks
	}
	f := families[architecture]
	for _, of := range []map[string]string{f.names, commonNames, commonLayerNames} {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			name, inLayer := strings.CutPrefix(name, "blk.")
			if _, common := commonLayerNames[name]; inLayer || common {
				name = "blk.0." + name
			}
			if r.IntN(2) > 0 {
				shape := []int{1 + r.IntN(64), 64}[r.IntN(2):]
				h.tensors = append(h.tensors, tensor{name: name + ".weight", shape: shape,
					bytes: 1 << 12})
			}
		}
	}
	return h
}

// keysOf returns the keys that a family asks for.
func keysOf(architecture string) []string {
	m := &model{header: &header{metadata: metadata{"general.architecture": architecture}},
		scan: scanHeader}
	c := m.newConfig()
	_, _ = m.config(nil)
	f := families[architecture]
	if f.config != nil {
		f.config(c)
	}
	c.checkFixed(f.gating)
	c.ropeScaling()
	keys := slices.Collect(maps.Keys(c.read))
	keys = append(keys, "embedding_length", "context_length", "feed_forward_length",
		"attention.head_count_kv", "attention.sliding_window_pattern", "rope.scaling.type",
		"attention.recurrent_layers", "nextn_predict_layers", "attention.layer_norm_rms_epsilon",
		"rope.scaling.factor", "expert_count", "expert_used_count")
	slices.Sort(keys)
	return slices.Compact(keys)
}
