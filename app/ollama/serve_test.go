package ollama_test

import (
	"tandem/app/api"
	"tandem/app/ollama"
	"tandem/app/roomtest"
	"tandem/app/wire"
)

// serve serves Ollama's routes on top of the backend.
func serve(f *roomtest.Backend) *roomtest.Served {
	return f.Serve(func(a *api.API, route wire.AddRoute) {
		ollama.Routes{API: a, Residents: f, Settings: f}.AddRoutes(route)
	})
}
