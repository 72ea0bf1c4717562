package pool

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/engine/enginetest"
)

// A template prints earlier calls only if they have the form that it expects.
func TestHistoryTakesTheFormInWhichTheTemplateShowsCalls(t *testing.T) {
	const head, tail = `{% for m in messages %}{% if m.role == 'user' %}U:{{ m.content }}`,
		`{% elif m.role == 'tool' %}T:{{ m.content }}{% endif %}{% endfor %}`
	list := func(call string) string {
		return `{% for c in m.tool_calls %}` + call + `{% endfor %}`
	}
	const object = `{{ c.function.name }}({{ c.function.arguments | tojson }})`
	const text = `{{ c.function.name + '(' + c.function.arguments + ')' }}`
	for name, c := range map[string]struct {
		assistant string
		want      dialect.History
	}{
		"objects": {`{% elif m.role == 'assistant' %}{{ m.content }}` + list(object),
			dialect.History{}},
		"texts": {`{% elif m.role == 'assistant' %}{{ m.content }}` + list(text),
			dialect.History{TextArguments: true}},
		"content is none": {`{% elif m.role == 'assistant' and m.content is none %}` + list(object) +
			`{% elif m.role == 'assistant' %}{{ m.content }}`,
			dialect.History{NullContent: true, SeparateText: true}},
		"content is none, texts": {`{% elif m.role == 'assistant' and m.content is none %}` +
			list(text) + `{% elif m.role == 'assistant' %}{{ m.content }}`,
			dialect.History{NullContent: true, TextArguments: true, SeparateText: true}},
		"a text or calls": {`{% elif m.role == 'assistant' and m.content %}{{ m.content }}` +
			`{% elif m.role == 'assistant' %}` + list(object), dialect.History{SeparateText: true}},
		"a system message first": {`{% elif m.role == 'system' %}S{% elif messages[0].role != 'system' %}` +
			`{{ raise_exception('system first') }}{% elif m.role == 'assistant' %}{{ m.content }}` +
			list(text), dialect.History{TextArguments: true}},
		"no place for calls, <tool_call>": {`{# <tool_call> #}{% elif m.role == 'assistant' %}{{ m.content }}`,
			dialect.History{Written: dialect.WrittenCalls{Open: "<tool_call>", Close: "</tool_call>", Line: "\n"}}},
		"no place for calls, <|tool_call|>": {`{# <|tool_call|> #}{% elif m.role == 'assistant' %}{{ m.content }}`,
			dialect.History{Written: dialect.WrittenCalls{Open: "<|tool_call|>", List: true}}},
		"walked": {`{% elif m.role == 'assistant' %}{{ m.content }}` +
			list(`{{ c.function.name }}{% for key, value in c.function.arguments | items %}{{ key }}={{ value }}{% endfor %}`),
			dialect.History{}},
		"no calls": {`{% elif m.role == 'assistant' %}{{ m.content }}`, dialect.History{}},
		"refused":  {`{% else %}{{ raise_exception('no') }}`, dialect.History{}},
	} {
		t.Run(name, func(t *testing.T) {
			m := loadWithTemplate(t, map[string]string{
				"chat_template.jinja": head + c.assistant + tail})
			c.want.Thought = "reasoning_content"
			c.want.AnyArguments = !slices.Contains([]string{"walked", "no calls", "refused"}, name)
			for _, tools := range []bool{false, true} {
				if got := m.Chat(tools).History(); got != c.want {
					t.Errorf("with tools %t: %+v, want %+v", tools, got, c.want)
				}
			}
		})
	}
}

// SmolLM3's template takes bare functions under a name of its own.
func TestTemplateGetsFunctionsUnderItsOwnName(t *testing.T) {
	m := loadWithTemplate(t, map[string]string{"chat_template.jinja": `{# <tool_call> #}` +
		`{% for f in xml_tools %}{{ f.name }};{% endfor %}{% for m in messages %}{{ m.content }};{% endfor %}`})
	c := api.Conversation{Messages: []api.Message{api.NewMessage("user", "hi"), {Role: "assistant",
		Texts: []string{"yes"}, Calls: []json.RawMessage{[]byte(`{"id":"1","type":"function",` +
			`"function":{"name":"f","arguments":{"a":1}}}`)}}}}
	c.Tools.List = []byte(`[{"type":"function","function":{"name":"f"}},{"name":"g"}]`)
	chat := m.Chat(true)
	text, err := chat.Render(t.Context(), c.Vars(c.Messages, true, chat.History()))
	const want = "f;g;hi;yes\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\":1}}\n</tool_call>;"
	if err != nil || text != want {
		t.Errorf("%q, %v, want %q", text, err, want)
	}
}

func TestToolsHaveATemplateOfTheirOwn(t *testing.T) {
	m := loadWithTemplate(t, map[string]string{
		"chat_template.jinja":                      "plain",
		"additional_chat_templates/tool_use.jinja": "with {{ tools | length }} <tool_call>",
	})
	for tools, want := range map[bool]string{false: "plain", true: "with 1 <tool_call>"} {
		text, err := m.Chat(tools).Render(t.Context(), []byte(`{"messages":[],"tools":[{}]}`))
		if text != want || err != nil {
			t.Errorf("with tools %t: %q, %v", tools, text, err)
		}
	}
	if !m.Dialect().Tools() {
		t.Error("the dialect was not read from the template for tools")
	}
}

func TestTemplateThatCannotBeReadIsToldInLogAndAnswer(t *testing.T) {
	var log bytes.Buffer
	m := loadWithTemplate(t, map[string]string{"chat_template.jinja": "a\n{% if x %}"},
		slog.New(slog.NewTextHandler(&log, nil)))
	_, err := m.Chat(true).Render(t.Context(), []byte(`{"messages":[]}`))
	for place, text := range map[string]string{"log": log.String(), "answer": err.Error()} {
		if !strings.Contains(text, "cannot be read: line 2") {
			t.Errorf("the %s says %s", place, text)
		}
	}
}

// loadWithTemplate returns a model in memory whose folder has those files.
func loadWithTemplate(t *testing.T, files map[string]string, log ...*slog.Logger) *Model {
	t.Helper()
	dir := enginetest.TinyModel(t, "llama")
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var o setup
	if len(log) > 0 {
		o.Logger = log[0]
	}
	r := start(t, o)
	info, err := r.library.AddModel(t.Context(), control.AddRequest{Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.pool.Acquire(t.Context(), info.ID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Release)
	return m.(*Model)
}

// Package api asks a template that refuses messages for simpler ones, unless it reached a limit.
func TestTemplateAtALimitSaysSo(t *testing.T) {
	for source, limit := range map[string]bool{
		"{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}": true,
		"{{ raise_exception('no') }}": false,
	} {
		m := loadWithTemplate(t, map[string]string{"chat_template.jinja": source})
		_, err := m.Chat(false).Render(t.Context(), []byte(`{"messages":[]}`))
		e, ok := errors.AsType[*control.Error](err)
		if !ok || e.Code != control.CodeInvalid || errors.Is(err, model.ErrTemplateLimit) != limit {
			t.Errorf("%s: %v", source, err)
		}
	}
}
