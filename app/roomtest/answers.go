package roomtest

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/wire"
)

// DecodeError reads an error in OpenAI's form.
func DecodeError(t testing.TB, w *httptest.ResponseRecorder) wire.ErrorBody {
	t.Helper()
	var body struct{ Error wire.ErrorBody }
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.Error.Message == "" {
		t.Fatalf("%d with no error in OpenAI's form: %s", w.Code, w.Body)
	}
	return body.Error
}

// WantError checks an error's status and code.
func WantError(t *testing.T, w *httptest.ResponseRecorder, status int, code control.Code) {
	t.Helper()
	if w.Code != status || !strings.Contains(w.Body.String(), `"code":"`+string(code)+`"`) {
		t.Errorf("%d %s, want %d %s", w.Code, w.Body, status, code)
	}
}

// An AnthropicError is the body of an answer of Anthropic's that is an error.
type AnthropicError struct {
	Type      string
	Error     struct{ Type, Message string }
	RequestID string `json:"request_id"`
}

// DecodeAnthropic reads an error as Anthropic's libraries do. It refuses other forms.
func DecodeAnthropic(t testing.TB, w *httptest.ResponseRecorder) AnthropicError {
	t.Helper()
	var e AnthropicError
	d := json.NewDecoder(strings.NewReader(w.Body.String()))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil || e.Type != "error" || e.Error.Message == "" ||
		e.RequestID == "" || e.RequestID != w.Header().Get("Request-Id") {
		t.Errorf("%d with no error in Anthropic's form (%v): %v %s",
			w.Code, err, w.Header(), w.Body)
	}
	return e
}

// DecodeOllama reads the text of an error in Ollama's form, which has no other field.
func DecodeOllama(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var e map[string]string
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || len(e) != 1 || e["error"] == "" {
		t.Errorf("%d with no error in Ollama's form (%v): %s", w.Code, err, w.Body)
	}
	return e["error"]
}
