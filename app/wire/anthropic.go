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
	StatusOverloaded:                 "overloaded_error",
}

type anthropicError struct {
	_ struct{} `schema:"AnthropicError"`
	AnthropicFailure
	RequestID string `json:"request_id"`
}

// An AnthropicFailure is an error as an event. A whole answer has the request's id too.
type AnthropicFailure struct {
	Type  string           `json:"type" enum:"error"`
	Error anthropicProblem `json:"error"`
}

type anthropicProblem struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// AnthropicErrorShape is AnthropicError in OpenAPI.
var AnthropicErrorShape = AnswerOf[anthropicError]()

func (Anthropic) Refusal(h http.Header, f Failure) (int, []byte) {
	status, failure := AnthropicFailureOf(f)
	return status, Encode(anthropicError{AnthropicFailure: failure, RequestID: h.Get("X-Request-Id")})
}

// AnthropicFailureOf returns a failure in Anthropic's form.
func AnthropicFailureOf(f Failure) (status int, failure AnthropicFailure) {
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
	return status, AnthropicFailure{"error",
		anthropicProblem{cmp.Or(anthropicTypes[status], otherwise), message}}
}
