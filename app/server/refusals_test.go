package server

import (
	"cmp"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/modeltest"
	"tandem/app/roomtest"
	"tandem/app/wire"
	"tandem/engine"
)

// A request that is refused before it reaches a route gets the form of the vendor of its path.
func TestRefusalHasFormOfVendor(t *testing.T) {
	type asked struct {
		method, host, peer string
		header             http.Header
		rules              Rules
		status             int
	}
	version := http.Header{"Anthropic-Version": {"2023-06-01"}}
	for form, paths := range map[string][]string{
		"openai": {"/v1/chat/completions", "/chat/completions/", "/v1/models", "/v1/messages2",
			"/v1/wibble", "/app/state", "/apis", "/"},
		"anthropic": {"/v1/messages", "/messages", "/v1/messages/count_tokens", "//v1//messages/",
			"/v1/v1/messages", "/v1/messages/wibble", "with a version: /v1/models",
			"with a version: /models/acme/coder"},
		"ollama": {"/api/chat", "/api/wibble", "/v1/api/tags", "/api", "//api/generate/"},
	} {
		for _, path := range paths {
			path, versioned := strings.CutPrefix(path, "with a version: ")
			for _, a := range []asked{
				{host: "evil.example", status: 403},
				{host: "localhost", header: http.Header{"Origin": {"http://evil.example"}}, status: 403},
				{host: "localhost", header: http.Header{"Sec-Fetch-Site": {"cross-site"}}, status: 403},
				{host: "localhost", peer: "192.168.1.2:4000", status: 403},
				{host: "localhost", rules: Rules{RequireKey: true}, status: 401},
				{host: "localhost", rules: Rules{RequireKey: true}, header: http.Header{"X-Api-Key": {"sk-no"}}, status: 401},
				{method: "DELETE", host: "localhost", status: 404},
			} {
				r := roomtest.LocalRequest(cmp.Or(a.method, "GET"), "/", nil)
				r.URL.Path, r.Host = path, a.host
				maps.Copy(r.Header, a.header)
				if versioned {
					maps.Copy(r.Header, version)
				}
				if a.peer != "" {
					r.RemoteAddr = a.peer
				}
				w := httptest.NewRecorder()
				New(services(roomtest.NewBackend()), Options{Rules: a.rules}).Endpoint().ServeHTTP(w, r)
				if w.Code == http.StatusOK && form == "openai" {
					continue // that is the page
				}
				if w.Code != a.status && !(a.status == 404 && w.Code == 405) &&
					!(a.status == 401 && w.Code == 404) && path != "/app/state" {
					t.Errorf("%s %+v: %d %s", path, a, w.Code, w.Body)
				}
				switch form {
				case "openai":
					roomtest.DecodeError(t, w)
				case "anthropic":
					want := map[int]string{401: "authentication_error", 403: "permission_error",
						404: "not_found_error", 405: "invalid_request_error"}[w.Code]
					if e := roomtest.DecodeAnthropic(t, w); e.Error.Type != want {
						t.Errorf("%s %+v: type %q, want %q", path, a, e.Error.Type, want)
					}
				case "ollama":
					roomtest.DecodeOllama(t, w)
				}
				if form != "anthropic" && w.Header().Get("Request-Id") != "" {
					t.Errorf("%s: request-id", path)
				}
			}
		}
	}
}

// Each code has a type that Anthropic's libraries know for its status.
func TestAnthropicErrorTypeFitsStatus(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{})
	special := map[string]struct {
		status int
		kind   string
	}{
		string(engine.CodeInvalid):        {400, "invalid_request_error"},
		string(engine.CodeQueueFull):      {529, "overloaded_error"},
		string(control.CodeNotReady):      {529, "overloaded_error"},
		string(control.CodeModelNotFound): {404, "not_found_error"},
		string(control.CodeModelBusy):     {409, "invalid_request_error"},
		string(control.CodeNotLoaded):     {409, "invalid_request_error"},
		string(control.CodeMemory):        {507, "api_error"},
		string(control.CodeInternal):      {500, "api_error"},
		string(control.CodeForbidden):     {403, "permission_error"},
		string(wire.CodeTooLarge):         {413, "request_too_large"},
		string(wire.CodeMediaType):        {415, "invalid_request_error"},
		string(control.CodeCancelled):     {499, "invalid_request_error"},
	}
	for _, code := range slices.Sorted(maps.Keys(wire.Outcomes)) {
		r := roomtest.LocalRequest(http.MethodPost, "/v1/messages", nil)
		w := httptest.NewRecorder()
		w.Header().Set("X-Request-Id", "req_1")
		w.Header().Set("Request-Id", "req_1")
		s.api.Fail(w, r, control.Errorf(control.Code(code), "It went wrong."))
		e := roomtest.DecodeAnthropic(t, w)
		if want, ok := special[code]; ok && (w.Code != want.status || e.Error.Type != want.kind) {
			t.Errorf("%s: %d %s", code, w.Code, w.Body)
		}
		if api := e.Error.Type == "api_error" ||
			e.Error.Type == "overloaded_error"; api != (w.Code >= 500) {
			t.Errorf("%s: %d %s", code, w.Code, w.Body)
		}
		if again := wire.Outcomes[code].Again; again != (w.Header().Get("Retry-After") == "1") ||
			again == (w.Header().Get("X-Should-Retry") == "false") {
			t.Errorf("%s: %v", code, w.Header())
		}
	}
}

// A prompt that does not fit is refused in the words that each vendor's programs search for.
func TestOverlongPromptIsRefusedInVendorsWords(t *testing.T) {
	for path, words := range map[string]string{
		"/v1/completions": "maximum context length is 64 tokens. However, you requested at least 70 tokens",
		"/v1/messages":    "prompt is too long: at least 70 tokens > 64 maximum",
		"/api/generate":   "maximum context length is 64 tokens",
	} {
		w := httptest.NewRecorder()
		wire.Refuse(w, roomtest.LocalRequest(http.MethodPost, path, nil),
			api.ContextError("prompt", &modeltest.Fake{Context: 64}, "at least ", 70))
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), words) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	for longer, words := range map[int]string{69: "in the prompt. Please shorten it.",
		70: "in the prompt. Please shorten it, or set a larger context in the model's settings."} {
		if err := api.ContextError("prompt", &modeltest.Fake{Context: 64,
			LongestContext: longer}, "", 70); !strings.HasSuffix(err.Error(), words) {
			t.Errorf("up to %d: %v", longer, err)
		}
	}
}
