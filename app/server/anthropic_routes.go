package server

// anthropicRoutes are Anthropic's routes.
type anthropicRoutes struct{ *API }

// addRoutes adds them, except the list of models, which shares its path with OpenAI's.
func (v anthropicRoutes) addRoutes(route addRoute) {
	route.post("/v1/messages", v.generation("/v1/messages", readMessagesRequest))
	route.post("/v1/messages/count_tokens", v.countTokens)
}

// anthropicReaders returns how the bodies of the generating routes are read.
func anthropicReaders() map[string]readBody {
	return map[string]readBody{"/v1/messages": readMessagesRequest}
}
