package openai

import (
	"tandem/app/api"
	"tandem/app/wire"
)

// Routes are OpenAI's routes, and others in the same form: Mistral's fill-in-the-middle, Jina's
// reranking, and LM Studio's list of models.
type Routes struct{ *api.API }

// AddRoutes adds the routes, except the list of models, which shares its path with Anthropic's.
func (v Routes) AddRoutes(route wire.AddRoute) {
	route.Post("/v1/chat/completions", v.Generation("/v1/chat/completions", readChat))
	route.Post("/v1/completions", v.Generation("/v1/completions", readCompletion))
	route.Post("/v1/embeddings", v.TextsRoute("/v1/embeddings", readEmbeddings))
	route.Post("/v1/rerank", v.TextsRoute("/v1/rerank", readRerank))
	route.Post("/v1/fim/completions", v.Generation("/v1/fim/completions", readFIM))
	route.Get("/api/v0/models", v.listLMStudio)
	route.Get("/api/v0/models/{id...}", v.getLMStudio)
}

// Readers returns the readers of the generating routes' bodies.
func Readers() map[string]api.ReadBody {
	return map[string]api.ReadBody{
		"/v1/chat/completions": readChat,
		"/v1/completions":      readCompletion,
		"/v1/fim/completions":  readFIM,
	}
}

// ChatForm returns the form of a chat completion.
func ChatForm() api.Form { return choicesForm{members: chatMembers{}} }
