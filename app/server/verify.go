package server

import (
	"encoding/json"
	"math"
	"net/http"

	"tandem/app/control"
	"tandem/engine"
)

// verifyRun computes the answer of a run again, with nothing restored and
// nothing drafted, and compares the ids.
func (s *Server) verifyRun(w http.ResponseWriter, r *http.Request) error {
	id, err := runID(r)
	if err != nil {
		return err
	}
	if _, err := s.readObject(w, r); err != nil {
		return err
	}
	row, err := s.backend.Run(r.Context(), id)
	if err != nil {
		return err
	}
	kept, err := s.backend.RunText(r.Context(), id)
	if err != nil {
		return err
	}
	var how replay
	if kept.Replay == nil || json.Unmarshal(kept.Replay, &how) != nil {
		return control.Errorf(control.CodeNotKept, "Run %d cannot be repeated: under the rejection rule what is drawn depends on what was drafted.", id)
	}
	text, err := s.runText(r.Context(), kept)
	if err != nil {
		return err
	}
	m, err := s.backend.Acquire(r.Context(), row.Model)
	if err != nil {
		return err
	}
	defer m.Release()
	answer := text[min(kept.Prompt, len(text)):]
	out := control.Replayed{Run: id, Tokens: len(answer)}
	if len(answer) == 0 {
		return writeJSON(w, out)
	}
	req := engine.Request{
		Prompt: text[:kept.Prompt], MaxTokens: new(len(answer)), Seed: &how.Seed, Stop: how.Stop, IgnoreEOS: how.IgnoreEOS,
		Speculation: engine.Speculation{Drafter: engine.None}, Fresh: true, Logprobs: true, TopLogprobs: engine.MaxTopLogprobs,
	}
	if how.Sampling != nil {
		if err := json.Unmarshal(how.Sampling, &req.Sampling); err != nil {
			return err
		}
	}
	for t, err := range m.Generate(r.Context(), req) {
		if err != nil {
			return err
		}
		if want := answer[out.Same]; t.ID != want {
			out.Answered, out.Now = string(m.TokenBytes(want)), string(m.TokenBytes(t.ID))
			out.Gap = math.Abs(float64(t.Logprobs.Logprob) - logprobOf(t.Logprobs, want))
			break
		}
		out.Same++
	}
	return writeJSON(w, out)
}

// logprobOf is that of a token among the likeliest, or less than theirs.
func logprobOf(l *engine.Logprobs, id int32) float64 {
	least := 0.0
	for _, t := range l.Top {
		if t.ID == id {
			return float64(t.Logprob)
		}
		least = float64(t.Logprob)
	}
	return least
}
