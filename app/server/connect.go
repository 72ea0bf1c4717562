package server

import (
	"context"
	"net/http"

	"tandem/app/control"
	"tandem/app/wire"
)

// Connections knows what clients need to use the endpoint.
type Connections interface {
	Connect(context.Context) (control.Connect, error)
	// WriteConnection writes a client's file into a folder of Tandem's own.
	// CodeInvalid for a client that is not known, or that reads none; CodeFolder
	// if it cannot be written.
	WriteConnection(ctx context.Context, id string) (control.Connection, error)
}

func (s *Server) connect(w http.ResponseWriter, r *http.Request) error {
	c, err := s.services.Connections.Connect(r.Context())
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, c)
}

func (s *Server) writeConnection(w http.ResponseWriter, r *http.Request) error {
	if _, err := s.ReadObject(w, r); err != nil {
		return err
	}
	c, err := s.services.Connections.WriteConnection(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, c)
}
