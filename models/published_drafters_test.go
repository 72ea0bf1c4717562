package models_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"

	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/models"
	"tandem/models/dflash"
)

// A publishedDrafter has the sizes of one that people download, and of the model it is for.
type publishedDrafter struct {
	name   string
	of     lm.Config // sizes of the published target
	target string    // a recording of its family

	layers, window int // all layers but the last have the window; 0 = none has
	inner          int
	heads, kv      int
	block          int
	taps           []int
	fields         map[string]any // of its config.json, beside these
}

var publishedDrafters = []publishedDrafter{
	{"z-lab/gemma-4-26B-A4B-it-DFlash", sizes(262144, 2816, 30), "gemma4-moe-4bit",
		5, 2048, 5632, 32, 8, 16, []int{1, 6, 11, 17, 22, 27}, gemmaFields},
	{"z-lab/gemma-4-31B-it-DFlash", sizes(262144, 5376, 60), "gemma4",
		5, 2048, 10752, 64, 8, 16, []int{1, 12, 23, 35, 46, 57}, gemmaFields},
	{"z-lab/gpt-oss-20b-DFlash", sizes(201088, 2880, 24), "gpt-oss-published",
		8, 0, 7680, 64, 8, 8, []int{1, 6, 11, 16, 21}, gptOSSFields},
	{"z-lab/gpt-oss-120b-DFlash", sizes(201088, 2880, 36), "gpt-oss-mxfp4",
		8, 0, 7680, 64, 8, 10, []int{1, 9, 17, 25, 33}, gptOSSFields},
	{"z-lab/LLaMA3.1-8B-Instruct-DFlash-UltraChat", sizes(128256, 4096, 32), "llama-llama3",
		5, 0, 12288, 32, 8, 10, []int{1, 8, 15, 22, 29}, nil},
	{"z-lab/Qwen3-4B-DFlash-b16", sizes(151936, 2560, 36), "qwen3",
		5, 0, 9728, 32, 8, 16, []int{1, 9, 17, 25, 33}, nil},
	{"z-lab/Qwen3-8B-DFlash-b16", sizes(151936, 4096, 36), "qwen3-untied",
		5, 0, 12288, 32, 8, 16, []int{1, 9, 17, 25, 33}, nil},
	{"z-lab/Qwen3-Coder-30B-A3B-DFlash", sizes(151936, 2048, 48), "qwen3-moe",
		8, 0, 6144, 32, 4, 16, []int{1, 12, 23, 34, 45}, map[string]any{
			"use_sliding_window": false, "sliding_window": nil, "max_window_layers": 8,
			"rope_theta": 1e7, "rope_scaling": nil, "tie_word_embeddings": false}},
	{"z-lab/Qwen3-Coder-Next-DFlash", sizes(151936, 2048, 48), "qwen3-next-moe",
		8, 0, 6144, 32, 4, 16, []int{3, 11, 23, 35, 43}, map[string]any{"rope_theta": 1e7}},
	{"z-lab/Qwen3.5-4B-DFlash", sizes(248320, 2560, 32), "qwen35",
		6, 4096, 9216, 32, 8, 16, []int{1, 5, 9, 13, 17, 21, 25, 29}, nil},
	{"z-lab/Qwen3.5-9B-DFlash", sizes(248320, 4096, 32), "qwen35-4bit",
		6, 4096, 12288, 32, 8, 16, []int{1, 5, 9, 13, 17, 21, 25, 29}, nil},
	{"z-lab/Qwen3.5-35B-A3B-DFlash", sizes(248320, 2048, 40), "qwen35-moe",
		6, 4096, 6144, 32, 8, 16, []int{1, 6, 11, 16, 22, 27, 32, 37}, nil},
	{"z-lab/Qwen3.6-27B-DFlash", sizes(248320, 5120, 64), "qwen35-published",
		5, 2048, 17408, 32, 8, 16, []int{1, 16, 31, 46, 61}, nil},
	{"z-lab/Qwen3.6-35B-A3B-DFlash", sizes(248320, 2048, 40), "qwen35-moe-4bit",
		6, 4096, 6144, 32, 8, 16, []int{1, 6, 11, 16, 22, 27, 32, 37}, nil},
}

func sizes(vocab, hidden, layers int) lm.Config {
	return lm.Config{VocabSize: vocab, HiddenSize: hidden, Layers: layers}
}

var (
	gemmaFields = map[string]any{"final_logit_softcapping": 30.0, "rope_theta": 1e6,
		"use_sliding_window": true, "max_window_layers": 5, "tie_word_embeddings": false}
	gptOSSFields = map[string]any{"model_type": "gpt_oss", "attention_bias": true,
		"rms_norm_eps": 1e-5, "rope_theta": 150000.0,
		"rope_scaling": map[string]any{"rope_type": "yarn", "factor": 32.0,
			"original_max_position_embeddings": 4096}}
)

// config returns the fields of config.json of a drafter of that shape for a target.
func (p *publishedDrafter) config(target lm.Config, taps []int) map[string]any {
	fields := map[string]any{
		"vocab_size": target.VocabSize, "hidden_size": target.HiddenSize,
		"num_target_layers": target.Layers, "num_hidden_layers": p.layers, "block_size": p.block,
		"layer_types":    slices.Repeat([]string{"full_attention"}, p.layers),
		"sliding_window": nil,
		"dflash_config": map[string]any{"mask_token_id": target.VocabSize - 1,
			"target_layer_ids": taps},
	}
	if p.window > 0 {
		fields["layer_types"] = append(slices.Repeat([]string{"sliding_attention"}, p.layers-1),
			"full_attention")
		fields["sliding_window"] = p.window
	}
	maps.Copy(fields, p.fields)
	return fields
}

// TestPublishedDraftersPair checks the configs of published drafters against the sizes of the models
// that they are for. A mask token of their own does not matter here.
func TestPublishedDraftersPair(t *testing.T) {
	for _, p := range publishedDrafters {
		fields := p.config(p.of, p.taps)
		maps.Copy(fields, map[string]any{"architectures": []string{"DFlashDraftModel"},
			"intermediate_size": p.inner, "num_attention_heads": p.heads,
			"num_key_value_heads": p.kv, "head_dim": 128})
		for name, value := range map[string]any{"rms_norm_eps": 1e-6, "rope_theta": 1e6} {
			if fields[name] == nil {
				fields[name] = value
			}
		}
		text, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		if err := dflash.Pair(text, p.of); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
		other := p.of
		other.Layers--
		if err := dflash.Pair(text, other); err == nil {
			t.Errorf("%s pairs with a model of %d layers", p.name, other.Layers)
		}
	}
}

// TestPublishedDraftersDraftForTheirFamilies pairs random drafters, made by published configs, with
// recorded models. They tap as many layers as there are.
func TestPublishedDraftersDraftForTheirFamilies(t *testing.T) {
	th := enginetest.NewThread(t)
	before := th.Memory().Active
	for _, p := range publishedDrafters {
		b, err := models.OpenFS(openFixture(t, p.target).files, "").Load(t.Context(), th, models.Options{Dtype: models.DtypeFloat32})
		if err != nil {
			t.Fatal(err)
		}
		target := b.Model.Config()
		var taps []int
		for i := range min(target.Layers, len(p.taps)) {
			taps = append(taps, i)
		}
		fields := p.config(target, taps)
		fields["num_attention_heads"], fields["num_key_value_heads"] = p.heads/p.kv, 1
		d, err := models.LoadDrafter(t.Context(), b, enginetest.TinyDrafter(t, fields),
			models.DrafterSettings{}, models.Options{})
		if err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		logits := draftOnce(t, th, b.Model, d.Block)
		if slices.Max(logits) == slices.Min(logits) {
			t.Errorf("%s drafts nothing", p.name)
		}
		// The target's head bends what a drafter says too.
		if bound, _ := p.fields["final_logit_softcapping"].(float64); bound > 0 &&
			max(slices.Max(logits), -slices.Min(logits)) > float32(bound) {
			t.Errorf("%s: a draft has a logit beyond the softcap", p.name)
		}
		if err := errors.Join(d.Close(), b.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if after := th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d", before, after)
	}
}

// TestMuseGlimmerPairsWithItsDrafter does the same for meta-models/Muse-Glimmer-30B-assistant. Its
// config names no sizes of its target, and takes embeddings as they are stored.
func TestMuseGlimmerPairsWithItsDrafter(t *testing.T) {
	const config = `{"architectures": ["MuseGlimmerAssistantModel"], "hidden_size": 6656,
		"model_type": "muse_glimmer_assistant", "num_hidden_layers": 5, "intermediate_size": 19968,
		"num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "rms_norm_eps": 1e-5,
		"rope_parameters": {"rope_type": "default", "rope_theta": 500000}, "hidden_act": "silu",
		"sliding_window": 2048, "block_size": 16, "mask_token_id": 201818,
		"max_position_embeddings": 131072, "target_layer_ids": [1, 13, 25, 37, 49]}`
	if err := dflash.Pair([]byte(config), sizes(202048, 6656, 52)); err != nil {
		t.Error(err)
	}
	for _, other := range []lm.Config{sizes(202048, 6656, 49), sizes(202048, 6655, 52),
		sizes(201818, 6656, 52)} {
		if err := dflash.Pair([]byte(config), other); err == nil {
			t.Errorf("it pairs with %+v", other)
		}
	}

	th := enginetest.NewThread(t)
	b, err := models.OpenFS(openFixture(t, "glimmer").files, "").Load(t.Context(), th, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	target := b.Model.Config()
	dir := enginetest.TinyDrafter(t, map[string]any{
		"architectures": []string{"MuseGlimmerAssistantModel"}, "hidden_size": target.HiddenSize,
		"vocab_size": nil, "num_target_layers": nil, "dflash_config": nil, "layer_types": nil,
		"num_hidden_layers": 3, "target_layer_ids": []int{0, 1, target.Layers - 1},
		"mask_token_id": target.VocabSize - 1, "block_size": 16,
	})
	d, err := models.LoadDrafter(t.Context(), b, dir, models.DrafterSettings{}, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if got := d.Block.Variants(); len(got) != 1 {
		t.Errorf("it leaves %v open", got)
	}
	logits := draftOnce(t, th, b.Model, d.Block)
	if slices.Max(logits) == slices.Min(logits) {
		t.Error("it drafts nothing")
	}
}
