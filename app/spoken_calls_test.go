package app

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
)

// A speaker is a model whose greedy answer is given: after each token one other is by far the likeliest.
type speaker struct {
	begin  string   // the end of each prompt, which is a token
	pieces []string // the tokens of the answer; no two are alike
}

// speakerTemplate writes calls between tags of XML, and ends with %s.
const speakerTemplate = `{# <tool_call> <function= </think> #}{% for m in messages %}<|m|>{{ m.role }}:{{ m.content or '' }}` +
	`{% for c in m.tool_calls or [] %}` + "\n<tool_call>\n<function={{ c.function.name }}>\n" +
	`{% for k, v in c.function.arguments.items() %}` + "<parameter={{ k }}>\n{{ v }}\n</parameter>\n" +
	`{% endfor %}</function>` + "\n</tool_call>" + `{% endfor %}{% endfor %}{% if add_generation_prompt %}%s{% endif %}`

// write writes the model's folder. Its embedding is the identity, its layer adds nothing, and its head
// leads from each token to the next.
func (s speaker) write(t *testing.T) string {
	t.Helper()
	var file map[string]any
	if err := json.Unmarshal(enginetest.ByteTokenizerJSON(), &file); err != nil {
		t.Fatal(err)
	}
	const end, begin = 256, 257
	added := file["added_tokens"].([]any)
	next := map[int]int{}
	for i, text := range append([]string{s.begin}, s.pieces...) {
		next[begin+i] = begin + i + 1
		added = append(added, map[string]any{"id": begin + i, "content": text, "special": i == 0,
			"single_word": false, "lstrip": false, "rstrip": false, "normalized": false})
	}
	size := begin + 1 + len(s.pieces)
	next[size-1], file["added_tokens"] = end, added

	const dim = 16
	header, body := map[string]any{}, bytes.Buffer{}
	tensor := func(name string, at func(row, column int) float32, shape ...int) {
		from := body.Len()
		for i := range shape[0] {
			for j := range shape[len(shape)-1] {
				if len(shape) == 1 && j > 0 {
					break
				}
				body.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(at(i, j))))
			}
		}
		header[name+".weight"] = map[string]any{"dtype": "F32", "shape": shape, "data_offsets": []int{from, body.Len()}}
	}
	zero := func(int, int) float32 { return 0 }
	one := func(int, int) float32 { return 1 }
	tensor("model.embed_tokens", func(i, j int) float32 { return is(i == j) }, size, size)
	tensor("lm_head", func(i, j int) float32 { return is(next[j] == i || next[j] == 0 && i == end) }, size, size)
	tensor("model.norm", one, size)
	const layer = "model.layers.0."
	tensor(layer+"input_layernorm", one, size)
	tensor(layer+"post_attention_layernorm", one, size)
	for _, name := range []string{"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.gate_proj", "mlp.up_proj"} {
		tensor(layer+name, zero, dim, size)
	}
	tensor(layer+"self_attn.o_proj", zero, size, dim)
	tensor(layer+"mlp.down_proj", zero, size, dim)

	dir := filepath.Join(t.TempDir(), "speaker")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	head := asJSON(t, header)
	weights := append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...)
	for name, data := range map[string][]byte{
		"tokenizer.json":      asJSON(t, file),
		"chat_template.jinja": []byte(strings.Replace(speakerTemplate, "%s", s.begin, 1)),
		"model.safetensors":   append(weights, body.Bytes()...),
		"config.json": asJSON(t, map[string]any{"model_type": "llama", "vocab_size": size, "hidden_size": size,
			"num_hidden_layers": 1, "intermediate_size": dim, "num_attention_heads": 1, "num_key_value_heads": 1,
			"head_dim": dim, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "max_position_embeddings": 4096,
			"tie_word_embeddings": false, "eos_token_id": end}),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func is(yes bool) float32 {
	if yes {
		return 1
	}
	return 0
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBrokenCallsComeWithDraftsAndRestoredPrompts: a call whose tags are missing or come twice is the same
// call without drafts and with them, where several tokens come at once, and after a prompt that was
// restored. So it is in the step after it.
func TestBrokenCallsComeWithDraftsAndRestoredPrompts(t *testing.T) {
	for _, c := range []struct {
		name                string
		speaker             speaker
		text, thought, call string
	}{
		{"no opener", speaker{"<|go|>", []string{"I'll", " look", ".\n\n", "<func", "tion=", "run", ">\n", "<param", "eter=com", "mand>\n",
			"ls \"é\"", "\n</para", "meter>\n<", "/function>", "\n</tool", "_call>"}}, "I'll look.", "", `{"command":"ls \"é\""}`},
		{"tags twice", speaker{"<|go|>", []string{"<tool_call>", "\n<tool_call>\n", "<function=run>", "\n<function=run>\n",
			"<parameter=command>", "\n<parameter=command>\n", "a\n</parameter>\nb", "\n</parameter>", "\n</parameter>\n", "</function>", "\n</tool_call>"}},
			"", "", `{"command":"a\n</parameter>\nb"}`},
		{"in a thought", speaker{"<think>\n", []string{"I need", " it.", "\n<tool_call>\n<func", "tion=run>\n<parameter=", "command>\nl", "s\n</parameter>",
			"\n</function", ">\n</tool_call>"}}, "", "I need it.", `{"command":"ls"}`},
		{"no parameter's end", speaker{"<|go|>", []string{"<tool_call>\n<fun", "ction=run>\n<parameter", "=command>\n", "ls\n    <par", "ameter=days>",
			"\n2\n</func", "tion>\n</tool_call>"}}, "", "", `{"command":"ls","days":2}`},
		{"a call in a value", speaker{"<|go|>", []string{"<tool_call>\n<fun", "ction=run>\n<parameter", "=command>\n", "cat <<E", "\n<tool_call>\n",
			"<function=ls>\n", "<parameter=days>", "\n1\n</para", "meter>\n</function>", "\n</tool_call>\nE\n", "</parameter>", "\n</function>\n</tool_call>"}},
			"", "", `{"command":"cat <<E\n<tool_call>\n<function=ls>\n<parameter=days>\n1\n</parameter>\n</function>\n</tool_call>\nE"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, Options{Model: c.speaker.write(t)}, "127.0.0.1:0")
			accepted, restored := 0, 0
			// The question has the answer, so that a lookup drafts it.
			messages := []any{map[string]any{"role": "user", "content": strings.Join(c.speaker.pieces, "") + "?"}}
			for step := range 2 {
				for _, drafter := range []string{"none", "ngram", "ngram"} {
					body := map[string]any{"model": control.Alias, "messages": messages, "temperature": 0, "max_tokens": 60,
						"speculation": map[string]any{"drafter": drafter},
						"tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": "run", "parameters": json.RawMessage(
							`{"type":"object","properties":{"command":{"type":"string"},"days":{"type":"integer"}}}`)}}}}
					var a struct {
						Choices []struct {
							Message struct {
								Content   string
								Reasoning string `json:"reasoning_content"`
								Calls     []struct {
									Function struct{ Name, Arguments string }
								} `json:"tool_calls"`
							}
							FinishReason string `json:"finish_reason"`
						}
						Timings struct {
							Accepted int `json:"draft_n_accepted"`
							Cached   int `json:"cache_n"`
						}
					}
					answer := r.askAs(t, "", "/v1/chat/completions", string(asJSON(t, body)))
					if err := json.Unmarshal(answer, &a); err != nil || len(a.Choices) != 1 {
						t.Fatalf("%s, %v", answer, err)
					}
					m := a.Choices[0].Message
					if got := fmt.Sprint(m.Content, "|", m.Reasoning, "|", m.Calls); got != fmt.Sprintf("%s|%s|[{{run %s}}]", c.text, c.thought, c.call) {
						t.Errorf("step %d, drafter %s: %s", step, drafter, answer)
					}
					accepted += a.Timings.Accepted
					restored += a.Timings.Cached
				}
				messages = append(messages, map[string]any{"role": "assistant", "content": c.text, "reasoning_content": c.thought,
					"tool_calls": []any{map[string]any{"id": "a", "type": "function",
						"function": map[string]any{"name": "run", "arguments": c.call}}}},
					map[string]any{"role": "tool", "tool_call_id": "a", "content": "sunny"})
			}
			if accepted == 0 || restored == 0 {
				t.Errorf("%d drafts were accepted, and %d tokens restored", accepted, restored)
			}
		})
	}
}
