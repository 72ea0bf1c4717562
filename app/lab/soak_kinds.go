package lab

import (
	"fmt"
	"net/http"
	"strings"
)

// A soakKind is one kind of request.
type soakKind struct {
	name, path string
	body       string // empty for one without
	status     int    // of the answer
}

// soakTool is a function that answers may call.
const soakTool = `{"name":"look","description":"Looks a thing up.","parameters":{"type":"object","properties":{"thing":{"enum":["a","b"]}},"required":["thing"],"additionalProperties":false}}`

// soakSchema is a schema that a few tokens satisfy.
const soakSchema = `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false}`

// soakKinds returns requests of all kinds for a model that writes. An able model fills in gaps and
// calls functions. Prompts and seeds are the same each time, so that the kept texts do not grow.
func soakKinds(able bool) []soakKind {
	ability := http.StatusOK
	if !able {
		ability = http.StatusBadRequest
	}
	const common = `"model":"tandem","seed":7,"max_tokens":8`
	chat := func(more string) string {
		return fmt.Sprintf(`{%s,"messages":[{"role":"system","content":"Be short."},{"role":"user","content":"What is a list?"}]%s}`,
			common, more)
	}
	ollama := func(more string) string {
		return `{"model":"tandem","options":{"seed":7,"num_predict":8}` + more + `}`
	}
	const stream = `,"stream":true`
	schema := `,"response_format":{"type":"json_schema","json_schema":{"name":"s","strict":true,"schema":` +
		soakSchema + `}}`
	tools := `,"tools":[{"type":"function","function":` + soakTool + `}]`
	return []soakKind{
		{"chat", "/v1/chat/completions", chat(""), http.StatusOK},
		{"chat, streamed", "/v1/chat/completions", chat(stream + `,"stream_options":{"include_usage":true}`), http.StatusOK},
		{"chat, two choices", "/v1/chat/completions", chat(stream + `,"n":2`), http.StatusOK},
		{"chat, schema", "/v1/chat/completions", chat(schema), http.StatusOK},
		{"chat, schema, streamed", "/v1/chat/completions", chat(schema + stream), http.StatusOK},
		{"chat, tools", "/v1/chat/completions", chat(tools + stream), http.StatusOK},
		{"chat, a call", "/v1/chat/completions", chat(tools + `,"tool_choice":"required"`), ability},
		{"chat, without drafts", "/v1/chat/completions", chat(`,"speculation":{"drafter":"none"}`), http.StatusOK},
		{"completion", "/v1/completions", `{` + common + `,"prompt":"func main() {\n"}`, http.StatusOK},
		{"completion, streamed", "/v1/completions", `{` + common + stream + `,"prompt":"package main\n\nimport (\n"}`, http.StatusOK},
		{"completion, scored", "/v1/completions", `{` + common + `,"prompt":"if err != nil {","echo":true,"logprobs":2}`, http.StatusOK},
		{"completion, three prompts", "/v1/completions", `{` + common + `,"prompt":["a","b","c"],"n":2}`, http.StatusOK},
		{"a gap", "/v1/fim/completions", `{` + common + stream + `,"prompt":"func add(a, b int) int {\n\treturn ","suffix":"\n}\n"}`, ability},
		{"response", "/v1/responses", `{"model":"tandem","seed":7,"max_output_tokens":16,"input":"What is a map?"}`, http.StatusOK},
		{"response, streamed", "/v1/responses", `{"model":"tandem","seed":7,"max_output_tokens":16,"input":"What is a set?","store":false,"stream":true}`, http.StatusOK},
		{"message", "/v1/messages", chat(""), http.StatusOK}, // with the role system, which Anthropic's own API does not have
		{"message, streamed", "/v1/messages", `{` + common + stream + `,"system":"Be short.","messages":[{"role":"user","content":"What is a heap?"}]}`, http.StatusOK},
		{"message, counted", "/v1/messages/count_tokens", `{"model":"tandem","messages":[{"role":"user","content":"What is a heap?"}]}`, http.StatusOK},
		{"Ollama, chat", "/api/chat", ollama(`,"messages":[{"role":"user","content":"What is a tree?"}]`), http.StatusOK},
		{"Ollama, generate", "/api/generate", ollama(`,"prompt":"type Tree struct {","raw":true,"stream":false`), http.StatusOK},
		{"Ollama, models", "/api/tags", "", http.StatusOK},
		{"models", "/v1/models", "", http.StatusOK},
		{"embeddings of a model that writes", "/v1/embeddings", `{"model":"tandem","input":"a"}`, http.StatusBadRequest},
		{"ranks of a model that writes", "/v1/rerank", `{"model":"tandem","query":"a","documents":["a","b"]}`, http.StatusBadRequest},
		{"another model", "/v1/completions", `{"model":"missing/model","prompt":"a"}`, http.StatusNotFound},
		{"no JSON", "/v1/chat/completions", `{"model":"tandem","messages":[`, http.StatusBadRequest},
		{"a bad schema", "/v1/chat/completions", chat(`,"response_format":{"type":"json_schema","json_schema":{"name":"s","strict":true,"schema":{"type":"nothing"}}}`), http.StatusBadRequest},
		{"too long", "/v1/completions", `{"model":"tandem","prompt":"` + strings.Repeat("a b ", 30_000) + `"}`, http.StatusBadRequest},
		{"no route", "/v1/nothing", "{}", http.StatusNotFound},
	}
}
