package control

import (
	"encoding/json"
	"errors"
)

// ErrNoResponse is returned for a response that is not kept, or not for this owner.
var ErrNoResponse = errors.New("there is no such response")

// A KeptResponse is a stored response of /v1/responses, with the input that it answers.
type KeptResponse struct {
	ID, Owner string
	Previous  string          // the response that it continues; empty = none
	Run       int64           // it is deleted with its run
	Input     json.RawMessage // list of items, without those of Previous
	Output    json.RawMessage // list of items: the answer
	Response  json.RawMessage // as it was answered, but with no Output; it has the request's tools and instructions
}
