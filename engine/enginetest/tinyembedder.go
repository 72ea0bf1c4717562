package enginetest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TinyEmbedder writes the folder of a TinyModel of type qwen3 that embeds texts by their last
// token, and returns its path. Its tokenizer adds that token, as Qwen3-Embedding's does.
func TinyEmbedder(t testing.TB) string {
	t.Helper()
	dir := TinyModel(t, "qwen3")
	writeModules(t, dir, "Pooling", map[string]any{"word_embedding_dimension": 64,
		"pooling_mode_lasttoken": true, "include_prompt": true}, "Normalize")
	endTexts(t, dir)
	return dir
}

// TinyReranker writes the folder of a TinyModel of type qwen3 that decides between
// y and n.
func TinyReranker(t testing.TB) string {
	t.Helper()
	dir := TinyModel(t, "qwen3")
	writeModules(t, dir, "LogitScore", map[string]any{"true_token_id": 'y', "false_token_id": 'n'})
	return dir
}

// writeModules adds the files of sentence-transformers: its Transformer, a module
// with a config.json, and some without.
func writeModules(t testing.TB, dir, module string, config map[string]any, more ...string) {
	t.Helper()
	list := []map[string]any{
		{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
		{"idx": 1, "name": "1", "path": "1_" + module, "type": "sentence_transformers.models." + module},
	}
	for _, name := range more {
		list = append(list, map[string]any{"idx": len(list), "name": "2", "path": "2_" + name,
			"type": "sentence_transformers.models." + name})
	}
	if err := os.Mkdir(filepath.Join(dir, "1_"+module), 0o700); err != nil {
		t.Fatal(err)
	}
	writeJSON(t, filepath.Join(dir, "modules.json"), list)
	writeJSON(t, filepath.Join(dir, "1_"+module, "config.json"), config)
}

// endTexts makes the tokenizer of a tiny model's folder end each text with <|end|>.
func endTexts(t testing.TB, dir string) {
	t.Helper()
	var file map[string]any
	if err := json.Unmarshal(ByteTokenizerJSON(), &file); err != nil {
		t.Fatal(err)
	}
	text := map[string]any{"Sequence": map[string]any{"id": "A", "type_id": 0}}
	end := map[string]any{"SpecialToken": map[string]any{"id": "<|end|>", "type_id": 0}}
	file["post_processor"] = map[string]any{"type": "Sequence", "processors": []any{
		map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false,
			"use_regex": false},
		map[string]any{
			"type": "TemplateProcessing", "single": []any{text, end}, "pair": []any{text, end},
			"special_tokens": map[string]any{"<|end|>": map[string]any{"id": "<|end|>",
				"ids": []int{256}, "tokens": []string{"<|end|>"}}},
		},
	}}
	writeJSON(t, filepath.Join(dir, "tokenizer.json"), file)
}

func writeJSON(t testing.TB, path string, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
