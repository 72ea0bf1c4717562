package llamacpp_test

import (
	"tandem/app/api"
	"tandem/app/llamacpp"
	"tandem/app/roomtest"
	"tandem/app/wire"
)

// serve serves llama.cpp's routes on top of the backend.
func serve(f *roomtest.Backend) *roomtest.Served {
	return f.Serve(func(a *api.API, route wire.AddRoute) {
		llamacpp.Routes{API: a}.AddRoutes(route)
	})
}
