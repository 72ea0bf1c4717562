package models_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/models"
)

// TestGptOssRefusesUnsupportedConfigs expects an error that names what is wrong.
func TestGptOssRefusesUnsupportedConfigs(t *testing.T) {
	for _, c := range []struct {
		name   string
		fields map[string]any
		want   string
	}{
		{"gpt-oss", map[string]any{"num_experts_per_tok": 5}, "num_experts_per_tok is 5"},
		{"gpt-oss", map[string]any{"num_local_experts": 7}, "config.json asks for [7 64]"},
		{"gpt-oss", map[string]any{"sliding_window": 0}, "sliding_window is 0"},
		{"gpt-oss", map[string]any{"layer_types": []string{"full_attention"}}, "1 layers of 4"},
		{"gpt-oss", map[string]any{"layer_types": []string{"full_attention", "conv",
			"full_attention", "conv"}}, `"conv" is not supported`},
		{"gpt-oss", map[string]any{"attention_bias": false}, "attention_bias false"},
		{"gpt-oss", map[string]any{"swiglu_limit": -1.0}, "swiglu_limit is -1"},
		{"gpt-oss", map[string]any{"swiglu_alpha": 0.0}, "swiglu_alpha"},
		{"gpt-oss", map[string]any{"hidden_act": "gelu"}, `"gelu" is not supported`},
		{"gpt-oss-published", map[string]any{"intermediate_size": 96},
			"gate_up_proj.weight has shape [6 128 2 16], config.json asks for [6 192 64]"},
		{"gpt-oss-published", map[string]any{
			"quantization_config": map[string]any{"quant_method": "gptq"}}, `quantized by "gptq"`},
	} {
		files := recorded(t, c.name)
		setConfig(files, c.fields)
		_, err := models.OpenFS(files, c.name).Summary()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want one that has %q", c.fields, err, c.want)
		}
	}
	files := recorded(t, "gpt-oss-published")
	editHeader(files, func(header string) string {
		return strings.Replace(header, "0.mlp.experts.down_proj_scales", "0.mlp.experts.down_proj_scalez", 1)
	})
	_, err := models.OpenFS(files, "gpt-oss").Summary()
	if err == nil || !strings.Contains(err.Error(), "down_proj.scales") {
		t.Errorf("without scales: %v", err)
	}
}

// TestGptOssDefaults expects the sliding layers of a config.json that does not list them.
func TestGptOssDefaults(t *testing.T) {
	files := recorded(t, "gpt-oss")
	setConfig(files, map[string]any{"layer_types": nil, "swiglu_limit": nil, "rope_theta": nil,
		"attention_bias": nil})
	got, err := models.OpenFS(files, "gpt-oss").Summary()
	if err != nil {
		t.Fatal(err)
	}
	want, err := models.OpenFS(recorded(t, "gpt-oss"), "gpt-oss").Summary()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := got.Footprint.SequenceBytes(4096, true), want.Footprint.SequenceBytes(4096, true); got != want {
		t.Errorf("a text takes %d bytes, want %d", got, want)
	}
}

// The blocks of published experts are bytes. Words of 32 bits may hold them too.
func TestGptOssBlocksOfWords(t *testing.T) {
	th := enginetest.NewThread(t)
	run := func(files fstest.MapFS) [][]float32 {
		b, err := models.OpenFS(files, "").Load(t.Context(), th, models.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		caches := b.Model.NewCaches(cache.Options{})
		defer freeCaches(t, th, caches)
		return forward(t, th, b.Model, caches, []int32{1, 2, 3, 4}, 4)
	}
	files := recorded(t, "gpt-oss-published")
	want := run(files)
	editHeader(files, func(header string) string {
		return strings.NewReplacer(`"U8","shape":[6,64,2,16]`, `"U32","shape":[6,64,2,4]`,
			`"U8","shape":[6,128,2,16]`, `"U32","shape":[6,128,2,4]`).Replace(header)
	})
	if got := run(files); !slices.EqualFunc(got, want, slices.Equal) {
		t.Error("the logits are others")
	}
}
