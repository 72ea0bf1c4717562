package server

import (
	"math"
	"net/http"
	"slices"

	"tandem/app/control"
)

func (s *Server) modelSettings(w http.ResponseWriter, r *http.Request) error {
	id := r.URL.Query().Get("model")
	if id == "" {
		return invalid("model", "The field model is missing: name a registered model.")
	}
	st, err := s.services.Residents.ModelSettings(r.Context(), id)
	if err != nil {
		return err
	}
	return writeJSON(w, st)
}

func (s *Server) setModelSettings(w http.ResponseWriter, r *http.Request) error {
	f, err := s.readObject(w, r)
	if err != nil {
		return err
	}
	set := control.ModelSettings{
		Model: f.string("model"), Rule: f.string("rule"), KeepLoaded: f.bool("keep_loaded"),
		Context:     f.int("context", control.LeastContext, control.MostContext),
		Depth:       f.int("depth", 0, control.MaxDepth),
		Temperature: f.number("temperature", 0, math.MaxFloat32),
		TopP:        f.number("top_p", 0, 1), TopK: f.int("top_k", -1, math.MaxInt32), MinP: f.number("min_p", 0, 1),
		RepetitionPenalty: f.number("repetition_penalty", 0, math.MaxFloat32),
	}
	switch {
	case f.err != nil:
	case set.Model == "":
		f.fail("model", "is missing: name a registered model.")
	case set.Rule != "" && !slices.Contains(control.Rules, set.Rule):
		f.fail("rule", "is one of %q, not %q.", control.Rules, clip(set.Rule))
	case set.RepetitionPenalty != nil && *set.RepetitionPenalty == 0:
		f.fail("repetition_penalty", "must be above 0 (1 = off).")
	}
	if f.err != nil {
		return f.err
	}
	st, err := s.services.Residents.SetModelSettings(r.Context(), set)
	if err != nil {
		return err
	}
	return writeJSON(w, st)
}
