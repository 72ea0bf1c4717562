package evidence

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Names of claims.
const (
	claimRecall  = "recall"
	claimSpeedup = "speedup"
	claimMemory  = "memory"
)

// A Headline is what a report may say of itself.
type Headline struct {
	Recall  Claim `json:"recall"`
	Speedup Claim `json:"speedup"`
	Memory  Claim `json:"memory"`
}

// A Claim is one figure of a headline. Both fields are empty if the report does not have it.
type Claim struct {
	Text     string   `json:"text,omitempty"` // as admitted
	Withheld []string `json:"withheld,omitempty"`
}

// HeadlineOf returns the claims of a report that the gate admits, and the reasons against the
// others.
func HeadlineOf(r *Report) Headline {
	found := Check(r)
	h := Headline{Recall: r.recallClaim(), Speedup: r.speedupClaim(), Memory: r.memoryClaim()}
	for name, claim := range map[string]*Claim{claimRecall: &h.Recall, claimSpeedup: &h.Speedup,
		claimMemory: &h.Memory} {
		if reasons := against(found, name); claim.Text != "" && len(reasons) > 0 {
			*claim = Claim{Withheld: reasons}
		}
	}
	return h
}

// All returns the claims that the report has, by name.
func (h Headline) All() iter.Seq2[string, Claim] {
	return func(yield func(string, Claim) bool) {
		for i, c := range []Claim{h.Recall, h.Speedup, h.Memory} {
			name := []string{claimRecall, claimSpeedup, claimMemory}[i]
			if (c.Text != "" || len(c.Withheld) > 0) && !yield(name, c) {
				return
			}
		}
	}
}

// Lines returns the headline for a person, a line for each claim. Each reason against one has a line
// too.
func (h Headline) Lines() []string {
	var lines []string
	for name, c := range h.All() {
		if c.Text != "" {
			lines = append(lines, fmt.Sprintf("%-8s %s", name, c.Text))
			continue
		}
		first := fmt.Sprintf("%-8s withheld: ", name)
		for i, reason := range c.Withheld {
			if i > 0 {
				first = strings.Repeat(" ", len(first))
			}
			lines = append(lines, first+reason)
		}
	}
	return lines
}

// Brief returns the claim for a cell of a table: as admitted, or the codes of what stands against it.
// A reason without a code is short, and stands there whole.
func (c Claim) Brief() string {
	if c.Text != "" || len(c.Withheld) == 0 {
		return c.Text
	}
	var codes []string
	for _, reason := range c.Withheld {
		if code, _, _ := strings.Cut(reason, ": "); !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	return "withheld: " + strings.Join(codes, ", ")
}

// against returns the reasons of the violations that stand against a claim. A rule of one claim
// concerns that claim; the others concern all.
func against(found []Violation, claim string) []string {
	var reasons []string
	for _, v := range found {
		concerns := ""
		switch {
		case strings.HasPrefix(string(v.Code), "SPEEDUP_"), v.Code == OutputDegenerate:
			concerns = claimSpeedup
		case v.Code == RecallScope, v.Code == BaselineRecallClaim:
			concerns = claimRecall
		case v.Code == MemoryClaimMismatch:
			concerns = claimMemory
		}
		if concerns == "" || concerns == claim {
			reasons = append(reasons, fmt.Sprintf("%s: %s", v.Code, v.Text))
		}
	}
	return reasons
}

// counted returns "1 sample" or "5 samples".
func counted(samples int) string {
	if samples == 1 {
		return "1 sample"
	}
	return fmt.Sprintf("%d samples", samples)
}

// recallClaim says which recall the report has, and of what.
func (r *Report) recallClaim() Claim {
	if r.Gate == nil {
		return Claim{}
	}
	f := (&checker{report: r}).facts()
	text := ""
	switch g := r.Gate; {
	case g.Recall != nil:
		text = fmt.Sprintf("%.3f with restoration%s", *g.Recall, f.cross.restoredBy())
	case g.RecallBounded != nil:
		text = fmt.Sprintf("%.3f with bounded caches alone", *g.RecallBounded)
	case g.RecallNative != nil:
		text = fmt.Sprintf("%.3f of %s", *g.RecallNative, f.cross.SystemUnderTest)
	case len(g.RecallWithheld) > 0:
		return Claim{Withheld: g.RecallWithheld}
	}
	samples := f.cross.Total
	if oracle := r.Gate.RecallOracle; oracle != nil && text != "" {
		text += fmt.Sprintf(", oracle %.3f", *oracle)
		if !f.samePrompts() {
			text += " on other prompts"
		}
		if *oracle == 0 {
			text += " (it found none, so this shows nothing)"
		}
	} else if oracle != nil {
		text, samples = fmt.Sprintf("oracle alone %.3f", *oracle), f.oracle.Total
	}
	if text == "" {
		return Claim{}
	}
	if samples != nil {
		text += ", " + counted(int(*samples))
	}
	if f.crossArm().isForced() {
		text += "; teacher-forced, which measures too little"
	}
	if r.Gate.Recall != nil && !f.counted {
		text += "; restored by the report's own word, no rows were counted"
	}
	return Claim{Text: text}
}

// restoredBy says whose rows were restored, and in which arm, as far as the report has it.
func (a Answers) restoredBy() string {
	text := ""
	if slices.Contains(origins, a.RestoredFrom) {
		text += " from " + a.RestoredFrom
	}
	if a.Name != "" {
		text += fmt.Sprintf(" (%.64q)", a.Name)
	}
	return text
}

// speedupClaim says how much faster the report claims to be.
func (r *Report) speedupClaim() Claim {
	t := r.Throughput
	switch {
	case t == nil:
		return Claim{}
	case t.Speedup == nil:
		return Claim{Withheld: t.SpeedupWithheld}
	}
	text := fmt.Sprintf("%.3f times as fast end to end", *t.Speedup)
	if t.DecodeOnly != nil && t.DecodeOnly.Speedup != nil {
		text += fmt.Sprintf(", %.3f times in decoding alone", *t.DecodeOnly.Speedup)
	}
	text += ", " + counted(len(part(t.Cross).Rows))
	if idle := (&checker{report: r}).facts().idle(); idle > 0 {
		text += fmt.Sprintf(", %d of them without drafts", idle)
	}
	return Claim{Text: text}
}

// memoryClaim says what caches held, and what that saves.
func (r *Report) memoryClaim() Claim {
	m := r.Memory
	if m == nil {
		return Claim{}
	}
	var parts []string
	if saving := m.SavingPercent; saving != nil && *saving < 0 {
		parts = append(parts, fmt.Sprintf("%.1f %% more than full caches", -*saving))
	} else if saving != nil {
		parts = append(parts, fmt.Sprintf("%.1f %% less than full caches", *saving))
	}
	if held := m.Measured; held != nil && m.SavingWithheld == nil {
		text := fmt.Sprintf("%.2f MB held: %.2f exact layers, %.2f own rows of bounded layers, "+
			"%.2f restored", held.sum()/1e6, value(held.ExactBytes)/1e6, value(held.BoundedBytes)/1e6,
			held.rows()/1e6)
		if source := value(held.SourceBytes); source > 0 {
			text += fmt.Sprintf(", %.2f what restores them", source/1e6)
		}
		parts = append(parts, text)
	} else if m.SavingPercent != nil {
		parts = append(parts, "by formula, no bytes were measured")
	}
	if len(parts) == 0 {
		return Claim{Withheld: m.SavingWithheld}
	}
	return Claim{Text: strings.Join(parts, "; ")}
}
