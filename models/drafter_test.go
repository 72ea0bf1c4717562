package models_test

import (
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models"
	"tandem/models/dflash"
)

// loadTiny loads a tiny model.
func loadTiny(t *testing.T, th *mlx.Thread, arch string) *models.Bundle {
	t.Helper()
	b, err := models.Load(t.Context(), th, enginetest.TinyModel(t, arch), models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDrafterDraftsForEveryArchitecture gives the drafter a prompt's taps. The target computes the
// logits of its block.
func TestDrafterDraftsForEveryArchitecture(t *testing.T) {
	th := enginetest.NewThread(t)
	before := th.Memory().Active
	dir := enginetest.TinyDrafter(t, nil)
	for arch, variants := range map[string][]models.DrafterSettings{
		"llama": {{Embedding: dflash.Scaled, Sliding: dflash.Causal},
			{Embedding: dflash.Scaled, Sliding: dflash.Bidirectional}},
		"qwen3": {{Embedding: dflash.Scaled, Sliding: dflash.Causal},
			{Embedding: dflash.Scaled, Sliding: dflash.Bidirectional}},
		"gemma3_text": {{Embedding: dflash.Scaled, Sliding: dflash.Causal},
			{Embedding: dflash.Raw, Sliding: dflash.Causal},
			{Embedding: dflash.Scaled, Sliding: dflash.Bidirectional},
			{Embedding: dflash.Raw, Sliding: dflash.Bidirectional}},
	} {
		b := loadTiny(t, th, arch)
		d, err := models.LoadDrafter(t.Context(), b, dir, models.DrafterSettings{},
			models.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Block.Variants(); !slices.Equal(got, variants) {
			t.Errorf("%s leaves %v open, want %v", arch, got, variants)
		}
		if want := (models.Info{Architecture: "DFlashDraftModel", Parameters: 82368,
			FileBytes: 4 * 82368, Bytes: d.Info.Bytes, Dtype: mlx.Float32}); d.Info != want ||
			d.Info.Bytes < d.Info.FileBytes {
			t.Errorf("%s: the drafter is %+v, want %+v", arch, d.Info, want)
		}
		standard := draftOnce(t, th, b.Model, d.Block)
		for i, set := range variants {
			block, err := d.Block.With(set)
			if err != nil {
				t.Fatal(err)
			}
			if got := draftOnce(t, th, b.Model, block); slices.Equal(got, standard) != (i == 0) {
				t.Errorf("%s: drafts under %v are those of the default: %v", arch, set, i != 0)
			}
		}
		if err := errors.Join(d.Close(), b.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if after := th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d", before, after)
	}
}

// second returns the config of a DFlash 2 drafter with another field in its dflash_config.
func second(name string, value any) map[string]any {
	return map[string]any{"architectures": []string{"DFlash2DraftModel"},
		"dflash_config": with(map[string]any{
			"mask_token_id": 249, "target_layer_ids": []int{0, 2}, "conv_kernel_size": 3,
			"conv_group_size": 16, "selector_rank": 32, "selector_top_k": 16,
		}, name, value)}
}

// with returns fields with another one.
func with(fields map[string]any, name string, value any) map[string]any {
	fields = maps.Clone(fields)
	fields[name] = value
	return fields
}

// TestSecondDFlashLoads expects a DFlash 2 drafter to load for a model and to draft, also quantized, and
// with tables that are named without .weight.
func TestSecondDFlashLoads(t *testing.T) {
	th := enginetest.NewThread(t)
	b := loadTiny(t, th, "qwen3")
	for _, bits := range []int{0, 4, 8} {
		var fields map[string]any
		if bits > 0 {
			fields = map[string]any{"quantization": map[string]any{"group_size": 32, "bits": bits}}
		}
		dir := enginetest.TinyDFlash2(t, 259, []int{0, 2}, fields)
		d, err := models.LoadDrafter(t.Context(), b, dir, models.DrafterSettings{}, models.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Block.Candidates(); got != 16 {
			t.Errorf("%d candidates, want 16", got)
		}
		for _, logit := range draftOnce(t, th, b.Model, d.Block) {
			if !(math.Abs(float64(logit)) <= 20) {
				t.Fatalf("%d bits: a logit of %g is capped at 20", bits, logit)
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// TestDSparkLoads expects a DSpark drafter to load for a model and to draft, also quantized.
func TestDSparkLoads(t *testing.T) {
	th := enginetest.NewThread(t)
	b := loadTiny(t, th, "qwen3")
	before := th.Memory().Active
	for _, bits := range []int{0, 4, 8} {
		fields := map[string]any{"final_logit_softcapping": 20.0}
		if bits > 0 {
			fields["quantization"] = map[string]any{"group_size": 32, "bits": bits}
		}
		dir := enginetest.TinyDSpark(t, 259, []int{0, 2}, fields)
		if !isDrafter(dir) {
			t.Errorf("%d bits: the folder is not known as a drafter", bits)
		}
		d, err := models.LoadDrafter(t.Context(), b, dir, models.DrafterSettings{}, models.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m := d.Block
		if !m.Markov() {
			t.Errorf("%d bits: m.Markov() = false, want true", bits)
		}
		if m.Candidates() != 0 {
			t.Errorf("%d bits: m.Candidates() = %v, want 0", bits, m.Candidates())
		}
		if m.BlockSize() != 9 {
			t.Errorf("%d bits: m.BlockSize() = %v, want 9", bits, m.BlockSize())
		}
		if d.Info.Architecture != "Qwen3DSparkModel" {
			t.Errorf(`%d bits: d.Info.Architecture = %q, want "Qwen3DSparkModel"`, bits, d.Info.Architecture)
		}
		if len(m.Variants()) != 1 {
			t.Errorf("%d bits: len(m.Variants()) = %v, want 1", bits, len(m.Variants()))
		}
		for _, logit := range draftOnce(t, th, b.Model, d.Block) {
			if !(math.Abs(float64(logit)) <= 20) {
				t.Fatalf("%d bits: a logit of %g is capped at 20", bits, logit)
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if after := th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d", before, after)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// spark returns the fields of a DSpark drafter's config, with another one.
func spark(name string, value any) map[string]any {
	return with(map[string]any{"architectures": []string{"Qwen3DSparkModel"}, "markov_rank": 32}, name, value)
}

// TestDrafterIsPackedAsItIsLoaded expects matrices and tables in fewer bits, and nearly the same logits.
func TestDrafterIsPackedAsItIsLoaded(t *testing.T) {
	th := enginetest.NewThread(t)
	b := loadTiny(t, th, "qwen3")
	dir := enginetest.TinyDFlash2(t, 259, []int{0, 2}, nil)
	var logits [3][]float32
	var bytes [3]int64
	for i, bits := range []int{0, 8, 4} {
		d, err := models.LoadDrafter(t.Context(), b, dir, models.DrafterSettings{},
			models.Options{Bits: bits})
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"", "8-bit", "4-bit"}[i]; d.Info.Quantization != want {
			t.Errorf("in %d bits it is %q, want %q", bits, d.Info.Quantization, want)
		}
		logits[i], bytes[i] = draftOnce(t, th, b.Model, d.Block), d.Info.Bytes
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	off := func(i int) (off float64) {
		for j, v := range logits[i] {
			off += math.Abs(float64(v-logits[0][j])) / float64(len(logits[i]))
		}
		return off
	}
	t.Logf("%d bytes; logits off by %.3f and %.3f on average", bytes, off(1), off(2))
	if !(off(1) > 0 && off(1) < 0.5 && off(2) > off(1)) || bytes[1] > bytes[0]/2 || bytes[2] > bytes[1] {
		t.Errorf("%d bytes; logits off by %g and %g on average", bytes, off(1), off(2))
	}
	if _, err := models.LoadDrafter(t.Context(), b, dir, models.DrafterSettings{},
		models.Options{Bits: 3}); err == nil || !strings.Contains(err.Error(), "in 4 or 8 bits, not 3") {
		t.Errorf("in 3 bits: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// TestCutHeadSaysTheSameOfItsTokens expects the logits of the whole head, of plain and quantized heads and
// of a drafter of each architecture, in the cut one.
func TestCutHeadSaysTheSameOfItsTokens(t *testing.T) {
	th := enginetest.NewThread(t)
	ids := []int32{0, 3, 4, 97, 98, 99, 200, 258}
	packing := map[string]any{"quantization": map[string]any{"group_size": 32, "bits": 4}}
	for _, c := range []struct {
		name string
		of   map[string]any
	}{{"llama", nil}, {"qwen3", nil}, {"qwen3", packing}, {"qwen3", map[string]any{"tie_word_embeddings": true}}} {
		b, err := models.Load(t.Context(), th, enginetest.TinyModel(t, c.name, c.of), models.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{enginetest.TinyDrafter(t, nil),
			enginetest.TinyDFlash2(t, 259, []int{0, 2}, nil)} {
			var logits [2][]float32
			for i, list := range [][]int32{nil, ids} {
				if err := addIDs(t, mlx.Int32, list...)(dir); err != nil {
					t.Fatal(err)
				}
				d, err := models.LoadDrafter(t.Context(), b, dir, models.DrafterSettings{},
					models.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if logits[i] = draftOnce(t, th, b.Model, d.Block); list == nil && d.Block.Vocabulary() != nil {
					t.Errorf("%s: the head was cut without a list", dir)
				}
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}
			for i, got := range logits[1] {
				want := logits[0][i/len(ids)*260+int(ids[i%len(ids)])]
				if !(math.Abs(float64(got-want)) < 0.01) { // rows of a plain head may be held in 8 bits
					t.Fatalf("%s %v: row %d says %g of token %d, want %g", c.name, c.of, i/len(ids),
						got, ids[i%len(ids)], want)
				}
			}
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// addIDs adds the list of a cut head to a drafter's weights, in a type. An empty one changes nothing.
func addIDs(t *testing.T, d mlx.Dtype, ids ...int32) func(dir string) error {
	return func(dir string) error {
		if len(ids) > 0 {
			enginetest.CutDrafterHead(t, dir, d, ids...)
		}
		return nil
	}
}

// draftOnce returns the logits of a block of 7 after a prompt of 40 tokens.
func draftOnce(t *testing.T, th *mlx.Thread, m lm.Model, block *dflash.Model) []float32 {
	t.Helper()
	prompt := []byte("package main\n\nfunc main() { println(42) }")[:41]
	target, drafts := m.NewCaches(cache.Options{}), block.NewCaches(cache.Options{})
	var logits []float32
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		ids := make([]int32, len(prompt))
		for i, c := range prompt {
			ids[i] = int32(c)
		}
		n := len(ids) - 1
		out := m.Forward(s, lm.Batch{{Tokens: mlx.New(s, ids[:n], n), N: n, Caches: target}},
			block.Taps())
		block.Context(s, out.Taps, 0, drafts)
		hidden := block.Forward(s, nil, mlx.New(s, ids[n:], 1), 7, n, drafts)
		var err error
		logits, err = mlx.Read[float32](s, s.Contiguous(block.Unembed(s, hidden)))
		return err
	})
	freeCaches(t, th, target)
	freeCaches(t, th, drafts)
	vocab := m.Config().VocabSize
	if ids := block.Vocabulary(); ids != nil {
		vocab = ids.Dim(0)
	}
	if len(logits) != 7*vocab {
		t.Fatalf("%d logits of 7 rows", len(logits))
	}
	return logits
}

// TestUnfitDrafterIsRefused expects an error of one sentence and no memory left in use.
func TestUnfitDrafterIsRefused(t *testing.T) {
	th := enginetest.NewThread(t)
	b := loadTiny(t, th, "qwen3")
	before := th.Memory().Active
	nested := func(fields map[string]any) map[string]any {
		section := map[string]any{"mask_token_id": 259, "target_layer_ids": []int{0, 2}}
		for k, v := range fields {
			section[k] = v
		}
		return map[string]any{"dflash_config": section}
	}
	const other = ": take the drafter published for this model"
	for _, c := range []struct {
		name   string
		fields map[string]any
		spoil  func(dir string) error
		set    models.DrafterSettings
		code   models.Code
		want   string
	}{
		{name: "layer count", fields: map[string]any{"num_target_layers": 36}, code: models.CodeInvalid, want: "is made for a target with 36 layers, and this one has 3" + other},
		{name: "nested layer count", fields: map[string]any{"num_target_layers": nil, "dflash_config": map[string]any{"num_target_layers": 4, "mask_token_id": 1}}, code: models.CodeInvalid, want: "with 4 layers, and this one has 3"},
		{name: "hidden width", fields: map[string]any{"hidden_size": 32}, code: models.CodeInvalid, want: "with 32 hidden elements, and this one has 64" + other},
		{name: "vocabulary", fields: map[string]any{"vocab_size": 300}, code: models.CodeInvalid, want: "with 300 tokens of vocabulary, and this one has 260" + other},
		{name: "mask id", fields: nested(map[string]any{"mask_token_id": 260}), code: models.CodeInvalid, want: "mask_token_id is 260, outside the vocabulary of 260"},
		{name: "tap ids", fields: nested(map[string]any{"target_layer_ids": []int{1, 3}}), code: models.CodeInvalid, want: "reads layer 3 of its target, and this one has layers 0 to 2"},
		{name: "tap ids by no rule", fields: nested(map[string]any{"target_layer_ids": nil}), code: models.CodeInvalid, want: "target_layer_ids is missing, and 2 of the target's 3 layers can't be chosen by rule"},
		{name: "DFlash3", fields: map[string]any{"architectures": []string{"DFlash3DraftModel"}}, code: models.CodeUnsupported, want: `architecture ["DFlash3DraftModel"] is not supported, only DFlashDraftModel, DFlash2DraftModel, DFlashLagunaForCausalLM, DSparkDraftModel, Qwen3DSparkModel, Lfm2DSparkDraftModel and MuseGlimmerAssistantModel`},
		{name: "DFlash2 without its fields", fields: map[string]any{"architectures": []string{"DFlash2DraftModel"}}, code: models.CodeInvalid, want: "dflash_config.conv_kernel_size is 0, which is not between 1 and 1024"},
		{name: "groups that do not divide", fields: second("conv_group_size", 48), code: models.CodeInvalid, want: "conv_group_size is 48, which does not divide the 64 hidden elements"},
		{name: "candidates beyond the vocabulary", fields: with(second("selector_top_k", 256), "vocab_size", 250), code: models.CodeInvalid, want: "selector_top_k is 256, more than the 250 tokens"},
		{name: "too many candidates", fields: second("selector_top_k", 257), code: models.CodeInvalid, want: "selector_top_k is 257, which is not between 1 and 256"},
		{name: "negative scale", fields: second("input_embedding_scale", -1.0), code: models.CodeInvalid, want: "dflash_config.input_embedding_scale is -1, not above 0"},
		{name: "two directions", fields: with(second("causal", true), "is_causal", false), code: models.CodeInvalid, want: "is_causal is false, but causal is true in dflash_config"},
		{name: "another kernel", fields: second("conv_kernel_size", 2), spoil: weightsOf(t, second("selector_rank", 32)), code: models.CodeInvalid, want: "layers.0.attention_conv.base_kernel has shape [2 3 64], config.json asks for [2 2 64]"},
		{name: "selector of another rank", fields: second("selector_rank", 64), spoil: weightsOf(t, second("selector_rank", 32)), code: models.CodeInvalid, want: "candidate_selector.predecessor_codebook.weight has shape [260 32], config.json asks for [260 64]"},
		{name: "no selector", fields: second("selector_rank", 32), spoil: weightsOf(t, nil), code: models.CodeInvalid, want: "lacks 11 tensors (layers.0.attention_conv.base_kernel, "},
		{name: "a selector not asked for", spoil: weightsOf(t, second("selector_rank", 32)), code: models.CodeInvalid, want: "has unexpected 11 tensors (candidate_selector.hidden_projection.weight, "},
		{name: "DSpark of another head", fields: spark("markov_head_type", "gated"), code: models.CodeUnsupported, want: `markov_head_type "gated" is not supported, only vanilla`},
		{name: "DSpark of another activation", fields: spark("hidden_act", "gelu"), code: models.CodeUnsupported, want: `hidden_act "gelu" is not supported`},
		{name: "DSpark with sinks", fields: spark("attention_sink_bias", true), code: models.CodeUnsupported, want: "attention_sink_bias is not supported"},
		{name: "DSpark of another vocabulary", fields: spark("vocab_size", 300), code: models.CodeInvalid, want: "with 300 tokens of vocabulary, and this one has 260" + other},
		{name: "DSpark without its matrices", fields: spark("block_size", 7), spoil: weightsOf(t, nil), code: models.CodeInvalid, want: "lacks 2 tensors (markov_head.markov_w1.weight, markov_head.markov_w2.weight)"},
		{name: "DSpark of Gemma", fields: spark("architectures", []string{"Gemma4DSparkModel"}), code: models.CodeUnsupported, want: `architecture ["Gemma4DSparkModel"] is not supported`},
		{name: "Gemma 4's assistant", fields: map[string]any{"architectures": []string{"Gemma4AssistantModel"}}, code: models.CodeUnsupported, want: "Gemma4AssistantModel"},
		{name: "Muse Glimmer's without a mask", fields: map[string]any{"architectures": []string{"MuseGlimmerAssistantModel"}}, code: models.CodeInvalid, want: "mask_token_id is missing"},
		{name: "Muse Glimmer's mask", fields: map[string]any{"architectures": []string{"MuseGlimmerAssistantModel"}, "vocab_size": nil, "mask_token_id": 260}, code: models.CodeInvalid, want: "mask_token_id is 260, outside the model's vocabulary of 260"},
		{name: "a model", fields: map[string]any{"architectures": []string{"Qwen3ForCausalLM"}}, code: models.CodeUnsupported, want: "Qwen3ForCausalLM"},
		{name: "a cut head out of order", spoil: addIDs(t, mlx.Int32, 1, 5, 5), code: models.CodeInvalid, want: "draft_head.ids has 5 after 5, and its ids must ascend"},
		{name: "a cut head beyond", spoil: addIDs(t, mlx.Int32, 1, 260), code: models.CodeInvalid, want: "draft_head.ids has 260 at 1, which is not between 0 and 259"},
		{name: "a negative cut head", spoil: addIDs(t, mlx.Int32, -7, 1), code: models.CodeInvalid, want: "draft_head.ids has -7 at 0, which is not between 0 and 259"},
		{name: "a cut head of another type", spoil: addIDs(t, mlx.Float32, 1, 2), code: models.CodeUnsupported, want: "draft_head.ids is of type F32"},
		{name: "a cut head of too many", spoil: addIDs(t, mlx.Int32, make([]int32, 261)...), code: models.CodeInvalid, want: "draft_head.ids has shape [261], not that of 1 to 260 token ids"},
		{name: "one layer more", fields: map[string]any{"num_hidden_layers": 3, "layer_types": nil}, spoil: weightsOf(t, nil), code: models.CodeInvalid, want: "lacks 11 tensors (layers.2.self_attn.q_proj.weight, "},
		{name: "one layer less", fields: map[string]any{"num_hidden_layers": 1, "layer_types": nil}, spoil: weightsOf(t, nil), code: models.CodeInvalid, want: "has unexpected 11 tensors (layers.1.input_layernorm.weight, "},
		{name: "another number of taps", fields: nested(map[string]any{"target_layer_ids": []int{1}}), spoil: weightsOf(t, nil), code: models.CodeInvalid, want: "fc.weight has shape [64 128], config.json asks for [64 64]"},
		{name: "embedding of its own", spoil: rename("layers.1.self_attn.q_norm.weight", "embed_tokens.weight"), code: models.CodeInvalid, want: "lacks 1 tensors (layers.1.self_attn.q_norm.weight) and has unexpected 1 tensors (embed_tokens.weight)"},
		{name: "gate of another shape", spoil: rename("layers.1.self_attn.q_norm.weight", "layers.1.self_attn.g_proj.weight"), code: models.CodeInvalid, want: "layers.1.self_attn.g_proj.weight has shape [16], config.json asks for [4 64]"},
		{name: "norm of a tap of another width", spoil: rename("layers.1.self_attn.q_norm.weight", "draft.aux_hidden_norms.0.weight"), code: models.CodeInvalid, want: "aux_hidden_norms.0.weight has shape [16], config.json asks for [64]"},
		{name: "two prefixes", spoil: rename("layers.1.self_attn.q_norm.weight", "draft.layers.1.self_attn.k_norm.weight"), code: models.CodeInvalid, want: "two tensors for layers.1.self_attn.k_norm.weight"},
		{name: "cut short", spoil: func(dir string) error {
			return os.Truncate(filepath.Join(dir, "model.safetensors"), 200_000)
		}, code: models.CodeIncomplete, want: "model.safetensors: the file is cut short"},
		{name: "no weights", spoil: func(dir string) error { return os.Remove(filepath.Join(dir, "model.safetensors")) }, code: models.CodeIncomplete, want: "model.safetensors is missing"},
		{name: "no config", spoil: func(dir string) error { return os.Remove(filepath.Join(dir, "config.json")) }, code: models.CodeIncomplete, want: "has no config.json"},
		{name: "no folder", spoil: os.RemoveAll, code: models.CodeNotFound, want: "there is no such folder"},
		{name: "embedding setting", set: models.DrafterSettings{Embedding: "double"}, code: models.CodeInvalid, want: `embedding "double" is neither scaled nor raw`},
		{name: "window setting", set: models.DrafterSettings{Window: -1}, code: models.CodeInvalid, want: "a draft window of -1 rows is not between 0 and 67108864"},
		{name: "sliding setting", set: models.DrafterSettings{Sliding: "both"}, code: models.CodeInvalid, want: `sliding "both" is neither causal nor bidirectional`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := enginetest.TinyDrafter(t, c.fields)
			if c.spoil != nil {
				if err := c.spoil(dir); err != nil {
					t.Fatal(err)
				}
			}
			_, err := models.LoadDrafter(t.Context(), b, dir, c.set, models.Options{})
			e, ok := errors.AsType[*models.Error](err)
			if !ok {
				t.Fatalf("err = %v", err)
			}
			if e.Code != c.code {
				t.Errorf("e.Code = %v, want %v", e.Code, c.code)
			}
			if !strings.HasPrefix(err.Error(), dir+": ") {
				t.Errorf("err.Error() = %q, want it to start with the folder", err.Error())
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("err.Error() = %q, want it to have %q", err.Error(), c.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("err.Error() = %q, want none of %q", err.Error(), "\n")
			}
		})
	}
	if after := th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d over refused drafters", before, after)
	}

	// A drafter can't be loaded as a model either.
	_, err := models.Load(t.Context(), th, enginetest.TinyDrafter(t, nil), models.Options{})
	if err == nil || !strings.Contains(err.Error(), "is a drafter (DFlashDraftModel)") {
		t.Errorf("loaded as a model: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// weightsOf puts the weights of another config beside the one at hand.
func weightsOf(t *testing.T, fields map[string]any) func(dir string) error {
	return func(dir string) error {
		data, err := os.ReadFile(filepath.Join(enginetest.TinyDrafter(t, fields),
			"model.safetensors"))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "model.safetensors"), data, 0o600)
	}
}

// rename gives a tensor another name.
func rename(from, to string) func(dir string) error {
	return func(dir string) error {
		path := filepath.Join(dir, "model.safetensors")
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files := fstest.MapFS{"model.safetensors": {Data: data}}
		editHeader(files, func(header string) string {
			return strings.Replace(header, `"`+from+`"`, `"`+to+`"`, 1)
		})
		return os.WriteFile(path, files["model.safetensors"].Data, 0o600)
	}
}
