package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tandem/engine/draft"
	"tandem/engine/sample"
)

// MaxDepth is the most tokens one round can draft.
const MaxDepth = draft.MaxDepth

// Speculation says how a request is decoded. Its output does not depend on it, except on the rule.
// The zero value leaves all to the engine.
type Speculation struct {
	Drafter  string   // one of the engine's, None, or Auto; empty means Auto
	Depth    *int     // drafts in each round; nil adapts
	Rollback Rollback // empty means trim
	Rule     Rule     // empty means coupled
	Fused    bool     // a probe: draft and verify in one graph
	Timed    bool     // a probe: waits for each draft, to tell Stats.Draft from Stats.Verify

	// Exact makes the logits the same to the bit at every depth, on every device (see package
	// engine). Drafts are at most MaxExactDepth. Without Depth there are as many as the drafter
	// makes, because they cost the target nothing.
	Exact bool
}

// Names in Speculation.Drafter that stand for no single drafter.
const (
	Auto = "auto" // whatever there is, where it gains
	None = "none" // plain decoding
)

// A Rollback is a way to undo the rows of rejected drafts.
type Rollback string

const (
	// Trim drops the rows of rejected drafts.
	Trim Rollback = "trim"
	// Undo drops the whole block. The next one evaluates its accepted tokens again.
	Undo Rollback = "snapshot"
)

// A Rule decides which drafts are accepted; see package sample.
type Rule = sample.Rule

// The rules there are.
const (
	Coupled   = sample.Coupled
	Rejection = sample.Rejection
)

// checkSpeculation refuses what the engine cannot do and what contradicts itself.
func (e *Engine) checkSpeculation(r Speculation) error {
	invalid := func(format string, args ...any) error {
		return &Error{Code: CodeInvalid, Message: fmt.Sprintf(format, args...)}
	}
	name := cmp.Or(r.Drafter, Auto)
	names := []string{Auto, None}
	known, most := slices.Contains(names, name), MaxDepth
	for _, d := range e.opts.Drafters {
		if _, ok := d.(*draft.Continued); !ok { // clients name one that works by itself
			names = append(names, d.Name())
		}
		if d.Name() == name {
			known = true
			most = min(most, d.MaxDrafts())
		}
	}
	switch {
	case !known:
		why := cmp.Or(e.opts.Without[name], e.opts.NoDrafter)
		if why != "" {
			why = "; " + why
		}
		return invalid("speculation.drafter %q is not there for this model; it has %s%s", name,
			strings.Join(names, ", "), why)
	case r.Depth != nil && (*r.Depth < 0 || *r.Depth > MaxDepth):
		return invalid("speculation.depth must lie between 0 and %d, not %d", MaxDepth, *r.Depth)
	case r.Depth != nil && *r.Depth > most:
		return invalid("speculation.depth must be at most %d with the drafter %s, not %d", most,
			name, *r.Depth)
	case r.Fused && r.Timed:
		return invalid("speculation.fused has no draft to wait for; leave out speculation.timed")
	case r.Exact && r.Depth != nil && *r.Depth > MaxExactDepth:
		return invalid("speculation.depth must be at most %d with speculation.exact, not %d",
			MaxExactDepth, *r.Depth)
	case !slices.Contains([]Rollback{"", "auto", Trim, Undo}, r.Rollback):
		return invalid("speculation.rollback must be auto, %s or %s, not %q", Trim, Undo,
			r.Rollback)
	case !slices.Contains([]Rule{"", Coupled, Rejection}, r.Rule):
		return invalid("speculation.rule must be %s or %s, not %q", Coupled, Rejection, r.Rule)
	}
	return nil
}
