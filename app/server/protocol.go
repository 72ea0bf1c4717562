package server

import (
	"net/http"
	"path"
	"strings"
)

// A protocol is how the vendor whose API a route belongs to lays out errors. Its
// programs read them in that form alone.
type protocol interface {
	// refusal returns the status and the body of an answer that is an error.
	// Content-Type, the request's id and what makes clients try again or not is
	// in h already.
	refusal(h http.Header, f failure) (status int, body []byte)
}

// anthropicVersion is the header that Anthropic's programs send with every request.
const anthropicVersion = "Anthropic-Version"

// protocolOf tells a request's by its path, whether or not there is such a route:
// programs are refused before they reach one, too. The list of models is at the
// same path in two vendors' APIs.
func protocolOf(r *http.Request) protocol {
	p := path.Clean("/" + r.URL.Path)
	for strings.HasPrefix(p, "/v1/") {
		p = strings.TrimPrefix(p, "/v1")
	}
	switch {
	case under(p, "/api"):
		return ollama{}
	case under(p, "/messages"), under(p, "/models") && r.Header.Get(anthropicVersion) != "":
		return anthropic{}
	}
	return openAI{}
}

// under reports whether p is the route or below it.
func under(p, route string) bool {
	rest, ok := strings.CutPrefix(p, route)
	return ok && (rest == "" || rest[0] == '/')
}

// openAI is the protocol of OpenAI's routes, and of ours.
type openAI struct{}

// refusal implements protocol.
func (openAI) refusal(_ http.Header, f failure) (int, []byte) { return f.status, f.json() }

// ollama is the protocol of Ollama's routes.
type ollama struct{}

// refusal implements protocol.
func (ollama) refusal(_ http.Header, f failure) (int, []byte) {
	return f.status, append(appendString([]byte(`{"error":`), f.body.Message), '}')
}
