package server

import (
	"fmt"
	"strings"
	"testing"
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
}

// TestSchemaIsHonouredInEachFormOfTheFormat: clients write a schema in the form of the server that
// they were made for.
func TestSchemaIsHonouredInEachFormOfTheFormat(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"const":"marked"}}}`
	forms := []string{
		`{"type":"json_object","schema":` + schema + `}`,
		`{"type":"json_object","schema":` + schema + `,"strict":true}`,
		`{"type":"json_schema","schema":` + schema + `}`,
		`{"type":"json_schema","json_schema":{"name":"n","schema":` + schema + `}}`,
	}
	for field, paths := range map[string][]string{
		`"response_format":%s`: {"/v1/chat/completions", "/v1/completions", "/v1/fim/completions",
			"/v1/messages", "/api/chat", "/api/generate"},
		`"text":{"format":%s}`: {"/v1/responses"},
		`"format":%s`:          {"/api/chat", "/api/generate"},
	} {
		for _, path := range paths {
			for _, form := range forms {
				fake := speaking("ok")
				w := postTo(t, New(fake.services(), Options{}), path, "application/json",
					fmt.Sprintf(formBodies[path], fmt.Sprintf(field, form)))
				if w.Code != 200 || len(fake.model.Grammars) != 1 ||
					!strings.Contains(string(fake.model.Grammars[0].JSON), "marked") {
					t.Errorf("%s "+field+": %d %s, held to %+v", path, form, w.Code, w.Body,
						fake.model.Grammars)
				}
			}
		}
	}
	for _, form := range []string{
		`"output_config":{"format":{"type":"json_schema","schema":` + schema + `}}`,
		`"output_format":{"type":"json_schema","schema":` + schema + `}`,
	} {
		fake := speaking("ok")
		w := postMessages(t, fake, fmt.Sprintf(formBodies["/v1/messages"], form))
		if w.Code != 200 || len(fake.model.Grammars) != 1 ||
			!strings.Contains(string(fake.model.Grammars[0].JSON), "marked") {
			t.Errorf("%s: %d %s", form, w.Code, w.Body)
		}
	}
}

// TestObjectWithoutSchemaIsAnyObject: an empty schema asks for nothing more than the type does.
func TestObjectWithoutSchemaIsAnyObject(t *testing.T) {
	for _, form := range []string{`{"type":"json_object"}`, `{"type":"json_object","schema":null}`,
		`{"type":"json_object","schema":{}}`} {
		fake := speaking("{}")
		w := postTo(t, New(fake.services(), Options{}), "/v1/chat/completions",
			"application/json", chatBody(`"response_format":`+form))
		if w.Code != 200 || len(fake.model.Grammars) != 1 ||
			!strings.Contains(string(fake.model.Grammars[0].JSON), `"type":"object"`) {
			t.Errorf("%s: %d %s, held to %+v", form, w.Code, w.Body, fake.model.Grammars)
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
		fake := speaking("ok")
		w := postTo(t, New(fake.services(), Options{}), c.path, "application/json",
			fmt.Sprintf(formBodies[c.path], c.field))
		if w.Code != 400 || len(fake.model.Requests) != 0 || !strings.Contains(w.Body.String(),
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
		fake := speaking("ok")
		w := postTo(t, New(fake.services(), Options{}), path, "application/json",
			fmt.Sprintf(formBodies[path], field))
		if w.Code != 200 || len(fake.model.Grammars) != 0 {
			t.Errorf("%s %s: %d %s", path, field, w.Code, w.Body)
		}
	}
}
