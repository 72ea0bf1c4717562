package server

import (
	"net/http"

	"tandem/app/control"
	"tandem/app/wire"
)

func (s *Server) storage(w http.ResponseWriter, r *http.Request) error {
	st, err := s.services.Library.Storage(r.Context())
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, st)
}

func (s *Server) removal(w http.ResponseWriter, r *http.Request) error {
	out, err := s.services.Library.Removal(r.Context(), r.URL.Query().Get("model"))
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, out)
}

func (s *Server) wouldForget(w http.ResponseWriter, r *http.Request) error {
	v := r.URL.Query()
	q := control.ForgetRequest{Model: v.Get("model"), Client: v.Get("client"), Day: v.Get("day")}
	if err := checkForget(q); err != nil {
		return err
	}
	gone, err := s.services.Checkpoints.WouldForget(r.Context(), q)
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, gone)
}

func (s *Server) wouldDelete(w http.ResponseWriter, r *http.Request) error {
	gone, err := s.services.Checkpoints.WouldDelete(r.Context(), r.PathValue("name"), r.URL.Query().Get("all") == "true")
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, gone)
}
