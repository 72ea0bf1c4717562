package models_test

import (
	"slices"
	"testing"

	"tandem/engine/enginetest"
	"tandem/engine/mlx"
)

// partCases are recorded models that a part of the bit tier's suite runs on. All of it takes minutes
// with experts. Packings have products of their own, and the layers and caches of others.
var partCases = []exactCase{
	{"gemma3-4bit", "bfloat16", false},
	{"gemma4-moe-4bit", "bfloat16", false},
	{"glm4-moe-lite-4bit", "bfloat16", false},
	{"lfm2-moe", "float32", false},
	{"lfm2-moe-4bit", "float32", true},
	{"lfm2-moe-4bit", "bfloat16", false},
	{"llama-5bit", "float32", false},
	{"llama-8bit", "bfloat16", false},
	{"llama-mxfp4", "bfloat16", false},
	{"llama-mxfp4-mixed", "float32", false},
	{"llama-mxfp8", "float32", false},
	{"llama-nvfp4", "float32", false},
	{"nemotron-h-otherwise", "float32", false},
	{"nemotron-h-4bit", "float32", true},
	{"nemotron-h-4bit", "bfloat16", false},
	{"qwen3-moe-some", "float32", false},
	{"qwen3-moe-4bit", "float32", true},
	{"qwen3-moe-4bit", "bfloat16", false},
	{"qwen3-next-moe", "float32", false},
	{"qwen3-next-4bit", "float32", false},
	{"qwen3-next-4bit", "bfloat16", false},
	{"qwen35", "bfloat16", false},
	{"qwen35-moe", "float32", true},
	{"qwen35-moe-4bit", "float32", true},
	{"qwen35-moe-4bit", "bfloat16", true},
	{"qwen35-moe-mxfp4", "float32", false},
}

// TestBitParts holds the bit tier in short texts.
func TestBitParts(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	th := enginetest.NewThread(t)
	var d enginetest.Diff
	for _, dtype := range []string{"float32", "bfloat16"} {
		t.Run(dtype, func(t *testing.T) { partSuite(t, th, partCases, dtype, d.Compare) })
	}
	d.Check(t)
}

// partSuite compares the logits of a short text with those of one-row decode, on every given case of
// a type.
func partSuite(t *testing.T, th *mlx.Thread, cases []exactCase, dtype string,
	compare compareFunc) {
	for _, c := range cases {
		if c.dtype == dtype && (enginetest.Long || !c.long) {
			t.Run(c.name, func(t *testing.T) { c.runPart(t, th, compare) })
		}
	}
}

// runPart is the part of the suite on one model.
func (c exactCase) runPart(t *testing.T, th *mlx.Thread, compare compareFunc) {
	f, b := c.load(t, th)
	defer b.Close()
	want := f.expected(t, th, c.dtype)
	x := &exact{t: t, th: th, m: b.Model, name: c.name, compare: compare}
	text := slices.Concat(want.prompt[:20], want.ids[:20])
	x.oracle(text)
	x.chunks(text, 7)
	x.chunks(text, len(text))
	x.blocks(text, 8)
	x.shared(text, []int{0, 11}, []int{5, 1})
}
