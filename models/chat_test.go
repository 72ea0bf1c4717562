package models

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestChatTemplatesAreFoundInEachPlace(t *testing.T) {
	const (
		file = "chat_template.jinja"
		old  = "chat_template.json"
		more = templatesFolder + "/tool_use.jinja"
	)
	for _, c := range []struct {
		name         string
		files        map[string]string
		config       string
		plain, tools string
		reason       string
	}{
		{"none", nil, ``, "", "", ""},
		{"none in config", nil, `{"bos_token": "x"}`, "", "", ""},
		{"null", nil, `{"chat_template": null}`, "", "", ""},
		{"text", nil, `{"chat_template": "T"}`, "T", "T", ""},
		{"list", nil, `{"chat_template": [{"name": "tool_use", "template": "U"},
			{"name": "rag", "template": "R"}, {"name": "default", "template": "T"}]}`, "T", "U", ""},
		{"list without tools", nil, `{"chat_template": [{"name": "default", "template": "T"}]}`,
			"T", "T", ""},
		{"list without default", nil, `{"chat_template": [{"name": "tool_use", "template": "U"}]}`,
			"U", "U", ""},
		{"empty list", nil, `{"chat_template": []}`, "", "", ""},
		{"object", nil, `{"chat_template": {"default": "T", "tool_use": "U"}}`, "T", "U", ""},
		{"one of another name", nil, `{"chat_template": {"rag": "R"}}`, "R", "R", ""},
		{"two of other names", nil, `{"chat_template": {"rag": "R", "short": "S"}}`, "", "",
			"named rag, short"},
		{"file wins", map[string]string{file: "F"}, `{"chat_template": "T"}`, "F", "F", ""},
		{"older file", map[string]string{old: `{"chat_template": "O"}`}, `{}`, "O", "O", ""},
		{"file and older file", map[string]string{file: "F", old: `{"chat_template": "O"}`}, `{}`,
			"F", "F", ""},
		{"further file", map[string]string{file: "F", more: "U"}, `{}`, "F", "U", ""},
		{"further file alone", map[string]string{more: "U"}, ``, "U", "U", ""},
		{"number", nil, `{"chat_template": 3}`, "", "", "no text and no list"},
		{"damaged", nil, `{`, "", "", "tokenizer_config.json"},
	} {
		files := fstest.MapFS{}
		for name, text := range c.files {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		got, err := readTemplates(files, []byte(c.config))
		if got.plain != c.plain || got.tools != c.tools || (err == nil) != (c.reason == "") ||
			err != nil && !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %+v, %v, want %q, %q", c.name, got, err, c.plain, c.tools)
		}
	}
}

func TestTemplateWithAnUnknownNameSaysWhere(t *testing.T) {
	for source, want := range map[string]string{
		"a\n{{ 'x' | zebra }}":                  "line 2: unknown filter",
		"a\n{{ 'x' is zebra }}":                 "line 2: unknown test",
		"a\n{{ zebra(1) }}":                     "line 2: unknown function",
		"{% if x %}{{ x | zebra }}{% endif %}":  "", // perhaps it never comes there
		"{{ raise_exception('system first') }}": "",
	} {
		c := OpenFS(fstest.MapFS{"chat_template.jinja": &fstest.MapFile{Data: []byte(source)}},
			"").chat(nil)
		if _, err := c.Template(false); (err == nil) != (want == "") ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", source, err, want)
		}
		if err := c.close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTemplateThatDoesNotCompileSaysWhereAndWhy(t *testing.T) {
	files := fstest.MapFS{"chat_template.jinja": &fstest.MapFile{Data: []byte("a\n{% if x %}")}}
	c := OpenFS(files, "").chat(nil)
	defer c.close()
	for _, tools := range []bool{false, true} {
		_, err := c.Template(tools)
		if err == nil || !strings.Contains(err.Error(), "cannot be read: line 2") {
			t.Errorf("%v", err)
		}
	}
	if none := OpenFS(fstest.MapFS{}, "").chat(nil); none.Err() != nil {
		t.Errorf("no template at all: %v", none.Err())
	} else if _, err := none.Template(false); err != ErrNoTemplate {
		t.Errorf("no template at all: %v", err)
	}
}

// TestFilesOfOllamasChat expects a template for a file of Ollama's, which has none in its metadata.
func TestFilesOfOllamasChat(t *testing.T) {
	blob := "sha256-" + strings.Repeat("0f", 32)
	for path, want := range map[string]bool{"/store/blobs/" + blob: true, blob: true, "/a.gguf": false,
		"/store/blobs/" + blob + ".gguf": false, "/" + blob + "/a": false} {
		if got := recommended(path).Chats; got != want {
			t.Errorf("%s chats: %t", path, got)
		}
	}
}
