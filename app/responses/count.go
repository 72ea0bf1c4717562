package responses

import (
	"net/http"

	"tandem/app/api"
	"tandem/app/wire"
)

// An inputTokens is the answer of /v1/responses/input_tokens.
type inputTokens struct {
	_           struct{} `schema:"InputTokens"`
	Object      string   `json:"object"`
	InputTokens int      `json:"input_tokens"`
}

// countInput answers with the number of tokens that a request for a response would have as its
// prompt. The room for its answer decides what is left out.
func (v Routes) countInput(w http.ResponseWriter, r *http.Request) error {
	var held wire.Reservation
	defer held.Release()
	body, f, err := v.ReadFields(w, r, &held)
	if err != nil {
		return err
	}
	c := v.newRequest(f.As(inputTokensShape))
	c.Model, c.MaxTokens = f.String("model"), api.ReadLimit(f, "max_output_tokens")
	refuseConversation(f)
	c.readPrompt(f)
	c.readInput(f, false)
	api.RefuseMedia(f)
	if f.Err() != nil {
		return f.Err()
	}
	if _, err := c.Prepare(r.Context(), &held, body); err != nil {
		return err
	}
	n, err := v.CountPrompt(r, &held, &c.Conversation)
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, inputTokens{Object: "response.input_tokens", InputTokens: n})
}
