package gemma4

import (
	"encoding/json"
	"strings"
	"testing"
)

// assistantConfig returns the config.json of an assistant, with one field of another value.
func assistantConfig(t testing.TB, name, value string) []byte {
	t.Helper()
	fields := map[string]json.RawMessage{
		"backbone_hidden_size": json.RawMessage("64"),
		"text_config": json.RawMessage(`{"hidden_size": 32, "num_hidden_layers": 2,
			"intermediate_size": 64, "num_attention_heads": 2, "num_key_value_heads": 1,
			"head_dim": 16, "global_head_dim": 16, "vocab_size": 96, "sliding_window": 16,
			"layer_types": ["sliding_attention", "full_attention"]}`),
	}
	if fields[name] = json.RawMessage(value); value == "" {
		delete(fields, name)
	}
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestBadAssistantConfigIsRefused(t *testing.T) {
	for _, value := range []string{"", "null", "{}"} { // the sizes of a text_config have defaults
		if _, err := parseAssistant(assistantConfig(t, "text_config", value)); err != nil {
			t.Errorf("text_config %s is refused: %v", value, err)
		}
	}
	for _, test := range []struct{ name, value string }{
		{"text_config", "[]"}, {"text_config", `"text"`}, {"text_config", `{"hidden_size": -1}`},
		{"backbone_hidden_size", ""}, {"backbone_hidden_size", "-1"}, {"backbone_hidden_size", "1e99"},
	} {
		text := assistantConfig(t, test.name, test.value)
		if _, err := parseAssistant(text); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want an error in one sentence", text, err)
		}
	}
}

// FuzzAssistantConfig reads any text as the config.json of an assistant. It finds an error, or sizes
// that a network can have.
func FuzzAssistantConfig(f *testing.F) {
	f.Add(assistantConfig(f, "tie_word_embeddings", "true"))
	f.Add(assistantConfig(f, "use_ordered_embeddings", "true"))
	f.Add(assistantConfig(f, "text_config", "null"))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if a, err := parseAssistant(text); err == nil && (a.BackboneHiddenSize < 1 || a.text == nil) {
			t.Errorf("read as %+v", a)
		}
	})
}
