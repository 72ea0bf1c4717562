package server

import (
	"context"

	"tandem/app/control"
)

// A Machine describes the computer.
type Machine interface {
	Machine(context.Context) (control.Machine, error)
}

func (s *Server) machine(ctx context.Context) (control.Machine, error) {
	return s.services.Machine.Machine(ctx)
}
