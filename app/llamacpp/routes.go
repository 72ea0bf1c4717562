package llamacpp

import (
	"tandem/app/api"
	"tandem/app/wire"
)

// Routes are llama.cpp's routes.
type Routes struct{ *api.API }

// AddRoutes adds the routes.
func (v Routes) AddRoutes(route wire.AddRoute) {
	route.Get("/props", v.props)
	route.Post("/tokenize", v.tokenize)
	route.Post("/detokenize", v.detokenize)
	route.Post("/completion", v.Generation("/completion", readCompletion))
	route.Post("/infill", v.Generation("/infill", readInfill))
}
