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

func (s *Server) writeConnection(ctx context.Context, c pathID) (control.Connection, error) {
	return s.services.Connections.WriteConnection(ctx, c.id)
}

func (s *Server) connect(ctx context.Context) (control.Connect, error) {
	return s.services.Connections.Connect(ctx)
}
