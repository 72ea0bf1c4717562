package server

// openAIRoutes are OpenAI's routes, and those of others that are laid out like them:
// Mistral's fill-in-the-middle and Jina's reranking.
type openAIRoutes struct{ *API }

// addRoutes adds them, except the list of models, which shares its path with Anthropic's.
func (v openAIRoutes) addRoutes(route addRoute) {
	route.post("/v1/chat/completions", v.generation("/v1/chat/completions", readChat))
	route.post("/v1/completions", v.generation("/v1/completions", readCompletion))
	route.post("/v1/embeddings", v.textsRoute("/v1/embeddings", readEmbeddings))
	route.post("/v1/rerank", v.textsRoute("/v1/rerank", readRerank))
	route.post("/v1/fim/completions", v.generation("/v1/fim/completions", readFIM))
}

// openAIReaders returns how the bodies of the generating routes are read.
func openAIReaders() map[string]readBody {
	return map[string]readBody{
		"/v1/chat/completions": readChat,
		"/v1/completions":      readCompletion,
		"/v1/fim/completions":  readFIM,
	}
}

// chatForm returns the form of a chat completion.
func chatForm() form { return choicesForm{members: chatMembers{}} }
