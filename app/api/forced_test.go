package api_test

import (
	"strings"
	"testing"

	"tandem/app/roomtest"
)

// TestForcedCallIsAnsweredThoughTheBodyAsksForJSON: a form binds text, and a forced turn has none.
// So the answer follows the grammar of the call alone, whichever field asks for the form.
func TestForcedCallIsAnsweredThoughTheBodyAsksForJSON(t *testing.T) {
	const (
		ask = `"messages":[{"role":"user","content":"x"}]`
		// A forced turn does not compile the form, so that this one is not refused.
		schema        = `{"type":"object","properties":{"impossible":{}}}`
		functions     = `"functions":[{"name":"look"},{"name":"go"}]`
		flatTools     = `"tools":[{"type":"function","name":"look"},{"type":"function","name":"go"}]`
		inputTools    = `"tools":[{"name":"look","input_schema":{}},{"name":"go","input_schema":{}}]`
		jsonObject    = `"response_format":{"type":"json_object"}`
		jsonSchema    = `"response_format":{"type":"json_schema","json_schema":{"schema":` + schema + `}}`
		named         = `"tool_choice":{"type":"function","function":{"name":"go"}}`
		allowed       = `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"go"}}]}}`
		openAICall    = `"tool_calls":[{`
		messageFormat = `"output_config":{"format":{"type":"json_schema","schema":` + schema + `}}`
	)
	for _, c := range []struct{ path, fields, want string }{
		{"/v1/chat/completions", roomtest.TwoTools + `,"tool_choice":"required",` + jsonObject, openAICall},
		{"/v1/chat/completions", roomtest.TwoTools + `,"tool_choice":"required",` + jsonSchema, openAICall},
		{"/v1/chat/completions", roomtest.TwoTools + "," + named + "," + jsonObject, openAICall},
		{"/v1/chat/completions", roomtest.TwoTools + "," + allowed + "," + jsonSchema, openAICall},
		{"/v1/chat/completions", functions + `,"function_call":{"name":"go"},` + jsonObject, `"function_call":{"name":"go"`},
		{"/v1/messages", inputTools + `,"max_tokens":99,"tool_choice":{"type":"any"},` + messageFormat, `"type":"tool_use"`},
		{"/v1/messages", inputTools + `,"max_tokens":99,"tool_choice":{"type":"tool","name":"go"},` + jsonObject, `"type":"tool_use"`},
		{"/v1/responses", flatTools + `,"input":"x","tool_choice":"required","text":{"format":{"type":"json_object"}}`, `"type":"function_call"`},
		{"/v1/responses", flatTools + `,"input":"x","tool_choice":{"type":"function","name":"go"},"text":{"format":{"type":"json_schema","schema":` + schema + `}}`, `"type":"function_call"`},
		{"/api/chat", roomtest.TwoTools + `,"tool_choice":"required","stream":false,"format":"json"`, openAICall},
		{"/api/chat", roomtest.TwoTools + "," + named + `,"stream":false,"format":` + schema, openAICall},
	} {
		fake := roomtest.Speaking(roomtest.GoCall)
		body := `{"model":"tandem",` + c.fields
		if c.path != "/v1/responses" {
			body += "," + ask
		}
		w := roomtest.Post(serve(fake), c.path, body+"}")
		if w.Code != 200 || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: %d %s", c.path, c.fields, w.Code, w.Body)
			continue
		}
		if list := fake.Model.Grammars; len(list) != 1 || list[0].JSON != nil ||
			!strings.Contains(list[0].Lark, "calls") {
			t.Errorf("%s %s: it is held to %+v", c.path, c.fields, list)
		}
	}
}

// TestErrorAboutToolsNamesFieldsOfItsRoute: programs look for the field that they sent.
func TestErrorAboutToolsNamesFieldsOfItsRoute(t *testing.T) {
	const (
		ask       = `"model":"tandem","max_tokens":9,"messages":[{"role":"user","content":"x"}],`
		schema    = `{"type":"json_schema","schema":{"type":"object"}}`
		spaced    = `"tools":[{"type":"function","function":{"name":"a b"}}],`
		functions = `"functions":[{"name":"a b"}],`
		messages  = `"tools":[{"name":"a b","input_schema":{}}],`
	)
	for _, c := range []struct{ template, path, body, want string }{
		{"", "/v1/messages", ask + messages + `"output_config":{"format":` + schema + `}`, "beside output_config.format.schema"},
		{"", "/v1/messages", ask + messages + `"output_format":` + schema, "beside output_format.schema"},
		{"", "/v1/messages", ask + messages + `"response_format":{"type":"json_object"}`, "beside response_format"},
		{"", "/v1/responses", `"model":"tandem","input":"x","tools":[{"type":"function","name":"a b"}],"text":{"format":` + schema + `}`, "beside text.format"},
		{"", "/api/chat", ask + spaced + `"format":{"type":"object"}`, "beside format:"},
		{"", "/v1/chat/completions", ask + spaced + `"response_format":` + schema, "beside response_format"},
		{"", "/v1/chat/completions", ask + spaced + `"tool_choice":"required"`, `"param":"tools"`},
		{"", "/v1/chat/completions", ask + functions + `"function_call":{"name":"a b"}`, `"param":"functions"`},
		{"no calls", "/v1/chat/completions", ask + functions + `"function_call":{"name":"a b"}`, "leave out function_call."},
		{"no calls", "/v1/chat/completions", ask + spaced + `"tool_choice":"required"`, "leave out tool_choice."},
	} {
		fake := roomtest.Speaking("ok")
		if c.template != "" {
			fake.Model.TemplateSource = c.template
		}
		w := roomtest.Post(serve(fake), c.path, "{"+c.body+"}")
		if w.Code != 400 || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s {%s}: %d %s, want %s", c.path, c.body, w.Code, w.Body, c.want)
		}
	}
}
