package server

import (
	"context"

	"tandem/app/control"
)

// Connections knows what clients need to use the endpoint.
type Connections interface {
	Connect(context.Context) (control.Connect, error)
	// WriteConnection writes a client's file into a folder of Tandem's own. The error is
	// CodeInvalid for an unknown client and for one that reads no file. It is CodeFolder if the
	// file cannot be written.
	WriteConnection(ctx context.Context, id string) (control.Connection, error)
}

func addConnections(to *controlRoutes, of Connections) {
	handle(to, control.GetConnect, ask(of.Connect))
	handle(to, control.WriteConnection, of.WriteConnection)
}
