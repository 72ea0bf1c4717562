package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
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
	if p.err != nil {
		return "", p.err
	}
	u := url.URL{Path: strings.NewReplacer(p.wildcards...).Replace(r.Path),
		RawQuery: p.values.Encode()}
	return u.String(), nil
}

// Call calls a route and returns its answer.
func Call[In, Out any](ctx context.Context, c *Client, route Route[In, Out],
	in In) (out Out, err error) {
	resp, err := open(ctx, c, route, in, "")
	if err != nil {
		return out, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		return out, fmt.Errorf("%s %s: %w", route.Method, resp.Request.URL.RequestURI(), err)
	}
	return out, nil
}

// Ask is Call for a route without input.
func Ask[Out any](ctx context.Context, c *Client, route Route[None, Out]) (Out, error) {
	return Call(ctx, c, route, None{})
}

// open is Call for an answer with events, whose body the caller closes. accept is the media type to
// accept; empty accepts any.
func open[In, Out any](ctx context.Context, c *Client, route Route[In, Out], in In,
	accept string) (*http.Response, error) {
	path, err := route.URL(in)
	if err != nil {
		return nil, err
	}
	var body any
	if route.HasBody() {
		switch body = in; body.(type) {
		case string, int64:
			body = None{}
		}
	}
	return c.do(ctx, route.Method, path, body, accept)
}
