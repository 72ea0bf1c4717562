// Package responses has OpenAI's /v1/responses: its bodies, its items and the events of their
// growth. answer.go has the response and its items, event.go the events.
//
// A response is stored for a day with its input items, unless the request says otherwise. So a
// later request can continue it by previous_response_id, and refer to its items by their ids. Only
// the key that created a response sees it.
//
// A response whose run was cut off is completed in the form of a chat, because its client reads it
// that way. The server passes that form in, so that this package knows no other vendor.
package responses
