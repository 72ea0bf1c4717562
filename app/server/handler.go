package server

import (
	"net/http"
)

// A handler answers a request or returns the error to answer with; once it
// has written it returns nil.
type handler func(http.ResponseWriter, *http.Request) error

// An addRoute adds the handlers of a pattern of http.ServeMux, by method.
type addRoute func(pattern string, methods map[string]handler)

// get adds a route that is asked for by GET.
func (add addRoute) get(pattern string, h handler) {
	add(pattern, map[string]handler{http.MethodGet: h})
}

// post adds a route that is asked for by POST.
func (add addRoute) post(pattern string, h handler) {
	add(pattern, map[string]handler{http.MethodPost: h})
}
