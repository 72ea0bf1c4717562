package wire

import (
	"cmp"
	"context"
	"net/http"

	"tandem/app/control"
)

// callerKey is the context key for the caller's key.
type callerKey struct{}

// Called returns r with the caller's key; the zero value is no key.
func Called(r *http.Request, key control.Key) *http.Request {
	if key.Name == "" {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, key))
}

// Caller returns the name of the key of a request; empty for no key.
func Caller(ctx context.Context) string { return keyOf(ctx).Name }

// CallerID returns the id of the key of a request, which no later key gets; 0 for no key.
func CallerID(ctx context.Context) int64 { return keyOf(ctx).ID }

func keyOf(ctx context.Context) control.Key {
	key, _ := ctx.Value(callerKey{}).(control.Key)
	return key
}

// ClientHeader has the client's name for the history. A page sends it, because its User-Agent names
// only the browser.
const ClientHeader = "X-Tandem-Client"

// ClientName returns the name of the key, or the name that the client gives itself. The name is cut
// to fit a table.
func ClientName(r *http.Request) string {
	if name := Caller(r.Context()); name != "" {
		return name
	}
	return Clip(Printable(cmp.Or(r.Header.Get(ClientHeader), r.UserAgent())))
}

// ClientOf returns the name under which a request takes turns and counts against limits: its key, or
// else the name of its runs. It is not for display. A program without a key that changes its name is
// many clients, which only the queue limits; keys can be required where that matters.
func ClientOf(r *http.Request) string {
	if key := Caller(r.Context()); key != "" {
		return "key " + key
	}
	return "name " + ClientName(r)
}
