package evidence

import (
	"maps"
	"slices"
	"strings"
)

// Paths of a report.
const (
	crossTimes  = "throughput.k3_cross_model"
	oracleTimes = "throughput.oracle_native_ar"
	crossRows   = crossTimes + ".stage_timings"
	oracleRows  = oracleTimes + ".stage_timings"
	crossTexts  = "results.k3_cross_model.per_sample_decoded"
)

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
	c.timed(f.crossArm())
	c.timed(f.oracleArm())
	c.baseline(f)
	c.recall(f)
	c.fused(f)
	c.speedup(f)
	c.memory(f)
}

// facts are the sections of a report, empty where it has none, and what its rows show of the run.
type facts struct {
	own                         bool // the report is Tandem's
	cross, oracle               Answers
	gate                        Gate
	crossTimes, oracleTimes     Times
	restored, native, unknown   int   // rows that restored, that did not, that do not say
	firstUnknown, firstContrary int   // -1 = none
	contrary                    int   // rows whose flag contradicts their count
	blocks, evicted, kvBits     tally // of the system under test
	kept                        int   // rows in which no layer gave up a row
	partly                      int   // rows that restored less than their layers gave up
	counted                     bool  // each row has restored_rows
}

// A tally is in how many rows a count is above 0.
type tally struct {
	field string
	rows  int
}

// count adds a row.
func (t *tally) count(n float64) {
	if n > 0 {
		t.rows++
	}
}

// facts reads the report once for all rules.
func (c *checker) facts() *facts {
	r := c.report
	f := &facts{firstUnknown: -1, firstContrary: -1, counted: true, own: r.isOwn(),
		blocks: tally{field: "blocks"}, evicted: tally{field: "evicted_rows"},
		kvBits: tally{field: "kv_bits"}}
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
		if n := value(row.RestoredRows); n > 0 && n < value(row.EvictedRows) {
			f.partly++
		}
		f.evicted.count(value(row.EvictedRows))
		if value(row.EvictedRows) == 0 && (f.own || row.EvictedRows != nil) {
			f.kept++
		}
		f.kvBits.count(value(row.KVBits))
		f.blocks.count(row.blocks())
	}
	return f
}

// samePrompts reports whether the rows of both arms are of the same samples, with prompts of the same
// lengths. Rows of others may lack either, and then show no difference.
func (f *facts) samePrompts() bool {
	cross, oracle := f.crossTimes.Rows, f.oracleTimes.Rows
	known := func(field func(Row) *Count) bool {
		missing := func(r Row) bool { return field(r) == nil }
		return f.own || len(cross) > 0 && len(oracle) > 0 &&
			!slices.ContainsFunc(cross, missing) && !slices.ContainsFunc(oracle, missing)
	}
	number := func(r Row) *Count { return r.Sample }
	tokens := func(r Row) *Count { return r.PromptTokens }
	if !known(number) {
		return true
	}
	if !known(tokens) {
		tokens = func(Row) *Count { return nil }
	}
	type prompt struct{ number, tokens Count } // -1 = missing
	orMissing := func(n *Count) Count {
		if n == nil {
			return -1
		}
		return *n
	}
	count := func(rows []Row) map[prompt]int {
		prompts := map[prompt]int{}
		for _, r := range rows {
			prompts[prompt{orMissing(number(r)), orMissing(tokens(r))}]++
		}
		return prompts
	}
	return maps.Equal(count(cross), count(oracle))
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

// blocks returns how many blocks the sample verified.
func (r Row) blocks() float64 {
	if r.Fused == nil {
		return 0
	}
	return value(r.Fused.Blocks)
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
		(r.Memory == nil || r.Memory.Measured == nil) && !r.hasFigures():
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
	if f.partly > 0 {
		c.add(MixedRestorationPaths, crossRows, "%d of %d samples restored fewer rows than their layers "+
			"gave up; restore each of them, or name what ran", f.partly, len(f.crossTimes.Rows))
	}
	if ran := f.labelled(); f.noneRestored() && ran.rows > 0 && ran.rows < len(f.crossTimes.Rows) {
		c.add(MixedRestorationPaths, crossRows, "the run is called %s, but %d of %d rows have %s "+
			"above 0; write one report per path", f.cross.SystemUnderTest, ran.rows, len(f.crossTimes.Rows),
			ran.field)
	}
}

// timed asks for the times of each row of an arm whose speed is reported. In reports of others that
// matters for a speed-up alone.
func (c *checker) timed(a arm) {
	t := part(c.report.Throughput)
	if t.Speedup == nil && (!a.own || a.times.TokensPerSecond == nil && t.DecodeOnly == nil) {
		return
	}
	first, missing := -1, 0
	for i, row := range a.times.Rows {
		if row.isTimed() {
			continue
		}
		if missing++; first < 0 {
			first = i
		}
	}
	if missing > 0 {
		c.add(MissingStageTimings, a.path+".stage_timings"+index(first), "%d of %d rows of %s lack "+
			"prefill_s or decode_s, so they show no speed; write both for each", missing,
			len(a.times.Rows), a.name)
	}
}

// hasFigures reports whether the report has other figures. In Tandem's own, those stand for rows in
// the comparison of drafters alone.
func (r *Report) hasFigures() bool {
	if r.isOwn() && r.Kind != KindParity {
		return false
	}
	switch d := r.Details.(type) {
	case nil:
		return false
	case map[string]any:
		return len(d) > 0
	case []any:
		return len(d) > 0
	}
	return true
}

// baseline holds a run that restored nothing to its label.
func (c *checker) baseline(f *facts) {
	const label = "results.k3_cross_model.system_under_test"
	switch ran := f.labelled(); {
	case !f.noneRestored():
	case !slices.Contains(baselines, f.cross.SystemUnderTest):
		c.add(BaselineAsSUT, label, "no sample restored rows, but the system under test is %.64q; "+
			"name the baseline, such as %q", f.cross.SystemUnderTest, NativeBypass)
	case ran.field != "" && ran.rows == 0:
		c.add(BaselineAsSUT, label, "the rows do not show that %s ran; "+
			"write the count that shows it, or name what ran", f.cross.SystemUnderTest)
	case f.evicted.rows > 0 && f.cross.SystemUnderTest != SinkWindow:
		c.add(BaselineAsSUT, label, "%d rows gave up rows of their own, but the run is called %.64q; "+
			"name it %q", f.evicted.rows, f.cross.SystemUnderTest, SinkWindow)
	}
	if f.gate.Recall != nil &&
		(f.noneRestored() || slices.Contains(baselines, f.cross.SystemUnderTest)) {
		c.add(BaselineRecallClaim, "gate.recall_cross_model", "a run that restored nothing claims "+
			"recall for restoration; write it as recall_native_baseline or recall_sink_window")
	}
}

// labelled returns the tally that must show the baseline of the label; no field if there is none.
// A drafter may find nothing to guess, so blocks of a run with speculation have rules of their own.
func (f *facts) labelled() tally {
	switch f.cross.SystemUnderTest {
	case SinkWindow:
		return f.evicted
	case QuantizedKV:
		return f.kvBits
	}
	return tally{}
}

// fused asks a fused run for a verified block.
func (c *checker) fused(f *facts) {
	if f.blocks.rows > 0 {
		return
	}
	if f.crossTimes.Mode == ModeFused || f.cross.SystemUnderTest == Speculation {
		c.add(FusedNeverRan, crossRows, "the run is called fused, but its samples verified 0 blocks; "+
			"find out why it fell back, or name the loop that ran")
	}
}
