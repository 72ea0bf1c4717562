package wire

import (
	"cmp"
	"context"
	"io"
	"net/http"
)

// callerKey is the context's key of the name that a program's key has.
type callerKey struct{}

// Called notes in a request who calls; empty = by no key.
func Called(r *http.Request, name string) *http.Request {
	if name == "" {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, name))
}

// Caller returns the name of the key that a request was let in by; empty = by none.
func Caller(ctx context.Context) string {
	name, _ := ctx.Value(callerKey{}).(string)
	return name
}

// ClientHeader has the client's name for the history, where its User-Agent does not name it. The
// User-Agent of the page names only the browser.
const ClientHeader = "X-Tandem-Client"

// ClientName is the name of the key, or else the one that the client gives itself,
// made fit for a table.
func ClientName(r *http.Request) string {
	if name := Caller(r.Context()); name != "" {
		return name
	}
	return Clip(Printable(cmp.Or(r.Header.Get(ClientHeader), r.UserAgent())))
}

// ClientOf names a request's client, for taking turns and for its limit. The name is the client's
// key, or else the name of its runs. It is not for display. Programs on this machine without a key
// that share a name are one client. A program that changes its name is many clients, and only the
// queue limits them. Keys can be required where that matters.
func ClientOf(r *http.Request) string {
	if key := Caller(r.Context()); key != "" {
		return "key " + key
	}
	return "name " + ClientName(r)
}

// Discard reads the body of a request that is refused unread, so that its client hears
// why: one that still sends hears nothing.
func Discard(r *http.Request) {
	if r.Header.Get("Expect") == "" { // otherwise it was not sent yet
		_, _ = io.CopyN(io.Discard, r.Body, MaxBody)
	}
}
