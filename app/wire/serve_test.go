package wire_test

import (
	"tandem/app/api"
	"tandem/app/openai"
	"tandem/app/roomtest"
	"tandem/app/wire"
)

// serve serves OpenAI's routes on top of the backend.
func serve(f *roomtest.Backend) *roomtest.Served {
	return f.Serve(func(a *api.API, route wire.AddRoute) {
		openai.Routes{API: a}.AddRoutes(route)
	})
}
