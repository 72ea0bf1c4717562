package openai_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
)

// TestBadInputNamesItsField: each mistake gets one answer that names the field. It leaves a row in
// the history, and the server still serves the next request.
func TestBadInputNamesItsField(t *testing.T) {
	chat := func(fields string) string {
		return `{"model":"tandem","messages":[{"role":"user","content":"x"}],` + fields + `}`
	}
	message := func(m string) string { return `{"model":"tandem","messages":[` + m + `]}` }
	text := func(fields string) string { return `{"model":"tandem","prompt":"x",` + fields + `}` }
	const chatPath, textPath = "/v1/chat/completions", "/v1/completions"
	for _, c := range []struct {
		path, body, param, says string
	}{
		{chatPath, ``, "", "empty"},
		{chatPath, `{`, "", "ends early"},
		{chatPath, `[]`, "", "does not start with {"},
		{chatPath, `"x"`, "", "does not start with {"},
		{chatPath, `{"model":tandem}`, "", "byte"},
		{chatPath, `{"model":"tandem"} {}`, "", "follows"},
		{chatPath, `{"model":"tandem"}]`, "", "follows"},
		{chatPath, `{"model":"tandem","model":"x"}`, "", "twice"},
		{chatPath, "{\"model\":\"\xff\"}", "", "UTF-8"},
		{chatPath, `{"x":` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `}`, "", "deeper"},
		{chatPath, `{"model":7}`, "model", "string"},
		{chatPath, `{"model":"tandem"}`, "messages", "list"},
		{chatPath, `{"model":"tandem","messages":[]}`, "messages", "at least one"},
		{chatPath, `{"model":"tandem","messages":"hi"}`, "messages", "list"},
		{chatPath, message(`"hi"`), "messages[0]", "object"},
		{chatPath, message(`{"content":"x"}`), "messages[0].role", "must be system, developer"},
		{chatPath, message(`{"role":"wizard","content":"x"}`), "messages[0].role", "wizard"},
		{chatPath, message(`{"role":"user","content":7}`), "messages[0].content", "string"},
		{chatPath, message(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}`), "messages[0].content[0].type", "text only"},
		{chatPath, message(`{"role":"user","content":[{"type":"text","text":"a"},{"type":"input_audio"}]}`), "messages[0].content[1].type", "text only"},
		{chatPath, message(`{"role":"user","content":[{"type":"hologram"}]}`), "messages[0].content[0].type", "hologram"},
		{chatPath, message(`{"role":"user","content":[{"type":"text"}]}`), "messages[0].content[0].text", "missing"},
		{chatPath, message(`{"role":"user","content":[7]}`), "messages[0].content[0]", "object"},
		{chatPath, message(`{"role":"assistant","tool_calls":{}}`), "messages[0].tool_calls", "list"},
		{chatPath, message(`{"role":"assistant","tool_calls":[7]}`), "messages[0].tool_calls[0]", "must be an object"},
		{chatPath, chat(`"tools":{}`), "tools", "list"},
		{chatPath, chat(`"tools":[7]`), "tools", "list"},
		{chatPath, chat(`"functions":[7]`), "functions", "list"},
		{chatPath, chat(`"tools":[{}],"tool_choice":"required"`), "tools[0].name", "is missing"},
		{chatPath, chat(`"tool_choice":"required"`), "tool_choice", "nothing to call"},
		{chatPath, chat(`"tools":[{"function":{"name":"f"}}],"tool_choice":"often"`), "tool_choice", "often"},
		{chatPath, chat(`"tools":[{"function":{"name":"f"}}],"tool_choice":7`), "tool_choice", "object"},
		{chatPath, chat(`"tools":[{"function":{"name":"f"}}],"tool_choice":{}`), "tool_choice.type", "allowed_tools"},
		{chatPath, chat(`"tools":[{"function":{"name":"f"}}],"tool_choice":{"type":"function"}`), "tool_choice.function", "missing"},
		{chatPath, chat(`"tools":[{"function":{"name":"f"}}],"tool_choice":{"type":"function","function":{}}`), "tool_choice.function.name", "missing"},
		{chatPath, chat(`"tools":[{"function":{"name":"f"}}],"tool_choice":{"type":"function","function":{"name":"g"}}`), "tool_choice", `"g"`},
		{chatPath, chat(`"tools":[{"function":{"name":"f"}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"tools":[7]}}`), "tool_choice.allowed_tools.tools", "list"},
		{chatPath, chat(`"tools":[{"function":{"name":"f"}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"none"}}`), "tool_choice.allowed_tools.mode", "none"},
		{chatPath, chat(`"tools":[{"function":{"name":"f"}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[]}}`), "tool_choice", "nothing to call"},
		{chatPath, chat(`"tools":[{"function":{"name":"f"}}],"tool_choice":"required"`), "tool_choice", "no form for calls"},
		{chatPath, chat(`"functions":[{"name":"f"}],"function_call":{"name":"g"}`), "function_call", `"g"`},
		{chatPath, chat(`"parallel_tool_calls":7`), "parallel_tool_calls", "true or false"},
		{chatPath, chat(`"reasoning_effort":"huge"`), "reasoning_effort", "huge"},
		{chatPath, chat(`"reasoning":"low"`), "reasoning", "object"},
		{chatPath, chat(`"reasoning":{"effort":7}`), "reasoning.effort", "string"},
		{chatPath, chat(`"reasoning":{"max_tokens":-2}`), "reasoning.max_tokens", "at least -1"},
		{chatPath, chat(`"thinking_budget":"x"`), "thinking_budget", "whole"},
		{chatPath, chat(`"enable_thinking":1`), "enable_thinking", "true or false"},
		{chatPath, chat(`"chat_template_kwargs":[]`), "chat_template_kwargs", "object"},
		{chatPath, chat(`"chat_template_kwargs":{"messages":[]}`), "chat_template_kwargs", "must not"},
		{chatPath, chat(`"response_format":{}`), "response_format.type", "json_schema"},
		{chatPath, chat(`"response_format":{"type":"yaml"}`), "response_format.type", "yaml"},
		{chatPath, chat(`"response_format":{"type":"json_schema"}`), "response_format.json_schema", "missing"},
		{chatPath, chat(`"response_format":{"type":"json_schema","json_schema":{"name":"a"}}`), "response_format.json_schema.schema", "missing"},
		{chatPath, chat(`"response_format":{"type":"json_schema","json_schema":{"schema":[]}}`), "response_format.json_schema.schema", "object"},
		{chatPath, chat(`"response_format":{"type":"json_schema","json_schema":{"schema":{},"strict":1}}`), "response_format.json_schema.strict", "true or false"},
		{chatPath, chat(`"response_format":{"type":"json_schema","json_schema":{"schema":{"required":["impossible"]}}}`), "response_format", "fake"},
		{chatPath, chat(`"response_format":{"type":"grammar"}`), "response_format.grammar", "missing"},
		{chatPath, chat(`"response_format":{"type":"grammar","grammar":{"syntax":"lark"}}`), "response_format.grammar.definition", "missing"},
		{chatPath, chat(`"response_format":{"type":"grammar","grammar":{"syntax":"gbnf","definition":"a"}}`), "response_format.grammar.syntax", "gbnf"},
		{chatPath, chat(`"response_format":"json"`), "response_format", "object"},
		{chatPath, chat(`"audio":{"voice":"x"}`), "audio", "text"},
		{chatPath, chat(`"modalities":["text","audio"]`), "modalities", "audio"},
		{chatPath, chat(`"top_logprobs":2`), "top_logprobs", "logprobs"},
		{chatPath, chat(`"logprobs":true,"top_logprobs":21`), "top_logprobs", "between"},
		{chatPath, chat(`"logprobs":5`), "logprobs", "true or false"},
		{chatPath, chat(`"max_tokens":-3`), "max_tokens", "at least 0"},
		{chatPath, chat(`"max_completion_tokens":-5`), "max_completion_tokens", "at least 0"},
		{chatPath, chat(`"max_tokens":1.5`), "max_tokens", "whole"},
		{chatPath, chat(`"max_tokens":"5"`), "max_tokens", "whole"},
		{chatPath, chat(`"max_tokens":1e99`), "max_tokens", "whole"},
		{chatPath, chat(`"n":0`), "n", "between"},
		{chatPath, chat(`"n":9`), "n", "between 1 and 8"},
		{chatPath, chat(`"stream":"yes"`), "stream", "true or false"},
		{chatPath, chat(`"stream_options":7`), "stream_options", "object"},
		{chatPath, chat(`"stream_options":{"include_usage":7}`), "stream_options.include_usage", "true or false"},
		{chatPath, chat(`"temperature":-0.1`), "temperature", "at least 0"},
		{chatPath, chat(`"temperature":"hot"`), "temperature", "number"},
		{chatPath, chat(`"temperature":1e999`), "temperature", "number"},
		{chatPath, chat(`"top_p":1.1`), "top_p", "between"},
		{chatPath, chat(`"min_p":-1`), "min_p", "between"},
		{chatPath, chat(`"top_k":-2`), "top_k", "at least -1"},
		{chatPath, chat(`"repetition_penalty":0`), "repetition_penalty", "between 0.01 and 100"},
		{chatPath, chat(`"presence_penalty":"x"`), "presence_penalty", "number"},
		{chatPath, chat(`"logit_bias":[1]`), "logit_bias", "object"},
		{chatPath, chat(`"logit_bias":{"x":1}`), "logit_bias", "token id"},
		{chatPath, chat(`"logit_bias":{"5":101}`), "logit_bias.5", "between"},
		{chatPath, chat(`"seed":1.5`), "seed", "whole"},
		{chatPath, chat(`"stop":7`), "stop", "string"},
		{chatPath, chat(`"stop":["` + strings.Repeat("s", 1025) + `"]`), "stop", "1025 characters"},
		{chatPath, chat(`"stop":"` + strings.Repeat("é", 1025) + `"`), "stop", "1025 characters"},
		{chatPath, chat(`"stop":[` + strings.Repeat(`"s",`, 16) + `"s"]`), "stop", "16"},
		{chatPath, chat(`"ignore_eos":1`), "ignore_eos", "true or false"},
		{chatPath, chat(`"speculation":"fast"`), "speculation", "object"},
		{chatPath, chat(`"speculation":{"drafter":"psychic"}`), "speculation.drafter", "must be auto, none"},
		{chatPath, chat(`"speculation":"none"`), "speculation", `such as {"drafter": "none"}`},
		{chatPath, chat(`"speculation":{"depth":-1}`), "speculation.depth", "between"},
		{chatPath, chat(`"speculation":{"rule":"luck"}`), "speculation.rule", "must be coupled or rejection"},
		{chatPath, chat(`"speculation":{"depth":32}`), "speculation.depth", "between"},
		{chatPath, chat(`"speculation":{"rollback":"hope"}`), "speculation.rollback", "must be auto"},
		{chatPath, chat(`"speculation":{"exact":1}`), "speculation.exact", "true or false"},
		{chatPath, chat(`"speculation":[]`), "speculation", "object"},
		{chatPath, chat(`"speculation":true`), "speculation", "object"},
		{chatPath, chat(`"speculation":{"drafter":7}`), "speculation.drafter", "string"},
		{chatPath, chat(`"speculation":{"depth":1.5}`), "speculation.depth", "whole"},
		{chatPath, chat(`"speculation":{"depth":"x"}`), "speculation.depth", "whole"},
		{chatPath, chat(`"speculation":{"depth":[4]}`), "speculation.depth", "whole"},
		{chatPath, chat(`"speculation":{"depth":4,"dept":4}`), "speculation", "no \"dept\"; it takes drafter, depth"},
		{chatPath, chat(`"speculation":{"depth":4,"depth":5}`), "speculation", "twice"},
		{chatPath, chat(`"speculation":{"drafter":"none","x":{}}`), "speculation", "no \"x\""},
		{chatPath, chat(`"speculation":{"drafter":"mtp"}`), "speculation.drafter", "not there for this model"},
		{chatPath, chat(`"return_draft_info":1`), "return_draft_info", "true or false"},
		{textPath, text(`"speculation":{"drafter":"mtp"},"stream":true`), "speculation.drafter", "not there for this model"},
		{chatPath, chat(`"prediction":"x"`), "prediction", "object"},
		{chatPath, chat(`"prediction":["x"]`), "prediction", "object"},
		{chatPath, chat(`"prediction":{"content":"x"}`), "prediction.type", "must be \"content\""},
		{chatPath, chat(`"prediction":{"type":"edit","content":"x"}`), "prediction.type", "edit"},
		{chatPath, chat(`"prediction":{"type":7,"content":"x"}`), "prediction.type", "string"},
		{chatPath, chat(`"prediction":{"type":"content"}`), "prediction.content", "missing"},
		{chatPath, chat(`"prediction":{"type":"content","content":null}`), "prediction.content", "null"},
		{chatPath, chat(`"prediction":{"type":"content","content":7}`), "prediction.content", "string"},
		{chatPath, chat(`"prediction":{"type":"content","content":{"type":"text","text":"x"}}`), "prediction.content", "list of parts"},
		{chatPath, chat(`"prediction":{"type":"content","content":[7]}`), "prediction.content[0]", "object"},
		{chatPath, chat(`"prediction":{"type":"content","content":[{"type":"text"}]}`), "prediction.content[0].text", "missing"},
		{chatPath, chat(`"prediction":{"type":"content","content":[{"type":"image_url"}]}`), "prediction.content[0].type", "text only"},
		{chatPath, chat(`"prediction":{"type":"content","content":"` + strings.Repeat("x", 65) + `"}`), "prediction.content", "longer than the model's whole context of 64 tokens"},
		{chatPath, chat(`"prediction":{"type":"content","content":"` + strings.Repeat("x", 400) + `"}`), "prediction.content", "longer than"},

		{textPath, `{"model":"tandem"}`, "prompt", "missing"},
		{textPath, `{"model":"tandem","prompt":7}`, "prompt", "string"},
		{textPath, `{"model":"tandem","prompt":[]}`, "prompt", "not empty"},
		{textPath, `{"model":"tandem","prompt":["a",7]}`, "prompt", "list of strings"},
		{textPath, `{"model":"tandem","prompt":[1,"a"]}`, "prompt", "token ids"},
		{textPath, `{"model":"tandem","prompt":[1,null]}`, "prompt", "token ids"},
		{textPath, `{"model":"tandem","prompt":[-1]}`, "prompt", "below 261"},
		{textPath, `{"model":"tandem","prompt":[[1],[261]]}`, "prompt[1]", "below 261"},
		{textPath, `{"model":"tandem","prompt":[[]]}`, "prompt", "no tokens"},
		{textPath, `{"model":"tandem","prompt":["a"` + strings.Repeat(`,"a"`, 64) + `]}`, "prompt", "64"},
		{textPath, text(`"logprobs":6`), "logprobs", "between 0 and 5"},
		{textPath, text(`"logprobs":true`), "logprobs", "whole"},
		{textPath, text(`"best_of":1,"n":2`), "best_of", "at least n (2)"},
		{textPath, text(`"best_of":9`), "best_of", "between 1 and 8"},
		{textPath, text(`"best_of":2,"stream":true`), "best_of", "in a stream"},
		{textPath, `{"model":"tandem","best_of":8,"prompt":["a"` + strings.Repeat(`,"a"`, 8) + `]}`, "prompt", "72"},
		{textPath, text(`"echo":"yes"`), "echo", "true or false"},
		{textPath, text(`"suffix":"y","echo":true`), "echo", "suffix"},
		{textPath, `{"model":"tandem","prompt":[1],"suffix":"y"}`, "suffix", "text"},
		{textPath, `{"model":"tandem","prompt":"` + strings.Repeat("x", 64) + `"}`, "prompt", "maximum context length is 64 tokens. However, you requested 65 tokens"},
	} {
		fake := roomtest.NewBackend()
		s := serve(fake)
		w := roomtest.Post(s, c.path, c.body)
		if w.Code != http.StatusBadRequest {
			t.Errorf("%.90s: status %d %s", c.body, w.Code, w.Body)
			continue
		}
		e := roomtest.DecodeError(t, w)
		param := ""
		if e.Param != nil {
			param = *e.Param
		}
		if param != c.param || !strings.Contains(e.Message, c.says) ||
			e.Type != "invalid_request_error" || e.Code == "" {
			t.Errorf("%.90s: param %q (want %q), message %q (want %q), type %q, code %q",
				c.body, param, c.param, e.Message, c.says, e.Type, e.Code)
		}
		if r := fake.LastRun(); r.Error != strings.TrimSuffix(e.Code+": "+param, ": ") ||
			r.FinishReason != "error" || r.Endpoint != c.path {
			t.Errorf("%.90s: the history has %+v", c.body, r)
		}
		if fake.Held != 0 || len(s.API.Active()) != 0 {
			t.Errorf("%.90s: %d models held, %d runs in flight", c.body, fake.Held, len(s.API.Active()))
		}
	}
}

// TestTextBeyondTokenizerIsRefused: the tokenizer may give up on a text. That is an error of that
// request, wherever the text stands.
func TestTextBeyondTokenizerIsRefused(t *testing.T) {
	for path, bodies := range map[string][]string{
		"/v1/chat/completions": {`{"model":"tandem","messages":[{"role":"user","content":"slow!"}]}`},
		"/v1/completions": {
			`{"model":"tandem","prompt":"slow!"}`,
			`{"model":"tandem","prompt":["x","slow!"]}`,
			`{"model":"tandem","prompt":"slow!","suffix":"x"}`,
			`{"model":"tandem","prompt":"x","suffix":"slow!"}`,
		},
	} {
		for _, body := range bodies {
			w := roomtest.Post(serve(roomtest.NewBackend()), path, body)
			if e := roomtest.DecodeError(t, w); w.Code != http.StatusBadRequest ||
				e.Code != string(control.CodeInvalid) {
				t.Errorf("%s: %d %+v", body, w.Code, e)
			}
		}
	}
}

// TestValuesJustInsideLimitsAreServed is the other side of TestBadInputNamesItsField: values just
// inside the limits.
func TestValuesJustInsideLimitsAreServed(t *testing.T) {
	stop := `"` + strings.Repeat("é", 1024) + `"`
	for _, body := range []string{
		`{"model":"tandem","prompt":"x","n":8,"best_of":8,"logprobs":5,"stop":[` +
			strings.Repeat(stop+",", 15) + stop + `]}`,
		`{"model":"tandem","prompt":"x","max_tokens":16.0,"seed":-3,"top_k":-1,"top_p":0,"stop":"","logit_bias":{}}`,
		`{"model":"tandem","prompt":"x","seed":18446744073709551615,"temperature":null,"n":null,"suffix":null,"logit_bias":{"5":-100}}`,
		`{"model":"tandem","prompt":"` + strings.Repeat("x", 63) + `"}`,
		`{"model":"tandem","prompt":"x","y":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) +
			`}`,
		fmt.Sprintf(`{"model":"tandem","prompt":%q}`, "line\n\"quote\" 日本"),
	} {
		if w := roomtest.Post(serve(roomtest.NewBackend()), "/v1/completions",
			body); w.Code != 200 {
			t.Errorf("%.80s: %d %s", body, w.Code, w.Body)
		}
	}
}
