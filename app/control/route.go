package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// A Route is a control route. The server registers a handler for it, and [Call] calls it.
//
// In is what the route takes: parameters of the path and of the query, and for POST and PUT the
// fields of a JSON object. If it is a number or a string, it is a parameter. Out is what the route
// answers, or one event where it answers with events.
type Route[In, Out any] struct {
	Method string
	Path   string // with wildcards as in the patterns of http.ServeMux

	params func(*In, *params) // nil if In has none
}

// None is the input of a route that takes nothing, and the answer of one that has nothing to say.
type None struct{}

// HasBody reports whether the route takes a JSON object.
func (r Route[In, Out]) HasBody() bool {
	return r.Method == http.MethodPost || r.Method == http.MethodPut
}

// ReadParams returns In with the parameters of a request.
func (r Route[In, Out]) ReadParams(req *http.Request) (in In, err error) {
	if r.params == nil {
		return in, nil
	}
	p := params{from: req, values: req.URL.Query()}
	r.params(&in, &p)
	return in, p.err
}

// URL returns the path and the query that have the parameters of In.
func (r Route[In, Out]) URL(in In) (string, error) {
	p := params{values: url.Values{}}
	if r.params != nil {
		r.params(&in, &p)
	}
	return p.url(r.Path), p.err
}

// Call calls a route and returns its answer.
func Call[In, Out any](ctx context.Context, c *Client, route Route[In, Out],
	in In) (out Out, err error) {
	path, err := route.URL(in)
	if err != nil {
		return out, err
	}
	var body any
	if route.HasBody() {
		body = in
	}
	err = c.call(ctx, route.Method, path, body, &out)
	return out, err
}

// Ask is Call for a route without input.
func Ask[Out any](ctx context.Context, c *Client, route Route[None, Out]) (Out, error) {
	return Call(ctx, c, route, None{})
}

// call sends a body as JSON, unless it is nil, and reads the answer into out. It is not in Call,
// because the compiler writes that once for each kind of In and Out.
func (c *Client) call(ctx context.Context, method, path string, body, out any) error {
	switch body.(type) {
	case string, int64: // a parameter
		body = None{}
	}
	resp, err := c.Do(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}
