package evidence

import (
	"math"
	"slices"
	"strings"
)

// Paths of a report.
const (
	crossTimes  = "throughput.k3_cross_model"
	oracleTimes = "throughput.oracle_native_ar"
	crossRows   = crossTimes + ".stage_timings"
	oracleRows  = oracleTimes + ".stage_timings"
)

// shareTolerance is how far two figures of one share may be apart: some are rounded to two digits.
const shareTolerance = 0.006

// baselines are the systems under test that restore nothing.
var baselines = []string{NativeBypass, NativeBaseline, SinkWindow, Speculation, QuantizedKV}

// evaluation applies the rules of evaluations.
func (c *checker) evaluation() {
	if c.report.isLegacy() {
		c.add(LegacySchema, "schema_version", "the report has version %s, which is older than the gate; "+
			"run the evaluation again and write version %d",
			shown(c.report.SchemaVersion), SchemaVersion)
		return
	}
	f := c.facts()
	c.rows(f)
	c.baseline(f)
	c.recall(f)
	c.fused(f)
	c.speedup(f)
	c.memory(f)
}

// facts are the sections of a report, empty where it has none, and what its rows show of the run.
type facts struct {
	cross, oracle               Answers
	gate                        Gate
	crossTimes, oracleTimes     Times
	restored, native, unknown   int     // rows that restored, that did not, that do not say
	firstUnknown, firstContrary int     // -1 = none
	contrary                    int     // rows whose flag contradicts their count
	blocks, evicted, kvBits     float64 // summed over the rows
	counted                     bool    // each row has restored_rows
}

// facts reads the report once for all rules.
func (c *checker) facts() *facts {
	r := c.report
	f := &facts{firstUnknown: -1, firstContrary: -1, counted: true}
	if r.Results != nil {
		f.cross, f.oracle = part(r.Results.Cross), part(r.Results.Oracle)
	}
	if r.Throughput != nil {
		f.crossTimes, f.oracleTimes = part(r.Throughput.Cross), part(r.Throughput.Oracle)
	}
	f.gate = part(r.Gate)
	for i, row := range f.crossTimes.Rows {
		restored, known := row.restoration(r.isOwn())
		switch {
		case !known:
			if f.unknown++; f.firstUnknown < 0 {
				f.firstUnknown = i
			}
		case restored:
			f.restored++
		default:
			f.native++
		}
		if row.Active != nil && row.RestoredRows != nil && *row.Active != restored {
			if f.contrary++; f.firstContrary < 0 {
				f.firstContrary = i
			}
		}
		f.counted = f.counted && row.RestoredRows != nil
		f.evicted += value(row.EvictedRows)
		f.kvBits += value(row.KVBits)
		if row.Fused != nil {
			f.blocks += value(row.Fused.Blocks)
		}
	}
	return f
}

// part returns what p points to, or an empty section.
func part[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

// isOwn reports whether Tandem wrote the report, so that its rows must have counts.
func (r *Report) isOwn() bool { return strings.HasPrefix(r.Kind, ownKindStart) }

// restoration reports whether the sample restored rows, and whether that is known. A count
// overrules the flag. A row of Tandem's needs the count.
func (r Row) restoration(own bool) (restored, known bool) {
	switch {
	case r.RestoredRows != nil:
		return *r.RestoredRows > 0, true
	case r.Active != nil && !own:
		return *r.Active, true
	}
	return false, false
}

// allRestored reports whether each row is known to have restored.
func (f *facts) allRestored() bool { return f.restored > 0 && f.native+f.unknown == 0 }

// noneRestored reports whether rows are known, and none of them restored.
func (f *facts) noneRestored() bool { return f.native > 0 && f.restored == 0 }

// nativeLabel reports whether the report calls itself a run of the native path.
func (f *facts) nativeLabel() bool {
	return f.cross.SystemUnderTest == NativeBypass || f.cross.SystemUnderTest == NativeBaseline
}

// rows asks for a row per sample, and that each says what ran.
func (c *checker) rows(f *facts) {
	r := c.report
	hasCross := r.Results != nil && r.Results.Cross != nil || r.Throughput != nil &&
		(r.Throughput.Cross != nil || r.Throughput.Speedup != nil) || f.gate.Recall != nil
	switch {
	case (hasCross || r.Kind == KindMac) && len(f.crossTimes.Rows) == 0:
		c.add(MissingStageTimings, crossRows, "the system under test has no row per sample; "+
			"write prefill_s, decode_s and what was restored for each")
	case !hasCross && r.Kind != KindMac && len(f.oracleTimes.Rows) == 0 &&
		(r.Memory == nil || r.Memory.Measured == nil) && r.Details == nil:
		c.add(MissingStageTimings, oracleRows, "nothing was measured; "+
			"write a row per sample of each arm")
	}
	if f.unknown > 0 {
		field, words := ".restoration_active", "a flag"
		if r.isOwn() {
			field, words = ".restored_rows", "the count of restored rows"
		}
		c.add(MissingRestorationFlag, crossRows+index(f.firstUnknown)+field,
			"%d of %d rows lack %s, so nobody knows which path ran; write it from what executed",
			f.unknown, len(f.crossTimes.Rows), words)
	}
	if f.contrary > 0 {
		c.add(MissingRestorationFlag, crossRows+index(f.firstContrary)+".restoration_active",
			"the flag of %d rows contradicts restored_rows; compute it from the count", f.contrary)
	}
	if f.restored > 0 && f.native > 0 {
		c.add(MixedRestorationPaths, crossRows, "%d samples restored and %d did not; "+
			"write one report per path", f.restored, f.native)
	}
}

// baseline holds a run that restored nothing to its label.
func (c *checker) baseline(f *facts) {
	const label = "results.k3_cross_model.system_under_test"
	if f.noneRestored() && !slices.Contains(baselines, f.cross.SystemUnderTest) {
		c.add(BaselineAsSUT, label, "no sample restored rows, but the system under test is %.64q; "+
			"name the baseline, such as %q", f.cross.SystemUnderTest, NativeBypass)
	}
	if f.noneRestored() && !f.labelRan() {
		c.add(BaselineAsSUT, label, "the rows do not show that %s ran; "+
			"write the count that shows it, or name what ran", f.cross.SystemUnderTest)
	}
	if f.gate.Recall != nil &&
		(f.noneRestored() || slices.Contains(baselines, f.cross.SystemUnderTest)) {
		c.add(BaselineRecallClaim, "gate.recall_cross_model", "a run that restored nothing claims "+
			"recall for restoration; write it as recall_native_baseline or recall_sink_window")
	}
}

// labelRan reports whether the counts show the baseline that the label names. A fused run that
// verified nothing has a rule of its own.
func (f *facts) labelRan() bool {
	switch f.cross.SystemUnderTest {
	case SinkWindow:
		return f.evicted > 0
	case QuantizedKV:
		return f.kvBits > 0
	}
	return true
}

// recall holds the claims of recall to the samples.
func (c *checker) recall(f *facts) {
	claimed := f.gate.Recall
	if claimed != nil {
		const where = "gate.recall_cross_model"
		n := value(f.cross.Total)
		switch {
		case !f.allRestored():
			c.add(RecallScope, where, "recall is claimed for restoration, but %d of %d rows "+
				"are known to have restored; claim it only if all did",
				f.restored, len(f.crossTimes.Rows))
		case f.cross.Total != nil && n > float64(len(f.crossTimes.Rows)):
			c.add(RecallScope, where, "recall is claimed for %.0f samples, but %d have rows; "+
				"write a row for each", n, len(f.crossTimes.Rows))
		}
	}
	native := f.gate.RecallNative
	if native == nil {
		native = f.gate.RecallBounded
	}
	for _, claim := range []struct {
		recall  *Share
		answers Answers
		where   string
	}{
		{claimed, f.cross, "gate.recall_cross_model"},
		{f.gate.RecallNative, f.cross, "gate.recall_native_baseline"},
		{f.gate.RecallBounded, f.cross, "gate.recall_sink_window"},
		{f.gate.RecallOracle, f.oracle, "gate.recall_oracle"},
	} {
		if claim.recall == nil {
			continue
		}
		measured, ok := claim.answers.recall()
		if !ok || !near(value(claim.recall), measured, shareTolerance) {
			c.add(RecallScope, claim.where, "%s is not the share of right answers under results, "+
				"%.4g; compute it from the samples", shown(claim.recall), measured)
		}
	}
	if claimed == nil {
		claimed = native
	}
	delta := 100 * math.Abs(value(claimed)-value(f.gate.RecallOracle))
	if within := f.gate.Within5Points; within != nil && *within &&
		(claimed == nil || f.gate.RecallOracle == nil || delta > 5+1e-6) {
		c.add(RecallScope, "gate.recall_delta_within_5pp", "it is true, but the arms are not known "+
			"to be within 5 points; compute it from both recalls")
	}
	if d := f.gate.DeltaPoints; d != nil && !near(math.Abs(value(d)), delta, 200*shareTolerance) {
		c.add(RecallScope, "gate.recall_delta_vs_oracle_pp", "it is %s, but the arms are %.4g points "+
			"apart; compute it from both recalls", shown(d), delta)
	}
}

// recall returns the share of right answers, if the counts, the list and the figure agree on it.
func (a Answers) recall() (share float64, ok bool) {
	shares := []float64{}
	if a.Recall != nil {
		shares = append(shares, value(a.Recall))
	}
	if value(a.Total) > 0 && a.Right != nil {
		shares = append(shares, value(a.Right)/value(a.Total))
	}
	if len(a.Correct) > 0 {
		right := 0
		for _, correct := range a.Correct {
			if correct {
				right++
			}
		}
		shares = append(shares, float64(right)/float64(len(a.Correct)))
	}
	if len(shares) == 0 {
		return 0, false
	}
	return slices.Min(shares), near(slices.Min(shares), slices.Max(shares), shareTolerance)
}

// fused asks a fused run for a verified block.
func (c *checker) fused(f *facts) {
	if f.blocks > 0 {
		return
	}
	if f.crossTimes.Mode == ModeFused || f.cross.SystemUnderTest == Speculation {
		c.add(FusedNeverRan, crossRows, "the run is called fused, but its samples verified 0 blocks; "+
			"find out why it fell back, or name the loop that ran")
	}
}
