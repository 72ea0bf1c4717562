package roomtest

import "strings"

// MessageBody is a request for a message with more fields.
func MessageBody(fields ...string) string {
	return `{"model":"tandem","max_tokens":400,"messages":[{"role":"user","content":"x"}],` +
		strings.Join(append(fields, `"seed":1`), ",") + `}`
}

// AnthropicTools are TwoTools in Anthropic's form, together with tools that other programs run.
const AnthropicTools = `"tools":[{"name":"look","input_schema":{"type":"object","properties":{"z":{},"a":{}}},"cache_control":{"type":"ephemeral"}},{"type":"web_search_20250305","name":"web_search","max_uses":5},{"type":"custom","name":"go","description":"Goes.","strict":true,"input_schema": {"type": "object"}}]`

// ResponseBody is a request for a response with these fields.
func ResponseBody(fields ...string) string {
	return `{"model":"tandem",` + strings.Join(fields, ",") + `}`
}

// TwoTools are the tools in the requests of many tests.
const TwoTools = `"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{"z":{},"a":{}}}}},{"type":"function","function":{"name":"go","strict":true}}]`

// ChatBody is a request for a chat completion with more fields.
func ChatBody(fields ...string) string {
	return `{"model":"tandem","messages":[{"role":"user","content":"x"}],` +
		strings.Join(fields, ",") + `}`
}

// Calls of these tools as the model of Speaking writes them, and what a client reads of the first.
const (
	LookCall = `<tool_call>` + "\n" + `{"name": "look", "arguments": {"z": "é}", "a": [1]}}` +
		"\n" + `</tool_call>`
	GoCall = `<tool_call>` + "\n" + `{"name": "go", "arguments": {}}` + "\n" + `</tool_call>`
	Looked = `look{"z": "é}", "a": [1]}`
)

// ModelBodies has a body without a model for each route that takes one.
var ModelBodies = map[string]string{
	"/v1/chat/completions":      `"messages":[{"role":"user","content":"x"}]`,
	"/v1/completions":           `"prompt":"x"`,
	"/v1/fim/completions":       `"prompt":"x","suffix":"y"`,
	"/v1/embeddings":            `"input":"x"`,
	"/v1/rerank":                `"query":"x","documents":["y"]`,
	"/v1/responses":             `"input":"x"`,
	"/v1/messages":              `"max_tokens":4,"messages":[{"role":"user","content":"x"}]`,
	"/v1/messages/count_tokens": `"messages":[{"role":"user","content":"x"}]`,
	"/api/v0/chat/completions":  `"messages":[{"role":"user","content":"x"}]`,
	"/api/v0/completions":       `"prompt":"x"`,
	"/api/v0/embeddings":        `"input":"x"`,
	"/completion":               `"prompt":"x"`,
	"/infill":                   `"input_prefix":"x"`,
	"/tokenize":                 `"content":"x"`,
	"/detokenize":               `"tokens":[1]`,
	"/api/generate":             `"prompt":"x","stream":false`,
	"/api/chat":                 `"messages":[{"role":"user","content":"x"}],"stream":false`,
	"/api/embed":                `"input":"x"`,
	"/api/embeddings":           `"prompt":"x"`,
}
