package engine

import (
	"tandem/engine/draft"
	"tandem/engine/sample"
)

// MaxDepth is the most tokens one round can draft.
const MaxDepth = draft.MaxDepth

// ExactRows is how many rows every forward of an exact request has after its prompt: a block
// of MaxExactDepth drafts, or a plain step and seven rows of padding. Fewer rows leave
// little room for drafts; more make plain steps dearer.
const (
	ExactRows     = 8
	MaxExactDepth = ExactRows - 1
)

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

// Values of Speculation.Drafter that name no single drafter.
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
