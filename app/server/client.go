package server

import (
	"cmp"
	"context"
	"io"
	"net/http"
)

// callerKey is the context's key of the name that a program's key has.
type callerKey struct{}

// called notes in a request who calls; empty = by no key.
func called(r *http.Request, name string) *http.Request {
	if name == "" {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, name))
}

// caller returns the name of the key that a request was let in by; empty = by none.
func caller(ctx context.Context) string {
	name, _ := ctx.Value(callerKey{}).(string)
	return name
}

// clientHeader has the name that a client goes by in the history where its
// User-Agent would say nothing, as that of the page says which browser shows it.
const clientHeader = "X-Tandem-Client"

// clientName is the name of the key, or else the one that the client gives itself,
// made fit for a table.
func clientName(r *http.Request) string {
	if name := caller(r.Context()); name != "" {
		return name
	}
	return clip(printable(cmp.Or(r.Header.Get(clientHeader), r.UserAgent())))
}

// clientOf names a request's client, for taking turns and for its limit: by its key, or
// else by the name that its runs go by. It is nothing to show. So programs of this machine
// that have no key and call themselves alike are one client, and a program with ever other
// names is many, whom only the queue bounds: where that matters, keys can be required.
func clientOf(r *http.Request) string {
	if key := caller(r.Context()); key != "" {
		return "key " + key
	}
	return "name " + clientName(r)
}

// discard reads the body of a request that is refused unread, so that its client hears
// why: one that still sends hears nothing.
func discard(r *http.Request) {
	if r.Header.Get("Expect") == "" { // otherwise it was not sent yet
		_, _ = io.CopyN(io.Discard, r.Body, maxBody)
	}
}
