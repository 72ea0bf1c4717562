package server

import (
	"net/http"
	"path"
	"strings"
)

// A vendor is whose protocol a request speaks. Its programs read errors in the
// vendor's form alone.
type vendor int

const (
	openAI vendor = iota // and what is our own
	anthropic
	ollama
)

// anthropicVersion is the header that Anthropic's programs send with every request.
const anthropicVersion = "Anthropic-Version"

// vendorOf tells it by the path, whether or not there is such a route: programs
// are refused before they reach one, too. The list of models is at the same path in
// two vendors' protocols.
func vendorOf(r *http.Request) vendor {
	p := path.Clean("/" + r.URL.Path)
	switch p = strings.TrimPrefix(p, "/v1"); {
	case under(p, "/api"):
		return ollama
	case under(p, "/messages"), under(p, "/models") && r.Header.Get(anthropicVersion) != "":
		return anthropic
	}
	return openAI
}

// under reports whether p is the route or below it.
func under(p, route string) bool {
	rest, ok := strings.CutPrefix(p, route)
	return ok && (rest == "" || rest[0] == '/')
}
