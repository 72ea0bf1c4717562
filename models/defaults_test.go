package models

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"tandem/engine/tokenizer"
	"tandem/models/hub"
	"tandem/models/nn"
)

func generationConfig(text string) fstest.MapFS {
	return fstest.MapFS{generationConfigFile: {Data: []byte(text)}}
}

// TestEveryNamedEOSEndsAGeneration expects the ids of all files together.
func TestEveryNamedEOSEndsAGeneration(t *testing.T) {
	for _, c := range []struct {
		name               string
		generation, config string
		tokenizer          int32
		want               []int32
	}{
		{"nowhere", `{}`, `{}`, -1, nil},
		{"config", `{}`, `{"eos_token_id": 7}`, -1, []int32{7}},
		{"generation too", `{"eos_token_id": [5, 6]}`, `{"eos_token_id": 7}`, -1, []int32{5, 6, 7}},
		{"text_config", `{}`, `{"text_config": {"eos_token_id": [1, 4]}}`, -1, []int32{1, 4}},
		{"all", `{"eos_token_id": 5}`, `{"eos_token_id": 6, "text_config": {"eos_token_id": 7}}`, 8, []int32{5, 6, 7, 8}},
		{"tokenizer", `{"eos_token_id": [5, 6]}`, `{}`, 3, []int32{5, 6, 3}},
		{"each once", `{"eos_token_id": [5, 3]}`, `{"eos_token_id": [3, 5]}`, 3, []int32{5, 3}},
		{"null", `{"eos_token_id": null}`, `{"eos_token_id": [1, 2], "text_config": null}`, -1, []int32{1, 2}},
		{"outside the vocabulary", `{"eos_token_id": 10}`, `{"eos_token_id": [-1, 9]}`, -1, []int32{9}},
		{"text in generation", `{"eos_token_id": ["</s>"]}`, `{"eos_token_id": 2}`, -1, []int32{2}},
	} {
		defaults, err := readDefaults(generationConfig(c.generation))
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := parseConfig([]byte(c.config))
		if err != nil {
			t.Fatal(err)
		}
		named := []tokenIDs{defaults.eos, cfg.EOS, cfg.Text.EOS}
		if c.tokenizer >= 0 {
			named = append(named, tokenIDs{c.tokenizer})
		}
		if got := joinEOS(10, named...); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestTextsThatQwensCodersFillInEnd expects the ends of a tokenizer with fill-in-the-middle tokens,
// which are not special in published ones.
func TestTextsThatQwensCodersFillInEnd(t *testing.T) {
	const file = `{"added_tokens":[%s],"model":{"type":"BPE","vocab":{"a":0},"merges":[]},` +
		`"pre_tokenizer":{"type":"ByteLevel"},"decoder":{"type":"ByteLevel"}}`
	for _, c := range []struct {
		tokens []string
		want   tokenIDs
	}{
		{nil, nil},
		{[]string{"<|fim_middle|>"}, nil},
		{[]string{"<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"}, nil},
		{[]string{"<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>",
			"<|file_sep|>"}, tokenIDs{4, 5, 6}},
	} {
		var added []string
		for i, token := range c.tokens {
			added = append(added, fmt.Sprintf(`{"id":%d,"content":%q,"special":false}`, i+1, token))
		}
		tokens, err := tokenizer.Load(fmt.Appendf(nil, file, strings.Join(added, ",")), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := fillEnds(tokens); !slices.Equal(got, c.want) {
			t.Errorf("%q end with %v, want %v", c.tokens, got, c.want)
		}
	}
}

// TestAnswersEndWhereMLXLMGoesOn compares with mlx_lm, and with the recorded list of ids at which it
// goes on.
func TestAnswersEndWhereMLXLMGoesOn(t *testing.T) {
	text, err := os.ReadFile("testdata/eos.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct {
		Cases []struct {
			Name   string                     `json:"name"`
			Files  map[string]json.RawMessage `json:"files"`
			Ends   []int32                    `json:"ends"`
			GoesOn []int32                    `json:"goes_on"`
		} `json:"cases"`
	}
	if err := json.Unmarshal(text, &recorded); err != nil || len(recorded.Cases) < 8 {
		t.Fatalf("%d cases, %v", len(recorded.Cases), err)
	}
	for _, c := range recorded.Cases {
		files := fstest.MapFS{}
		for name, data := range c.Files {
			files[name] = &fstest.MapFile{Data: data}
		}
		cfg, err := readConfig(files)
		if err != nil {
			t.Fatal(err)
		}
		defaults, err := readDefaults(files)
		if err != nil {
			t.Fatal(err)
		}
		got := joinEOS(1000, defaults.eos, cfg.EOS, cfg.Text.EOS)
		want := slices.Concat(c.Ends, c.GoesOn)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: ends at %v, want %v", c.Name, got, want)
		}
	}
}

func shown[T any](v *T) string {
	if v == nil {
		return "none"
	}
	return fmt.Sprint(*v)
}

// TestUselessDefaultsAreIgnoredByName expects that a value which no request could name counts as
// absent, and that a sentence names it.
func TestUselessDefaultsAreIgnoredByName(t *testing.T) {
	for _, c := range []struct {
		text    string
		want    string // temperature, top_p, top_k, min_p, repetition_penalty
		ignored []string
	}{
		{`{"temperature": 0.6, "top_k": 20, "do_sample": true}`, "0.6 none 20 none none", nil},
		{`{"temperature": null, "top_k": null}`, "none none none none none", nil},
		{`{"top_p": -5}`, "none none none none none", []string{"top_p is not between 0 and 1"}},
		{`{"temperature": -1, "top_p": 0.9}`, "none 0.9 none none none", []string{"temperature is not a number of at least 0"}},
		{`{"top_k": "x", "min_p": 2}`, "none none none none none", []string{"top_k is not a whole number", "min_p is not between 0 and 1"}},
		{`{"top_k": 40.0}`, "none none 40 none none", nil},
		{`{"top_k": 0.5}`, "none none none none none", []string{"top_k is no whole number"}},
		{`{"top_k": -7}`, "none none none none none", []string{"top_k is no whole number"}},
		{`{"top_k": 1e30}`, "none none none none none", []string{"top_k is no whole number"}},
		{`{"repetition_penalty": 0}`, "none none none none none", []string{"repetition_penalty is not between 0.01 and 100"}},
		{`{"temperature": NaN, "top_p": -Infinity, "top_k": Infinity}`, "none none none none none",
			[]string{"temperature is not a number", "top_p is not a number", "top_k is not a whole number"}},
		{`{"temperature": [1], "top_p": {}, "min_p": true}`, "none none none none none",
			[]string{"temperature is not", "top_p is not", "min_p is not"}},
		{`{"eos_token_id": ["</s>"]}`, "none none none none none", []string{"eos_token_id is not a token id or a list of them"}},
		{`{"eos_token_id": 1.5}`, "none none none none none", []string{"eos_token_id is not"}},
		{`{"do_sample": "no", "temperature": 0.5}`, "0.5 none none none none", []string{"do_sample is not true or false"}},
		{`{"do_sample": false, "temperature": 0.7, "top_p": 0.9}`, "0 0.9 none none none", nil},
		{`{"do_sample": false, "temperature": -1}`, "0 none none none none", []string{"temperature is not a number of at least"}},
		{`{"length_penalty": Infinity, "max_new_tokens": "x"}`, "none none none none none", nil},
	} {
		d, err := readDefaults(generationConfig(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		got := strings.Join([]string{shown(d.Temperature), shown(d.TopP), shown(d.TopK),
			shown(d.MinP), shown(d.RepetitionPenalty)}, " ")
		if got != c.want || len(d.Ignored) != len(c.ignored) {
			t.Errorf("%s: got %s, ignored %q; want %s", c.text, got, d.Ignored, c.want)
			continue
		}
		for i, want := range c.ignored {
			if !strings.Contains(d.Ignored[i], want) {
				t.Errorf("%s: ignored %q, want %q", c.text, d.Ignored[i], want)
			}
		}
	}
	if d, err := readDefaults(fstest.MapFS{}); err != nil || d.Temperature != nil {
		t.Errorf("without the file: %+v, %v", d, err)
	}
}

// TestNumbersOfPythonAreReadAnywhere expects that NaN and Infinity spoil no file, and are refused by
// name where a model would compute with them.
func TestNumbersOfPythonAreReadAnywhere(t *testing.T) {
	files := fstest.MapFS{
		"config.json": {Data: []byte(`{"model_type":"llama","a":[NaN,-Infinity],"b":{"c":Infinity},` +
			`"d":"NaN \" Infinity","eos_token_id":7}`)},
		indexFile: {Data: []byte(`{"metadata":{"total_size":NaN},"weight_map":{"a":"x.safetensors"}}`)},
	}
	if cfg, err := readConfig(files); err != nil || !slices.Equal(cfg.EOS, []int32{7}) {
		t.Errorf("config.json: %+v, %v", cfg, err)
	}
	if index, err := readIndex(files); err != nil || index["a"] != "x.safetensors" {
		t.Errorf("index: %v, %v", index, err)
	}
	for _, text := range []string{
		`{"rms_norm_eps":NaN}`, `{"rms_norm_eps":-Infinity}`, `{"hidden_size":Infinity}`,
		`{"rope_theta":NaN}`, `{"rope_scaling":{"rope_type":"yarn","factor":Infinity}}`,
	} {
		_, err := architectures["llama"](hub.PythonJSON([]byte(text), nn.NonFinite))
		if err == nil || !strings.Contains(err.Error(), "NaN or Infinity") {
			t.Errorf("%s: got %v, want an error that says so", text, err)
		}
	}
}
