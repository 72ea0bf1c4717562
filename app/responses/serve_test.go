package responses_test

import (
	"tandem/app/api"
	"tandem/app/openai"
	"tandem/app/responses"
	"tandem/app/roomtest"
	"tandem/app/wire"
)

// serve serves the routes of responses on top of the backend.
func serve(f *roomtest.Backend) *roomtest.Served {
	return f.Serve(func(a *api.API, route wire.AddRoute) {
		v := responses.Routes{API: a, Kept: f, Resumed: openai.ChatFormat()}
		v.AddRoutes(route)
	})
}
