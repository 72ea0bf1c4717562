package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/engine/enginetest"
	"tandem/models"
)

// recordings are random models of each family, and what mlx_lm said on them.
const recordings = "../../../models/testdata/parity"

// familyFolders names a recording for each model_type, as its maker publishes it where there is
// such a recording.
var familyFolders = map[string]string{
	"gemma3":           "gemma3-4bit-nested",
	"gemma3_text":      "gemma3",
	"gemma4":           "gemma4-moe-4bit",
	"gemma4_text":      "gemma4-e-4bit",
	"gemma4_unified":   "gemma4-unified",
	"glm4_moe_lite":    "glm4-moe-lite-published",
	"gpt_oss":          "gpt-oss-published",
	"granite":          "granite-4bit",
	"lfm2":             "lfm2-4bit",
	"lfm2_moe":         "lfm2-moe-4bit",
	"llama":            "llama-4bit",
	"ministral3":       "ministral3",
	"mistral":          "llama-sliding",
	"mistral3":         "mistral3-4bit",
	"muse_glimmer":     "glimmer-published",
	"nemotron_h":       "nemotron-h-published",
	"phi3":             "phi3-long",
	"qwen2":            "qwen2-4bit",
	"qwen3":            "qwen3-4bit",
	"qwen3_5":          "qwen35-published",
	"qwen3_5_moe":      "qwen35-moe",
	"qwen3_5_moe_text": "qwen35-moe-4bit",
	"qwen3_5_text":     "qwen35-4bit",
	"qwen3_moe":        "qwen3-moe-published",
	"qwen3_next":       "qwen3-next-published",
	"smollm3":          "smollm3-4bit",
}

// familyFolder makes a folder of the recording of that name, with a chat template. Its model_type is
// another name of the recording's.
func familyFolder(t *testing.T, modelType, recording string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), modelType)
	if err := os.CopyFS(dir, enginetest.RecordedModel(t, recordings, recording)); err != nil {
		t.Fatal(err)
	}
	setConfig(t, dir, map[string]any{"model_type": modelType})
	const template = `{% for m in messages %}{{ m.role }}: {{ m.content }}
{% endfor %}`
	if err := os.WriteFile(filepath.Join(dir, "chat_template.jinja"), []byte(template),
		0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A streamed is what `tandem run --json` prints: a line for each part, and one for the end.
type streamed struct {
	text   string
	ids    []int32
	parts  int
	finish string
}

// stream runs the program on a model, with a prompt on its standard input.
func stream(t *testing.T, home, model, prompt string, args ...string) (s streamed) {
	t.Helper()
	args = append([]string{"run", "--model", model, "--json"}, args...)
	p := launchWith(t, home, nil, strings.NewReader(prompt), append(args, "-")...)
	code, out := p.exit(t)
	if code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, p.stderr)
	}
	for _, l := range lines[struct {
		Text         string
		TokenIDs     []int32 `json:"token_ids"`
		FinishReason string  `json:"finish_reason"`
	}](t, out) {
		if s.finish = l.FinishReason; s.finish == "" {
			s.text, s.ids, s.parts = s.text+l.Text, append(s.ids, l.TokenIDs...), s.parts+1
		}
	}
	return s
}

// `tandem run` streams from a folder of each family, a token at a time. After the recorded prompt it
// says what mlx_lm said. It answers in a chat too.
func TestRunStreamsFromAFolderOfEachFamily(t *testing.T) {
	home := newHome(t)
	for _, modelType := range models.Architectures() {
		t.Run(modelType, func(t *testing.T) {
			recording, ok := familyFolders[modelType]
			if !ok {
				t.Fatal("there is no folder of that model_type")
			}
			dir := familyFolder(t, modelType, recording)
			prompt, want := enginetest.RecordedAnswer(t, recordings, recording)
			if !enginetest.Long {
				want = want[:24]
			}
			got := stream(t, home, dir, ascii(prompt), "--raw", "--temperature", "0",
				"--max-tokens", fmt.Sprint(len(want)))
			if !slices.Equal(got.ids, want) || got.text != ascii(want) || got.parts != len(want) ||
				got.finish != "length" {
				t.Errorf("it says %d in %d parts (%s), want %d", got.ids, got.parts, got.finish, want)
			}
			if strings.HasSuffix(modelType, "_text") && !enginetest.Long {
				return // a text half alone chats as the whole form does
			}
			got = stream(t, home, dir, "Hello", "--max-tokens", "8")
			if got.text == "" || len(got.ids) != 8 || got.parts != 8 || got.finish != "length" {
				t.Errorf("in a chat it says %d in %d parts (%s)", got.ids, got.parts, got.finish)
			}
		})
	}
}

// ascii returns the text of ids of recorded models.
func ascii(ids []int32) string {
	text := make([]byte, len(ids))
	for i, id := range ids {
		text[i] = byte(id)
	}
	return string(text)
}
