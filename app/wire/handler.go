package wire

import (
	"net/http"
)

// A Handler answers a request, or returns the error to answer with. It returns nil after it has
// written.
type Handler func(http.ResponseWriter, *http.Request) error

// An AddRoute adds the handlers of a pattern of http.ServeMux, by method.
type AddRoute func(pattern string, methods map[string]Handler)

// Get adds a route for GET.
func (add AddRoute) Get(pattern string, h Handler) {
	add(pattern, map[string]Handler{http.MethodGet: h})
}

// Post adds a route for POST.
func (add AddRoute) Post(pattern string, h Handler) {
	add(pattern, map[string]Handler{http.MethodPost: h})
}
