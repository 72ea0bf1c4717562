package openai_test

import (
	"tandem/app/api"
	"tandem/app/openai"
	"tandem/app/roomtest"
	"tandem/app/wire"
)

// serve serves OpenAI's routes and the one that branches a text on top of the backend.
func serve(f *roomtest.Backend) *roomtest.Served {
	return f.Serve(func(a *api.API, route wire.AddRoute) {
		v := openai.Routes{API: a}
		v.AddRoutes(route)
		route.Get("/v1/models", v.ListModels)
		route.Get("/v1/models/{id...}", v.GetModel)
		route.Post("/app/checkpoints/{name}/branch", v.Branch)
	})
}
