package models_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models"
	"tandem/models/gguf"
)

// TestGGUFParity loads small GGUF files of each architecture, written by llama.cpp's own package.
// It compares their logits with what mlx_lm said of the same weights (build/fixtures/llamacpp.py).
func TestGGUFParity(t *testing.T) {
	files, err := filepath.Glob("testdata/gguf/*.gguf")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	thread := enginetest.NewThread(t)
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(strings.TrimSuffix(name, ".gguf"), func(t *testing.T) {
			file := recordedFile(t, name)
			b, err := models.Load(context.Background(), thread, file, models.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			summary, err := models.Inspect(file)
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(file)
			if err != nil || summary.Bytes != info.Size() || b.Info.FileBytes != info.Size() {
				t.Errorf("it has %d bytes by its header and %d by its load, %v", summary.Bytes,
					b.Info.FileBytes, err)
			}
			var prompt, ids []int32
			var logits [][]float32
			ts := enginetest.Tensors(t, strings.TrimSuffix(file, ".gguf")+".safetensors")
			enginetest.Do(t, thread, func(s *mlx.Scope) (err error) {
				if prompt, err = mlx.Read[int32](s, ts.Load(s, "prompt")); err != nil {
					return err
				}
				if ids, err = mlx.Read[int32](s, ts.Load(s, "ids")); err != nil {
					return err
				}
				logits, err = enginetest.ReadRows(s, ts.Load(s, "logits"))
				return err
			})
			caches := b.Model.NewCaches(cache.Options{})
			defer freeCaches(t, thread, caches)
			text := append(prompt, ids[:len(ids)-1]...)
			rows := forward(t, thread, b.Model, caches, text, 16)[len(prompt)-1:]
			worst := 0.0
			for i, row := range rows {
				if argmax(row) != ids[i] {
					t.Fatalf("token %d is %d, not %d", i, argmax(row), ids[i])
				}
				for j := range row {
					worst = max(worst, math.Abs(float64(row[j]-logits[i][j])))
				}
			}
			if worst > 1e-4 {
				t.Errorf("logits differ by %g", worst)
			}
		})
	}
}

// TestGGUFComputesInBFloat16 loads files as on a GPU.
func TestGGUFComputesInBFloat16(t *testing.T) {
	thread := enginetest.NewThread(t)
	files, err := filepath.Glob("testdata/gguf/*.gguf")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		b, err := models.Load(context.Background(), thread, recordedFile(t, name),
			models.Options{Dtype: models.DtypeCheckpoint})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if b.Info.Dtype != mlx.BFloat16 {
			t.Errorf("%s computes in %v", name, b.Info.Dtype)
		}
		caches := b.Model.NewCaches(cache.Options{})
		row := forward(t, thread, b.Model, caches, []int32{1, 2, 3}, 8)[2]
		freeCaches(t, thread, caches)
		if math.IsNaN(largest(row)) {
			t.Errorf("%s gives no number", name)
		}
	}
}

// TestSpoiltGGUFSaysWhatToDo refuses files that lack something, in words for the one file.
func TestSpoiltGGUFSaysWhatToDo(t *testing.T) {
	whole, err := os.ReadFile("testdata/gguf/llama.gguf")
	if err != nil {
		t.Fatal(err)
	}
	edit := func(old, new string) string {
		if !strings.Contains(string(whole), old) {
			t.Fatalf("the file has no %q", old)
		}
		return strings.Replace(string(whole), old, new, 1)
	}
	const lacks = "; download the file again or take another one"
	count := "llama.block_count\x04\x00\x00\x00" // and the number, in 4 bytes
	for _, c := range []struct{ name, file, want string }{
		{"x.gguf", "", ": is no GGUF file, though it is named as one; name another file, or download it again"},
		{"x.gguf", "GGU", ": is no GGUF file, though it is named as one; name another file, or download it again"},
		{"x.gguf", "some text", ": is no GGUF file, though it is named as one; name another file, or download it again"},
		{"x.txt", "some text", "name the folder that holds config.json, or a file of .gguf"},
		{"x.gguf", edit(count+"\x02", count+"\x03"), ": the file lacks 9 tensors " +
			"(model.layers.2.self_attn.q_proj.weight, model.layers.2.self_attn.k_proj.weight, " +
			"model.layers.2.self_attn.v_proj.weight, model.layers.2.self_attn.o_proj.weight, ...); " +
			"download it again or take another file"},
		{"x.gguf", edit("llama.block_count", "llama.block_kount"),
			": its metadata lacks llama.block_count" + lacks},
		{"x.gguf", edit("tokenizer.ggml.tokens", "tokenizer.ggml.tokenz"),
			": its metadata lacks tokenizer.ggml.tokens" + lacks},
		{"x.gguf", edit("general.architecture", "general.architektur_"),
			": its metadata lacks general.architecture" + lacks},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := models.Inspect(path); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// A chat template that cannot be compiled gives way to the form of the model's family. Without a
// known form the model cannot chat, and says why.
func TestBrokenTemplateOfAGGUFFile(t *testing.T) {
	file, err := os.ReadFile("testdata/gguf/llama.gguf")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(file), "{% endfor %}", "{% endwhat%}", 1)
	thread := enginetest.NewThread(t)
	load := func(text, name string) *models.Bundle {
		t.Helper()
		path := writeGGUF(t, []byte(text), name)
		s, err := models.Inspect(path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := models.Load(t.Context(), thread, path, models.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		if (s.NoChat() == "") != (b.Chat.Err() == nil) {
			t.Errorf("its header says %q, its load %v", s.NoChat(), b.Chat.Err())
		}
		return b
	}
	const why = "has a chat template that cannot be read: "
	none := strings.ReplaceAll(text, "<|im_end|>", "<|im_fin|>")
	if b := load(none, "none.gguf"); b.Chat.FallbackReason != nil ||
		b.Chat.Err() == nil || !strings.HasPrefix(b.Chat.Err().Error(), why) {
		t.Errorf("without a form: %v in place of %v", b.Chat.FallbackReason, b.Chat.Err())
	}
	b := load(text, "chatml.gguf")
	if b.Chat.Err() != nil || b.Chat.FallbackReason == nil ||
		!strings.HasPrefix(b.Chat.FallbackReason.Error(), why) || !strings.Contains(b.Chat.Source, "im_start") {
		t.Errorf("with a form: %v in place of %v", b.Chat.FallbackReason, b.Chat.Err())
	}
}

// TestCoarseFileLoads loads a file with a tensor that needs more bits than a sample of it promises.
// The user sees one load, and then what the whole tensor loses.
func TestCoarseFileLoads(t *testing.T) {
	const file = "testdata/coarse.gguf"
	folder, err := gguf.Open(os.DirFS("testdata"), "coarse.gguf")
	if err != nil {
		t.Fatal(err)
	}
	thread := enginetest.NewBLASThread(t) // which takes the form that loses something
	b, err := models.Load(context.Background(), thread, file, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	sampled := folder.Losses()
	if len(sampled) != 1 || len(b.Losses) != 1 || sampled[0].Whole || !b.Losses[0].Whole {
		t.Fatalf("the losses are %+v, of a sample %+v", b.Losses, sampled)
	}
	if l := b.Losses[0]; l.RMS >= 0.1 || l.Bits < sampled[0].Bits {
		t.Errorf("the loss is %+v, of a sample %+v", l, sampled[0])
	}
	caches := b.Model.NewCaches(cache.Options{})
	defer freeCaches(t, thread, caches)
	if row := forward(t, thread, b.Model, caches, []int32{1, 2, 3}, 8)[2]; math.IsNaN(largest(row)) {
		t.Error("it gives no number")
	}
}

// TestCoarseFileDrafts loads the same file as the drafter of a model with its tokens.
func TestCoarseFileDrafts(t *testing.T) {
	const file = "testdata/coarse.gguf"
	thread := enginetest.NewBLASThread(t)
	target, err := outline(thread, file)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	d, err := models.LoadDrafter(t.Context(), target, file, models.DrafterSettings{},
		models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil || d.Model == nil {
		t.Errorf("the drafter is %+v, %v", d, err)
	}
}

// addNumbers returns a GGUF file with further metadata, of the type float32.
func addNumbers(file []byte, entries map[string]float32) []byte {
	const typeFloat32, typeString, alignment = 6, 8, 32
	var more []byte
	add := func(key string, kind uint32, value []byte) {
		more = binary.LittleEndian.AppendUint64(more, uint64(len(key)))
		more = binary.LittleEndian.AppendUint32(append(more, key...), kind)
		more = append(more, value...)
	}
	for key, v := range entries {
		add(key, typeFloat32, binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
	}
	const name = "pad" // the tensors stay aligned
	n := -(len(more) + 8 + len(name) + 4 + 8) & (alignment - 1)
	add(name, typeString, append(binary.LittleEndian.AppendUint64(nil, uint64(n)), make([]byte, n)...))
	const count, start = 16, 24 // of the entries
	out := slices.Concat(file[:start], more, file[start:])
	binary.LittleEndian.PutUint64(out[count:],
		binary.LittleEndian.Uint64(file[count:])+uint64(len(entries))+1)
	return out
}

// writeGGUF writes a file into the folders that parts name below a new one, and returns its path.
func writeGGUF(t *testing.T, data []byte, parts ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{t.TempDir()}, parts...)...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The sampling of a GGUF file's metadata is the default of a request. A value out of range is left
// out, and the note does not speak of a file that is not there.
func TestGGUFRecommendsSampling(t *testing.T) {
	file, err := os.ReadFile("testdata/gguf/llama.gguf")
	if err != nil {
		t.Fatal(err)
	}
	path := writeGGUF(t, addNumbers(file, map[string]float32{"general.sampling.temp": 0.7,
		"general.sampling.top_p": 1.5, "general.sampling.top_k": 20}), "m.gguf")
	b, err := models.Load(t.Context(), enginetest.NewThread(t), path, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	read, err := readDefaultsOf(path)
	if err != nil {
		t.Fatal(err)
	}
	for how, d := range map[string]models.Defaults{"loaded": b.Defaults, "read": read} {
		want := []string{"its recommended sampling: top_p is not between 0 and 1, so it is ignored: " +
			"it is 1.5"}
		if *d.Temperature != 0.7 || *d.TopK != 20 || d.TopP != nil || !slices.Equal(d.Ignored, want) {
			t.Errorf("%s: the defaults are %v, %v and %v; ignored: %q", how, *d.Temperature, *d.TopK,
				d.TopP, d.Ignored)
		}
	}
}

// A model of Ollama's has the defaults of its parameters, before those of its file, also if its file
// is read twice. A stop text that is a token ends an answer, and another one is named.
func TestModelOfOllamasHasItsParameters(t *testing.T) {
	file, err := os.ReadFile("testdata/coarse.gguf")
	if err != nil {
		t.Fatal(err)
	}
	const stop = '&' - '!' // the id of a token, which becomes special
	const types = "tokenizer.ggml.token_type"
	at := strings.Index(string(file), types)
	if at < 0 {
		t.Fatal("the file has no types of tokens")
	}
	file[at+len(types)+16+4*stop] = 3 // after the types of the array and its length
	file = addNumbers(file, map[string]float32{"general.sampling.temp": 0.7,
		"general.sampling.top_k": 20})
	model, params := strings.Repeat("0a", 32), strings.Repeat("0b", 32)
	blob := writeGGUF(t, file, "blobs", "sha256-"+model)
	store := filepath.Dir(filepath.Dir(blob))
	for path, text := range map[string]string{
		"blobs/sha256-" + params: `{"temperature":0.25,"top_p":2,"stop":["&","User:"]}`,
		"manifests/registry.ollama.ai/library/tiny/8b": `{"layers":[
			{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:` + model + `"},
			{"mediaType":"application/vnd.ollama.image.params","digest":"sha256:` + params + `"}]}`,
	} {
		path = filepath.Join(store, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := models.Load(t.Context(), enginetest.NewThread(t), blob, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	d := b.Defaults
	if *d.Temperature != 0.25 {
		t.Errorf("*d.Temperature = %v, want 0.25", *d.Temperature)
	}
	if *d.TopK != 20 {
		t.Errorf("*d.TopK = %v, want 20", *d.TopK)
	}
	if d.TopP != nil {
		t.Errorf("d.TopP = %v, want nil", d.TopP)
	}
	if len(d.Ignored) != 2 {
		t.Fatalf("len(d.Ignored) = %v, want 2", len(d.Ignored))
	}
	if !strings.Contains(d.Ignored[0], "top_p is not between 0 and 1") {
		t.Errorf(`d.Ignored[0] = %q, want it to have "top_p is not between 0 and 1"`,
			d.Ignored[0])
	}
	if !strings.Contains(d.Ignored[1], `the stop texts ["User:"] are ignored`) {
		t.Errorf("d.Ignored[1] = %q, want it to have %q",
			d.Ignored[1], `the stop texts ["User:"] are ignored`)
	}
	if ends := b.Model.Config().EOS; !slices.Contains(ends, stop) || len(ends) != 2 {
		t.Errorf("answers end at %v", ends)
	}
}

// TestGemma3HasNoCap loads a file of Gemma 3 that names a cap of the logits by mistake, as Ollama's do.
// Its logits are those of a file without.
func TestGemma3HasNoCap(t *testing.T) {
	const plain = "testdata/gguf/gemma3.gguf"
	file, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	capped := writeGGUF(t, addNumbers(file, map[string]float32{
		"gemma3.final_logit_softcapping": 30}), "capped.gguf")
	thread := enginetest.NewThread(t)
	var rows [][]float32
	for _, path := range []string{plain, capped} {
		b, err := models.Load(t.Context(), thread, path, models.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		caches := b.Model.NewCaches(cache.Options{})
		defer freeCaches(t, thread, caches)
		rows = append(rows, forward(t, thread, b.Model, caches, []int32{1, 2, 3}, 8)[2])
	}
	if !slices.Equal(rows[0], rows[1]) {
		t.Error("the cap changes the logits")
	}
}

// TestInspectionReadsNoManifests counts what the inspection of a file takes in stores of Ollama's with
// few models and with many: a list of all models inspects each of them.
func TestInspectionReadsNoManifests(t *testing.T) {
	file, err := os.ReadFile("testdata/gguf/llama.gguf")
	if err != nil {
		t.Fatal(err)
	}
	const count = 1000
	var takes []float64
	for _, size := range []int{1, count} {
		blob := writeGGUF(t, file, "blobs", "sha256-"+strings.Repeat("0a", 32))
		dir := filepath.Join(filepath.Dir(filepath.Dir(blob)), "manifests/registry.ollama.ai/library/m")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range size {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte(`{"layers":[]}`),
				0o644); err != nil {
				t.Fatal(err)
			}
		}
		takes = append(takes, testing.AllocsPerRun(3, func() {
			if _, err := models.Inspect(blob); err != nil {
				t.Error(err)
			}
		}))
	}
	if takes[1] > takes[0]+count {
		t.Errorf("it takes %v allocations in a store of one model, %v in a store of %d", takes[0],
			takes[1], count)
	}
}

// TestTowersOfAGGUFFileAreNamed adds a tensor of what lets a model see, as Ollama's files have it.
func TestTowersOfAGGUFFileAreNamed(t *testing.T) {
	whole, err := os.ReadFile("testdata/gguf/gemma3.gguf")
	if err != nil {
		t.Fatal(err)
	}
	const name = "v.encoder_norm.weight.of.a.tower" // so that its entry has 64 bytes
	entry := binary.LittleEndian.AppendUint64(nil, uint64(len(name)))
	entry = append(entry, name...)
	entry = binary.LittleEndian.AppendUint32(entry, 1)                  // dimensions
	entry = binary.LittleEndian.AppendUint64(entry, 8)                  // elements
	entry = binary.LittleEndian.AppendUint32(entry, 0)                  // F32
	first := strings.Index(string(whole), "token_embd.weight") - 8      // the entry of another
	entry = binary.LittleEndian.AppendUint64(entry, uint64(len(whole))) // beyond the others
	file := slices.Concat(whole[:first], entry, whole[first:], make([]byte, len(whole)))
	binary.LittleEndian.PutUint64(file[8:], binary.LittleEndian.Uint64(whole[8:])+1)
	path := filepath.Join(t.TempDir(), "seeing.gguf")
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := models.Inspect(path)
	if err != nil || s.LeftOut != "images" {
		t.Errorf("%q is left out, %v", s.LeftOut, err)
	}
	b, err := models.Load(context.Background(), enginetest.NewThread(t), path, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if b.Info.LeftOut != "images" {
		t.Errorf("%q is left out of what was loaded", b.Info.LeftOut)
	}
}
