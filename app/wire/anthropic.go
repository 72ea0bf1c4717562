package wire

import (
	"cmp"
	"net/http"
)

// Anthropic is the protocol of Anthropic's routes.
type Anthropic struct{}

// StatusOverloaded is Anthropic's status for a request that may succeed in a moment.
const StatusOverloaded = 529

// anthropicTypes are the types of errors by status. A wrong request with any other status is
// invalid_request_error, and a fault of the server is api_error.
var anthropicTypes = map[int]string{
	http.StatusUnauthorized:          "authentication_error",
	http.StatusForbidden:             "permission_error",
	http.StatusNotFound:              "not_found_error",
	http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusTooManyRequests:       "rate_limit_error",
	StatusOverloaded:                 "overloaded_error",
}

// Refusal implements protocol. The body has the request's id.
func (Anthropic) Refusal(h http.Header, f Failure) (int, []byte) {
	status, b := AnthropicFailure(f)
	b = AppendString(append(b[:len(b)-1], `,"request_id":`...), h.Get("X-Request-Id"))
	return status, append(b, '}')
}

// AnthropicFailure returns {"type":"error","error":{type,message}}.
func AnthropicFailure(f Failure) (status int, body []byte) {
	status = f.Status
	if status == http.StatusServiceUnavailable {
		status = StatusOverloaded
	}
	otherwise := "invalid_request_error"
	if status >= http.StatusInternalServerError {
		otherwise = "api_error"
	}
	message := f.Body.Message
	if f.long != nil { // Anthropic's programs search for these words
		message = "prompt is too long: " + f.long.Error()
	}
	b := AppendString([]byte(`{"type":"error","error":{"type":`),
		cmp.Or(anthropicTypes[status], otherwise))
	b = AppendString(append(b, `,"message":`...), message)
	return status, append(b, "}}"...)
}
