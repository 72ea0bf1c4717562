package anthropic

import (
	"net/http"

	"tandem/app/wire"
)

// Operations describe the routes for OpenAPI.
var Operations = []wire.Operation{
	{
		Method: http.MethodPost, Path: "/v1/messages", ID: "message",
		Summary: "The next message of a chat, as Anthropic has it.",
		Body:    messagesRequestShape,
		Answer:  wire.AnswerOf[message](), Chunk: messageEventShape, Error: wire.AnthropicErrorShape,
	},
	{
		Method: http.MethodPost, Path: "/v1/messages/count_tokens", ID: "countTokens",
		Summary: "The tokens of a prompt.",
		Body:    countTokensRequestShape,
		Answer:  wire.AnswerOf[tokenCount](), Error: wire.AnthropicErrorShape,
	},
}
