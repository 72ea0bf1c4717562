package api_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"testing"

	"tandem/app/model"
	"tandem/app/roomtest"
	"tandem/engine"
)

// TestResponseFormatBecomesGrammar: each continuation gets a grammar of its own, and every grammar
// is closed.
func TestResponseFormatBecomesGrammar(t *testing.T) {
	const spaced = `{"x-guidance":{"whitespace_pattern":"[\\x20\\x0A\\x0D\\x09]{1,32}"`
	for body, want := range map[string]model.Grammar{
		`{"type":"json_object"}`: {JSON: []byte(spaced + `},"type":"object"}`)},
		`{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema": {"properties":{"z":{},"a":true}}}}`: {JSON: []byte(spaced +
			`},"type":"object","properties":{"z":{},"a":true}}`)},
		`{"type":"json_schema","json_schema":{"schema":{}}}`: {JSON: []byte(spaced +
			`,"lenient":true}}`)},
		`{"type":"json_schema","json_schema":{"strict":true,"schema":{"x-guidance":{"whitespace_flexible":false}}}}`: {JSON: []byte(`{"x-guidance":{"whitespace_flexible":false}}`)},
		`{"type":"grammar","grammar":{"syntax":"lark","definition":"start: \"a\""}}`:                                 {Lark: `start: "a"`},
		`{"type":"grammar","grammar":{"syntax":"regex","definition":"a+"}}`:                                          {Regex: "a+"},
	} {
		for _, more := range []string{"", `,"stream":true`} {
			fake := roomtest.NewBackend()
			w := roomtest.Post(serve(fake), "/v1/completions",
				`{"model":"tandem","prompt":"x","n":2,"response_format":`+body+more+`}`)
			m := &fake.Model
			if w.Code != http.StatusOK || len(m.Grammars) != 2 || m.OpenMatchers != 0 {
				t.Errorf("%s: %d %s, %d grammars, %d left open",
					body, w.Code, w.Body, len(m.Grammars), m.OpenMatchers)
				continue
			}
			if got := m.Grammars[0]; string(got.JSON) != string(want.JSON) ||
				got.Lark != want.Lark || got.Regex != want.Regex {
				t.Errorf("%s: %s, want %s", body, got.JSON, want.JSON)
			}
			if m.Requests[0].Grammar == nil || m.Requests[0].Grammar == m.Requests[1].Grammar {
				t.Errorf("%s: two continuations have %v and %v",
					body, m.Requests[0].Grammar, m.Requests[1].Grammar)
			}
		}
	}
}

// TestTextFormatHasNoGrammar: a request without a format, or with the format text, gets no grammar.
func TestTextFormatHasNoGrammar(t *testing.T) {
	for _, body := range []string{``, `,"response_format":null`,
		`,"response_format":{"type":"text"}`} {
		fake := roomtest.NewBackend()
		w := roomtest.Post(serve(fake), "/v1/completions",
			`{"model":"tandem","prompt":"x"`+body+`}`)
		if w.Code != http.StatusOK || len(fake.Model.Grammars) != 0 ||
			fake.Model.Requests[0].Grammar != nil {
			t.Errorf("%s: %d %s, %v", body, w.Code, w.Body, fake.Model.Grammars)
		}
	}
}

// TestGrammarsAreClosedOnFailure: grammars are closed also where the request fails, before and
// after generation begins.
func TestGrammarsAreClosedOnFailure(t *testing.T) {
	const format = `"response_format":{"type":"json_object"}`
	for name, body := range map[string]string{
		"refused":  `{"model":"tandem","prompt":"x","n":2,"response_format":{"type":"grammar","grammar":{"syntax":"regex","definition":"impossible"}}}`,
		"failed":   `{"model":"tandem","prompt":"x",` + format + `}`,
		"in parts": `{"model":"tandem","prompt":"x","stream":true,` + format + `}`,
	} {
		fake := roomtest.NewBackend()
		fake.Model.Script = func(context.Context, engine.Request) iter.Seq2[engine.Token, error] {
			return func(yield func(engine.Token, error) bool) {
				yield(engine.Token{}, &engine.Error{Code: engine.CodeInvalid,
					Message: "the answer cannot go on", Err: errors.New("too much")})
			}
		}
		if w := roomtest.Post(serve(fake), "/v1/completions",
			body); w.Code == http.StatusInternalServerError {
			t.Errorf("%s: %s", name, w.Body)
		}
		if fake.Model.OpenMatchers != 0 {
			t.Errorf("%s: %d matchers are left open", name, fake.Model.OpenMatchers)
		}
	}
}

// TestFormatMustBeAnObject: a form that is a word, a list or a number is refused on each route, with what
// to send in its place.
func TestFormatMustBeAnObject(t *testing.T) {
	const chat = `{"model":"tandem","messages":[{"role":"user","content":"x"}],`
	for _, c := range []struct{ path, body, field string }{
		{"/v1/chat/completions", chat + `"response_format":V}`, "response_format"},
		{"/v1/completions", `{"model":"tandem","prompt":"x","response_format":V}`, "response_format"},
		{"/v1/responses", `{"model":"tandem","input":"x","text":{"format":V}}`, "text.format"},
		{"/v1/messages", chat + `"max_tokens":9,"output_format":V}`, "output_format"},
		{"/v1/messages", chat + `"max_tokens":9,"output_config":{"format":V}}`, "output_config.format"},
		{"/api/chat", chat + `"response_format":V}`, "response_format"},
		{"/infill", `{"input_prefix":"a","response_format":V}`, "response_format"},
	} {
		for _, v := range []string{`"text"`, `"json_object"`, `["json_object"]`, `true`, `7`} {
			w := roomtest.Post(serve(roomtest.NewBackend()), c.path, strings.Replace(c.body, "V", v, 1))
			such := `{\"type\": \"text\"} or {\"type\": \"json_object\"}.`
			if c.path == "/v1/messages" {
				such = `{\"type\": \"json_schema\", `
			}
			if want := c.field + " must be an object that names its type, such as " + such; w.Code != 400 || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s with %s: %d %s, want %q", c.path, v, w.Code, w.Body, want)
			}
		}
	}
}
