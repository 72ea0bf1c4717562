package control

import (
	"encoding/json"
	"slices"
)

// A PhaseTime is the time of one part of a run.
type PhaseTime struct {
	Name string  `json:"name"`
	MS   float64 `json:"ms"`
}

// phasesOf returns the parts of a run that has ended, in order.
func phasesOf(r Run) []PhaseTime {
	// Restoring is a part of the engine's prefill. What is left of the total is decoding.
	read := max(0, r.PrefillMS-r.RestoreMS)
	decode := max(0, r.TotalMS-r.QueueMS-r.LoadMS-r.RestoreMS-read)
	if r.CompletionTokens == 0 && ends(r.FinishReason) {
		decode = 0 // it ended before
	}
	return []PhaseTime{{"queue", r.QueueMS}, {"load", r.LoadMS}, {"restore", r.RestoreMS}, {"prefill", read}, {"decode", decode}}
}

// phaseWords say what a run does in a phase.
var phaseWords = map[string]string{"queue": "waiting", "load": "loading", "restore": "restoring", "prefill": "reading",
	"decode": "writing"}

// Mostly says in a word what a run took its time for, or why it has no answer. others are runs that are
// known, see rereads.
func Mostly(r Run, others []Run) string {
	switch {
	case r.EndedAt.IsZero():
		return "running"
	case r.FinishReason == FinishError:
		return "failed"
	case r.FinishReason == FinishInterrupted:
		return "interrupted"
	case r.FinishReason == FinishCancel:
		return "stopped"
	}
	if r.QueueMS+r.BesideMS > r.TotalMS/2 {
		return phaseWords["queue"]
	}
	most := PhaseTime{"", 0}
	for _, p := range phasesOf(r) {
		if p.MS > most.MS {
			most = p
		}
	}
	if most.Name == "prefill" && rereads(r, others) {
		return "re-reading"
	}
	return phaseWords[most.Name]
}

// rereads reports whether a run read most of a known prompt again, as the window says it: the text of another
// program says nothing of this one, and a new chat is no repetition.
func rereads(r Run, others []Run) bool {
	const few = 256 // tokens that are read at once
	read := r.PromptTokens - r.CachedTokens
	var d Divergence
	if r.Divergence == nil || json.Unmarshal(r.Divergence, &d) != nil || d.New || read <= max(few, r.PromptTokens/2) {
		return false
	}
	i := slices.IndexFunc(others, func(o Run) bool { return o.ID == d.Run })
	return i < 0 || Program(others[i].Client) == Program(r.Client)
}
