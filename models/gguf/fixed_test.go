package gguf

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestOtherNumbersAreRefused sets keys that change what llama.cpp computes. The value that is
// computed here passes.
func TestOtherNumbersAreRefused(t *testing.T) {
	for _, c := range []struct {
		key   string
		value any
		ok    bool
	}{
		{"rope.dimension_count", 32, true}, {"rope.dimension_count", 16, false},
		{"attention.value_length", 32, true}, {"attention.value_length", 64, false},
		{"attention.scale", float32(0.17677669), true}, {"attention.scale", float32(0.1), false},
		{"attention.causal", true, true}, {"attention.causal", false, false},
		{"expert_weights_norm", true, true}, {"expert_weights_norm", false, false},
		{"rope.scale_linear", float32(1), true}, {"rope.scale_linear", float32(4), false},
		{"rope.scaling.attn_factor", float32(1), true},
		{"rope.scaling.attn_factor", float32(1.2), false},
		{"rope.scaling.yarn_ext_factor", float32(0), true},
		{"rope.scaling.yarn_ext_factor", float32(0.5), false},
		{"rope.scaling.yarn_attn_factor", float32(2), false},
		{"rope.scaling.yarn_log_multiplier", float32(1), false},
		{"attention.temperature_scale", float32(0.1), false},
	} {
		m := smallest()
		m.set("llama."+c.key, c.value)
		_, err := open(t, m.file())
		_, known := errors.AsType[*UnsupportedError](err)
		if (err == nil) != c.ok || !c.ok && (!known || !strings.Contains(err.Error(), c.key)) {
			t.Errorf("%s = %v: %v", c.key, c.value, err)
		}
	}
}

// TestLayersWithOtherHeadsAreRefused gives the layers of a Llama different heads. Its tensors may be
// those of the first layer alone.
func TestLayersWithOtherHeadsAreRefused(t *testing.T) {
	for key, heads := range map[string][]int32{"attention.head_count": {4, 2}, "attention.head_count_kv": {2, 1}} {
		m := recorded(t, "llama-biases")
		m.header.metadata["llama."+key] = []int64{int64(heads[0]), int64(heads[1])}
		_, err := m.config(nil)
		if _, known := errors.AsType[*UnsupportedError](err); !known || !strings.Contains(err.Error(), "different llama."+key) {
			t.Errorf("%s = %v: %v", key, heads, err)
		}
	}
}

// TestHeadsOfOtherLayersAreNamed gives a Llama heads of more layers, and of fewer, than it has.
func TestHeadsOfOtherLayersAreNamed(t *testing.T) {
	for _, heads := range [][]int32{{2, 2}, {}, {2, 2, 2}} {
		m := smallestWithout("llama.attention.head_count")
		m.leave = ""
		m.set("llama.attention.head_count", heads)
		_, err := open(t, m.file())
		want := fmt.Sprintf("llama.attention.head_count has %d numbers for 1 layers", len(heads))
		if err == nil || err.Error() != want {
			t.Errorf("%v: %v, want %s", heads, err, want)
		}
	}
}

// TestFactorsDivideFrequencies gives a Llama factors of no Llama 3, which are kept, and ones that divide nothing.
func TestFactorsDivideFrequencies(t *testing.T) {
	for factor, want := range map[float32]string{
		1: "", 0.5: `"long_factor":[0.5,0.5,`, 3: `"long_factor":[3,3,`, 0: "has 0, which divides", -2: "has -2, which divides",
	} {
		m, data := smallest(), []byte(nil)
		for range 16 {
			data = little.AppendUint32(data, math.Float32bits(factor))
		}
		m.add(ropeFactorsTensor, f32, data, 16)
		said := ""
		if folder, err := open(t, m.file()); err != nil {
			said = err.Error()
		} else {
			_, said, _ = strings.Cut(string(mustRead(t, folder, "config.json")), "rope_scaling")
		}
		if !strings.Contains(said, want) || (want == "") != (said == "") {
			t.Errorf("factors of %v: %q, want %q", factor, said, want)
		}
	}
}

// TestFactorsOfOthersAreRefused gives a Llama's factors to families that would ignore them.
func TestFactorsOfOthersAreRefused(t *testing.T) {
	for _, name := range []string{"granite", "mistral3", "smollm3"} {
		f := families[name]
		if to, err := f.rename(ropeFactorsTensor); err == nil {
			t.Errorf("%s has factors as %q", name, to)
		}
	}
}

// recorded returns a recorded file.
func recorded(t *testing.T, name string) *model {
	t.Helper()
	file, err := os.Open("../testdata/gguf/" + name + ".gguf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	h, err := readHeader(file, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	return &model{header: h, files: []io.ReaderAt{file}}
}

// TestGPTOSSDoesNotTruncate compares with the published config.json.
func TestGPTOSSDoesNotTruncate(t *testing.T) {
	m := recorded(t, "gpt-oss")
	sources, err := m.sources()
	if err != nil {
		t.Fatal(err)
	}
	text, err := m.config(sources)
	if err != nil || !strings.Contains(string(text), `"truncate":false`) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestFamiliesReadTheirNumbers sets keys that one family computes with.
func TestFamiliesReadTheirNumbers(t *testing.T) {
	for _, c := range []struct {
		file, key string
		value     float64
		ok        bool
	}{
		{"granite", "granite.attention.scale", 0.3, true},
		{"llama", "llama.attention.scale", 0.3, false},
		{"mistral3", "mistral3.rope.scaling.yarn_log_multiplier", 0.5, true},
		{"mistral3", "mistral3.rope.scaling.yarn_ext_factor", 1, true},
		{"mistral3", "mistral3.rope.scaling.yarn_ext_factor", 0, false},
		{"gpt-oss", "gpt-oss.rope.scaling.yarn_log_multiplier", 0.5, false},
		{"lfm2-moe", "lfm2moe.expert_weights_scale", 2, true},
		{"glm4-moe-lite", "deepseek2.expert_gating_func", 1, false},
		{"glm4-moe-lite", "deepseek2.expert_weights_scale", 2.5, true},
		{"glm4-moe-lite", "deepseek2.expert_group_count", 2, true},
		{"glm4-moe-lite", "deepseek2.attention.key_length", 81, false},
		{"glm4-moe-lite", "deepseek2.attention.value_length", 48, false},
		{"glm4-moe-lite", "deepseek2.expert_weights_norm", 1, false},
		{"muse-glimmer", "muse-glimmer.rope.freq_base_swa", 500000, true},
		{"muse-glimmer", "muse-glimmer.rope.freq_base_swa", 10000, false},
		{"muse-glimmer", "muse-glimmer.attention.sliding_window_pattern", 0, false},
		{"nemotron-h", "nemotron_h.rope.dimension_count", 8, true},
		{"nemotron-h", "nemotron_h.attention.scale", 0.3, false},
		{"nemotron-h", "nemotron_h.feed_forward_length", 64, false},
		{"nemotron-h", "nemotron_h.attention.head_count_kv", 2, false},
		{"nemotron-h-moe", "nemotron_h_moe.expert_gating_func", 2, true},
		{"nemotron-h-moe", "nemotron_h_moe.expert_gating_func", 1, false},
		{"phi3", "phi3.attention.sliding_window", 2047, true},
		{"phi3", "phi3.attention.sliding_window", 16, false},
		{"phi3", "phi3.attention.sliding_window", 1 << 18, true},
		{"qwen2", "qwen2.attention.sliding_window", 16, false},
		{"mistral3", "mistral3.attention.temperature_length", 24, true},
		{"mistral3", "mistral3.attention.temperature_length", 25, false},
		{"qwen2", "qwen2.attention.temperature_length", 24, false},
		{"qwen3-moe", "qwen3moe.expert_weights_scale", 2, false},
		{"qwen3-moe", "qwen3moe.expert_gating_func", 1, true},
		{"qwen3-moe", "qwen3moe.expert_gating_func", 2, false},
		{"qwen35-moe", "qwen35moe.expert_gating_func", 2, false},
		{"lfm2-moe", "lfm2moe.expert_gating_func", 2, true},
		{"lfm2-moe", "lfm2moe.expert_gating_func", 1, false},
		{"gpt-oss", "gpt-oss.expert_gating_func", 3, true},
		{"gpt-oss", "gpt-oss.expert_gating_func", 9, false},
		{"gemma4-moe", "gemma4.expert_gating_func", 2, false},
		{"phi3", "phi3.rope.scaling.attn_factor", 1.3540064, true},
		{"phi3", "phi3.rope.scaling.attn_factor", 1, false},
		{"gemma4", "gemma4.attention.scale", 1, true},
		{"gemma4", "gemma4.attention.value_length_swa", 32, false},
	} {
		m := recorded(t, c.file)
		m.header.metadata[c.key] = c.value
		if c.value == math.Trunc(c.value) {
			m.header.metadata[c.key] = int64(c.value)
		}
		sources, err := m.sources()
		if err == nil {
			_, err = m.config(sources)
		}
		if (err == nil) != c.ok || !c.ok && !strings.Contains(err.Error(), c.key) {
			t.Errorf("%s = %v: %v", c.key, c.value, err)
		}
	}
}

// TestOtherDeepSeeksAreRefused makes models of the architecture of GLM-4.7-Flash that compute
// otherwise.
func TestOtherDeepSeeksAreRefused(t *testing.T) {
	for key, value := range map[string]any{"expert_gating_func": nil, "rope.scaling.type": "yarn",
		"attention.key_length_mla": nil} {
		m := recorded(t, "glm4-moe-lite")
		if m.header.metadata["deepseek2."+key] = value; value == nil {
			delete(m.header.metadata, "deepseek2."+key)
		}
		sources, err := m.sources()
		if err == nil {
			_, err = m.config(sources)
		}
		if err == nil || !strings.Contains(err.Error(), key) && !strings.Contains(err.Error(), "yarn") {
			t.Errorf("%s = %v: %v", key, value, err)
		}
	}
}

// TestDeepSeekWithoutAGatingIsGLM gives a file without expert_gating_func the vocabulary of
// GLM-4.7-Flash.
func TestDeepSeekWithoutAGatingIsGLM(t *testing.T) {
	m := recorded(t, "glm4-moe-lite")
	delete(m.header.metadata, "deepseek2.expert_gating_func")
	c := m.newConfig()
	c.fields["vocab_size"] = vocabularyOfGLM
	if deepseek2Config(c); c.err != nil {
		t.Error(c.err)
	}
}

// TestWindowsOfAPattern gives a period and a list that say the same.
func TestWindowsOfAPattern(t *testing.T) {
	var texts []string
	for _, pattern := range []any{int64(4), []int64{1, 1, 1, 0}, nil} {
		m := recorded(t, "muse-glimmer")
		key := "muse-glimmer.attention.sliding_window_pattern"
		if m.header.metadata[key] = pattern; pattern == nil {
			delete(m.header.metadata, key)
		}
		sources, err := m.sources()
		if err != nil {
			t.Fatal(err)
		}
		text, err := m.config(sources)
		if err != nil || !strings.Contains(string(text), `"layer_types":["sliding_attention",`+
			`"sliding_attention","sliding_attention","full_attention"]`) {
			t.Errorf("%s, %v", text, err)
		}
		texts = append(texts, string(text))
	}
	if texts[0] != texts[1] || texts[0] != texts[2] {
		t.Error("a period, a list and neither differ")
	}
}

// TestOtherNormsOfQueriesAreRefused reads a norm of queries as one of keys, which has ones.
func TestOtherNormsOfQueriesAreRefused(t *testing.T) {
	m := recorded(t, "muse-glimmer")
	for i, tensor := range m.header.tensors {
		if tensor.name == "blk.1.attn_q_norm.weight" {
			m.header.tensors[i].name = "blk.7.attn_k_norm.weight"
		}
	}
	c := m.newConfig()
	if glimmerConfig(c); c.err == nil || !strings.Contains(c.err.Error(), "blk.7.attn_k_norm") {
		t.Error(c.err)
	}
}

// TestHeadersAreEnough opens the headers of the recorded files, without most of their tensors.
func TestHeadersAreEnough(t *testing.T) {
	files, err := filepath.Glob("../testdata/gguf/*.gguf")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range files {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, tensor := range recorded(t, strings.TrimSuffix(filepath.Base(name), ".gguf")).header.tensors {
			if !strings.HasPrefix(tensor.name, "rope_") { // such tensors are next to the header
				clear(file[tensor.offset:][:tensor.bytes])
			}
		}
		if _, err := OpenHeader(fstest.MapFS{"m.gguf": {Data: file}}, "m.gguf"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestREADMENamesArchitectures compares the list in the README with the supported ones.
func TestREADMENamesArchitectures(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "Architectures: ")
	list, _, _ = strings.Cut(list, ".\n")
	list, _, _ = strings.Cut(list, ". ")
	list = strings.NewReplacer(" and ", " ", "(GLM-4.7-Flash)", "", ",", " ").Replace(
		strings.Join(strings.Fields(list), " "))
	want := slices.Sorted(maps.Keys(families))
	if got := strings.Fields(list); !slices.Equal(got, want) {
		t.Errorf("models/README.md lists %v, not %v", got, want)
	}
}
