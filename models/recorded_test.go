package models_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models"
)

// recordings returns the names of all recorded models.
func recordings(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/parity/*/fixture.json")
	if err != nil || len(paths) < 24 {
		t.Fatalf("%d recorded cases, %v", len(paths), err)
	}
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = filepath.Base(filepath.Dir(path))
	}
	return names
}

// recordedType returns the model_type of a recorded model.
func recordedType(t *testing.T, name string) string {
	t.Helper()
	var config struct {
		ModelType string `json:"model_type"`
	}
	text, err := os.ReadFile(filepath.Join("testdata", "parity", name, "config.json"))
	if err == nil {
		err = json.Unmarshal(text, &config)
	}
	if err != nil {
		t.Fatal(err)
	}
	return config.ModelType
}

// recordedNames returns the names of all recorded models: of folders, and of GGUF files.
func recordedNames(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/gguf/*.gguf")
	if err != nil || len(files) < 16 {
		t.Fatalf("%d GGUF files, %v", len(files), err)
	}
	names := recordings(t)
	for _, file := range files {
		names = append(names, filepath.Base(file))
	}
	return names
}

// recordedPath returns the path of a recorded model: of a GGUF file, or of a folder that it makes.
func recordedPath(t *testing.T, name string) string {
	t.Helper()
	if models.IsGGUF(name) {
		return recordedFile(t, name)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(path, openFixture(t, name).files); err != nil {
		t.Fatal(err)
	}
	return path
}

// recordedFile returns the path of a GGUF file. What the test does from here on is charged to its
// model.
func recordedFile(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("testdata", "gguf", name)
	s, err := models.Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Charge(t, s.Architecture)
	return path
}

// TestHeadersTellWhatLoadingTakes compares what the headers of every recorded model tell with the
// loaded model, and that with the memory in use: in float32 and as stored. The predicted
// memory of the weights is within 3 %.
func TestHeadersTellWhatLoadingTakes(t *testing.T) {
	th := enginetest.NewThread(t)
	for _, name := range recordedNames(t) {
		t.Run(name, func(t *testing.T) { testHeaders(t, th, recordedPath(t, name)) })
	}
}

// testHeaders does so for the model at a path.
func testHeaders(t *testing.T, th *mlx.Thread, path string) {
	s, err := models.Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	f := s.Footprint
	for _, mode := range []struct {
		name string
		opts models.Options
		said int64
	}{
		{"in float32", models.Options{Dtype: models.DtypeFloat32}, f.Weights(true)},
		{"as stored", models.Options{Dtype: models.DtypeCheckpoint}, f.OnCPU().Weights(false)},
	} {
		enginetest.Do(t, th, func(s *mlx.Scope) error { s.ClearCache(); return nil })
		before := th.Memory().Active
		b, err := models.Load(t.Context(), th, path, mode.opts)
		if err != nil {
			t.Fatal(err)
		}
		i := b.Info
		if s.Parameters != i.Parameters {
			t.Errorf("%s: s.Parameters = %v, want %v", mode.name, s.Parameters, i.Parameters)
		}
		if s.Architecture != i.Architecture {
			t.Errorf("%s: s.Architecture = %v, want %v", mode.name, s.Architecture, i.Architecture)
		}
		if s.Quantization != i.Quantization {
			t.Errorf("%s: s.Quantization = %v, want %v", mode.name, s.Quantization, i.Quantization)
		}
		if s.Bytes != i.FileBytes {
			t.Errorf("%s: s.Bytes = %v, want %v", mode.name, s.Bytes, i.FileBytes)
		}
		if s.ContextLength != i.ContextLength {
			t.Errorf("%s: s.ContextLength = %v, want %v", mode.name, s.ContextLength, i.ContextLength)
		}
		// Loading adds what it computes by itself, such as rotary frequencies, and the outputs that packing pads.
		if off := math.Abs(float64(mode.said)/float64(i.Bytes) - 1); !(off <= 0.04) ||
			mode.said > i.Bytes || mode.said < i.Bytes-10<<10 {
			t.Errorf("%s: its weights are predicted to take %d bytes, and take %d", mode.name,
				mode.said, i.Bytes)
		}
		// An array may get a used buffer that is larger. That counts in arrays as small as these.
		if held := th.Memory().Active - before; held < i.Bytes || held > i.Bytes+64<<10 {
			t.Errorf("%s: its weights take %d bytes, and hold %d", mode.name, i.Bytes, held)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if after := th.Memory().Active; after != before {
			t.Errorf("%s: active memory went from %d to %d", mode.name, before, after)
		}
	}
}

// TestFootprintOfTextEqualsCachesOfRecordedModels compares the predicted memory of a text with that
// of the caches, for one recorded model of each type, and for every GGUF file.
func TestFootprintOfTextEqualsCachesOfRecordedModels(t *testing.T) {
	th := enginetest.NewThread(t)
	seen := map[string]bool{}
	for _, name := range recordedNames(t) {
		if !models.IsGGUF(name) {
			modelType := recordedType(t, name)
			if seen[modelType] {
				continue
			}
			seen[modelType] = true
		}
		t.Run(name, func(t *testing.T) {
			path := recordedPath(t, name)
			policies := []models.DtypePolicy{models.DtypeFloat32, models.DtypeCheckpoint}
			if models.IsGGUF(name) && !enginetest.Long {
				policies = policies[1:] // folders have all other texts
			}
			for _, policy := range policies {
				tokens := cache.MaxChunk
				if policy == models.DtypeCheckpoint {
					tokens /= 2 // attention is slow in 16 bits, and buffers grow by that
				}
				f, held, tapes := measuredText(t, th, path, policy, tokens)
				got := f.SequenceBytes(tokens, policy == models.DtypeFloat32)
				if got > held || got < held-tapes {
					t.Errorf("%s: %d tokens are predicted to take %d bytes, and take %d", policy,
						tokens, got, held)
				}
			}
		})
	}
}

// measuredText returns a model's footprint before it is loaded, and the memory of its caches after a
// text. tapes are the bytes of recurrent layers, and of the tapes of the last forward.
func measuredText(t *testing.T, th *mlx.Thread, path string, policy models.DtypePolicy,
	tokens int) (f models.Footprint, held, tapes int64) {
	t.Helper()
	s, err := models.Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := models.Load(t.Context(), th, path, models.Options{Dtype: policy})
	if err != nil {
		t.Fatal(err)
	}
	caches := b.Model.NewCaches(cache.Options{})
	tapRows(t, th, b.Model, caches, make([]int32, tokens))
	for _, c := range caches {
		held += c.Bytes()
		if r, ok := c.(*cache.Recurrent); ok {
			tapes += r.Bytes()
		}
	}
	freeCaches(t, th, caches)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	return s.Footprint, held, tapes
}

// TestFloat32TensorsWidenKeys stores one tensor of a checkpoint of 16 bits as float32. It expects the
// predicted memory of a text: that of float32 if the tensor lies on the way to keys and values.
func TestFloat32TensorsWidenKeys(t *testing.T) {
	th := enginetest.NewThread(t)
	const tokens = cache.MaxChunk / 2 // buffers grow by that
	for _, c := range []struct {
		name, tensor string
		wide         bool
	}{
		{"nemotron-h", "backbone.embeddings.weight", true},
		{"nemotron-h", "backbone.layers.0.norm.weight", true},
		{"nemotron-h", "backbone.norm_f.weight", false},
		{"phi3", "model.layers.0.self_attn.qkv_proj.weight", true},
		{"phi3", "model.norm.weight", false},
		{"glm4-moe-lite", "model.layers.0.self_attn.kv_a_proj_with_mqa.weight", true},
		{"glm4-moe-lite", "lm_head.weight", false},
	} {
		files := recorded(t, c.name)
		widen(files, c.tensor)
		dir := t.TempDir()
		if err := os.CopyFS(dir, files); err != nil {
			t.Fatal(err)
		}
		f, held, tapes := measuredText(t, th, dir, models.DtypeCheckpoint, tokens)
		got := f.SequenceBytes(tokens, false)
		if got > held || got < held-tapes || (got == f.SequenceBytes(tokens, true)) != c.wide {
			t.Errorf("%s, %s: %d tokens are predicted to take %d bytes, and take %d",
				c.name, c.tensor, tokens, got, held)
		}
	}
}
