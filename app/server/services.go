package server

import (
	"tandem/app/api"
	"tandem/app/responses"
)

// Services are the parts of the program that the server calls for its answers. Each field is one
// small interface, which one room of the program fills. Their methods may be called by many
// goroutines at once. If a client can act on an error, it is a *control.Error or an *engine.Error.
//
// A test fills in Status and the fields that its routes use. A service that is nil has no control
// routes.
type Services struct {
	// For the routes that run a model.
	Pool      api.Pool
	Runs      Runs
	Texts     api.Texts
	Thoughts  api.Thoughts
	Responses responses.Store

	// For the control routes, and for lists of models.
	Status      Status
	Residents   Residents
	Library     Library
	Checkpoints Checkpoints
	Chats       Chats
	Settings    Settings
	Keys        Keys
	Connections Connections
	Benches     Benches
	Machine     Machine
	Help        Help
}
