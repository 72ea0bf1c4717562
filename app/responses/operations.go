package responses

import (
	"net/http"

	"tandem/app/wire"
)

// Operations describe the routes for OpenAPI.
var Operations = []wire.Operation{
	{
		Method: http.MethodPost, Path: "/v1/responses", ID: "respond",
		Summary: "An answer to items, as OpenAI's newer API has it.",
		Body:    responseRequestShape,
		Answer:  wire.AnswerOf[response](), Chunk: responseEventShape, Error: wire.OpenAIErrorShape,
	},
	{
		Method: http.MethodPost, Path: "/v1/responses/input_tokens", ID: "countInput",
		Summary: "The tokens of a prompt.",
		Body:    inputTokensShape,
		Answer:  wire.AnswerOf[inputTokens](), Error: wire.OpenAIErrorShape,
	},
	{
		Method: http.MethodPost, Path: "/v1/responses/compact", ID: "compact",
		Summary: "A conversation in fewer words.",
		Body:    compactRequestShape,
		Answer:  wire.AnswerOf[compaction](), Error: wire.OpenAIErrorShape,
	},
	{
		Method: http.MethodGet, Path: "/v1/responses/{id}", ID: "getResponse",
		Summary: "A response of the last day.",
		Parameters: []wire.Parameter{
			wire.PathID,
			{Name: "stream", In: "query", Shape: wire.Const(false).With("type", "boolean"), Doc: "Must be false."},
		},
		Answer: wire.AnswerOf[response](), Error: wire.OpenAIErrorShape,
	},
	{
		Method: http.MethodDelete, Path: "/v1/responses/{id}", ID: "deleteResponse",
		Summary:    "Deletes one.",
		Parameters: []wire.Parameter{wire.PathID},
		Answer:     wire.AnswerOf[deletedResponse](), Error: wire.OpenAIErrorShape,
	},
	{
		Method: http.MethodGet, Path: "/v1/responses/{id}/input_items", ID: "inputItems",
		Summary: "What a response answers.",
		Parameters: []wire.Parameter{
			wire.PathID,
			{Name: "limit", In: "query", Shape: wire.Int(1, maxItems).With("default", someItems), Doc: "At once."},
			{Name: "order", In: "query", Shape: wire.Enum(itemOrders...), Doc: "desc where absent."},
			{Name: "after", In: "query", Shape: wire.String, Doc: "An item's id."},
		},
		Answer: wire.AnswerOf[ItemList](), Error: wire.OpenAIErrorShape,
	},
	{
		Method: http.MethodPost, Path: "/v1/responses/{id}/cancel", ID: "cancelResponse",
		Summary:    "Refuses: no response runs in the background.",
		Parameters: []wire.Parameter{wire.PathID},
		Error:      wire.OpenAIErrorShape,
	},
}
