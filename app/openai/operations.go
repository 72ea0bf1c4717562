package openai

import (
	"net/http"

	"tandem/app/wire"
)

var (
	chatOperation = wire.Operation{
		Method: http.MethodPost, Path: "/v1/chat/completions", ID: "chat",
		Summary: "The next message of a chat.",
		Body:    chatRequestShape,
		Answer:  wire.AnswerOf[chatCompletion](), Chunk: wire.AnswerOf[chatChunk](), Done: true,
		Error: wire.OpenAIErrorShape,
	}
	completeOperation = wire.Operation{
		Method: http.MethodPost, Path: "/v1/completions", ID: "complete",
		Summary: "What follows a text, or stands in a gap of it.",
		Body:    completionRequestShape,
		Answer:  completionShape, Chunk: completionChunkShape, Done: true,
		Error: wire.OpenAIErrorShape,
	}
	embedOperation = wire.Operation{
		Method: http.MethodPost, Path: "/v1/embeddings", ID: "embed",
		Summary: "Vectors of texts.",
		Body:    embeddingsRequestShape,
		Answer:  wire.AnswerOf[embeddings](), Error: wire.OpenAIErrorShape,
	}
)

// Operations describe the routes for OpenAPI.
var Operations = append([]wire.Operation{
	chatOperation, completeOperation, embedOperation,
	{
		Method: http.MethodPost, Path: "/v1/fim/completions", ID: "fill",
		Summary: "What stands in a gap of a text, in Mistral's form too.",
		Body:    fimRequestShape,
		Answer:  fimCompletionShape, Chunk: fimCompletionChunkShape, Done: true,
		Error: wire.OpenAIErrorShape,
	},
	{
		Method: http.MethodPost, Path: "/v1/rerank", ID: "rerank",
		Summary: "Documents by how well they answer a query, as Jina and Cohere have it.",
		Body:    rerankRequestShape,
		Answer:  wire.AnswerOf[ranking](), Error: wire.OpenAIErrorShape,
	},
	{
		Method: http.MethodPost, Path: "/v2/rerank", ID: "rerankCohere",
		Summary: "The same for Cohere's clients, whose long documents are cut.",
		Body:    rerankRequestShape,
		Answer:  wire.AnswerOf[ranking](), Error: wire.OpenAIErrorShape,
	},
}, lmStudioOperations...)
