package evidence

import (
	"math"
	"slices"
	"strings"
)

// What a speed-up needs.
const (
	minSamples        = 5
	minMedianTokens   = 32
	maxPrefillSpread  = 3.0 // longest to shortest prefill of an arm
	ratioTolerance    = 0.01
	absoluteTolerance = 6e-3 // some figures are rounded to two digits
)

// oracleLoops are the loops fast enough to compare with. A loop that waits for each token would
// slow the oracle down.
var oracleLoops = []string{LoopGenerateStep, LoopPlain}

// An arm is one side of a comparison.
type arm struct {
	name, path string // path of its times
	times      Times
	tokens     []Count
	tokensPath string
	own        bool // decode_s goes from the first token to the last
}

// crossArm returns the side of the system under test.
func (f *facts) crossArm() arm {
	return arm{"the system under test", crossTimes, f.crossTimes, f.cross.Tokens,
		"results.k3_cross_model.per_sample_decode_tokens", f.own}
}

// oracleArm returns the side of plain decoding.
func (f *facts) oracleArm() arm {
	return arm{"the oracle", oracleTimes, f.oracleTimes, f.oracle.Tokens,
		"results.oracle.per_sample_decode_tokens", f.own}
}

// speedup holds a claimed speed-up to the rows of both arms.
func (c *checker) speedup(f *facts) {
	t := c.report.Throughput
	switch {
	case t == nil:
		return
	case t.Speedup == nil && f.own && t.DecodeOnly != nil && t.DecodeOnly.Speedup != nil:
		c.add(SpeedupScopeMismatch, "throughput.decode_only.speedup", "decoding alone is called %s times "+
			"as fast, but the speed-up end to end is withheld; withhold both", shown(t.DecodeOnly.Speedup))
		return
	case t.Speedup == nil:
		return
	}
	const where = "throughput.cross_model_speedup_vs_oracle_ar"
	cross, oracle := f.crossArm(), f.oracleArm()
	if f.noneRestored() && !f.differs() {
		c.add(SpeedupSelfComparison, where, "nothing restored, sped up or shrank the run, so both "+
			"arms computed the same; withhold the speed-up")
	} else if idle := f.idle(); 2*idle >= max(1, len(f.crossTimes.Rows)) {
		c.add(SpeedupSelfComparison, where, "%d of %d answers were decoded without a verified block, so "+
			"both arms computed the same there; withhold the speed-up", idle, len(f.crossTimes.Rows))
	}
	for _, a := range []arm{cross, oracle} {
		c.powered(a)
	}
	c.decodeOnly(cross, oracle)
	c.scope(f, cross, oracle)
	if loop, ok := oracle.slowLoop(); !ok {
		c.add(SpeedupOracleLoop, oracleTimes+".decode_loop", "the oracle decoded by %.64q; "+
			"measure it with %s", loop, strings.Join(oracleLoops, " or "))
	} else if n, ran := oracle.notPlain(); n > 0 {
		c.add(SpeedupOracleLoop, oracleRows, "%d rows of the oracle have %s, so it is no plain "+
			"decoding; measure it with full caches", n, ran)
	}
	c.loops(f)
	for _, a := range []arm{cross, oracle} {
		if spread := a.prefillSpread(); spread > maxPrefillSpread {
			c.add(SpeedupPrefillVariance, a.path+".stage_timings", "the longest prefill of %s took "+
				"%.2f times the shortest, at most %.1f are allowed; measure again on a quiet machine",
				a.name, spread, maxPrefillSpread)
		}
	}
}

// differs reports whether the run did what plain decoding does not, apart from restoration. A
// run that is called native did not.
func (f *facts) differs() bool {
	return !f.nativeLabel() && slices.Contains(baselines, f.cross.SystemUnderTest) &&
		f.blocks.rows+f.evicted.rows+f.kvBits.rows > 0
}

// idle returns how many answers of a run with speculation have two tokens or more, and no block. A
// drafter may find nothing to guess. The medians are of drafts as long as most answers had some.
func (f *facts) idle() int {
	if !f.noneRestored() || f.cross.SystemUnderTest != Speculation {
		return 0
	}
	n := 0
	for i, row := range f.crossTimes.Rows {
		if row.blocks() == 0 && (i >= len(f.cross.Tokens) || f.cross.Tokens[i] > 1) {
			n++
		}
	}
	return n
}

// powered asks an arm for enough samples, and for answers long enough.
func (c *checker) powered(a arm) {
	if n := named(a.times.Rows); n < minSamples {
		c.add(SpeedupSamples, a.path+".stage_timings", "%s has %d samples; measure at least %d",
			a.name, n, minSamples)
	}
	middle := median(a.tokens)
	if !(middle >= minMedianTokens) {
		c.add(SpeedupDecodeTokens, a.tokensPath, "the median answer of %s has %.4g tokens; "+
			"let at least half of the answers have %d", a.name, orZero(middle), minMedianTokens)
	} else if len(a.tokens) != len(a.times.Rows) {
		c.add(SpeedupDecodeTokens, a.tokensPath, "%s lists the tokens of %d answers and the times "+
			"of %d; write both for each sample", a.name, len(a.tokens), len(a.times.Rows))
	}
}

// decodeOnly asks for the medians of decoding, as the rows give them.
func (c *checker) decodeOnly(cross, oracle arm) {
	const where = "throughput.decode_only"
	d := c.report.Throughput.DecodeOnly
	if d == nil || d.Speedup == nil || d.Cross == nil || d.Oracle == nil {
		c.add(SpeedupDecodeOnly, where, "the speed-up stands without the medians of decoding alone; "+
			"write both, and their ratio, beside it")
		return
	}
	if !cross.isWhole() || !oracle.isWhole() {
		return // a rule says so already
	}
	one, two := median(cross.rates()), median(oracle.rates())
	for _, figure := range []struct {
		name              string
		claimed, measured float64
	}{
		{".speedup", value(d.Speedup), one / two},
		{".cross_median_tok_s", value(d.Cross), one},
		{".oracle_median_tok_s", value(d.Oracle), two},
	} {
		if !nearRatio(figure.claimed, figure.measured) {
			c.add(SpeedupDecodeOnly, where+figure.name, "it is %.4g, but the rows give %.4g; "+
				"compute it from the medians of the rows", figure.claimed, orZero(figure.measured))
			return
		}
	}
}

// scope asks that both arms' times cover the same, and that the speed-up is their ratio.
func (c *checker) scope(f *facts, cross, oracle arm) {
	for _, a := range []arm{cross, oracle} {
		if a.isForced() {
			c.add(SpeedupScopeMismatch, a.path+".eval_mode", "%s was teacher-forced: one forward over an "+
				"answer is no decoding; withhold the speed-up", a.name)
			return
		}
	}
	if cross.times.Scope != oracle.times.Scope || cross.times.Scope == "" {
		c.add(SpeedupScopeMismatch, crossTimes+".timing_scope", "the times cover %.64q and, "+
			"for the oracle, %.64q; time both the same and name it", cross.times.Scope, oracle.times.Scope)
		return
	}
	if !f.samePrompts() {
		c.add(SpeedupScopeMismatch, oracleRows, "sample or prompt_tokens of the rows differ between the "+
			"arms; let both answer the same prompts")
		return
	}
	if !cross.isWhole() || !oracle.isWhole() {
		return // a rule says so already
	}
	if !c.stages(cross) || !c.stages(oracle) {
		return
	}
	claimed, measured := value(c.report.Throughput.Speedup), cross.perSecond()/oracle.perSecond()
	if !nearRatio(claimed, measured) {
		c.add(SpeedupScopeMismatch, "throughput.cross_model_speedup_vs_oracle_ar",
			"the speed-up is called %.4g, but tokens and seconds of the rows give %.4g; "+
				"compute it from them", claimed, orZero(measured))
		return
	}
	for _, a := range []arm{cross, oracle} {
		if rate := a.times.TokensPerSecond; rate != nil && !nearRatio(value(rate), a.perSecond()) {
			c.add(SpeedupScopeMismatch, a.path+".tokens_per_second", "it is %s, but tokens and seconds "+
				"of the rows give %.4g; compute it from them", shown(rate), a.perSecond())
		}
	}
}

// stages holds e2e_s of each row to its stages, and wall_seconds to all rows. Else a stage that is
// not listed would count as no time. Tandem's reports have both.
func (c *checker) stages(a arm) (whole bool) {
	total := 0.0
	for i, row := range a.times.Rows {
		took := row.seconds()
		total += took
		if e2e := row.EndToEndSeconds; (e2e != nil || a.own) && !nearRatio(value(e2e), took) {
			c.add(SpeedupScopeMismatch, a.path+".stage_timings"+index(i)+".e2e_s", "it is %s, but the "+
				"stages of the row take %.4g s; write the seconds of each stage, and their sum", shown(e2e),
				took)
			return false
		}
	}
	if wall := a.times.WallSeconds; (wall != nil || a.own) && !nearRatio(value(wall), total) {
		c.add(SpeedupScopeMismatch, a.path+".wall_seconds", "it is %s, but the rows take %.4g s; "+
			"write a row for each sample, with the seconds of each stage", shown(wall), total)
		return false
	}
	return true
}

// nearRatio reports whether a figure is that of the rows, up to rounding.
func nearRatio(claimed, measured float64) bool {
	return !math.IsInf(measured, 0) &&
		near(claimed, measured, measured*ratioTolerance+absoluteTolerance)
}

// isTimed reports whether the row has times of prefill and of decoding.
func (r Row) isTimed() bool {
	return (r.PrefillSeconds != nil || r.RestoredPrefill != nil) && r.DecodeSeconds != nil
}

// isWhole reports whether each row has its times and its tokens.
func (a arm) isWhole() bool {
	return len(a.tokens) == len(a.times.Rows) &&
		!slices.ContainsFunc(a.times.Rows, func(r Row) bool { return !r.isTimed() })
}

// isForced reports whether an answer was forced, and not decoded.
func (a arm) isForced() bool {
	return a.times.Mode == ModeTeacherForced || a.times.Loop == ModeTeacherForced ||
		slices.ContainsFunc(a.times.Rows, func(r Row) bool { return r.Loop == ModeTeacherForced })
}

// notPlain returns how many rows did what plain decoding over full caches does not, and what the
// first of them did.
func (a arm) notPlain() (rows int, ran string) {
	for _, row := range a.times.Rows {
		did := ""
		switch {
		case value(row.RestoredRows) > 0, row.Active != nil && *row.Active:
			did = "restored rows"
		case value(row.EvictedRows) > 0:
			did = "given up rows"
		case value(row.KVBits) > 0:
			did = "quantized caches"
		case row.blocks() > 0:
			did = "verified blocks"
		default:
			continue
		}
		if rows++; rows == 1 {
			ran = did
		}
	}
	return rows, ran
}

// perSecond returns the tokens of all answers by the seconds of all rows, end to end; NaN without.
func (a arm) perSecond() float64 {
	tokens, seconds := 0.0, 0.0
	for i, row := range a.times.Rows[:min(len(a.times.Rows), len(a.tokens))] {
		tokens += float64(a.tokens[i])
		seconds += row.seconds()
	}
	if seconds == 0 {
		return math.NaN()
	}
	return tokens / seconds
}

// seconds returns the time of all stages of a sample.
func (r Row) seconds() float64 {
	return value(r.BuildSeconds) + value(r.CaptureSeconds) + r.prefill() + value(r.DecodeSeconds)
}

// slowLoop returns a loop of the arm that is none to compare with. ok says there is none.
func (a arm) slowLoop() (loop string, ok bool) {
	if !slices.Contains(oracleLoops, a.times.Loop) {
		return a.times.Loop, false
	}
	for _, row := range a.times.Rows {
		if row.Loop != "" && !slices.Contains(oracleLoops, row.Loop) {
			return row.Loop, false
		}
	}
	return "", true
}

// prefillSpread returns the ratio of the longest prefill to the shortest; 0 if two are not known.
// Reports round to a millisecond, so no prefill counts as shorter.
func (a arm) prefillSpread() float64 {
	var times []float64
	for _, row := range a.times.Rows {
		if row.PrefillSeconds != nil || row.RestoredPrefill != nil {
			times = append(times, max(row.prefill(), 1e-3))
		}
	}
	if len(times) < 2 {
		return 0
	}
	return slices.Max(times) / slices.Min(times)
}

// prefill returns the seconds of a sample's prefill, or 0.
func (r Row) prefill() float64 {
	if r.PrefillSeconds != nil {
		return value(r.PrefillSeconds)
	}
	return value(r.RestoredPrefill)
}

// rates returns the tokens per second of decoding alone, of the samples that have both. Tandem
// times decoding from the first token on, so that one is not counted.
func (a arm) rates() []float64 {
	var rates []float64
	for i, row := range a.times.Rows[:min(len(a.times.Rows), len(a.tokens))] {
		n := float64(a.tokens[i])
		if a.own {
			n--
		}
		if s := value(row.DecodeSeconds); s > 0 && n > 0 {
			rates = append(rates, n/s)
		}
	}
	return rates
}

// median returns the median; NaN if there is none.
func median[T Count | float64](values []T) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return float64(sorted[middle])
	}
	return float64(sorted[middle-1])/2 + float64(sorted[middle])/2
}

// orZero returns 0 for NaN.
func orZero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}
