package app

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
)

// A toolAnswer has the fields of a chat answer that these tests read.
type toolAnswer struct {
	Choices []struct {
		Message struct {
			Content   *string
			Reasoning string
			ToolCalls []struct {
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		FinishReason   string  `json:"finish_reason"`
		TokenIDs       []int32 `json:"token_ids"`
		PromptTokenIDs []int32 `json:"prompt_token_ids"`
	}
	Usage struct {
		CompletionTokens        int `json:"completion_tokens"`
		CompletionTokensDetails struct {
			ReasoningTokens int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	Timings struct {
		RunID  int64 `json:"run_id"`
		DraftN int   `json:"draft_n"`
	}
}

// talk posts a chat of one message, with these fields more, and returns the answer.
func (r *running) talk(t *testing.T, fields map[string]any) toolAnswer {
	t.Helper()
	body := map[string]any{"model": control.Alias, "return_token_ids": true,
		"messages": []map[string]string{{"role": "user",
			"content": "Write a Go function named Close"}}}
	maps.Copy(body, fields)
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	a := r.Send("/v1/chat/completions", string(b))
	var out toolAnswer
	if err := json.Unmarshal([]byte(a.body), &out); err != nil || a.status != 200 ||
		len(out.Choices) != 1 {
		t.Fatalf("%s gets %+v, %v, want 200 and one choice", b, a, err)
	}
	return out
}

// repeatable fails the test unless a replay of the run gives the same tokens.
func (r *running) repeatable(t *testing.T, what string, a toolAnswer) {
	t.Helper()
	r.Run(t, a.Timings.RunID)
	if v, err := control.Call(t.Context(), r.client(t), control.VerifyRun,
		control.RunVerification{Run: a.Timings.RunID}); err != nil ||
		v.Same != v.Tokens || v.Tokens != len(a.Choices[0].TokenIDs) {
		t.Errorf("%s: the replay gives %+v, %v, want the same tokens", what, v, err)
	}
}

// A required call is made with arguments that fit its schema, with and without a drafter. The
// built-in model knows nothing of tools, so the grammar alone makes it call.
func TestRequiredToolIsCalledWithArgumentsBySchema(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	r := start(t, Options{Model: "pocket"}, "127.0.0.1:0")
	tools := []map[string]any{
		{"type": "function", "function": map[string]any{"name": "weather", "parameters": json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","maxLength":10},"days":{"type":"integer","minimum":1,"maximum":9}},"required":["city","days"],"additionalProperties":false}`)}},
		{"type": "function", "function": map[string]any{"name": "now"}},
	}
	drafted := 0
	for what, fields := range map[string]map[string]any{
		"any, greedy": {"tool_choice": "required", "temperature": 0, "parallel_tool_calls": false},
		"weather": {"tool_choice": map[string]any{"type": "function",
			"function": map[string]any{"name": "weather"}}, "temperature": 1, "seed": 3},
	} {
		request := maps.Clone(fields)
		request["tools"], request["max_tokens"] = tools, 120
		got := r.talk(t, request)
		c := got.Choices[0]
		if c.FinishReason != "tool_calls" || len(c.Message.ToolCalls) != 1 ||
			c.Message.Content != nil {
			t.Fatalf("%s: %+v, want one call and no text", what, c)
		}
		drafted += got.Timings.DraftN
		call := c.Message.ToolCalls[0].Function
		var args struct {
			City *string
			Days int
		}
		d := json.NewDecoder(strings.NewReader(call.Arguments))
		d.DisallowUnknownFields()
		if call.Name == "weather" {
			if err := d.Decode(&args); err != nil || args.City == nil || args.Days < 1 ||
				args.Days > 9 {
				t.Errorf("%s: the arguments are %s, %v", what, call.Arguments, err)
			}
		} else if what == "weather" || !json.Valid([]byte(call.Arguments)) {
			t.Errorf("%s: the call is %+v", what, call)
		}
		request["speculation"] = map[string]any{"drafter": "none"}
		if plain := r.talk(t, request); !slices.Equal(plain.Choices[0].TokenIDs, c.TokenIDs) ||
			plain.Timings.DraftN > 0 {
			t.Errorf("%s without a drafter: %+v, want the tokens %v", what, plain, c.TokenIDs)
		}
		r.repeatable(t, what, got)
	}
	if drafted == 0 {
		t.Error("no token was drafted, so the test shows nothing about drafters")
	}
	// With a response_format and tools the answer is in the format or is a call.
	got := r.talk(t, map[string]any{"tools": tools, "temperature": 0, "max_tokens": 200,
		"response_format": schemaFormat(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false}`)})
	c := got.Choices[0]
	if text := c.Message.Content; len(c.Message.ToolCalls) == 0 &&
		(text == nil || !strings.Contains(*text, `"ok"`) || !json.Valid([]byte(*text))) {
		t.Errorf("with a response_format: %+v, want the format or a call", c)
	}
}

// thinker writes a copy of the built-in model whose template opens a thought in every answer.
func thinker(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "thinker")
	if err := os.CopyFS(dir, os.DirFS("../models/pocket")); err != nil {
		t.Fatal(err)
	}
	const name = "chat_template.jinja"
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	const answer = `<|im_start|>assistant\n' }}`
	source := string(b)
	at := strings.LastIndex(source, answer)
	if at < 0 {
		t.Fatalf("the template has no start of an answer %q: %s", answer, source)
	}
	source = source[:at] + `<|im_start|>assistant\n<think>\n' }}` + source[at+len(answer):]
	if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A thought is closed after the 70 tokens of its budget. The tokens after it are the same that the
// model gives when the closed thought is a part of the prompt.
func TestThoughtIsClosedAtItsBudget(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	r := start(t, Options{Model: thinker(t)}, "127.0.0.1:0")
	// The bias forbids "<": without it the model opens another thought after each closed one.
	m, err := r.pool.Acquire(t.Context(), control.Alias)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	bias := r.noTags(t)
	for what, sampling := range map[string]map[string]any{
		"greedy":  {"temperature": 0, "logit_bias": bias},
		"sampled": {"temperature": 0.8, "seed": 5, "frequency_penalty": 0.5, "logit_bias": bias},
	} {
		request := maps.Clone(sampling)
		maps.Copy(request, map[string]any{"reasoning": map[string]any{"max_tokens": 70},
			"max_tokens": 110, "ignore_eos": true})
		got := r.talk(t, request)
		c := got.Choices[0]
		if c.Message.Reasoning == "" || c.Message.Content == nil || *c.Message.Content == "" ||
			c.FinishReason != "length" {
			t.Fatalf("%s: %+v, want reasoning and text up to the limit", what, c)
		}
		if n := got.Usage.CompletionTokensDetails.ReasoningTokens; n != 70 ||
			got.Usage.CompletionTokens != 110 || len(c.TokenIDs) != 110 {
			t.Errorf("%s: %d tokens of reasoning, %d in all, want 70 and 110: %v",
				what, n, got.Usage.CompletionTokens, c.TokenIDs)
		}
		r.repeatable(t, what, got)
		request["speculation"] = map[string]any{"drafter": "none"}
		if plain := r.talk(t, request); !slices.Equal(plain.Choices[0].TokenIDs, c.TokenIDs) {
			t.Errorf("%s without a drafter: %v, want %v",
				what, plain.Choices[0].TokenIDs, c.TokenIDs)
		}
		if what != "greedy" { // the penalty counts tokens of the answer, not of the prompt
			continue
		}
		// Without a budget the first 70 tokens are the same. After the closed thought the model
		// gives the same tokens by itself.
		closed := 70
		for !strings.Contains(m.Tokenizer().Decode(c.TokenIDs[70:closed]), "</think>\n\n") {
			closed++
		}
		request["reasoning"], request["max_tokens"] = nil, 70
		if free := r.talk(t, request); !slices.Equal(free.Choices[0].TokenIDs, c.TokenIDs[:70]) {
			t.Errorf("%s without a budget: %v, want %v",
				what, free.Choices[0].TokenIDs, c.TokenIDs[:70])
		}
		after := r.Ask(t, map[string]any{"prompt": slices.Concat(c.PromptTokenIDs,
			c.TokenIDs[:closed]), "max_tokens": 110 - closed, "temperature": 0, "logit_bias": bias,
			"ignore_eos": true}, false)
		if !slices.Equal(after.IDs, c.TokenIDs[closed:]) {
			t.Errorf("%s after the thought: %v, want %v", what, after.IDs, c.TokenIDs[closed:])
		}
	}
}
