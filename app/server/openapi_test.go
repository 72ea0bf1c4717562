package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
	"tandem/app/wire"
)

// An apiFile is the description of the routes.
type apiFile struct {
	Paths map[string]map[string]struct {
		RequestBody *apiContent
		Responses   map[string]apiContent
	}
	Components struct{ Schemas map[string]apiSchema }
}

type apiContent struct {
	Content map[string]struct{ Schema apiSchema }
}

// An apiSchema is a JSON schema with the keywords that the file uses.
type apiSchema any

func readAPI(t testing.TB) *apiFile {
	t.Helper()
	w := roomtest.Get(New(services(roomtest.NewBackend()), Options{}).Endpoint(), "/openapi.json")
	var api apiFile
	if err := json.Unmarshal(w.Body.Bytes(), &api); err != nil || len(api.Paths) == 0 {
		t.Fatal(err, w.Code)
	}
	return &api
}

// apiPath returns a pattern of the routes in the form of the file.
func apiPath(pattern string) string { return strings.ReplaceAll(pattern, "...}", "}") }

func TestOpenAPIHasTheRoutesThatProgramsCallAndNoOthers(t *testing.T) {
	api := readAPI(t)
	var has, wants []string
	for path, operations := range api.Paths {
		for method := range operations {
			has = append(has, strings.ToUpper(method)+" "+path)
		}
	}
	for pattern, methods := range standardRoutes(New(services(roomtest.NewBackend()), Options{})) {
		for _, method := range methods {
			wants = append(wants, method+" "+apiPath(pattern))
		}
	}
	slices.Sort(has)
	slices.Sort(wants)
	if !slices.Equal(has, wants) {
		t.Errorf("openapi.json has\n%q, the routes are\n%q", has, wants)
	}
}

func (a *apiFile) ref(ref string) apiSchema {
	return a.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
}

func TestOpenAPIErrorsHaveTheFormOfTheRoutesVendor(t *testing.T) {
	api := readAPI(t)
	for path, operations := range api.Paths {
		for method, operation := range operations {
			r := roomtest.LocalRequest(strings.ToUpper(method), strings.ReplaceAll(path, "{id}", "x"), nil)
			w := statusRecorder(r, control.Errorf(control.CodeInvalid, "It went wrong."))
			if err := api.Check(operation.Responses["default"].Content["application/json"].Schema,
				w); err != nil {
				t.Errorf("%s %s: %v", method, path, err)
			}
		}
	}
}

// statusRecorder returns the answer to a request that fails.
func statusRecorder(r *http.Request, err error) any {
	_, body := wire.ProtocolOf(r).Refusal(http.Header{}, wire.FailureOf(err))
	var v any
	if json.Unmarshal(body, &v) != nil {
		return nil
	}
	return v
}

// The answers have only names that the document has.
func TestAnswersAreAsOpenAPISays(t *testing.T) {
	const all = `,"return_token_ids":true,"return_draft_info":true,"n":2,"max_tokens":3`
	const thinks = "<think>hm</think>So:<tool_call>\n{\"name\": \"look\", \"arguments\": {\"z\": 1}}\n</tool_call>"
	api := readAPI(t)
	called := map[string]bool{}
	for _, c := range []struct{ route, path, body, version, chunk string }{
		{"/v1/models", "", "", "", ""},
		{"/v1/models", "", "", "2023-06-01", ""},
		{"/v1/models/{id}", "/v1/models/acme/coder", "", "", ""},
		{"/v1/models/{id}", "/v1/models/tandem", "", "2023-06-01", ""},
		{"/v1/chat/completions", "", roomtest.ChatBody(`"logprobs":true,"top_logprobs":2` + all), "", ""},
		{"/v1/chat/completions", "", roomtest.ChatBody(roomtest.TwoTools), "", ""},
		{"/v1/chat/completions", "", roomtest.ChatBody(`"functions":[{"name":"look"}]`), "", ""},
		{"/v1/chat/completions", "", roomtest.ChatBody(`"stream":true,"stream_options":{"include_usage":true},"logprobs":true,"top_logprobs":1` + all), "", "ChatCompletionChunk"},
		{"/v1/chat/completions", "", roomtest.ChatBody(`"stream":true`, roomtest.TwoTools), "", "ChatCompletionChunk"},
		{"/v1/chat/completions", "", roomtest.ChatBody(`"stream":true`, `"functions":[{"name":"look"}]`), "", "ChatCompletionChunk"},
		{"/v1/completions", "", `{"model":"tandem","prompt":["a","b"],"echo":true,"logprobs":2` + all + `}`, "", ""},
		{"/v1/completions", "", `{"model":"tandem","prompt":"a","echo":true,"logprobs":0,"stream":true` + all + `}`, "", "CompletionChunk"},
		{"/v1/fim/completions", "", `{"model":"tandem","prompt":"a","suffix":"b","logprobs":1` + all + `}`, "", ""},
		{"/v1/fim/completions", "", `{"model":"tandem","prompt":"a","suffix":"b","stream":true` + all + `}`, "", "FIMCompletionChunk"},
		{"/api/version", "", "", "", ""},
		{"/api/tags", "", "", "", ""},
		{"/api/ps", "", "", "", ""},
		{"/api/show", "", `{"model":"tandem"}`, "", ""},
		{"/api/pull", "", `{"model":"tandem","stream":false}`, "", ""},
		{"/api/pull", "", `{"model":"tandem"}`, "", "OllamaPulled"},
		{"/api/generate", "", `{"model":"tandem"}`, "", ""},
		{"/api/generate", "", `{"model":"tandem","prompt":"a","stream":false,"logprobs":true,"top_logprobs":1}`, "", ""},
		{"/api/generate", "", `{"model":"tandem","prompt":"a","logprobs":true}`, "", "OllamaGenerated"},
		{"/api/chat", "", `{"model":"tandem","messages":[],"keep_alive":0}`, "", ""},
		{"/api/chat", "", strings.TrimSuffix(roomtest.ChatBody(roomtest.TwoTools), "}") + `,"stream":false}`, "", ""},
		{"/api/chat", "", roomtest.ChatBody(roomtest.TwoTools), "", "OllamaChatted"},
		{"/api/embed", "", `{"model":"tandem","input":["a","b"],"dimensions":2}`, "", ""},
		{"/api/embeddings", "", `{"model":"tandem","prompt":"a"}`, "", ""},
		{"/v1/embeddings", "", `{"model":"tandem","input":["a","b"]}`, "", ""},
		{"/v1/embeddings", "", `{"model":"tandem","input":[[1],[2]],"encoding_format":"base64"}`, "", ""},
		{"/v2/rerank", "", `{"query":"a","documents":["b"],"max_tokens_per_doc":9}`, "", ""},
		{"/v1/rerank", "", `{"model":"tandem","query":"a","documents":["b",{"text":"c"}],"return_documents":true}`, "", ""},
		{"/v1/responses", "", responsesBody(`"include":["message.output_text.logprobs"],"top_logprobs":1`), "", ""},
		{"/v1/responses", "", responsesBody(`"max_output_tokens":3`), "", ""},
		{"/v1/responses", "", responsesBody(`"stream":true`), "", "ResponseEvent"},
		{"/v1/responses/input_tokens", "", `{"input":"x","instructions":"y"}`, "", ""},
		{"/v1/responses/compact", "", `{"model":"tandem","input":"x"}`, "", ""},
		{"/v1/responses/{id}", "/v1/responses/STORED", "", "", ""},
		{"/v1/responses/{id}/input_items", "/v1/responses/STORED/input_items", "", "", ""},
		{"/v1/messages", "", messagesBody(`"thinking":{"type":"enabled"}`), "", ""},
		{"/v1/messages", "", messagesBody(`"thinking":{"type":"adaptive"},"stream":true`), "", "MessageEvent"},
		{"/v1/messages/count_tokens", "", messagesBody(`"system":[{"type":"text","text":"s"}]`), "", ""},
		{"/api/v0/models", "", "", "", ""},
		{"/api/v0/models/{id}", "/api/v0/models/acme/coder", "", "", ""},
		{"/api/v0/chat/completions", "", roomtest.ChatBody(`"n":2`), "", ""},
		{"/api/v0/chat/completions", "", roomtest.ChatBody(`"stream":true`), "", "ChatCompletionChunk"},
		{"/api/v0/completions", "", `{"model":"tandem","prompt":"a"}`, "", ""},
		{"/api/v0/embeddings", "", `{"model":"tandem","input":["a","b"]}`, "", ""},
		{"/props", "", "", "", ""},
		{"/tokenize", "", `{"content":"aé","add_special":true}`, "", ""},
		{"/tokenize", "", `{"model":"tandem","prompt":"aé","with_pieces":true}`, "", ""},
		{"/detokenize", "", `{"tokens":[97,98]}`, "", ""},
		{"/infill", "", `{"input_prefix":"a","input_suffix":"b","prompt":"c","input_extra":[{"filename":"d","text":"e"}],"stop":["x"]}`, "", ""},
		{"/completion", "", `{"prompt":"a","n_predict":4,"stop":["x"]}`, "", ""},
		{"/completion", "", `{"prompt":[97,98],"stream":true}`, "", "Infilled"},
		{"/infill", "", `{"input_prefix":"a","stream":true,"n_predict":4}`, "", "Infilled"},
		{"/openapi.json", "", "", "", ""},
	} {
		path := c.path
		if path == "" {
			path = c.route
		}
		fake := roomtest.Speaking(thinks)
		fake.SetPurpose(path)
		s := New(services(fake), Options{})
		path = strings.Replace(path, "STORED", storedResponse(t, s, path), 1)
		w := roomtest.GetAs(s.Endpoint(), c.version, path)
		operation := api.Paths[c.route]["get"]
		if c.body != "" {
			w = roomtest.Post(s.Endpoint(), path, c.body)
			operation = api.Paths[c.route]["post"]
			if err := api.Check(operation.RequestBody.Content["application/json"].Schema,
				decoded(t, []byte(c.body))); err != nil {
				t.Errorf("%s: the body: %v", c.body, err)
			}
		}
		method := "get"
		if c.body != "" {
			method = "post"
		}
		called[method+c.route] = true
		if w.Code != http.StatusOK {
			t.Errorf("%s %s: %d %s", path, c.body, w.Code, w.Body)
			continue
		}
		kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
		content, ok := operation.Responses["200"].Content[kind]
		if !ok {
			t.Errorf("%s: openapi.json knows no %s", path, kind)
		}
		if c.chunk == "" {
			if err := api.Check(content.Schema, decoded(t, w.Body.Bytes())); err != nil {
				t.Errorf("%s %s: %v", path, c.body, err)
			}
			continue
		}
		schema, ok := api.Components.Schemas[c.chunk]
		if description, _ := content.Schema.(map[string]any)["description"].(string); !ok ||
			!strings.Contains(description, c.chunk) {
			t.Errorf("%s: %q does not name %s", path, description, c.chunk)
		}
		n := 0
		for line := range strings.SplitSeq(w.Body.String(), "\n") {
			if line = strings.TrimPrefix(line, "data: "); line == "" || line == "[DONE]" ||
				strings.HasPrefix(line, "event: ") {
				continue
			}
			n++
			if err := api.Check(schema, decoded(t, []byte(line))); err != nil {
				t.Errorf("%s %s: %v in %s", path, c.body, err, line)
			}
		}
		if n < 3 && path != "/api/pull" {
			t.Errorf("%s: %d chunks", path, n)
		}
	}
	s := New(services(roomtest.NewBackend()), Options{})
	deleted := roomtest.Send(s.Endpoint(), http.MethodDelete, "/v1/responses/"+storedResponse(t, s, "STORED"))
	called["delete/v1/responses/{id}"] = true
	if err := api.Check(api.Paths["/v1/responses/{id}"]["delete"].Responses["200"].Content["application/json"].Schema,
		decoded(t, deleted.Body.Bytes())); err != nil {
		t.Error(err)
	}
	for path, operations := range api.Paths {
		for method, operation := range operations {
			if _, answers := operation.Responses["200"]; answers && !called[method+path] {
				t.Errorf("%s %s is not tried", method, path)
			}
		}
	}
}

// storedResponse returns the id of a response, for a path that needs one.
func storedResponse(t *testing.T, s *Server, path string) string {
	if !strings.Contains(path, "STORED") {
		return ""
	}
	var response struct{ ID string }
	w := roomtest.Post(s.Endpoint(), "/v1/responses", responsesBody(`"store":true`))
	if err := json.Unmarshal(w.Body.Bytes(), &response); err != nil || response.ID == "" {
		t.Fatal(err, w.Body)
	}
	return response.ID
}

// responsesBody is a request for a response with more fields.
func responsesBody(more string) string {
	return `{"model":"tandem","instructions":"i","input":[{"role":"user","content":"x"},{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"t"}]},` +
		`{"type":"function_call","call_id":"1","name":"look","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"y"}],` +
		`"tools":[{"type":"function","name":"look","parameters":{"type":"object"}}],` + more + `}`
}

// messagesBody is a request of Anthropic's with more fields.
func messagesBody(more string) string {
	return `{"model":"tandem","max_tokens":4000,"messages":[{"role":"user","content":[{"type":"text","text":"x"}]},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"1","name":"look","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"y"}]}],` +
		`"tools":[{"name":"look","input_schema":{"type":"object"}}],` + more + `}`
}

func decoded(t *testing.T, b []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return v
}

// knownKeywords are the keywords that Check reads, or that do not restrict a value.
var knownKeywords = []string{"$ref", "allOf", "anyOf", "oneOf", "type", "enum", "const",
	"properties", "required", "items", "additionalProperties",
	"minimum", "maximum", "exclusiveMinimum", "minItems", "maxItems", "minLength", "maxLength",
	"maxProperties", "propertyNames", "not", "pattern", "description", "format", "default"}

// Check returns how v differs from a schema. An object may have only the names of the schema,
// unless the schema allows others. A request's body is checked for the names that it has.
func (a *apiFile) Check(s apiSchema, v any) error {
	if b, ok := s.(bool); ok {
		if !b {
			return fmt.Errorf("%v is not allowed", v)
		}
		return nil
	}
	m, ok := s.(map[string]any)
	if !ok {
		return fmt.Errorf("no schema: %v", s)
	}
	for key := range m {
		if !slices.Contains(knownKeywords, key) {
			return fmt.Errorf("the keyword %s is not known here", key)
		}
	}
	if ref, ok := m["$ref"].(string); ok {
		return a.Check(a.ref(ref), v)
	}
	if list, ok := m["allOf"].([]any); ok {
		for _, sub := range list {
			if err := a.Check(sub, v); err != nil && !strings.HasPrefix(err.Error(), unnamed) {
				return err
			}
		}
		return nil
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		list, ok := m[key].([]any)
		if !ok || m["properties"] != nil {
			continue
		}
		var failed []string
		for _, sub := range list {
			err := a.Check(sub, v)
			if err == nil {
				return nil
			}
			failed = append(failed, err.Error())
		}
		return fmt.Errorf("none of [%s]", strings.Join(failed, "; "))
	}
	if c, ok := m["const"]; ok && !reflect.DeepEqual(c, v) {
		return fmt.Errorf("%v is not %v", v, c)
	}
	if list, ok := m["enum"].([]any); ok && !slices.Contains(list, v) {
		return fmt.Errorf("%v is not one of %v", v, list)
	}
	if t, ok := m["type"]; ok {
		types, ok := t.([]any)
		if !ok {
			types = []any{t}
		}
		if !slices.ContainsFunc(types, func(t any) bool { return isOf(t.(string), v) }) {
			return fmt.Errorf("%v is no %v", v, t)
		}
	}
	if p, ok := m["pattern"].(string); ok {
		if text, ok := v.(string); ok && !regexp.MustCompile(p).MatchString(text) {
			return fmt.Errorf("%q does not match %s", text, p)
		}
	}
	if x, ok := v.(float64); ok {
		for key, ok := range map[string]func(bound float64) bool{
			"minimum":          func(b float64) bool { return x >= b },
			"maximum":          func(b float64) bool { return x <= b },
			"exclusiveMinimum": func(b float64) bool { return x > b },
		} {
			if b, has := m[key].(float64); has && !ok(b) {
				return fmt.Errorf("%v: %s %v", x, key, b)
			}
		}
	}
	return a.checkInside(m, v)
}

// unnamed begins the error for a name that a schema does not have.
const unnamed = "not named: "

// checkInside checks the contents of a list or an object.
func (a *apiFile) checkInside(m map[string]any, v any) error {
	switch v := v.(type) {
	case []any:
		if n, ok := m["minItems"].(float64); ok && len(v) < int(n) {
			return fmt.Errorf("%d items", len(v))
		}
		if n, ok := m["maxItems"].(float64); ok && len(v) > int(n) {
			return fmt.Errorf("%d items", len(v))
		}
		for i, x := range v {
			if err := a.Check(m["items"], x); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
	case map[string]any:
		required, _ := m["required"].([]any)
		for _, name := range required {
			if _, ok := v[name.(string)]; !ok {
				return fmt.Errorf("%s is missing", name)
			}
		}
		properties, _ := m["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			sub, ok := properties[name]
			if !ok {
				sub, ok = m["additionalProperties"]
			}
			if !ok && m["properties"] == nil {
				continue // any object
			}
			if !ok {
				return fmt.Errorf("%s%s", unnamed, name)
			}
			if err := a.Check(sub, v[name]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

func isOf(kind string, v any) bool {
	switch v := v.(type) {
	case nil:
		return kind == "null"
	case string:
		return kind == "string"
	case bool:
		return kind == "boolean"
	case float64:
		return kind == "number" || kind == "integer" && v == math.Trunc(v)
	case []any:
		return kind == "array"
	case map[string]any:
		return kind == "object"
	}
	return false
}
