package models_test

import (
	"fmt"
	"slices"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models"
)

// TestEveryArchitectureLoadsAndGenerates loads a folder of each architecture and generates with it.
func TestEveryArchitectureLoadsAndGenerates(t *testing.T) {
	th := enginetest.NewThread(t)
	before := th.Memory().Active
	for _, arch := range []string{"llama", "qwen3", "qwen3_5", "gemma3_text"} {
		t.Run(arch, func(t *testing.T) {
			dir := enginetest.TinyModel(t, arch)
			loaded := int64(0)
			b, err := models.Load(t.Context(), th, dir,
				models.Options{Progress: func(done, total int64) {
					if done <= loaded || done > total {
						t.Errorf("progress went from %d to %d of %d bytes", loaded, done, total)
					}
					loaded = done
				}})
			if err != nil {
				t.Fatal(err)
			}
			if b.Info.Parameters*4 != b.Info.FileBytes || b.Info.Bytes < b.Info.FileBytes ||
				loaded != b.Info.FileBytes {
				t.Errorf("%d parameters, %d bytes in the file, %d loaded",
					b.Info.Parameters, b.Info.FileBytes, loaded)
			}
			if b.Info.Architecture != arch || b.Info.ContextLength != 4096 ||
				b.Info.Quantization != "" {
				t.Errorf("info is %+v", b.Info)
			}
			if got := b.Model.Config().EOS; !slices.Equal(got, []int32{256}) {
				t.Errorf("eos is %v", got)
			}
			chat, err := b.Chat.Template(false)
			if err != nil {
				t.Fatal(err)
			}
			prompt, err := chat.Render(t.Context(), []byte(`{"messages":[{"role":"user","content":"hi"}],"add_generation_prompt":true}`))
			if err != nil || prompt != "user: hi\nassistant: " {
				t.Errorf("prompt %q, %v", prompt, err)
			}
			caches := b.Model.NewCaches(cache.Options{})
			tokens := []int32{1, 2, 3}
			distinct := map[int32]bool{}
			for range 40 {
				rows := forward(t, th, b.Model, caches, tokens, 512)
				tokens = []int32{argmax(rows[len(rows)-1])}
				distinct[tokens[0]] = true
			}
			if len(distinct) < 5 {
				t.Errorf("40 tokens with only %d different ones", len(distinct))
			}
			freeCaches(t, th, caches)
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if after := th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d after everything was closed", before, after)
	}
}

// TestProgressNeverPassesTheEnd loads the recorded models. A tensor that is read twice counts twice.
func TestProgressNeverPassesTheEnd(t *testing.T) {
	th := enginetest.NewThread(t)
	for _, name := range []string{"gemma4-e", "glm4-moe-lite-published", "glm4-moe-lite-4bit-joined",
		"gpt-oss-published", "lfm2-moe", "nemotron-h-published", "qwen3-next-published",
		"qwen35-published"} {
		var loaded, all int64
		b, err := models.OpenFS(recorded(t, name), "").Load(t.Context(), th, models.Options{
			Progress: func(done, total int64) { loaded, all = done, total }})
		if err != nil {
			t.Fatal(err)
		}
		if loaded == 0 || loaded > all {
			t.Errorf("%s: %d of %d bytes are loaded", name, loaded, all)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestTapsComeInTheOrderAskedFor asks for layer outputs out of order and twice.
func TestTapsComeInTheOrderAskedFor(t *testing.T) {
	th := enginetest.NewThread(t)
	b, err := models.Load(t.Context(), th, enginetest.TinyModel(t, "qwen3"), models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	taps := func(layers ...int) (rows [][]float32) {
		caches := b.Model.NewCaches(cache.Options{})
		defer freeCaches(t, th, caches)
		enginetest.Do(t, th, func(s *mlx.Scope) error {
			q := lm.Sequence{Tokens: mlx.New(s, []int32{5, 6, 7}, 3), N: 3, Caches: caches}
			out := b.Model.Forward(s, lm.Batch{q}, layers)
			if len(out.Taps) != len(layers) || !slices.Equal(out.Hidden.Shape(), []int{3, 64}) {
				return fmt.Errorf("%d taps of %d, hidden %v",
					len(out.Taps), len(layers), out.Hidden.Shape())
			}
			for _, tap := range out.Taps {
				if !slices.Equal(tap.Shape(), []int{3, 64}) {
					t.Errorf("tap has shape %v", tap.Shape())
				}
				flat, err := mlx.Read[float32](s, tap)
				if err != nil {
					return err
				}
				rows = append(rows, flat)
			}
			return nil
		})
		return rows
	}
	got, first, last := taps(2, 0, 2), taps(0)[0], taps(2)[0]
	if slices.Equal(first, last) {
		t.Fatal("two layers have the same output")
	}
	if !slices.Equal(got[0], last) || !slices.Equal(got[1], first) || !slices.Equal(got[2], last) {
		t.Error("taps are not those of the layers asked for, in order")
	}
	if none := taps(); none != nil {
		t.Errorf("%d taps that were not asked for", len(none))
	}
}

// TestMistralWindowIsOfAllLayers expects that sliding_window gives every layer a window, like
// layer_types. Without it, and in a Llama, every layer attends to all positions.
func TestMistralWindowIsOfAllLayers(t *testing.T) {
	th := enginetest.NewThread(t)
	text := make([]int32, 60)
	for i := range text {
		text[i] = int32(i * 37 % 128)
	}
	last := func(fields map[string]any) []float32 {
		files := recorded(t, "llama")
		setConfig(files, fields)
		return logitsAfter(t, th, files, text, 1)
	}
	full := last(nil)
	window := last(map[string]any{"sliding_window": 16,
		"layer_types": []string{"sliding_attention", "sliding_attention"}})
	if slices.Equal(full, window) {
		t.Fatal("a window of 16 positions makes no difference")
	}
	for _, c := range []struct {
		name   string
		fields map[string]any
		want   []float32
	}{
		{"mistral with a window", map[string]any{"model_type": "mistral", "sliding_window": 16}, window},
		{"mistral without", map[string]any{"model_type": "mistral"}, full},
		{"mistral with layer types", map[string]any{"model_type": "mistral", "sliding_window": 16, "layer_types": []string{"full_attention", "full_attention"}}, full},
		{"llama without layer types", map[string]any{"sliding_window": 16}, full},
	} {
		if !slices.Equal(last(c.fields), c.want) {
			t.Errorf("%s: other logits", c.name)
		}
	}
}

// TestRopeParametersWinOverRopeScaling puts rope_theta and rope_scaling into rope_parameters.
func TestRopeParametersWinOverRopeScaling(t *testing.T) {
	th := enginetest.NewThread(t)
	for _, name := range []string{"llama", "qwen3"} {
		last := func(fields map[string]any) []float32 {
			files := recorded(t, name)
			setConfig(files, fields)
			b, err := models.OpenFS(files, "").Load(t.Context(), th, models.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			caches := b.Model.NewCaches(cache.Options{})
			defer freeCaches(t, th, caches)
			rows := forward(t, th, b.Model, caches, []int32{1, 2, 3, 4, 5}, 5)
			return rows[4]
		}
		linear := map[string]any{"rope_type": "linear", "factor": 4}
		want := last(map[string]any{"rope_theta": 5000, "rope_scaling": linear})
		newer := map[string]any{"rope_type": "linear", "factor": 4, "rope_theta": 5000}
		other := map[string]any{"rope_type": "linear", "factor": 2}
		if got := last(map[string]any{"rope_theta": nil,
			"rope_parameters": newer}); !slices.Equal(got, want) {
			t.Errorf("%s: the newer form means something else", name)
		}
		if got := last(map[string]any{"rope_theta": nil, "rope_parameters": newer,
			"rope_scaling": other}); !slices.Equal(got, want) {
			t.Errorf("%s: rope_parameters does not win", name)
		}
	}
}
