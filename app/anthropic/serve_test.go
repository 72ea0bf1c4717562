package anthropic_test

import (
	"tandem/app/anthropic"
	"tandem/app/api"
	"tandem/app/roomtest"
	"tandem/app/wire"
)

// serve serves Anthropic's routes on top of the backend.
func serve(f *roomtest.Backend) *roomtest.Served {
	return f.Serve(func(a *api.API, route wire.AddRoute) {
		v := anthropic.Routes{API: a}
		v.AddRoutes(route)
		route.Get("/v1/models", v.ListModels)
		route.Get("/v1/models/{id...}", v.GetModel)
	})
}
