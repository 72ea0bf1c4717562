package api_test

import (
	"tandem/app/anthropic"
	"tandem/app/api"
	"tandem/app/llamacpp"
	"tandem/app/ollama"
	"tandem/app/openai"
	"tandem/app/responses"
	"tandem/app/roomtest"
	"tandem/app/wire"
)

// serve serves the routes of all vendors on top of the backend, the one that branches a text, and
// the figures.
func serve(f *roomtest.Backend) *roomtest.Served {
	return f.Serve(func(a *api.API, route wire.AddRoute) {
		openAI := openai.Routes{API: a}
		openAI.AddRoutes(route)
		route.Post("/app/checkpoints/{name}/branch", openAI.Branch)
		kept := responses.Routes{API: a, Kept: f, Resumed: openai.ChatFormat()}
		kept.AddRoutes(route)
		anthropic.Routes{API: a}.AddRoutes(route)
		ollama.Routes{API: a, Residents: f, Settings: f}.AddRoutes(route)
		llamacpp.Routes{API: a}.AddRoutes(route)
		route.Get("/metrics", a.Scrape)
	})
}
