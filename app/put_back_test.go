package app

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/engine/enginetest"
)

// reasoner writes a copy of the built-in model with the template that Tandem gives Qwen3's GGUF
// files. That keeps the thoughts of answers since the last question. Each answer begins in a
// thought.
func reasoner(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "reasoner")
	if err := os.CopyFS(dir, os.DirFS("../models/pocket")); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("../models/gguf/templates/qwen3.jinja")
	if err != nil {
		t.Fatal(err)
	}
	const answer = `{{- '<|im_start|>assistant\n' -}}`
	if n := strings.Count(string(b), answer); n != 1 {
		t.Fatalf("the template has %d beginnings of an answer, want 1", n)
	}
	source := strings.Replace(string(b), answer, `{{- '<|im_start|>assistant\n<think>\n' -}}`, 1)
	if err := os.WriteFile(filepath.Join(dir, "chat_template.jinja"), []byte(source),
		0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A reasonedAnswer is an answer with what it took.
type reasonedAnswer struct {
	Choices []struct {
		Message struct {
			Content   *string           `json:"content"`
			Reasoning string            `json:"reasoning_content"`
			Calls     []json.RawMessage `json:"tool_calls"`
		} `json:"message"`
		PromptTokenIDs []int32 `json:"prompt_token_ids"`
		TokenIDs       []int32 `json:"token_ids"`
	} `json:"choices"`
	Timings struct {
		RunID    int64 `json:"run_id"`
		Cached   int   `json:"cache_n"`
		PutBackN int   `json:"put_back_n"`
	} `json:"timings"`
}

// reason posts a chat with a tool. With call the answer is a thought and a call.
func (r *running) reason(t *testing.T, key string, messages []any, call bool) reasonedAnswer {
	t.Helper()
	type object = map[string]any
	body := object{"model": control.Alias, "messages": messages, "temperature": 0, "max_tokens": 8,
		"return_token_ids": true,
		"tools": []any{object{"type": "function", "function": object{"name": "weather",
			"parameters": json.RawMessage(`{"type":"object","properties":{"city":{"enum":["Ulm"]}},"required":["city"],"additionalProperties":false}`)}}}}
	if call {
		body["tool_choice"], body["parallel_tool_calls"], body["max_tokens"] = "required", false, 400
		body["reasoning"] = object{"max_tokens": 40}
		body["logit_bias"] = r.noTags(t)
	}
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	var out reasonedAnswer
	text := r.askAs(t, key, "/v1/chat/completions", string(b))
	if err := json.Unmarshal(text, &out); err != nil || len(out.Choices) != 1 {
		t.Fatalf("%s: %s, %v", b, text, err)
	}
	return out
}

// noTags returns a bias without which the model opens thoughts within its thought.
func (r *running) noTags(t *testing.T) map[string]int {
	t.Helper()
	m, err := r.pool.Acquire(t.Context(), control.Alias)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	open, err := m.Tokenizer().Encode("<", false)
	if err != nil || len(open) != 1 {
		t.Fatal(open, err)
	}
	return map[string]int{strconv.Itoa(int(open[0])): -100}
}

// asked is the first turn: a question that is answered by a thought and a call.
func (r *running) asked(t *testing.T, key, question string) (messages []any, a reasonedAnswer) {
	t.Helper()
	messages = []any{map[string]string{"role": "user", "content": question}}
	a = r.reason(t, key, messages, true)
	m := a.Choices[0].Message
	if m.Reasoning == "" || len(m.Calls) != 1 {
		t.Fatalf("the answer is %+v, want a thought and a call", m)
	}
	return messages, a
}

// goesOn is the second turn: the conversation with the call's result. With thought the client sends
// that too.
func (r *running) goesOn(t *testing.T, key string, messages []any, a reasonedAnswer,
	thought bool) reasonedAnswer {
	t.Helper()
	m := a.Choices[0].Message
	said := map[string]any{"role": "assistant", "content": m.Content, "tool_calls": m.Calls}
	if thought {
		said["reasoning_content"] = m.Reasoning
	}
	var call struct{ ID string }
	if err := json.Unmarshal(m.Calls[0], &call); err != nil {
		t.Fatal(err)
	}
	return r.reason(t, key, append(slices.Clip(messages), said,
		map[string]string{"role": "tool", "tool_call_id": call.ID, "content": "sunny"}), false)
}

// A client that leaves a thought out gets the prompt of one that sends it, token by token, and as
// much of it restored, after a restart too. With the setting off it gets neither.
func TestDroppedThoughtCostsNoPrefix(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	model := reasoner(t)
	ask := func(t *testing.T, set string, restart, thought bool) (first, second reasonedAnswer, run control.Run) {
		t.Helper()
		o := Options{Home: t.TempDir(), Model: model}
		var messages []any
		next := func(t *testing.T, r *running) {
			second = r.goesOn(t, "", messages, first, thought)
			run = r.Run(t, second.Timings.RunID)
		}
		t.Run("first turn", func(t *testing.T) {
			r := start(t, o, "127.0.0.1:0")
			if set != "" {
				if _, err := r.change(t, set); err != nil {
					t.Fatal(err)
				}
			}
			if messages, first = r.asked(t, "", "Write a Go function named Close"); !restart {
				next(t, r)
			}
		})
		if restart {
			t.Run("second turn", func(t *testing.T) { next(t, start(t, o, "127.0.0.1:0")) })
		}
		return first, second, run
	}
	first, sent, run := ask(t, "", false, true)
	if sent.Timings.PutBackN != 0 || run.PutBackThoughts != 0 {
		t.Errorf("of a thought that the client sent %d tokens are put back, %+v",
			sent.Timings.PutBackN, run)
	}
	before := len(first.Choices[0].PromptTokenIDs)
	if sent.Timings.Cached <= before+40 {
		t.Fatalf("%d tokens are restored, the prompt of the first turn has %d, so the test shows nothing",
			sent.Timings.Cached, before)
	}
	for _, restart := range []bool{false, true} {
		_, got, run := ask(t, "", restart, false)
		if !slices.Equal(got.Choices[0].PromptTokenIDs, sent.Choices[0].PromptTokenIDs) {
			t.Errorf("restart %t: the prompt is %v, want %v", restart,
				got.Choices[0].PromptTokenIDs, sent.Choices[0].PromptTokenIDs)
		}
		if !restart && got.Timings.Cached != sent.Timings.Cached ||
			restart && got.Timings.Cached <= before+40 {
			t.Errorf("restart %t: %d tokens are restored, %d of a client that sends the thought",
				restart, got.Timings.Cached, sent.Timings.Cached)
		}
		if got.Timings.PutBackN != 40 || run.PutBackThoughts != 1 || run.PutBackTokens != 40 {
			t.Errorf("restart %t: %d tokens are put back, the run says %d thoughts of %d", restart,
				got.Timings.PutBackN, run.PutBackThoughts, run.PutBackTokens)
		}
	}
	_, off, run := ask(t, `{"put_back_thoughts": false}`, false, false)
	if len(off.Choices[0].PromptTokenIDs) >= len(sent.Choices[0].PromptTokenIDs) ||
		off.Timings.Cached >= sent.Timings.Cached || off.Timings.PutBackN != 0 ||
		run.PutBackThoughts != 0 {
		t.Errorf("with the setting off the prompt has %d tokens, %d restored, %d put back",
			len(off.Choices[0].PromptTokenIDs), off.Timings.Cached, off.Timings.PutBackN)
	}
}

// A thought is put back for the key that it was generated for. It goes when it is forgotten, when its
// key is deleted, and when the setting is turned off. Without checkpoints there are none.
func TestThoughtsBelongToTheirKey(t *testing.T) {
	o := Options{Home: t.TempDir(), Model: reasoner(t)}
	var r *running
	var messages []any
	var a reasonedAnswer
	back := func(t *testing.T, what, key string, want bool) {
		t.Helper()
		if n := r.goesOn(t, key, messages, a, false).Timings.PutBackN; (n > 0) != want {
			t.Errorf("%s: %d tokens are put back", what, n)
		}
	}
	ask := func(t *testing.T, key string) {
		t.Helper()
		messages, a = r.asked(t, key, "Write a Go function named Close")
	}
	forget := func(t *testing.T, client string) {
		t.Helper()
		if _, err := control.Call(t.Context(), r.client(t), control.Forget,
			control.ForgetRequest{Client: client}); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("with checkpoints", func(t *testing.T) {
		r = start(t, o, "127.0.0.1:0")
		ada := r.addKey(t, "Ada")
		ask(t, ada)
		for _, name := range []string{home.DatabaseFile, home.DatabaseFile + "-wal"} {
			b, err := os.ReadFile(filepath.Join(o.Home, name))
			if words := a.Choices[0].Message.Reasoning[:20]; err != nil ||
				bytes.Contains(b, []byte(words)) {
				t.Errorf("%s has %q of the thought as text, %v", name, words, err)
			}
		}
		back(t, "its key", ada, true)
		back(t, "another key", r.addKey(t, "Bob"), false)
		back(t, "no key", "", false)
		forget(t, "Bob")
		back(t, "after another client was forgotten", ada, true)
		forget(t, "Ada")
		back(t, "after it was forgotten", ada, false)

		ask(t, ada)
		back(t, "a new thought", ada, true)
		for _, on := range []string{"false", "true"} {
			if _, err := r.change(t, `{"put_back_thoughts": `+on+`}`); err != nil {
				t.Fatal(err)
			}
		}
		back(t, "after the setting was off", ada, false)

		ask(t, "")
		back(t, "without a key", "", true)
		readAnswer(t)(r.client(t).Do(t.Context(), http.MethodDelete, "/app/texts/none", nil))
		back(t, "after the texts of clients without a key were forgotten", "", false)
		ask(t, "")
	})
	o.NoCheckpoints = true
	t.Run("without checkpoints", func(t *testing.T) {
		r = start(t, o, "127.0.0.1:0")
		back(t, "a thought of before", "", false)
		forget(t, "Ada")
		readAnswer(t)(r.client(t).Do(t.Context(), http.MethodDelete, "/app/texts/none", nil))
		ask(t, "")
	})
	o.NoCheckpoints = false
	t.Run("with checkpoints again", func(t *testing.T) {
		r = start(t, o, "127.0.0.1:0")
		back(t, "a thought that was generated without checkpoints", "", false)
	})
}
