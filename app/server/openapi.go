package server

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"tandem/app/anthropic"
	"tandem/app/api"
	"tandem/app/llamacpp"
	"tandem/app/ollama"
	"tandem/app/openai"
	"tandem/app/responses"
	"tandem/app/wire"
)

// openAPIPath is where the description of the routes is.
const openAPIPath = "/openapi.json"

// apiDescription says what holds for all routes.
const apiDescription = "The parts of the protocols of OpenAI, Mistral, Anthropic and Ollama that " +
	"Tandem's endpoint takes, and its additions. " +
	"Names in a request that are not listed here are ignored; " +
	"a field that is null counts as absent. " +
	"A base URL may lack /v1. Every answer has the header X-Request-Id. " +
	"Refusals that may succeed later have Retry-After, others X-Should-Retry: false."

// sharedOperations are the operations of the routes that several vendors share.
var sharedOperations = []wire.Operation{
	{
		Method: http.MethodGet, Path: "/v1/models", ID: "listModels",
		Summary: "The models, tandem first.",
		Parameters: []wire.Parameter{
			anthropicVersion,
			{Name: "limit", In: "query", Shape: anthropic.PageShape, Doc: "Of Anthropic's list."},
			{Name: "after_id", In: "query", Shape: wire.String, Doc: "Of Anthropic's list."},
			{Name: "before_id", In: "query", Shape: wire.String, Doc: "Of Anthropic's list."},
		},
		Answer: wire.Either(wire.AnswerOf[openai.ModelList](), wire.AnswerOf[anthropic.ModelPage]()),
		Error:  wire.Either(wire.OpenAIErrorShape, wire.AnthropicErrorShape),
	},
	{
		Method: http.MethodGet, Path: "/v1/models/{id}", ID: "getModel",
		Summary:    "One model; its id may hold slashes.",
		Parameters: []wire.Parameter{wire.PathID, anthropicVersion},
		Answer:     wire.Either(wire.AnswerOf[api.ModelEntry](), wire.AnswerOf[anthropic.Model]()),
		Error:      wire.Either(wire.OpenAIErrorShape, wire.AnthropicErrorShape),
	},
	{
		Method: http.MethodGet, Path: "/openapi.json", ID: "openapi",
		Summary: "This file.",
		Answer:  wire.AnyObject, Error: wire.OpenAIErrorShape,
	},
}

// anthropicVersion is the header by which Anthropic's programs are known.
var anthropicVersion = wire.Parameter{
	Name: "anthropic-version", In: "header", Shape: wire.String,
	Doc: "Makes the answer, and errors, Anthropic's.",
}

// openAPIDocument describes the routes that programs call, by OpenAPI 3.1. It is written from the
// shapes that the readers of bodies use and from the structs of the answers, at the first request.
var openAPIDocument = sync.OnceValue(func() []byte {
	schemas, paths := wire.Schemas{}, map[string]map[string]any{}
	for _, o := range slices.Concat(sharedOperations, openai.Operations, responses.Operations,
		anthropic.Operations, ollama.Operations, llamacpp.Operations) {
		if paths[o.Path] == nil {
			paths[o.Path] = map[string]any{}
		}
		paths[o.Path][strings.ToLower(o.Method)] = schemas.Document(o)
	}
	none := []string{}
	return wire.Encode(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{"title": "Tandem", "version": "1",
			"description": apiDescription},
		"servers": []any{map[string]any{"url": "/"}},
		"security": []any{map[string]any{}, map[string]any{"bearer": none},
			map[string]any{"key": none}},
		"paths": paths,
		"components": map[string]any{
			"securitySchemes": map[string]any{
				"bearer": map[string]any{"type": "http", "scheme": "bearer"},
				"key":    map[string]any{"type": "apiKey", "in": "header", "name": "X-Api-Key"},
			},
			"schemas": schemas,
		},
	})
})

func (s *Server) openAPI(w http.ResponseWriter, _ *http.Request) error {
	_ = wire.WriteAnswer(w, openAPIDocument()) // the client left
	return nil
}
