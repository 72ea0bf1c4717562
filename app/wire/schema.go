package wire

import (
	"maps"
	"strings"
)

// Schemas are the schemas of an OpenAPI document, by name.
type Schemas map[string]any

// Of returns the JSON schema of a shape. If the shape has a name, Of adds its schema to all and
// returns a reference to it.
func (all Schemas) Of(s *Shape) map[string]any {
	if s.name == "" {
		return all.inline(s)
	}
	if _, known := all[s.name]; !known {
		all[s.name] = nil // stops a shape that contains itself
		all[s.name] = all.inline(s)
	}
	return map[string]any{"$ref": "#/components/schemas/" + s.name}
}

func (all Schemas) inline(s *Shape) map[string]any {
	m := maps.Clone(s.more)
	if m == nil {
		m = map[string]any{}
	}
	if s.doc != "" {
		m["description"] = s.doc
	}
	if s.kind != "" {
		m["type"] = s.kind
	}
	switch len(s.words) {
	case 0:
	case 1:
		m["const"] = s.words[0]
	default:
		m["enum"] = s.words
	}
	bound := map[string][2]string{"string": {"minLength", "maxLength"},
		"array": {"minItems", "maxItems"}}[s.kind]
	if bound[0] == "" {
		bound = [2]string{"minimum", "maximum"}
	}
	if s.lo != nil {
		m[bound[0]] = *s.lo
	}
	if s.hi != nil {
		m[bound[1]] = *s.hi
	}
	if s.items != nil {
		m["items"] = all.Of(s.items)
	}
	if s.values != nil {
		m["additionalProperties"] = all.Of(s.values)
	}
	if s.either != nil {
		m["anyOf"] = all.list(s.either)
	}
	if s.both != nil {
		m["allOf"] = all.list(s.both)
	}
	all.properties(m, s.fields)
	if s.null {
		return orNull(m)
	}
	return m
}

func (all Schemas) list(shapes []*Shape) (out []any) {
	for _, s := range shapes {
		out = append(out, all.Of(s))
	}
	return out
}

// properties adds the fields of an object to its schema.
func (all Schemas) properties(m map[string]any, fields []Field) {
	if fields == nil {
		return
	}
	properties := map[string]any{}
	var required []string
	for _, f := range fields {
		schema := all.Of(f.shape)
		if f.null {
			schema = orNull(schema)
		}
		if f.doc != "" {
			schema["description"] = f.doc
		}
		properties[f.name] = schema
		if !f.absent {
			required = append(required, f.name)
		}
	}
	m["properties"] = properties
	if required != nil {
		m["required"] = required
	}
}

// orNull returns a schema that also allows null.
func orNull(schema map[string]any) map[string]any {
	null := map[string]any{"type": "null"}
	switch kind := schema["type"].(type) {
	case string:
		if kind != "null" {
			schema["type"] = []string{kind, "null"}
		}
		return schema
	}
	if list, ok := schema["anyOf"].([]any); ok {
		schema["anyOf"] = append(list, null)
		return schema
	}
	return map[string]any{"anyOf": []any{schema, null}}
}

// An Operation describes a method of a route for OpenAPI.
type Operation struct {
	Method, Path string
	ID, Summary  string
	Parameters   []Parameter
	Body         *Shape // nil for none
	Answer       *Shape // nil if every answer is an error
	Chunk        *Shape // of the answer under stream; nil for no stream
	Lines        bool   // the chunks are lines, not server-sent events
	Done         bool   // [DONE] ends the stream
	Error        *Shape
}

// A Parameter is in a request's path, query or header.
type Parameter struct {
	Name, In, Doc string
	Shape         *Shape
}

// PathID is the id in a path.
var PathID = Parameter{Name: "id", In: "path", Shape: String}

// Document returns the OpenAPI object of an operation.
func (all Schemas) Document(o Operation) map[string]any {
	doc := map[string]any{"operationId": o.ID, "summary": o.Summary}
	var parameters []any
	for _, p := range o.Parameters {
		parameter := map[string]any{"name": p.Name, "in": p.In, "schema": all.Of(p.Shape)}
		if p.Doc != "" {
			parameter["description"] = p.Doc
		}
		if p.In == "path" {
			parameter["required"] = true
		}
		parameters = append(parameters, parameter)
	}
	if parameters != nil {
		doc["parameters"] = parameters
	}
	if o.Body != nil {
		doc["requestBody"] = map[string]any{"required": true,
			"content": content("application/json", all.Of(o.Body))}
	}
	responses := map[string]any{
		"default": map[string]any{"description": "What went wrong.",
			"content": content("application/json", all.Of(o.Error))},
	}
	if o.Answer != nil {
		answers := content("application/json", all.Of(o.Answer))
		if o.Chunk != nil {
			kind, schema := all.stream(o)
			answers[kind] = map[string]any{"schema": schema}
		}
		responses["200"] = map[string]any{"description": "Done.", "content": answers}
	}
	doc["responses"] = responses
	return doc
}

// stream returns the type and the schema of an answer in chunks. The schema names that of a chunk.
func (all Schemas) stream(o Operation) (kind string, schema map[string]any) {
	all.Of(o.Chunk)
	if o.Lines {
		return "application/x-ndjson", map[string]any{"type": "string",
			"description": "Lines. Each is one " + o.Chunk.name + "."}
	}
	doc := []string{"Events. The data of each is one " + o.Chunk.name + "."}
	if o.Done {
		doc = append(doc, "The last is [DONE].")
	}
	return "text/event-stream", map[string]any{"description": strings.Join(doc, " ")}
}

func content(kind string, schema map[string]any) map[string]any {
	return map[string]any{kind: map[string]any{"schema": schema}}
}
