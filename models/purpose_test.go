package models_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models"
)

// change sets fields of a JSON file in a folder, or makes the file. A nil value removes a field.
func change(t *testing.T, dir, name string, fields map[string]any) {
	t.Helper()
	path := filepath.Join(dir, name)
	object := map[string]any{}
	if text, err := os.ReadFile(path); err == nil {
		if err := json.Unmarshal(text, &object); err != nil {
			t.Fatal(err)
		}
	}
	for k, v := range fields {
		if object[k] = v; v == nil {
			delete(object, k)
		}
	}
	text, err := json.Marshal(object)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPurposeComesFromFiles expects the same purpose before and after a load. The error for an
// unsupported purpose names it.
func TestPurposeComesFromFiles(t *testing.T) {
	const pooling, score = "1_Pooling/config.json", "1_LogitScore/config.json"
	embedder, reranker := enginetest.TinyEmbedder, enginetest.TinyReranker
	generator := func(t testing.TB) string { return enginetest.TinyModel(t, "qwen3") }
	modules := func(text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "modules.json"), []byte(text),
				0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	set := func(name string, fields map[string]any) func(*testing.T, string) {
		return func(t *testing.T, dir string) { change(t, dir, name, fields) }
	}
	const transformer = `{"path":"","type":"sentence_transformers.base.modules.transformer.Transformer"}`
	last := models.Purpose{Kind: models.KindEmbedding, Pooling: lm.PoolLast, Normalize: true}
	mean, first, bare := last, last, last
	mean.Pooling, first.Pooling, bare.Normalize = lm.PoolMean, lm.PoolFirst, false
	yesNo := models.Purpose{Kind: models.KindReranker, Yes: 'y', No: 'n'}
	th := enginetest.NewThread(t)
	for _, c := range []struct {
		name string
		make func(testing.TB) string
		edit func(*testing.T, string)
		want models.Purpose
		says string // of the refusal; empty = none
	}{
		{name: "a generative model", make: generator},
		{name: "one with the files of none", make: generator, edit: modules(`[` + transformer + `]`)},
		{name: "last token", make: embedder, want: last},
		{name: "mean by a flag", make: embedder, edit: set(pooling, map[string]any{"pooling_mode_lasttoken": false, "pooling_mode_mean_tokens": true}), want: mean},
		{name: "mean by silence", make: embedder, edit: set(pooling, map[string]any{"pooling_mode_lasttoken": nil}), want: mean},
		{name: "cls by its name", make: embedder, edit: set(pooling, map[string]any{"pooling_mode": "cls"}), want: first},
		{name: "a list of one", make: embedder, edit: set(pooling, map[string]any{"pooling_mode": []string{"mean"}}), want: mean},
		{name: "newer packages", make: embedder, edit: modules(`[` + transformer + `,{"path":"1_Pooling","type":"sentence_transformers.sentence_transformer.modules.pooling.Pooling"},{"path":"2_Normalize","type":"sentence_transformers.base.modules.normalize.Normalize"}]`), want: last},
		{name: "not normalised", make: embedder, edit: modules(`[` + transformer + `,{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"}]`), want: bare},
		{name: "prompts left out of the last token", make: embedder, edit: set(pooling, map[string]any{"include_prompt": false}), want: last},
		{name: "a conversion without the files", make: embedder,
			edit: func(t *testing.T, dir string) {
				if err := os.Remove(filepath.Join(dir, "modules.json")); err != nil {
					t.Fatal(err)
				}
			}, want: last},
		{name: "yes and no", make: reranker, want: yesNo},

		{name: "max", make: embedder, edit: set(pooling, map[string]any{"pooling_mode": "max"}), says: "the pooling max is not supported; supported are lasttoken, mean and cls"},
		{name: "weighted", make: embedder, edit: set(pooling, map[string]any{"pooling_mode_lasttoken": false, "pooling_mode_weightedmean_tokens": true}), says: "weightedmean"},
		{name: "two at once", make: embedder, edit: set(pooling, map[string]any{"pooling_mode_mean_tokens": true}), says: "mean and lasttoken"},
		{name: "prompts left out of a mean", make: embedder, edit: set(pooling, map[string]any{"pooling_mode": "mean", "include_prompt": false}), says: "include_prompt false"},
		{name: "other dimensions", make: embedder, edit: set(pooling, map[string]any{"word_embedding_dimension": 65}), says: "65 dimensions, config.json has a hidden_size of 64"},
		{name: "a bad pooling", make: embedder, edit: set(pooling, map[string]any{"pooling_mode": 7}), says: pooling},
		{name: "no pooling", make: embedder, edit: func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, pooling)); err != nil {
				t.Fatal(err)
			}
		}, says: pooling + " is missing"},
		{name: "a projection", make: embedder, edit: modules(`[` + transformer + `,{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"},{"path":"2_Dense","type":"sentence_transformers.models.Dense"}]`), says: "module 2 (sentence_transformers.models.Dense) is not supported"},
		{name: "code of its own", make: embedder, edit: modules(`[{"path":"","type":"custom.Embedder"}]`), says: "module 0 (custom.Embedder)"},
		{name: "layers elsewhere", make: embedder, edit: modules(`[{"path":"0_Transformer","type":"sentence_transformers.models.Transformer"}]`), says: "module 0"},
		{name: "outside the folder", make: embedder, edit: modules(`[` + transformer + `,{"path":"../1_Pooling","type":"sentence_transformers.models.Pooling"}]`), says: "not in the model's folder"},
		{name: "no list", make: embedder, edit: modules(`{}`), says: "modules.json"},
		{name: "too many", make: embedder, edit: modules(`[` + strings.Repeat(transformer+`,`, 16) + transformer + `]`), says: "more than 16"},
		{name: "both ways", make: embedder, edit: set("config.json", map[string]any{"use_bidirectional_attention": true}), says: "use_bidirectional_attention"},
		{name: "not causal", make: embedder, edit: set("config.json", map[string]any{"is_causal": false}), says: "is_causal"},
		{name: "a classifier", make: generator, edit: set("config.json", map[string]any{"architectures": []string{"Qwen3ForSequenceClassification"}}), says: "Qwen3ForSequenceClassification"},
		{name: "a score of one token", make: reranker, edit: set(score, map[string]any{"false_token_id": nil}), says: "one token alone"},
		{name: "no tokens", make: reranker, edit: set(score, map[string]any{"true_token_id": nil}), says: "true_token_id"},
		{name: "another family", make: reranker, edit: set("config.json", map[string]any{"model_type": "llama"}), says: `a reranker of the type "llama"`},
	} {
		dir := c.make(t)
		if c.edit != nil {
			c.edit(t, dir)
		}
		summary, err := models.Inspect(dir)
		b, loadErr := models.Load(t.Context(), th, dir, models.Options{})
		if c.says != "" {
			for _, err := range []error{err, loadErr} {
				e, ok := errors.AsType[*models.Error](err)
				if !ok || !strings.Contains(e.Message, c.says) || e.Model != dir {
					t.Errorf("%s: %v, want %q", c.name, err, c.says)
				}
			}
			continue
		}
		if err != nil || loadErr != nil {
			t.Errorf("%s: %v, %v", c.name, err, loadErr)
			continue
		}
		if b.Purpose != c.want || summary.Kind != c.want.Kind {
			t.Errorf("%s: %+v, inspected %q, want %+v", c.name, b.Purpose, summary.Kind, c.want)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRerankerIsKnownByName expects that the name of the folder or of the repository decides where
// no file does, provided that the tokenizer has the words.
func TestRerankerIsKnownByName(t *testing.T) {
	th := enginetest.NewThread(t)
	for _, c := range []struct {
		name  string
		words []string
		want  models.Purpose
	}{
		{"Qwen3-Reranker-0.6B", []string{"yes", "no"}, models.Purpose{Kind: models.KindReranker, Yes: 257, No: 258}},
		{"models--mlx-community--Qwen3-Reranker-4B-mxfp8/snapshots/0123", []string{"yes", "no"}, models.Purpose{Kind: models.KindReranker, Yes: 257, No: 258}},
		{"Qwen3-Reranker-0.6B", []string{"yes"}, models.Purpose{}},
		{"Qwen3-0.6B", []string{"yes", "no"}, models.Purpose{}},
	} {
		dir := filepath.Join(t.TempDir(), c.name)
		if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(enginetest.TinyModel(t, "qwen3"), dir); err != nil {
			t.Fatal(err)
		}
		var added []any
		for i, word := range append([]string{"<|end|>"}, c.words...) {
			added = append(added, map[string]any{"id": 256 + i, "content": word, "special": i == 0,
				"single_word": false, "lstrip": false, "rstrip": false, "normalized": false})
		}
		change(t, dir, "tokenizer.json", map[string]any{"added_tokens": added})
		b, err := models.Load(t.Context(), th, dir, models.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if b.Purpose != c.want {
			t.Errorf("%s with %q: %+v, want %+v", c.name, c.words, b.Purpose, c.want)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestEmbeddingModelNeedsNoHead expects that an embedding model of any family loads without a head
// and does not read an existing one. A generative model without its head is refused.
func TestEmbeddingModelNeedsNoHead(t *testing.T) {
	th := enginetest.NewThread(t)
	untied := map[string]any{"tie_word_embeddings": false} // the tiny checkpoints have no lm_head
	for _, arch := range []string{"llama", "qwen3", "qwen3_5"} {
		dir := enginetest.TinyModel(t, arch, untied)
		_, err := models.Load(t.Context(), th, dir, models.Options{})
		if err == nil || !strings.Contains(err.Error(), "lm_head.weight") {
			t.Errorf("%s: a generative model without a head: %v", arch, err)
		}
		makeEmbedder(t, dir)
		b, err := models.Load(t.Context(), th, dir, models.Options{})
		if err != nil {
			t.Errorf("%s: an embedding model without a head: %v", arch, err)
			continue
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, openFixture(t, "llama-untied").files); err != nil {
		t.Fatal(err)
	}
	whole := loadedBytes(t, th, dir)
	makeEmbedder(t, dir)
	if bare := loadedBytes(t, th, dir); bare >= whole {
		t.Errorf("an embedding model with a head takes %d bytes, a generative one %d", bare, whole)
	}
}

// makeEmbedder adds the files that make a model an embedding model.
func makeEmbedder(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, "1_Pooling"), 0o700); err != nil {
		t.Fatal(err)
	}
	change(t, dir, "1_Pooling/config.json", map[string]any{"pooling_mode": "lasttoken"})
	const modules = `[{"path":"","type":"sentence_transformers.models.Transformer"},
		{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"}]`
	if err := os.WriteFile(filepath.Join(dir, "modules.json"), []byte(modules), 0o600); err != nil {
		t.Fatal(err)
	}
}

// loadedBytes loads the model in a folder and returns the memory of its weights.
func loadedBytes(t *testing.T, th *mlx.Thread, dir string) int64 {
	t.Helper()
	b, err := models.Load(t.Context(), th, dir, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	return b.Info.Bytes
}

// TestRerankPromptTakesDocumentsAsText expects that a special token spelled in a document is text.
func TestRerankPromptTakesDocumentsAsText(t *testing.T) {
	th := enginetest.NewThread(t)
	b, err := models.Load(t.Context(), th, enginetest.TinyReranker(t), models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ids, err := b.RerankPrompt("find it", "q?", "a <|end|> b")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if id == 256 {
			t.Error("a document holds a special token")
		}
	}
	text := b.Tokenizer.Decode(ids, false)
	const want = "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n" +
		"<|im_start|>user\n<Instruct>: find it\n<Query>: q?\n<Document>: a <|end|> b<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
	if text != want {
		t.Errorf("the prompt is %q, want %q", text, want)
	}
}
