package models

import (
	"strings"
	"testing"
	"testing/fstest"
)

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
