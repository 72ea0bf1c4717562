package ollama

import (
	"net/http"

	"tandem/app/wire"
)

// Operations describe the routes for OpenAPI.
var Operations = []wire.Operation{
	{
		Method: http.MethodGet, Path: "/api/version", ID: "ollamaVersion",
		Summary: "For programs that only know Ollama.",
		Answer:  wire.AnswerOf[version](), Error: wire.OllamaErrorShape,
	},
	{
		Method: http.MethodGet, Path: "/api/tags", ID: "ollamaTags",
		Summary: "The models, tandem first.",
		Answer:  wire.AnswerOf[tags](), Error: wire.OllamaErrorShape,
	},
	{
		Method: http.MethodGet, Path: "/api/ps", ID: "ollamaPS",
		Summary: "The models in memory, under all their names.",
		Answer:  wire.AnswerOf[inMemory](), Error: wire.OllamaErrorShape,
	},
	{
		Method: http.MethodPost, Path: "/api/show", ID: "ollamaShow",
		Summary: "What a model is.",
		Body:    showRequestShape,
		Answer:  wire.AnswerOf[Show](), Error: wire.OllamaErrorShape,
	},
	{
		Method: http.MethodPost, Path: "/api/pull", ID: "ollamaPull",
		Summary: "Success for a model that is installed; nothing is downloaded.",
		Body:    pullRequestShape,
		Answer:  wire.AnswerOf[pulled](), Chunk: wire.AnswerOf[pulled](), Lines: true,
		Error: wire.OllamaErrorShape,
	},
	{
		Method: http.MethodPost, Path: "/api/generate", ID: "ollamaGenerate",
		Summary: "An answer to a prompt.",
		Body:    generateRequestShape,
		Answer:  wire.AnswerOf[GenerateResponse](), Chunk: wire.AnswerOf[GenerateResponse](), Lines: true,
		Error: wire.OllamaErrorShape,
	},
	{
		Method: http.MethodPost, Path: "/api/chat", ID: "ollamaChat",
		Summary: "The next message of a chat.",
		Body:    chatRequestShape,
		Answer:  wire.AnswerOf[ChatResponse](), Chunk: wire.AnswerOf[ChatResponse](), Lines: true,
		Error: wire.OllamaErrorShape,
	},
	{
		Method: http.MethodPost, Path: "/api/embed", ID: "ollamaEmbed",
		Summary: "Vectors of texts.",
		Body:    embedRequestShape,
		Answer:  wire.AnswerOf[embedded](), Error: wire.OllamaErrorShape,
	},
	{
		Method: http.MethodPost, Path: "/api/embeddings", ID: "ollamaEmbeddings",
		Summary: "The vector of a text, as older programs ask for it.",
		Body:    embeddingsRequestShape,
		Answer:  wire.AnswerOf[embedding](), Error: wire.OllamaErrorShape,
	},
}
