package models

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestEOSJoinsNamedIDs(t *testing.T) {
	for _, c := range []struct {
		name               string
		generation, config string
		tokenizer          int32
		want               []int32
	}{
		{"nowhere", `{}`, `{}`, -1, nil},
		{"config", `{}`, `{"eos_token_id": 7}`, -1, []int32{7}},
		{"generation wins", `{"eos_token_id": [5, 6]}`, `{"eos_token_id": 7}`, -1, []int32{5, 6}},
		{"tokenizer's own is added", `{"eos_token_id": [5, 6]}`, `{}`, 3, []int32{5, 6, 3}},
		{"but once", `{"eos_token_id": [5, 3]}`, `{}`, 3, []int32{5, 3}},
		{"null", `{"eos_token_id": null}`, `{"eos_token_id": [1, 2]}`, -1, []int32{1, 2}},
		{"outside the vocabulary", `{}`, `{"eos_token_id": [-1, 9, 10]}`, -1, []int32{9}},
	} {
		defaults, err := readDefaults(fstest.MapFS{"generation_config.json": {Data: []byte(c.generation)}})
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := parseConfig([]byte(c.config))
		if err != nil {
			t.Fatal(err)
		}
		if got := eos(defaults.eos, cfg.EOS, c.tokenizer, c.tokenizer >= 0, 10); !slices.Equal(got,
			c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestDefaultsComeFromGenerationConfig(t *testing.T) {
	d, err := readDefaults(fstest.MapFS{"generation_config.json": {Data: []byte(`{"temperature": 0.6, "top_k": 20, "do_sample": true}`)}})
	if err != nil || d.Temperature == nil || *d.Temperature != 0.6 || d.TopK == nil ||
		*d.TopK != 20 || d.TopP != nil {
		t.Errorf("got %+v, %v", d, err)
	}
	if d, err := readDefaults(fstest.MapFS{}); err != nil || d.Temperature != nil {
		t.Errorf("without the file: %+v, %v", d, err)
	}
}

func TestChatTemplateIsFoundInEachPlace(t *testing.T) {
	for _, c := range []struct {
		name, file, config string
		want, reason       string
	}{
		{"none", "", ``, "", ""},
		{"none in config", "", `{"bos_token": "x"}`, "", ""},
		{"null", "", `{"chat_template": null}`, "", ""},
		{"text", "", `{"chat_template": "T"}`, "T", ""},
		{"list", "", `{"chat_template": [{"name": "tool_use", "template": "U"}, {"name": "default", "template": "T"}]}`, "T", ""},
		{"list without default", "", `{"chat_template": [{"name": "tool_use", "template": "U"}]}`, "", ""},
		{"file wins", "F", `{"chat_template": "T"}`, "F", ""},
		{"number", "", `{"chat_template": 3}`, "", "number"},
		{"damaged", "", `{`, "", "tokenizer_config.json"},
	} {
		files := fstest.MapFS{}
		if c.file != "" {
			files["chat_template.jinja"] = &fstest.MapFile{Data: []byte(c.file)}
		}
		got, err := chatTemplate(files, []byte(c.config))
		if got != c.want || (err == nil) != (c.reason == "") || err != nil &&
			!strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

// FuzzIndex checks that no accepted index leads out of the model's folder.
func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"metadata":{"total_size":8},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}`))
	f.Add([]byte(`{"weight_map":{"a":"../x.safetensors"}}`))
	f.Add([]byte(`{"weight_map":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		index, err := parseIndex(text)
		if err != nil {
			return
		}
		for tensor, shard := range index {
			if strings.ContainsAny(shard, `/\`) || !strings.HasSuffix(shard, ".safetensors") ||
				strings.Trim(shard, ".") == "" {
				t.Errorf("tensor %q may be in %q", tensor, shard)
			}
		}
	})
}
