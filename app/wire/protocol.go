package wire

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
	Refusal(h http.Header, f Failure) (status int, body []byte)
}

// anthropicVersion is the header that Anthropic's programs send with every request.
const anthropicVersion = "Anthropic-Version"

// ProtocolOf tells a request's by its path, whether or not there is such a route:
// programs are refused before they reach one, too. The list of models is at the
// same path in two vendors' APIs.
func ProtocolOf(r *http.Request) protocol {
	p := path.Clean("/" + r.URL.Path)
	for strings.HasPrefix(p, "/v1/") {
		p = strings.TrimPrefix(p, "/v1")
	}
	switch {
	case under(p, "/api"):
		return Ollama{}
	case under(p, "/messages"), under(p, "/models") && r.Header.Get(anthropicVersion) != "":
		return Anthropic{}
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

// Refusal implements protocol.
func (openAI) Refusal(_ http.Header, f Failure) (int, []byte) { return f.Status, f.json() }

// Ollama is the protocol of Ollama's routes.
type Ollama struct{}

// Refusal implements protocol.
func (Ollama) Refusal(_ http.Header, f Failure) (int, []byte) {
	return f.Status, append(AppendString([]byte(`{"error":`), f.Body.Message), '}')
}
