package api_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"tandem/app/roomtest"
)

// formBodies write a request with more fields, by route.
var formBodies = map[string]string{
	"/v1/chat/completions": `{"model":"tandem","messages":[{"role":"user","content":"x"}],%s}`,
	"/v1/completions":      `{"model":"tandem","prompt":"x",%s}`,
	"/v1/fim/completions":  `{"model":"tandem","prompt":"x",%s}`,
	"/v1/responses":        `{"model":"tandem","input":"x",%s}`,
	"/v1/messages": `{"model":"tandem","max_tokens":9,` +
		`"messages":[{"role":"user","content":"x"}],%s}`,
	"/api/chat": `{"model":"tandem","stream":false,` +
		`"messages":[{"role":"user","content":"x"}],%s}`,
	"/api/generate": `{"model":"tandem","stream":false,"prompt":"x",%s}`,
	"/infill":       `{"input_prefix":"x",%s}`,
}

// TestSchemaIsHonouredInEachFormOfTheFormat: clients write a schema in the form of the server that
// they were made for.
func TestSchemaIsHonouredInEachFormOfTheFormat(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"const":"marked"}}}`
	forms := []string{
		`{"type":"json_object","schema":` + schema + `}`,
		`{"type":"json_object","schema":` + schema + `,"strict":true}`,
		`{"type":"json_object","json_schema":{"name":"n","schema":` + schema + `}}`,
		`{"type":"json_object","schema":{},"json_schema":{"schema":` + schema + `,"strict":true}}`,
		`{"type":"json_schema","schema":` + schema + `}`,
		`{"type":"json_schema","json_schema":{"name":"n","schema":` + schema + `}}`,
	}
	for field, paths := range map[string][]string{
		`"response_format":%s`: {"/v1/chat/completions", "/v1/completions", "/v1/fim/completions",
			"/v1/messages", "/api/chat", "/api/generate", "/infill"},
		`"text":{"format":%s}`: {"/v1/responses"},
		`"format":%s`:          {"/api/chat", "/api/generate"},
	} {
		for _, path := range paths {
			for _, form := range forms {
				fake := roomtest.Speaking("ok")
				w := roomtest.Post(serve(fake), path,
					fmt.Sprintf(formBodies[path], fmt.Sprintf(field, form)))
				if w.Code != 200 || len(fake.Model.Grammars) != 1 ||
					!strings.Contains(string(fake.Model.Grammars[0].JSON), "marked") {
					t.Errorf("%s "+field+": %d %s, held to %+v", path, form, w.Code, w.Body,
						fake.Model.Grammars)
				}
			}
		}
	}
	for _, form := range []string{
		`"output_config":{"format":{"type":"json_schema","schema":` + schema + `}}`,
		`"output_format":{"type":"json_schema","schema":` + schema + `}`,
	} {
		fake := roomtest.Speaking("ok")
		w := roomtest.Post(serve(fake), "/v1/messages",
			fmt.Sprintf(formBodies["/v1/messages"], form))
		if w.Code != 200 || len(fake.Model.Grammars) != 1 ||
			!strings.Contains(string(fake.Model.Grammars[0].JSON), "marked") {
			t.Errorf("%s: %d %s", form, w.Code, w.Body)
		}
	}
}

// TestObjectWithoutSchemaIsAnyObject: an empty schema asks for nothing more than the type does.
func TestObjectWithoutSchemaIsAnyObject(t *testing.T) {
	for _, form := range []string{`{"type":"json_object"}`, `{"type":"json_object","schema":null}`,
		`{"type":"json_object","schema":{}}`} {
		fake := roomtest.Speaking("{}")
		w := roomtest.Post(serve(fake), "/v1/chat/completions",
			roomtest.ChatBody(`"response_format":`+form))
		if w.Code != 200 || len(fake.Model.Grammars) != 1 ||
			!strings.Contains(string(fake.Model.Grammars[0].JSON), `"type":"object"`) {
			t.Errorf("%s: %d %s, held to %+v", form, w.Code, w.Body, fake.Model.Grammars)
		}
	}
}

// TestFormInAnotherVendorsFieldIsRefusedByNameOfTheRightOne: an answer that ignores the form would
// fail later, where the client parses it.
func TestFormInAnotherVendorsFieldIsRefusedByNameOfTheRightOne(t *testing.T) {
	const object = `{"type":"json_object"}`
	const schema = `{"type":"json_schema","json_schema":{"schema":{}}}`
	for _, c := range []struct{ path, field, param, right string }{
		{"/v1/responses", `"response_format":` + object, "response_format", "text.format"},
		{"/v1/responses", `"response_format":` + schema, "response_format", "text.format"},
		{"/v1/responses", `"response_format":{"type":"xml"}`, "response_format", "text.format"},
		{"/v1/responses", `"format":"json"`, "format", "text.format"},
		{"/v1/responses", `"output_format":` + schema, "output_format", "text.format"},
		{"/v1/chat/completions", `"text":{"format":` + object + `}`, "text.format", "response_format"},
		{"/v1/chat/completions", `"format":{"type":"object"}`, "format", "response_format"},
		{"/v1/completions", `"text":{"format":` + object + `}`, "text.format", "response_format"},
		{"/v1/fim/completions", `"format":"json"`, "format", "response_format"},
		{"/v1/chat/completions", `"output_config":{"format":` + schema + `}`, "output_config.format", "response_format"},
		{"/v1/messages", `"text":{"format":` + object + `}`, "text.format", "output_config.format"},
		{"/api/chat", `"text":{"format":` + object + `}`, "text.format", "format"},
	} {
		fake := roomtest.Speaking("ok")
		w := roomtest.Post(serve(fake), c.path, fmt.Sprintf(formBodies[c.path], c.field))
		if w.Code != 400 || len(fake.Model.Requests) != 0 || !strings.Contains(w.Body.String(),
			c.param+" is not read here; send it as "+c.right+".") {
			t.Errorf("%s %s: %d %s", c.path, c.field, w.Code, w.Body)
		}
	}
	// Text is what an answer has anyway.
	for path, field := range map[string]string{
		"/v1/responses":        `"response_format":{"type":"text"},"text":{"format":null}`,
		"/v1/chat/completions": `"text":{"format":{"type":"text"},"verbosity":"low"},"format":""`,
		"/v1/messages":         `"response_format":null,"output_config":{"effort":"low"}`,
		"/api/chat":            `"format":{"type":"text"}`,
	} {
		fake := roomtest.Speaking("ok")
		w := roomtest.Post(serve(fake), path, fmt.Sprintf(formBodies[path], field))
		if w.Code != 200 || len(fake.Model.Grammars) != 0 {
			t.Errorf("%s %s: %d %s", path, field, w.Code, w.Body)
		}
	}
}

// TestSchemaOfAnObjectFormatAdmitsAnObject: the type promises an object, whatever the schema says.
func TestSchemaOfAnObjectFormatAdmitsAnObject(t *testing.T) {
	for _, schema := range []string{`{"type":"array"}`, `{"type":"nonsense"}`, `{"type":7}`,
		`{"type":["string","null"]}`, `{"type":[]}`} {
		for _, form := range []string{
			`{"type":"json_object","schema":` + schema + `}`,
			`{"type":"json_object","strict":true,"schema":` + schema + `}`,
			`{"type":"json_object","json_schema":{"schema":` + schema + `}}`,
		} {
			for path, field := range map[string]string{"/v1/chat/completions": `"response_format":%s`,
				"/v1/responses": `"text":{"format":%s}`, "/api/chat": `"format":%s`} {
				fake := roomtest.Speaking("{}")
				w := roomtest.Post(serve(fake), path,
					fmt.Sprintf(formBodies[path], fmt.Sprintf(field, form)))
				if w.Code != 400 || len(fake.Model.Requests) != 0 ||
					!strings.Contains(w.Body.String(), "is not the schema of an object") {
					t.Errorf("%s %s: %d %s", path, form, w.Code, w.Body)
				}
			}
		}
	}
	for _, schema := range []string{`{"type":["object","null"]}`,
		`{"anyOf":[{"type":"object"},{"type":"array"}]}`, `{"properties":{"a":{}}}`} {
		fake := roomtest.Speaking("{}")
		w := roomtest.Post(serve(fake), "/v1/chat/completions",
			roomtest.ChatBody(`"response_format":{"type":"json_object","schema":`+schema+`}`))
		if w.Code != 200 || len(fake.Model.Grammars) != 1 {
			t.Errorf("%s: %d %s, held to %+v", schema, w.Code, w.Body, fake.Model.Grammars)
		}
	}
}

// TestFormInTheFieldOfAnEngineIsRefusedByNameOfTheRightOne: vLLM, SGLang and llama.cpp read these,
// and a client that was made for them expects the form.
func TestFormInTheFieldOfAnEngineIsRefusedByNameOfTheRightOne(t *testing.T) {
	right := map[string]string{"/v1/responses": "text.format"}
	for path, body := range formBodies {
		for field, kind := range map[string]string{
			`"guided_json":{"type":"object"}`:                   "json_schema",
			`"guided_json":"{}"`:                                "json_schema",
			`"guided_regex":"a+"`:                               "grammar",
			`"guided_choice":["a","b"]`:                         "json_schema",
			`"guided_grammar":"root ::= \"a\""`:                 "grammar",
			`"structured_outputs":{"json":{"type":"object"}}`:   "json_schema",
			`"structured_outputs":{"regex":"a+","choice":null}`: "json_schema",
			`"json_schema":{"type":"object","properties":{}}`:   "json_schema",
			`"grammar":"root ::= \"a\""`:                        "grammar",
			`"regex":"a+"`:                                      "grammar",
			`"ebnf":"root ::= \"a\""`:                           "grammar",
		} {
			fake := roomtest.Speaking("ok")
			w := roomtest.Post(serve(fake), path, fmt.Sprintf(body, field))
			name, _, _ := strings.Cut(field[1:], `"`)
			want := fmt.Sprintf(`%s is not read here; send it as %s of the type \"%s\".`, name,
				cmp.Or(right[path], "response_format"), kind)
			if w.Code != 400 || len(fake.Model.Requests) != 0 ||
				!strings.Contains(w.Body.String(), want) {
				t.Errorf("%s %s: %d %s", path, field, w.Code, w.Body)
			}
		}
		fake := roomtest.Speaking("ok") // settings that are unset
		w := roomtest.Post(serve(fake), path, fmt.Sprintf(body,
			`"guided_json":null,"guided_regex":"","guided_choice":[],"json_schema":{},`+
				`"grammar":"","structured_outputs":{"json":null,"regex":"","json_object":false}`))
		if w.Code != 200 || len(fake.Model.Grammars) != 0 {
			t.Errorf("%s with empty forms: %d %s", path, w.Code, w.Body)
		}
	}
}
