package gguf

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestTowersAreLeftOut adds what lets a model see and hear to a file, as Ollama's have it.
func TestTowersAreLeftOut(t *testing.T) {
	plain, err := open(t, smallest().file())
	if err != nil {
		t.Fatal(err)
	}
	m := smallest()
	m.add("v.patch_embedding.weight", f16, nil, 8, 3, 2, 2)
	m.add("v.blk.0.attn_q.weight", q8_0, nil, 32, 32)
	m.add("v.position_embd", f32, nil, 32)
	m.add("mm.mm_soft_emb_norm.weight", f32, nil, 32)
	d, err := open(t, m.file())
	if err != nil {
		t.Fatal(err)
	}
	if d.LeftOut() != "images" || plain.LeftOut() != "" || len(d.entries) != len(plain.entries) {
		t.Errorf("%q is left out", d.LeftOut())
	}
	m.add("a.blk.0.ffn_up.weight", f16, nil, 4, 4)
	m.add("mm.a.fc.weight", f16, nil, 4, 4)
	if d, err = open(t, m.file()); err != nil {
		t.Fatal(err)
	}
	if d.LeftOut() != "images and sound" {
		t.Errorf("%q is left out", d.LeftOut())
	}
	m.tensors = m.tensors[len(m.tensors)-2:]
	_, err = open(t, m.file())
	if _, ok := errors.AsType[*UnsupportedError](err); !ok ||
		!strings.Contains(err.Error(), "no model") {
		t.Errorf("a file with towers alone gives %v", err)
	}
}

// TestGemma3OfOllama reads what Ollama's files of Gemma 3 lack. Their cap of the logits is passed over
// in all sizes, and another one is refused.
func TestGemma3OfOllama(t *testing.T) {
	for layers, want := range map[int64]string{26: "<nil>", 34: "map[factor:8 rope_type:linear]",
		18: "<nil>"} {
		m := recorded(t, "gemma3")
		m.header.metadata["gemma3.block_count"] = layers
		m.header.metadata["gemma3.final_logit_softcapping"] = 30.0
		delete(m.header.metadata, "gemma3.attention.scale")
		c := m.newConfig()
		gemma3Config(c)
		if got := fmt.Sprint(c.fields["rope_scaling"]); got != want || c.err != nil {
			t.Errorf("%d layers give %s, not %s, %v", layers, got, want, c.err)
		}
		if v, ok := c.fields["final_logit_softcapping"]; ok {
			t.Errorf("the logits of %d layers have the cap %v", layers, v)
		}
		m.header.metadata["gemma3.rope.scaling.factor"] = 2.0
		m.header.metadata["gemma3.final_logit_softcapping"] = 20.0
		c = m.newConfig()
		gemma3Config(c)
		if c.fields["rope_scaling"] != nil {
			t.Errorf("%d layers are stretched by %v", layers, c.fields["rope_scaling"])
		}
		if _, ok := errors.AsType[*UnsupportedError](c.err); !ok {
			t.Errorf("another cap gives %v", c.err)
		}
	}
}

// TestGemma4OfOllama reads a tokenizer as Ollama's converter describes it: of the kind llama,
// without a word on the space before a text, and with a list of ends.
func TestGemma4OfOllama(t *testing.T) {
	m := recorded(t, "gemma4")
	maps.Copy(m.header.metadata, metadata{
		"tokenizer.ggml.model": "llama", "tokenizer.ggml.pre": "gemma4",
		"tokenizer.ggml.eos_token_id":  int64(0),
		"tokenizer.ggml.eos_token_ids": []int64{0, 2, 5},
	})
	delete(m.header.metadata, "tokenizer.ggml.add_space_prefix")
	delete(m.header.metadata, "tokenizer.ggml.eot_token_id")
	tokens, err := m.tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	if kind := tokens.parts.normalizer["type"]; kind != "Replace" {
		t.Errorf("texts are changed by %v, which puts a space before them", kind)
	}
	ids, _ := tokens.ends(nil)
	if want := []int{0, 2, 5, 97}; !slices.Equal(ids, want) { // the name of 97 says that it ends
		t.Errorf("answers end at %v, not %v", ids, want)
	}
	m.header.metadata["tokenizer.ggml.add_space_prefix"] = true
	if tokens, err = m.tokenizer(); err != nil {
		t.Fatal(err)
	}
	if kind := tokens.parts.normalizer["type"]; kind != "Sequence" {
		t.Errorf("a file that asks for the space gets %v", kind)
	}
}
