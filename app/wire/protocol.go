package wire

import (
	"net/http"
	"path"
	"strings"
)

// A protocol writes errors in the form of one vendor's API. The vendor's programs read no other
// form.
type protocol interface {
	// Refusal returns the status and the body of an answer that is an error. h already has
	// Content-Type, the request's id and the headers about trying again.
	Refusal(h http.Header, f Failure) (status int, body []byte)
}

// SetID gives an answer an id, in the headers where the programs of the request's vendor look for it.
func SetID(h http.Header, r *http.Request) {
	id := NewID("req_")
	h.Set("X-Request-Id", id)
	if ProtocolOf(r) == (Anthropic{}) {
		h.Set("Request-Id", id)
	}
}

// anthropicVersion is the header that Anthropic's programs send with every request.
const anthropicVersion = "Anthropic-Version"

// ProtocolOf returns the protocol of a request's path, whether or not there is such a route.
// Programs can be refused before they reach a route. Two vendors' APIs have the list of models at
// the same path, so there it goes by a header.
func ProtocolOf(r *http.Request) protocol {
	p := path.Clean("/" + r.URL.Path)
	for strings.HasPrefix(p, "/v1/") {
		p = strings.TrimPrefix(p, "/v1")
	}
	switch {
	case under(p, "/api") && !under(p, "/api/v0"): // LM Studio's have OpenAI's form
		return Ollama{}
	case under(p, "/messages"), under(p, "/models") && r.Header.Get(anthropicVersion) != "":
		return Anthropic{}
	}
	return openAI{}
}

// under reports whether p is the route, or a path below it.
func under(p, route string) bool {
	rest, ok := strings.CutPrefix(p, route)
	return ok && (rest == "" || rest[0] == '/')
}

// openAI is the protocol of OpenAI's routes, and of our own.
type openAI struct{}

func (openAI) Refusal(_ http.Header, f Failure) (int, []byte) { return f.Status, f.json() }

// Ollama is the protocol of Ollama's routes.
type Ollama struct{}

func (Ollama) Refusal(_ http.Header, f Failure) (int, []byte) {
	return f.Status, Encode(ollamaError{Error: f.Body.Message})
}

type ollamaError struct {
	_     struct{} `schema:"OllamaError"`
	Error string   `json:"error"`
}

// OllamaErrorShape is OllamaError in OpenAPI.
var OllamaErrorShape = AnswerOf[ollamaError]()
