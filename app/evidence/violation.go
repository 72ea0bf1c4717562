package evidence

import (
	"fmt"
	"slices"
)

// A Code names a rule.
type Code string

// Rules of evaluations.
const (
	LegacySchema           Code = "LEGACY_SCHEMA"
	MissingStageTimings    Code = "MISSING_STAGE_TIMINGS"
	MissingRestorationFlag Code = "MISSING_RESTORATION_FLAG"
	MixedRestorationPaths  Code = "MIXED_RESTORATION_PATHS"
	BaselineAsSUT          Code = "BASELINE_AS_SUT"
	BaselineRecallClaim    Code = "BASELINE_RECALL_CLAIM"
	RecallScope            Code = "RECALL_SCOPE"
	FusedNeverRan          Code = "FUSED_NEVER_RAN"
	SpeedupSelfComparison  Code = "SPEEDUP_SELF_COMPARISON"
	SpeedupSamples         Code = "SPEEDUP_SAMPLES"
	SpeedupDecodeTokens    Code = "SPEEDUP_DECODE_TOKENS"
	SpeedupDecodeOnly      Code = "SPEEDUP_DECODE_ONLY_MISSING"
	SpeedupScopeMismatch   Code = "SPEEDUP_SCOPE_MISMATCH"
	SpeedupOracleLoop      Code = "SPEEDUP_ORACLE_LOOP"
	SpeedupPrefillVariance Code = "SPEEDUP_PREFILL_VARIANCE"
	MemoryClaimMismatch    Code = "MEMORY_CLAIM_MISMATCH"
)

// Rules of chats.
const (
	MissingLiveness  Code = "MISSING_LIVENESS"
	ProposerNeverRan Code = "PROPOSER_NEVER_RAN"
	FThetaNotRun     Code = "FTHETA_NOT_RUN"
	SilentFallback   Code = "SILENT_FALLBACK"
	OutputDegenerate Code = "OUTPUT_DEGENERATE"
)

// A Violation is a rule that a report does not hold.
type Violation struct {
	Code  Code   `json:"code"`
	Text  string `json:"message"` // what is wrong, and what to do
	Where string `json:"where"`   // the path of the field
}

func (v Violation) String() string { return fmt.Sprintf("%s %s: %s", v.Code, v.Where, v.Text) }

// Check returns the rules that the report does not hold, in the order of the package's list. A
// report of another kind than a chat holds none of the chat's, and the other way round.
func Check(r *Report) []Violation {
	c := &checker{report: r}
	if r.isEvaluation() {
		c.evaluation()
	}
	if r.isChat() {
		c.chat()
	}
	return c.found
}

// A checker gathers violations.
type checker struct {
	report *Report
	found  []Violation
}

func (c *checker) add(code Code, where, format string, args ...any) {
	c.found = append(c.found, Violation{code, fmt.Sprintf(format, args...), where})
}

// breaks reports whether one of the codes was found.
func breaks(found []Violation, codes ...Code) bool {
	return slices.ContainsFunc(found, func(v Violation) bool { return slices.Contains(codes, v.Code) })
}
