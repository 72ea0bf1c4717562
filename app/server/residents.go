package server

import (
	"context"

	"tandem/app/control"
)

func (s *Server) load(ctx context.Context, q control.LoadRequest) (control.State, error) {
	err := s.services.Residents.Load(ctx, q.Model)
	return s.State(), err
}

func (s *Server) unload(ctx context.Context, q control.UnloadRequest) (control.State, error) {
	err := s.services.Residents.Unload(ctx, q.Model)
	return s.State(), err
}

func (s *Server) drafter(ctx context.Context, q control.DrafterRequest) (control.Drafter, error) {
	return s.services.Residents.Drafter(ctx, q)
}

func (s *Server) memory(ctx context.Context) (control.Memory, error) {
	return s.services.Residents.Memory(ctx)
}
