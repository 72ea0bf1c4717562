package evidence

import (
	"math"
	"strings"
	"time"
)

// A Run is what an evaluation measured. Nothing in it is a claim: [Run.Report] derives those.
type Run struct {
	Kind   string
	At     time.Time      // when it ended
	Config map[string]any // options, for the reader
	Cross  *Arm           // the system under test; nil = not run
	Oracle *Arm           // plain decoding over full caches; nil = not run
	Memory *Bytes         // nil = not measured
	// Bypass says that the system under test ran through the primitives of the native cache.
	Bypass  bool
	Details any // other figures, which claim nothing
}

// An Arm is one side of an evaluation. Both sides have the same prompts, or none of them is compared.
type Arm struct {
	Name          string
	Samples       []Sample
	TeacherForced bool
	RestoredFrom  string // an origin of restored rows, such as FromFTheta; empty if none are
}

// A Sample is one answer. The counts are what caches and engine counted while it ran.
type Sample struct {
	Prompt  int    // tokens
	Text    string // of the answer
	Correct *bool  // nil = answers are not judged; see Found
	Tokens  int    // of the answer
	Loop    string // what decoded; empty = LoopPlain, or LoopSpeculative if blocks were verified

	Expected string // what Text must have in it to be right, where answers are judged

	// Restore is the time before prefill that only this arm needs. Decode goes from the first token
	// to the last. An arm without any times was not timed.
	Restore, Prefill, Decode time.Duration

	RestoredRows int     // in the banks of all layers
	EvictedRows  int     // own rows that bounded layers gave up
	KVBits       int     // of quantized caches; 0 = not quantized
	Blocks       int     // verified
	MeanAccept   float64 // tokens of a block
	LoopedFrom   *int    // token of the answer at which its loop begins; 0 = none, nil = not counted
	Held         *Held   // nil = not measured
}

// Held are the bytes of all caches at the end of a prompt, summed over live arrays.
type Held struct {
	Exact, Bounded, Restored int64
	Source                   int64 // caches of what restores rows
}

// measured returns the bytes as a report has them.
func (h Held) measured() *Measured {
	restored := h.Restored + h.Source
	m := &Measured{ExactBytes: new(Count(h.Exact)), BoundedBytes: new(Count(h.Bounded)),
		RestoredBytes: new(Count(restored)), TotalBytes: new(Count(h.Exact + h.Bounded + restored))}
	if h.Source > 0 {
		m.SourceBytes = new(Count(h.Source))
	}
	return m
}

// Found reports whether an answer counts as right: the expected text stands in it.
func Found(answer, expected string) bool { return strings.Contains(answer, expected) }

// Bytes are what the caches of one sample held, and the oracle's after the same prompt.
type Bytes struct {
	Held
	RestoredAs    string // rows or latents
	RestoredWhere string // where they live
	Full          int64  // what the oracle's caches held
	// FormulaExact and FormulaBounded are the same layers by their shapes, for Tokens.
	FormulaExact, FormulaBounded int64
	Tokens, SinkWindow           int
	Peak                         int64 // of MLX's memory while the samples ran; 0 = not measured
}

// Report derives the report of a run. A claim that the gate does not admit is withheld, with the
// reasons in its place.
func (run Run) Report() *Report {
	r := &Report{SchemaVersion: new(Count(SchemaVersion)), Kind: run.Kind, Config: run.Config,
		MeasuredAt: stamp(run.At), Details: run.Details, Gate: &Gate{}}
	if run.Cross != nil || run.Oracle != nil {
		r.Results, r.Throughput = &Results{}, &Throughput{}
	}
	if run.Oracle != nil {
		r.Results.Oracle, r.Throughput.Oracle = run.Oracle.answers(), run.Oracle.times()
		r.Gate.RecallOracle = r.Results.Oracle.Recall
	}
	if run.Cross != nil {
		r.Results.Cross, r.Throughput.Cross = run.Cross.answers(), run.Cross.times()
		r.Results.Cross.SystemUnderTest = run.systemUnderTest()
		if r.Results.Cross.SystemUnderTest == Restored {
			r.Results.Cross.RestoredFrom = run.Cross.RestoredFrom
		}
		r.claimRecall()
		r.claimSpeedup()
	}
	if run.Memory != nil {
		r.Memory = run.Memory.memory()
	}
	r.withhold()
	return r
}

// systemUnderTest names what ran, from the counts.
func (run Run) systemUnderTest() string {
	var restored, blocks, evicted, bits int
	for _, s := range run.Cross.Samples {
		restored += s.RestoredRows
		blocks += s.Blocks
		evicted += s.EvictedRows
		bits += s.KVBits
	}
	switch {
	case restored > 0:
		return Restored
	case run.Bypass:
		return NativeBypass
	case evicted > 0:
		return SinkWindow
	case blocks > 0:
		return Speculation
	case bits > 0:
		return QuantizedKV
	}
	return NativeBypass
}

// answers sums up what an arm said.
func (a *Arm) answers() *Answers {
	total, right := len(a.Samples), 0
	out := &Answers{Name: a.Name, Total: new(Count(total)), Tokens: []Count{}}
	judged := total > 0
	for _, s := range a.Samples {
		out.Decoded = append(out.Decoded, s.Text)
		out.Tokens = append(out.Tokens, Count(s.Tokens))
		out.Rates = append(out.Rates, rate(s.Tokens, s.endToEnd()))
		judged = judged && s.Correct != nil
		if s.Correct != nil && *s.Correct {
			right++
		}
	}
	if judged {
		for _, s := range a.Samples {
			out.Correct = append(out.Correct, *s.Correct)
			out.Expected = append(out.Expected, s.Expected)
		}
		out.Right, out.Recall = new(Count(right)), new(Share(float64(right)/float64(total)))
	}
	return out
}

// times lists how an arm's samples ran.
func (a *Arm) times() *Times {
	t := &Times{Scope: ScopeEndToEnd, Mode: ModeIncremental, Rows: []Row{}}
	var wall time.Duration
	tokens, blocks := 0, 0
	for i, s := range a.Samples {
		t.Rows = append(t.Rows, s.row(i))
		wall += s.endToEnd()
		tokens += s.Tokens
		blocks += s.Blocks
	}
	t.Tokens = new(Count(tokens))
	if wall > 0 {
		t.WallSeconds, t.TokensPerSecond = seconds(wall), rate(tokens, wall)
	}
	switch {
	case a.TeacherForced:
		t.Mode = ModeTeacherForced
	case blocks > 0:
		t.Mode = ModeFused
	}
	// The arm's loop is that of its samples. Different ones are no loop to compare with.
	for i, row := range t.Rows {
		switch {
		case i == 0:
			t.Loop = row.Loop
		case t.Loop != row.Loop:
			t.Loop = "mixed"
		}
	}
	return t
}

// row says how a sample ran.
func (s Sample) row(i int) Row {
	row := Row{
		Sample: new(Count(i)), PromptTokens: new(Count(s.Prompt)), Loop: s.Loop,
		Active: new(s.RestoredRows > 0), RestoredRows: new(Count(s.RestoredRows)),
		EvictedRows: new(Count(s.EvictedRows)), KVBits: new(Count(s.KVBits)),
	}
	if s.endToEnd() > 0 {
		row.BuildSeconds, row.PrefillSeconds = seconds(s.Restore), seconds(s.Prefill)
		row.DecodeSeconds, row.EndToEndSeconds = seconds(s.Decode), seconds(s.endToEnd())
	}
	if s.LoopedFrom != nil {
		row.LoopedFrom = new(Count(*s.LoopedFrom))
	}
	if s.Held != nil {
		row.Held = s.Held.measured()
	}
	if s.Blocks > 0 {
		row.Fused = &Fused{Blocks: new(Count(s.Blocks)), MeanAccept: new(Rate(s.MeanAccept)),
			DecodeTokens: new(Count(s.Tokens))}
	}
	if row.Loop == "" {
		row.Loop = LoopPlain
		if s.Blocks > 0 {
			row.Loop = LoopSpeculative
		}
	}
	return row
}

// endToEnd is all the time that a sample took.
func (s Sample) endToEnd() time.Duration { return s.Restore + s.Prefill + s.Decode }

// claimRecall writes recall into the field of what ran. The distance to the oracle is that on the same
// prompts.
func (r *Report) claimRecall() {
	recall := r.Results.Cross.Recall
	switch r.Results.Cross.SystemUnderTest {
	case Restored:
		r.Gate.Recall = recall
	case SinkWindow:
		r.Gate.RecallBounded = recall
	default:
		r.Gate.RecallNative = recall
	}
	same := (&checker{report: r}).facts().samePrompts()
	if oracle := r.Gate.RecallOracle; recall != nil && oracle != nil && same {
		delta := 100 * math.Abs(float64(*recall-*oracle))
		r.Gate.DeltaPoints, r.Gate.Within5Points = new(Number(delta)), new(delta <= 5)
	}
}

// claimSpeedup writes the speed-up of the rows, if both arms have one.
func (r *Report) claimSpeedup() {
	t := r.Throughput
	if t.Oracle == nil {
		t.SpeedupWithheld = []string{"the oracle did not run"}
		return
	}
	f := (&checker{report: r}).facts()
	cross, oracle := f.crossArm(), f.oracleArm()
	one, two := median(cross.rates()), median(oracle.rates())
	if one > 0 && two > 0 {
		t.DecodeOnly = &DecodeOnly{new(Rate(one)), new(Rate(two)), new(Rate(one / two))}
	}
	one, two = cross.perSecond(), oracle.perSecond()
	if one > 0 && two > 0 {
		t.Speedup = new(Rate(one / two))
	} else {
		t.SpeedupWithheld = []string{"an arm decoded no tokens in measured time"}
	}
}

// memory puts the bytes beside the formula.
func (b *Bytes) memory() *Memory {
	m := &Memory{
		Measured: b.measured(),
		Formula: &Formula{Tokens: new(Count(b.Tokens)), SinkWindow: new(Count(b.SinkWindow)),
			BoundedBytes: new(Count(b.FormulaBounded)), ExactBytes: new(Count(b.FormulaExact)),
			TotalBytes: new(Count(b.FormulaExact + b.FormulaBounded)), Scope: "own rows of all layers"},
	}
	m.Measured.RestoredAs, m.Measured.RestoredWhere = b.RestoredAs, b.RestoredWhere
	if b.Peak > 0 {
		m.PeakMB = new(Rate(float64(b.Peak) / 1e6))
	}
	m.Formula.MatchesRun = new(m.Measured.Matches(*m.Formula))
	if b.Full > 0 {
		m.Full = &FullKV{MeasuredBytes: new(Count(b.Full))}
		m.SavingPercent = new(Number(SavingPercent(m.Measured.sum(), float64(b.Full))))
	}
	return m
}

// withhold takes back each claim that the gate does not admit. Then it notes what the gate still
// finds.
func (r *Report) withhold() {
	found, g := Check(r), r.Gate
	if reasons := against(found, claimRecall); g.claimsRecall() && len(reasons) > 0 {
		*g = Gate{RecallOracle: g.RecallOracle, RecallWithheld: reasons}
		if breaks(Check(r), RecallScope) { // the oracle's too
			g.RecallOracle = nil
		}
	}
	if t := r.Throughput; t != nil && t.Speedup != nil {
		if reasons := against(found, claimSpeedup); len(reasons) > 0 {
			t.Speedup, t.DecodeOnly, t.SpeedupWithheld = nil, nil, reasons
		}
	}
	if m := r.Memory; m != nil && m.SavingPercent != nil {
		if reasons := against(found, claimMemory); len(reasons) > 0 {
			m.SavingPercent, m.SavingWithheld = nil, reasons
		}
	}
	r.Gate.Violations = append([]Violation{}, Check(r)...)
}

// claimsRecall reports whether recall of any arm is claimed.
func (g *Gate) claimsRecall() bool {
	return g.Recall != nil || g.RecallNative != nil || g.RecallBounded != nil || g.RecallOracle != nil
}

// rate returns tokens per second; nil if nothing was decoded or no time was measured.
func rate(tokens int, d time.Duration) *Rate {
	if tokens <= 0 || d <= 0 {
		return nil
	}
	return new(Rate(float64(tokens) / d.Seconds()))
}

// stamp writes when something was measured; empty if that is not known.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func seconds(d time.Duration) *Seconds { return new(Seconds(max(d, 0).Seconds())) }
