package roomtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
)

// LocalRequest is httptest.NewRequest for a request from this machine. httptest.NewRequest sets
// another machine's address.
func LocalRequest(method, target string, body io.Reader) *http.Request {
	r := httptest.NewRequest(method, target, body)
	r.RemoteAddr = "127.0.0.1:50000"
	return r
}

// Request is a POST of JSON from this machine.
func Request(path, body string) *http.Request {
	r := LocalRequest(http.MethodPost, path, strings.NewReader(body))
	r.Host = "localhost:8263"
	r.Header.Set("Content-Type", "application/json")
	return r
}

// Post posts JSON and returns the answer.
func Post(h http.Handler, path, body string) *httptest.ResponseRecorder {
	return answer(h, Request(path, body))
}

// PostAs posts a body of another type.
func PostAs(h http.Handler, path, contentType, body string) *httptest.ResponseRecorder {
	r := Request(path, body)
	r.Header.Set("Content-Type", contentType)
	return answer(h, r)
}

// Get returns the answer to a GET from this machine.
func Get(h http.Handler, path string) *httptest.ResponseRecorder {
	return Send(h, http.MethodGet, path)
}

// Send returns the answer to a request without a body.
func Send(h http.Handler, method, path string) *httptest.ResponseRecorder {
	r := LocalRequest(method, path, nil)
	r.Host = "localhost:8263"
	return answer(h, r)
}

func answer(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// GetAs is Get with the header by which Anthropic's programs are known; an empty version
// sends none.
func GetAs(h http.Handler, version, path string) *httptest.ResponseRecorder {
	r := LocalRequest(http.MethodGet, path, nil)
	r.Host = "localhost:8263"
	if version != "" {
		r.Header.Set("Anthropic-Version", version)
	}
	return answer(h, r)
}
