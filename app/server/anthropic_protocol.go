package server

import (
	"cmp"
	"net/http"
)

// anthropic is the protocol of Anthropic's routes.
type anthropic struct{}

// statusOverloaded is Anthropic's for what is worth trying again in a moment.
const statusOverloaded = 529

// anthropicTypes are the names of what can fail. Other requests that should be
// mended are invalid_request_error, and what is the server's fault is api_error.
var anthropicTypes = map[int]string{
	http.StatusUnauthorized:          "authentication_error",
	http.StatusForbidden:             "permission_error",
	http.StatusNotFound:              "not_found_error",
	http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusTooManyRequests:       "rate_limit_error",
	statusOverloaded:                 "overloaded_error",
}

// refusal implements protocol: an error with the request's id.
func (anthropic) refusal(h http.Header, f failure) (int, []byte) {
	status, b := anthropicFailure(f)
	b = appendString(append(b[:len(b)-1], `,"request_id":`...), h.Get("X-Request-Id"))
	return status, append(b, '}')
}

// anthropicFailure returns {"type":"error","error":{type,message}}.
func anthropicFailure(f failure) (status int, body []byte) {
	status = f.status
	if status == http.StatusServiceUnavailable {
		status = statusOverloaded
	}
	otherwise := "invalid_request_error"
	if status >= http.StatusInternalServerError {
		otherwise = "api_error"
	}
	message := f.body.Message
	if f.long != nil { // its programs search for these words
		message = "prompt is too long: " + f.long.Error()
	}
	b := appendString([]byte(`{"type":"error","error":{"type":`), cmp.Or(anthropicTypes[status], otherwise))
	b = appendString(append(b, `,"message":`...), message)
	return status, append(b, "}}"...)
}
