package control

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// A Report says in plain words what one run took and how it was decoded. It is the answer of GET
// /app/runs/{id}/report, and what `tandem runs show` prints.
type Report struct {
	Run         Run          `json:"run"`
	Facts       []Fact       `json:"facts"`       // empty while it is in flight
	Phases      []PhaseTime  `json:"phases"`      // in order; together they are the whole run
	Speculation *Speculation `json:"speculation"` // nil where its rounds are not kept

	// ResumedBy is the run that completed the answer of this one after it was cut off; 0 if none
	// did.
	ResumedBy int64 `json:"resumed_by,omitempty"`

	// Divergence says where the prompt parts from an earlier text; nil if it does not.
	Divergence *DivergenceText `json:"parting,omitempty"`
}

// A Fact is a name and a sentence.
type Fact struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// NewReport makes the report of a run from its row in the history. It fails where the row holds
// JSON that it cannot read.
func NewReport(r Run) (Report, error) {
	report := Report{Run: r, Facts: []Fact{}, Phases: []PhaseTime{}}
	if r.Speculation != nil {
		report.Speculation = new(Speculation)
		if err := json.Unmarshal(r.Speculation, report.Speculation); err != nil {
			return report, fmt.Errorf("the rounds of run %d: %w", r.ID, err)
		}
	}
	if r.EndedAt.IsZero() {
		return report, nil
	}
	var divergence *Divergence
	if r.Divergence != nil {
		divergence = new(Divergence)
		if err := json.Unmarshal(r.Divergence, divergence); err != nil {
			return report, fmt.Errorf("where run %d parts: %w", r.ID, err)
		}
	}
	report.fact("finish", "%s", r.FinishReason)
	if r.Error != "" {
		report.Facts[0].Text += ": " + r.Error
	}
	if r.Message != "" {
		report.fact("told", "%s", r.Message)
	}
	if r.FinishReason == FinishInterrupted && r.TotalMS == 0 {
		return report, nil // its figures went with the program
	}
	if refused := r.FinishReason == FinishError && r.PromptTokens == 0; !refused {
		report.prompt(divergence)
		report.decoding()
	}
	if err := report.verdict(); err != nil {
		return report, err
	}
	report.times()
	return report, nil
}

func (r *Report) fact(name, format string, args ...any) {
	r.Facts = append(r.Facts, Fact{name, fmt.Sprintf(format, args...)})
}

// prompt tells what was read and what of it was known.
func (r *Report) prompt(divergence *Divergence) {
	run := &r.Run
	r.fact("tokens", "prompt %s, completion %s", Grouped(run.PromptTokens), Grouped(run.CompletionTokens))
	computed := "computed " + Grouped(run.PromptTokens-run.CachedTokens)
	if run.FirstTokenMS == 0 && ends(run.FinishReason) {
		computed = "not read to its end"
	}
	r.fact("prompt", "matched %s, restored %s, %s", Grouped(run.MatchedTokens), Grouped(run.CachedTokens), computed)
	if run.MissReason != "" {
		r.fact("cache", "%s", run.MissReason)
	}
	if n := run.PutBackThoughts; n == 1 {
		r.fact("thoughts", "a thought of %s was put back, which the client had left out",
			Plural(run.PutBackTokens, "token"))
	} else if n > 1 {
		r.fact("thoughts", "%d thoughts of %s together were put back, which the client had left out",
			n, Plural(run.PutBackTokens, "token"))
	}
	if run.LeftOut != "" {
		r.fact("left out", "%s", run.LeftOut)
	}
	if divergence != nil {
		where := "a cached text"
		if divergence.Answer {
			where = "an earlier answer, which the client or the chat template wrote differently, or a person edited"
		}
		r.fact("parts", "at token %s from %s: that goes on with %q, this prompt with %q", Grouped(divergence.At),
			where, divergence.Kept, divergence.Given)
		if divergence.New {
			r.Facts[len(r.Facts)-1].Text += "; nothing before the new messages differs"
		}
	}
	if run.KVBits > 0 {
		r.fact("keys and values", "%d bits an element, in layers that attend all positions", run.KVBits)
	}
	if run.KVOwnBytes+run.KVRestoredBytes > 0 {
		r.fact("bounded", "%s of exact layers, %s of own rows and %s of restored rows; %s together, in memory",
			ByteSize(run.KVExactBytes), ByteSize(run.KVOwnBytes), ByteSize(run.KVRestoredBytes),
			ByteSize(run.KVExactBytes+run.KVOwnBytes+run.KVRestoredBytes))
	}
	if run.Resumes > 0 {
		r.fact("resumes", "run %d", run.Resumes)
	}
}

// decoding tells how the answer came about.
func (r *Report) decoding() {
	run := &r.Run
	if run.Repeats > 0 {
		r.fact("loops", "from token %s of the answer on; drafts do better there than in other texts",
			Grouped(run.Repeats))
	}
	r.fact("seed", "%d", run.Seed)
	if r.Speculation != nil && r.Speculation.Asked != nil {
		r.fact("asked for", "%s", r.Speculation.Asked)
	}
	r.fact("drafter", "%s", cmp.Or(run.Drafter, "none"))
	if run.NoDrafter != "" {
		r.fact("reason", "%s", run.NoDrafter)
	}
	if run.Drafted > 0 {
		r.fact("drafts", "%s, %s of them accepted (%s)", Grouped(run.Drafted), Grouped(run.Accepted),
			Share(run.Accepted, run.Drafted))
	}
	if n := run.PredictionAccepted + run.PredictionRejected; n > 0 {
		r.fact("prediction", "%s tried, %s of them accepted (%s)", Plural(n, "token"),
			Grouped(run.PredictionAccepted), Share(run.PredictionAccepted, n))
	}
	rounds := Plural(run.Rounds, "forward") + " after the prompt's"
	if run.Verifies > 0 {
		rounds += fmt.Sprintf(", %d with drafts: %.2f tokens per verify",
			run.Verifies, run.TokensPerVerify())
	}
	r.fact("rounds", "%s; %s", rounds, Plural(run.Syncs, "sync"))
}

// verdict tells how the answer compared when it was computed again.
func (r *Report) verdict() error {
	v, err := VerdictOf(r.Run)
	if v != nil {
		r.fact("verified", "%s", v)
	}
	return err
}

// times tells what it took.
func (r *Report) times() {
	run := &r.Run
	r.Phases = phasesOf(r.Run)
	var took []string
	for _, t := range []PhaseTime{
		{"load", run.LoadMS}, {"queue", run.QueueMS}, {"restore", run.RestoreMS}, {"prefill", run.PrefillMS}, {"first token", run.FirstTokenMS},
		{"draft", run.DraftMS}, {"verify", run.VerifyMS}, {"other requests", run.BesideMS}, {"total", run.TotalMS},
	} {
		if t.MS > 0 {
			took = append(took, fmt.Sprintf("%s %.1f", t.Name, t.MS))
		}
	}
	r.fact("ms", "%s", strings.Join(took, ", "))
	if r.Speculation != nil && r.Speculation.BlockMS != nil {
		b := r.Speculation.BlockMS
		r.fact("block ms", "%.1f on average, %.1f in the first eight, %.1f at most", b.Mean,
			b.First8, b.Max)
	}
	if pace := run.Pace(); pace != "-" {
		r.fact("tokens/s", "%s after the first", pace)
	}
}

// ends reports whether a run with this finish reason ended before its answer was complete.
func ends(finish string) bool {
	return finish == FinishError || finish == FinishCancel || finish == FinishInterrupted
}

// Share formats part/whole in percent.
func Share(part, whole int) string {
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(max(whole, 1)))
}
