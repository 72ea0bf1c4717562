package control

import (
	"context"
	"errors"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// Proxy returns a handler that passes requests on to the client's socket, and answers back as they
// come. A caller of the handler can do what the socket allows. Where no process answers the socket,
// the handler answers with why's error.
func (c *Client) Proxy(why func(context.Context) *Error) http.Handler {
	socket := &url.URL{Scheme: "http", Host: "tandem"}
	return &httputil.ReverseProxy{
		Transport:     c.http.Transport,
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(socket)
			r.Out.Host = socket.Host
			r.Out.Header.Del("Origin") // the page's, which is ours
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil {
				return // the client has left
			}
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Code == CodeUnavailable {
				e = why(r.Context())
			}
			WriteError(w, e)
		},
	}
}

// WriteError answers in place of the process that serves, with status 502.
func WriteError(w http.ResponseWriter, e *Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = w.Write(errorBody(e)) // the page left
}
