package openai

import (
	"tandem/app/api"
	"tandem/app/wire"
)

// Routes are OpenAI's routes, and others in the same form: Mistral's fill-in-the-middle, Jina's
// reranking, and LM Studio's own routes.
type Routes struct{ *api.API }

// lmStudioBase is before LM Studio's own routes. They take OpenAI's bodies and answer in its form.
const lmStudioBase = "/api/v0"

// AddRoutes adds the routes, except the list of models, which shares its path with Anthropic's.
func (v Routes) AddRoutes(route wire.AddRoute) {
	for path, read := range map[string]api.ReadBody{
		"/v1/chat/completions":             readChat,
		lmStudioBase + "/chat/completions": readChat,
		"/v1/completions":                  readCompletion,
		lmStudioBase + "/completions":      readCompletion,
		"/v1/fim/completions":              readFIM,
	} {
		route.Post(path, v.Generation(path, read))
	}
	for _, path := range []string{"/v1/embeddings", lmStudioBase + "/embeddings"} {
		route.Post(path, v.TextsRoute(path, readEmbeddings))
	}
	route.Post("/v1/rerank", v.TextsRoute("/v1/rerank", readRerank(0)))
	route.Post("/v2/rerank", v.TextsRoute("/v2/rerank", readRerank(cohereLongest)))
	route.Get(lmStudioBase+"/models", v.listLMStudio)
	route.Get(lmStudioBase+"/models/{id...}", v.getLMStudio)
}

// ChatFormat returns the form of a chat completion.
func ChatFormat() api.ReplyFormat { return choicesFormat{objects: chatObjects{}} }
