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
		Answer:  versionShape, Error: wire.OllamaErrorShape,
	},
	{
		Method: http.MethodGet, Path: "/api/tags", ID: "ollamaTags",
		Summary: "The models, tandem first.",
		Answer:  tagsShape, Error: wire.OllamaErrorShape,
	},
	{
		Method: http.MethodGet, Path: "/api/ps", ID: "ollamaPS",
		Summary: "The model in memory.",
		Answer:  runningShape, Error: wire.OllamaErrorShape,
	},
	{
		Method: http.MethodPost, Path: "/api/show", ID: "ollamaShow",
		Summary: "What a model is.",
		Body:    showRequestShape,
		Answer:  showShape, Error: wire.OllamaErrorShape,
	},
	{
		Method: http.MethodPost, Path: "/api/generate", ID: "ollamaGenerate",
		Summary: "An answer to a prompt.",
		Body:    generateRequestShape,
		Answer:  generatedShape, Chunk: generatedShape, Lines: true, Error: wire.OllamaErrorShape,
	},
	{
		Method: http.MethodPost, Path: "/api/chat", ID: "ollamaChat",
		Summary: "The next message of a chat.",
		Body:    chatRequestShape,
		Answer:  chattedShape, Chunk: chattedShape, Lines: true, Error: wire.OllamaErrorShape,
	},
	{
		Method: http.MethodPost, Path: "/api/embed", ID: "ollamaEmbed",
		Summary: "Vectors of texts.",
		Body:    embedRequestShape,
		Answer:  embeddedShape, Error: wire.OllamaErrorShape,
	},
	{
		Method: http.MethodPost, Path: "/api/embeddings", ID: "ollamaEmbeddings",
		Summary: "The vector of a text, as older programs ask for it.",
		Body:    embeddingsRequestShape,
		Answer:  embeddingShape, Error: wire.OllamaErrorShape,
	},
}
