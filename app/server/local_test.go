package server

import (
	"io"
	"net/http"
	"net/http/httptest"
)

// localRequest is httptest.NewRequest for a request from this machine. httptest.NewRequest sets
// another machine's address.
func localRequest(method, target string, body io.Reader) *http.Request {
	r := httptest.NewRequest(method, target, body)
	r.RemoteAddr = "127.0.0.1:50000"
	return r
}
