package server

import (
	"math"
	"net/http"
	"slices"

	"tandem/app/control"
	"tandem/app/wire"
)

func (s *Server) modelSettings(w http.ResponseWriter, r *http.Request) error {
	id := r.URL.Query().Get("model")
	if id == "" {
		return wire.Invalid("model", "The field model is missing: name a registered model.")
	}
	st, err := s.services.Residents.ModelSettings(r.Context(), id)
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, st)
}

func (s *Server) setModelSettings(w http.ResponseWriter, r *http.Request) error {
	f, err := s.ReadObject(w, r)
	if err != nil {
		return err
	}
	set := control.ModelSettings{
		Model: f.String("model"), Rule: f.String("rule"), KeepLoaded: f.Bool("keep_loaded"),
		Context:     f.Int("context", control.LeastContext, control.MostContext),
		Depth:       f.Int("depth", 0, control.MaxDepth),
		Temperature: f.Number("temperature", 0, math.MaxFloat32),
		TopP:        f.Number("top_p", 0, 1), TopK: f.Int("top_k", -1, math.MaxInt32), MinP: f.Number("min_p", 0, 1),
		RepetitionPenalty: f.Number("repetition_penalty", 0, math.MaxFloat32),
	}
	switch {
	case f.Err != nil:
	case set.Model == "":
		f.Fail("model", "is missing: name a registered model.")
	case set.Rule != "" && !slices.Contains(control.Rules, set.Rule):
		f.Fail("rule", "is one of %q, not %q.", control.Rules, wire.Clip(set.Rule))
	case set.RepetitionPenalty != nil && *set.RepetitionPenalty == 0:
		f.Fail("repetition_penalty", "must be above 0 (1 = off).")
	}
	if f.Err != nil {
		return f.Err
	}
	st, err := s.services.Residents.SetModelSettings(r.Context(), set)
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, st)
}
