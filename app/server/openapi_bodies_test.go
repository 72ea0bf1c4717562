package server

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tandem/app/roomtest"
)

// leastBodies are requests with only the fields that they need, by path.
var leastBodies = map[string]string{
	"/v1/chat/completions":       `{"model":"tandem","messages":[{"role":"user","content":"x"}]}`,
	"/v1/completions":            `{"model":"tandem","prompt":"x"}`,
	"/v1/fim/completions":        `{"model":"tandem","prompt":"x"}`,
	"/v1/responses":              `{"model":"tandem","input":"x"}`,
	"/v1/responses/input_tokens": `{"input":"x"}`,
	"/v1/responses/compact":      `{"model":"tandem","input":"x"}`,
	"/v1/messages":               `{"model":"tandem","max_tokens":4,"messages":[{"role":"user","content":"x"}]}`,
	"/v1/messages/count_tokens":  `{"model":"tandem","messages":[{"role":"user","content":"x"}]}`,
	"/v1/embeddings":             `{"model":"tandem","input":"x"}`,
	"/v1/rerank":                 `{"model":"tandem","query":"x","documents":["y"]}`,
	"/v2/rerank":                 `{"model":"tandem","query":"x","documents":["y"]}`,
	"/api/show":                  `{}`,
	"/api/pull":                  `{}`,
	"/api/generate":              `{"model":"tandem","prompt":"x"}`,
	"/api/chat":                  `{"model":"tandem","messages":[{"role":"user","content":"x"}]}`,
	"/api/embed":                 `{"model":"tandem","input":"x"}`,
	"/api/embeddings":            `{"model":"tandem","prompt":"x"}`,
	"/api/v0/chat/completions":   `{"model":"tandem","messages":[{"role":"user","content":"x"}]}`,
	"/api/v0/completions":        `{"model":"tandem","prompt":"x"}`,
	"/api/v0/embeddings":         `{"model":"tandem","input":"x"}`,
	"/tokenize":                  `{"content":"x"}`,
	"/detokenize":                `{"tokens":[1]}`,
	"/completion":                `{"prompt":"x"}`,
	"/infill":                    `{"input_prefix":"x"}`,
}

// A wrong value shows that a reader checks the field: a field without a reader would pass.
func TestEachFieldOfOpenAPIIsReadAndHeldToItsTypeAndBounds(t *testing.T) {
	api := readAPI(t)
	for _, path := range slices.Sorted(maps.Keys(api.Paths)) {
		body := api.Paths[path]["post"].RequestBody
		if body == nil {
			continue
		}
		least, ok := leastBodies[path]
		if !ok {
			t.Errorf("%s has no body to try", path)
			continue
		}
		fake := roomtest.NewBackend()
		fake.SetPurpose(path)
		b := &bodyTest{T: t, api: api, server: New(services(fake), Options{}), path: path}
		b.fields(body.Content["application/json"].Schema,
			decoded(t, []byte(least)).(map[string]any), func(v map[string]any) any { return v })
	}
}

// A bodyTest sends bodies with one wrong field.
type bodyTest struct {
	*testing.T
	api    *apiFile
	server *Server
	path   string
}

// fields tries each field of an object, and of the objects inside. whole puts the object into a
// body.
func (b *bodyTest) fields(schema apiSchema, object map[string]any, whole func(map[string]any) any) {
	properties := map[string]apiSchema{}
	b.api.properties(schema, properties)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		with := func(v any) any {
			o := maps.Clone(object)
			o[name] = v
			if name == "function_call" { // the choice among functions
				o["functions"] = []any{map[string]any{"name": "look"}}
			}
			return whole(o)
		}
		sub := properties[name]
		b.wrong(name, sub, with)
		inner := map[string]apiSchema{}
		if b.api.properties(sub, inner); len(inner) > 0 {
			b.fields(sub, b.api.least(sub), func(v map[string]any) any { return with(v) })
		}
	}
}

// wrong tries values that a field's schema refuses: one of another type, and each that is out of
// bounds. The server has to refuse them.
func (b *bodyTest) wrong(name string, schema apiSchema, with func(any) any) {
	var tried, refused int
	for _, v := range []any{true, "zzz", 0.5, []any{[]any{[]any{}}}, map[string]any{"zzz": 1.0}} {
		if b.api.Check(schema, v) == nil {
			continue
		}
		tried++
		if b.refuses(name, with(v)) != "" {
			refused++
		}
	}
	if tried > 0 && refused == 0 {
		b.Errorf("%s: nothing reads %s", b.path, name)
	}
	m, _ := schema.(map[string]any)
	for keyword, step := range map[string]float64{"minimum": -1, "maximum": 1} {
		bound, ok := m[keyword].(float64)
		if !ok || bound > 1<<32 || bound < -1<<32 {
			continue
		}
		if b.refuses(name, with(bound+step)) == "" {
			b.Errorf("%s takes %s of %v, beyond its %s", b.path, name, bound+step, keyword)
		}
		if message := b.refuses(name, with(bound)); strings.Contains(message, "must lie") ||
			strings.Contains(message, "must be at least") {
			b.Errorf("%s refuses %s of %v, its %s: %s", b.path, name, bound, keyword, message)
		}
	}
}

// refuses returns the answer to a request that is refused for a field, or an empty text.
func (b *bodyTest) refuses(name string, body any) string {
	text, err := json.Marshal(body)
	if err != nil {
		b.Fatal(err)
	}
	w := roomtest.Post(b.server.Endpoint(), b.path, string(text))
	if w.Code == http.StatusInternalServerError {
		b.Errorf("%s %s: %s", b.path, text, w.Body)
	}
	if w.Code < http.StatusBadRequest || !strings.Contains(w.Body.String(), name) {
		return ""
	}
	return w.Body.String()
}

// properties adds the properties of an object. All of its schemas count.
func (a *apiFile) properties(s apiSchema, to map[string]apiSchema) {
	m, _ := s.(map[string]any)
	if ref, ok := m["$ref"].(string); ok {
		a.properties(a.ref(ref), to)
	}
	list, _ := m["allOf"].([]any)
	if any, ok := m["anyOf"].([]any); ok && len(any) == 2 && isNullSchema(any[1]) { // or null
		list = any[:1]
	}
	for _, sub := range list {
		a.properties(sub, to)
	}
	properties, _ := m["properties"].(map[string]any)
	for name, sub := range properties {
		if _, never := sub.(bool); !never {
			to[name] = sub
		}
	}
}

func isNullSchema(s any) bool { return s.(map[string]any)["type"] == "null" }

// least returns an object with only what its schema requires.
func (a *apiFile) least(s apiSchema) map[string]any {
	object := map[string]any{}
	m, _ := s.(map[string]any)
	required, _ := m["required"].([]any)
	for _, name := range required {
		sub := m["properties"].(map[string]any)[name.(string)].(map[string]any)
		switch {
		case sub["const"] != nil:
			object[name.(string)] = sub["const"]
		case sub["type"] == "object":
			object[name.(string)] = a.least(sub)
		default:
			object[name.(string)] = "x"
		}
	}
	return object
}
