package server

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tandem/app/api"
	"tandem/app/roomtest"
)

// askedBy are the routes of chats by vendor, with a body that %s goes into.
var askedBy = map[string]string{
	"/v1/chat/completions": `{"model":"tandem","messages":[{"role":"user","content":"x"}]%s}`,
	"/v1/responses":        `{"model":"tandem","input":"x"%s}`,
	"/v1/messages":         `{"model":"tandem","max_tokens":9,"messages":[{"role":"user","content":"x"}]%s}`,
	"/api/chat":            `{"model":"tandem","messages":[{"role":"user","content":"x"}]%s}`,
}

// wantRefused checks that a request is refused with these words, streamed and not, and that the history
// keeps own words of ours.
func wantRefused(t *testing.T, path, fields, want string) {
	t.Helper()
	for _, stream := range []string{"true", "false"} {
		fake := roomtest.Speaking("ok")
		body := fmt.Sprintf(askedBy[path], `,"stream":`+stream+","+fields)
		w := roomtest.Post(New(services(fake), Options{}).Endpoint(), path, body)
		if text := strings.ReplaceAll(w.Body.String(), `\"`, `"`); w.Code != http.StatusBadRequest ||
			!strings.Contains(text, want) {
			t.Errorf("%s %s: %d %s, want %s", path, fields, w.Code, text, want)
		}
		if kept := fake.LastRun().Message; !strings.Contains(kept, want) {
			t.Errorf("%s %s: the history has %q", path, fields, kept)
		}
	}
}

// TestToolOfAnotherAPIIsToldWhere: an agent that sends a tool to the wrong route hears which one has it.
func TestToolOfAnotherAPIIsToldWhere(t *testing.T) {
	const responses = "is for the Responses API (POST /v1/responses): send the request there, or "
	const messages = "is for the Messages API (POST /v1/messages): send the request there, or "
	for path := range askedBy {
		for _, kind := range slices.Concat(api.ResponseTools, api.MessageTools) {
			own, is := "/v1/responses", responses
			if slices.Contains(api.MessageTools, kind) {
				own, is = "/v1/messages", messages
			}
			if path == own {
				continue
			}
			instead := "offer it as a function."
			if path == "/v1/messages" {
				instead = "give the tool a name and an input_schema, and no type."
			}
			wantRefused(t, path, `"tools":[{"type":"`+kind+`","name":"a"}]`, `tools[0].type "`+kind+`" `+is+instead)
			if path == "/v1/chat/completions" || path == "/api/chat" {
				wantRefused(t, path, `"tool_choice":{"type":"`+kind+`"}`, `tool_choice.type "`+kind+`" `+is+"name a function.")
			}
		}
	}
	for _, kind := range api.ResponseTools {
		wantRefused(t, "/v1/responses", `"tools":[{"type":"namespace","name":"n","tools":[{"type":"`+kind+`"}]}]`,
			`tools[0].tools[0].type "`+kind+`" cannot be in a namespace: offer it in tools itself.`)
	}
}

// TestForcedCallOfAToolThatIsLeftOutIsRefused: a request that must be answered by a call hears that what it
// offers is run by its vendor's servers, also where it names such a tool.
func TestForcedCallOfAToolThatIsLeftOutIsRefused(t *testing.T) {
	const (
		function = `{"type":"function","function":{"name":"go"}}`
		flat     = `{"type":"function","name":"go"}`
		anyones  = `{"name":"go","input_schema":{}}`
		offer    = "offer a tool that your program runs, or leave out tool_choice."
		another  = "name a tool that your program runs, or leave out tool_choice."
	)
	for _, c := range []struct{ paths, tools, choice, want string }{
		{"/v1/chat/completions /v1/responses /api/chat", `{"type":"web_search"}`, `"required"`,
			"but what is offered (web_search) runs on OpenAI's servers, not here: " + offer},
		{"/v1/chat/completions /v1/responses /api/chat", `{"type":"mcp"},{"type":"file_search"},{"type":"mcp"}`, `"any"`,
			"but what is offered (file_search, mcp) runs on OpenAI's servers, not here: " + offer},
		{"/v1/responses", `{"type":"tool_search"}`, `"required"`, "(tool_search) runs on OpenAI's servers, not here: " + offer},
		{"/v1/responses", `{"type":"shell","environment":{"type":"container_auto"}}`, `{"type":"shell"}`,
			`names "shell", which runs on OpenAI's servers, not here: ` + another},
		{"/v1/responses", flat + `,{"type":"web_search_preview"}`,
			`{"type":"allowed_tools","mode":"required","tools":[{"type":"web_search_preview"}]}`,
			"(web_search_preview) runs on OpenAI's servers, not here: " + offer},
		{"/v1/chat/completions /api/chat", function + `,{"type":"web_search_2025_08_26"}`,
			`{"type":"function","function":{"name":"web_search"}}`, `names "web_search", which runs on OpenAI's servers, not here: ` + another},
		{"/v1/responses", flat + `,{"type":"image_generation"}`, `{"type":"function","name":"image_generation"}`,
			`names "image_generation", which runs on OpenAI's servers, not here: ` + another},
		{"/v1/chat/completions /v1/responses /api/chat", `{"type":"web_search"}`, `{"type":"web_search"}`,
			`tool_choice.type "web_search" runs on OpenAI's servers, not here: ` + another},
		{"/v1/messages", `{"type":"web_search_20250305","name":"web_search"}`, `{"type":"any"}`,
			"but what is offered (web_search_20250305) runs on Anthropic's servers, not here: " + offer},
		{"/v1/messages", anyones + `,{"type":"web_fetch_20250910","name":"web_fetch"}`, `{"type":"tool","name":"web_fetch"}`,
			`names "web_fetch", which runs on Anthropic's servers, not here: ` + another},
		{"/v1/messages", `{"type":"code_execution_20250825","name":"code_execution"}`, `{"type":"tool","name":"code_execution"}`,
			`names "code_execution", which runs on Anthropic's servers, not here: ` + another},
		{"/v1/chat/completions /v1/responses /api/chat", ``, `"required"`,
			"asks for a call, and tools offers nothing to call: offer a tool, or leave out tool_choice."},
		{"/v1/messages", ``, `{"type":"any"}`,
			"asks for a call, and tools offers nothing to call: offer a tool, or leave out tool_choice."},
	} {
		for _, path := range strings.Fields(c.paths) {
			wantRefused(t, path, `"tools":[`+c.tools+`],"tool_choice":`+c.choice, c.want)
		}
	}
}

// TestWhatIsNoTextIsRefusedWithAnAlternative: of what the model cannot read, the last message of the user
// is refused with words that say what to send.
func TestWhatIsNoTextIsRefusedWithAnAlternative(t *testing.T) {
	const is = "is not supported: this endpoint takes text only; "
	for _, c := range []struct{ path, part, want string }{
		{"/v1/chat/completions", `{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}`, "describe the image in words."},
		{"/v1/chat/completions", `{"type":"input_audio","input_audio":{}}`, "send what is said as text."},
		{"/v1/chat/completions", `{"type":"video_url"}`, "describe the video in words."},
		{"/v1/chat/completions", `{"type":"file","file":{"file_id":"f"}}`, "send the file's text."},
		{"/v1/messages", `{"type":"image","source":{"type":"url","url":"u"}}`, "describe the image in words."},
		{"/v1/messages", `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AA=="}}`, "send the file's text."},
		{"/v1/responses", `{"type":"input_image","image_url":"u"}`, "describe the image in words."},
		{"/v1/responses", `{"type":"input_file","file_id":"f"}`, "send the file's text."},
		{"/api/chat", "", "describe the image in words."},
		{"/api/generate", "", "describe the image in words."},
	} {
		body := map[string]string{
			"/v1/responses": `{"model":"tandem","input":[{"role":"user","content":[` + c.part + `]}]}`,
			"/api/chat":     `{"model":"tandem","messages":[{"role":"user","content":"x","images":["AA"]}]}`,
			"/api/generate": `{"model":"tandem","prompt":"x","images":["AA"]}`,
		}[c.path]
		if body == "" {
			body = `{"model":"tandem","max_tokens":9,"messages":[{"role":"user","content":[` + c.part + `]}]}`
		}
		fake := roomtest.Speaking("ok")
		w := roomtest.Post(New(services(fake), Options{}).Endpoint(), c.path, body)
		if w.Code != 400 || !strings.Contains(w.Body.String(), is+c.want) || !strings.Contains(fake.LastRun().Message, is+c.want) {
			t.Errorf("%s %s: %d %s, kept %q", c.path, body, w.Code, w.Body, fake.LastRun().Message)
		}
	}
}

// TestBodyInAnotherFormIsRecognized: a byte order mark is skipped, and what is packed without saying so, or
// in another encoding, is told as that.
func TestBodyInAnotherFormIsRecognized(t *testing.T) {
	const unpacked = ", not JSON in UTF-8: send it with Content-Encoding: "
	for path, body := range askedBy {
		body = fmt.Sprintf(body, `,"stream":false`)
		wide := func(before string, order ...int) string { // UTF-16
			for _, b := range []byte(body) {
				pair := [2]byte{}
				pair[order[0]] = b
				before += string(pair[:])
			}
			return before
		}
		for sent, want := range map[string]string{
			"\ufeff" + body:                       "",
			"\ufeff \n" + body:                    "",
			"\ufeff\ufeff" + body:                 "not a valid JSON object",
			"\ufeff":                              "The body is empty; send a JSON object.",
			"\x1f\x8b\x08\x00rest":                "The body is packed with gzip" + unpacked + "gzip, or unpacked.",
			"\x28\xb5\x2f\xfdrest":                "The body is packed with zstd" + unpacked + "zstd, or unpacked.",
			"\x78\x9c\xabV\xca":                   "The body is packed with deflate" + unpacked + "deflate, or unpacked.",
			"\x78\xda\xabV\xca":                   "The body is packed with deflate" + unpacked + "deflate, or unpacked.",
			wide("\xff\xfe", 0):                   "The body is in UTF-16 or UTF-32, not JSON in UTF-8: send it in UTF-8.",
			wide("\xfe\xff", 1):                   "The body is in UTF-16, not JSON in UTF-8: send it in UTF-8.",
			wide("", 0):                           "The body is in UTF-16 or UTF-32, not JSON in UTF-8: send it in UTF-8.",
			wide("", 1):                           "The body is in UTF-16 or UTF-32, not JSON in UTF-8: send it in UTF-8.",
			strings.Replace(body, "x", "\xe9", 1): "The body is not valid UTF-8; send JSON in UTF-8.",
		} {
			w := roomtest.Post(New(services(roomtest.Speaking("ok")), Options{}).Endpoint(), path, sent)
			if want == "" && w.Code != 200 || want != "" && (w.Code != 400 || !strings.Contains(w.Body.String(), want)) {
				t.Errorf("%s %q: %d %s, want %s", path, sent[:min(len(sent), 9)], w.Code, w.Body, want)
			}
		}
	}
}

// TestPathThatIsNoRouteIsToldWhere: a base URL with a folder too many hears the path that it means, and
// other paths hear what lists the routes.
func TestPathThatIsNoRouteIsToldWhere(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{}).Endpoint()
	for path, want := range map[string]string{
		"/openai/v1/chat/completions":     "send it to /v1/chat/completions.",
		"/api/v1/responses":               "send it to /v1/responses.",
		"/anthropic/v1/messages":          "send it to /v1/messages.",
		"/ollama/api/chat":                "send it to /api/chat.",
		"/a/v1/b/v1/models/acme/coder":    "send it to /v1/models/acme/coder.",
		"/v1/images":                      "GET /openapi.json lists the routes.",
		"/api/images":                     "GET /openapi.json lists the routes.",
		"/wibble":                         "GET /openapi.json lists the routes.",
		"/openai/v1/app/state":            "GET /openapi.json lists the routes.",
		"/a" + strings.Repeat("/v1", 9e4): "GET /openapi.json lists the routes.",
	} {
		w := roomtest.Post(s, path, "{}")
		if w.Code != 404 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%.40s: %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
}
