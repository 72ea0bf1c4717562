package server

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"tandem/app/roomtest"
)

// FuzzShapedBody sends bodies in the shapes of the OpenAPI document to the routes that have them.
// Fields are left out, combined, and now and then have a value of another shape. data decides all
// of that.
func FuzzShapedBody(f *testing.F) {
	api := readAPI(f)
	var paths []string
	for path, operations := range api.Paths {
		if operations["post"].RequestBody != nil {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range paths {
		f.Add(byte(i), []byte{})
		for range 32 {
			data := make([]byte, 40+random.IntN(200))
			for j := range data {
				data[j] = byte(random.Uint32())
			}
			f.Add(byte(i), data)
		}
	}
	f.Fuzz(func(t *testing.T, route byte, data []byte) {
		path := paths[int(route)%len(paths)]
		g := &shapedBody{api: api, data: data}
		body := g.value(api.Paths[path]["post"].RequestBody.Content["application/json"].Schema, "", 0)
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		fake := roomtest.NewBackend()
		fake.Model.TemplateSource = roomtest.Dialect
		fake.SetPurpose(path)
		s := New(services(fake), Options{})
		w := roomtest.Post(s.Endpoint(), path, string(b))
		checkShaped(t, path, string(b), w)
		if fake.Held != 0 || len(s.api.Active()) != 0 || s.api.BytesTaken() != 0 ||
			fake.Model.OpenMatchers != 0 {
			t.Fatalf("%s: %d models held, %d in flight, %d bytes taken, %d grammars open after %s",
				path, fake.Held, len(s.api.Active()), s.api.BytesTaken(), fake.Model.OpenMatchers, b)
		}
	})
}

// checkShaped checks that an answer is a good one, or an error of the client's in the form of the
// route.
func checkShaped(t *testing.T, path, body string, w *httptest.ResponseRecorder) {
	t.Helper()
	switch {
	case w.Code == http.StatusOK:
		if strings.Contains(w.Body.String(), `"code":"internal"`) {
			t.Fatalf("%s: a defect of ours in the answer to %s: %s", path, body, w.Body)
		}
	case w.Code >= 400 && w.Code < 500:
		if !json.Valid(w.Body.Bytes()) || !strings.Contains(w.Body.String(), `"error"`) {
			t.Fatalf("%s: %d without an error for %s: %s", path, w.Code, body, w.Body)
		}
	default:
		t.Fatalf("%s: %d for %s: %s", path, w.Code, body, w.Body)
	}
}

// A shapedBody makes a value of a schema. The bytes of data decide; once they are used up, each
// decision is the first choice.
type shapedBody struct {
	api  *apiFile
	data []byte
}

// choose returns a number below n.
func (g *shapedBody) choose(n int) int {
	if len(g.data) == 0 || n <= 1 {
		return 0
	}
	c := g.data[0]
	g.data = g.data[1:]
	return int(c) % n
}

// deepest is how many levels a value has at most.
const deepest = 12

// oddValues stand where a schema wants something else.
var oddValues = []any{nil, true, -1, 0, 1.5, json.Number("1e308"), json.Number("-1e-400"),
	json.Number("9007199254740993"), "", "x", "-1", "\ufffd\u2028", json.RawMessage(`"\ud800"`),
	strings.Repeat("x", 3000), []any{}, []any{nil}, []any{[]any{[]any{}}}, map[string]any{},
	map[string]any{"type": "x"}, map[string]any{"": nil}}

// oddTexts are texts for a field that takes any.
var oddTexts = []string{"x", "", "héllo\n", "tandem", "user", "text", "function", "low", "5m", "1",
	"</think>", "<tool_call>", "start: \"a\"", "[a-z]+", "object", "\x00", "resp_x", "{\"a\":1}", "look"}

// value returns a value of a schema. name is its field's.
func (g *shapedBody) value(schema apiSchema, name string, depth int) any {
	if g.choose(24) == 23 {
		return oddValues[g.choose(len(oddValues))]
	}
	m, ok := schema.(map[string]any)
	if !ok || depth > deepest {
		return oddValues[g.choose(len(oddValues))]
	}
	if ref, ok := m["$ref"].(string); ok {
		return g.value(g.api.ref(ref), name, depth+1)
	}
	if name == "model" {
		return []string{"tandem", "tandem", "acme/coder", "tandem:latest", "other", "nope"}[g.choose(6)]
	}
	if list, ok := m["allOf"].([]any); ok {
		all := map[string]any{}
		for _, sub := range list {
			if part, ok := g.value(sub, name, depth+1).(map[string]any); ok {
				maps.Copy(all, part)
			}
		}
		return all
	}
	if list, ok := m["anyOf"].([]any); ok && m["properties"] == nil {
		return g.value(list[g.choose(len(list))], name, depth+1)
	}
	if c, ok := m["const"]; ok {
		return c
	}
	if list, ok := m["enum"].([]any); ok {
		return list[g.choose(len(list))]
	}
	return g.typed(m, depth)
}

// typed returns a value of one of the types of a schema.
func (g *shapedBody) typed(m map[string]any, depth int) any {
	kind, _ := m["type"].(string)
	if kinds, ok := m["type"].([]any); ok {
		kind, _ = kinds[g.choose(len(kinds))].(string)
	}
	switch kind {
	case "object":
		return g.object(m, depth)
	case "array":
		list := []any{}
		for range g.choose(5) {
			list = append(list, g.value(m["items"], "", depth+1))
		}
		return list
	case "string":
		return oddTexts[g.choose(len(oddTexts))]
	case "boolean":
		return g.choose(2) == 1
	case "integer", "number":
		numbers := []any{1, 0, 2, -1, -2, 7, 0.5, 100, 2147483647}
		for _, bound := range []string{"minimum", "maximum"} {
			if b, ok := m[bound].(float64); ok {
				numbers = append(numbers, b)
			}
		}
		return numbers[g.choose(len(numbers))]
	case "null":
		return nil
	}
	return oddValues[g.choose(len(oddValues))]
}

// object returns an object with the fields that it needs, and some of the others.
func (g *shapedBody) object(m map[string]any, depth int) any {
	out := map[string]any{}
	properties, _ := m["properties"].(map[string]any)
	required, _ := m["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		needed := slices.Contains(required, any(name))
		if roll := g.choose(8); needed && roll < 7 || !needed && roll >= 6 {
			out[name] = g.value(properties[name], name, depth+1)
		}
	}
	for range g.choose(8) / 6 { // names that the schema has not
		out[oddTexts[g.choose(len(oddTexts))]] = g.value(m["additionalProperties"], "", depth+1)
	}
	return out
}
