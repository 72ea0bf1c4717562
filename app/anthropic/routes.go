package anthropic

import (
	"tandem/app/api"
	"tandem/app/wire"
)

// Routes are Anthropic's routes.
type Routes struct{ *api.API }

// AddRoutes adds the routes, except the list of models, which shares its path with OpenAI's.
func (v Routes) AddRoutes(route wire.AddRoute) {
	route.Post("/v1/messages", v.Generation("/v1/messages", readMessagesRequest))
	route.Post("/v1/messages/count_tokens", v.countTokens)
}
