package server

import (
	"tandem/app/api"
	"tandem/app/responses"
)

// Services are what the server asks for answers: each field is one small interface, which one room
// of the program fills. Their methods may be called by many goroutines at once. Their errors are
// *control.Error or *engine.Error where the client can do something about them.
//
// A test fills in the fields that its routes use. A nil field is a panic in the routes that need
// it, and nowhere else.
type Services struct {
	// For the routes that run a model.
	Pool      api.Pool
	Runs      Runs
	Texts     api.Texts
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
