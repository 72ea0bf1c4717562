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
}

// speedup holds a claimed speed-up to the rows of both arms.
func (c *checker) speedup(f *facts) {
	t := c.report.Throughput
	if t == nil || t.Speedup == nil {
		return
	}
	const where = "throughput.cross_model_speedup_vs_oracle_ar"
	cross := arm{"the system under test", crossTimes, f.crossTimes, f.cross.Tokens,
		"results.k3_cross_model.per_sample_decode_tokens"}
	oracle := arm{"the oracle", oracleTimes, f.oracleTimes, f.oracle.Tokens,
		"results.oracle.per_sample_decode_tokens"}
	if f.noneRestored() && !f.differs() {
		c.add(SpeedupSelfComparison, where, "nothing restored, sped up or shrank the run, so both "+
			"arms computed the same; withhold the speed-up")
	}
	for _, a := range []arm{cross, oracle} {
		c.powered(a)
	}
	c.decodeOnly(cross, oracle)
	c.scope(cross, oracle)
	if loop, ok := oracle.slowLoop(); !ok {
		c.add(SpeedupOracleLoop, oracleTimes+".decode_loop", "the oracle decoded by %.64q; "+
			"measure it with %s", loop, strings.Join(oracleLoops, " or "))
	}
	for _, a := range []arm{cross, oracle} {
		if spread := a.prefillSpread(); spread > maxPrefillSpread {
			c.add(SpeedupPrefillVariance, a.path+".stage_timings", "the longest prefill of %s took "+
				"%.2f times the shortest, at most %.1f are allowed; measure again on a quiet machine, "+
				"or claim decoding alone", a.name, spread, maxPrefillSpread)
		}
	}
}

// differs reports whether the run did what plain decoding does not, apart from restoration. A
// run that is called native did not.
func (f *facts) differs() bool {
	return !f.nativeLabel() && slices.Contains(baselines, f.cross.SystemUnderTest) &&
		f.blocks+f.evicted+f.kvBits > 0
}

// powered asks an arm for enough samples, and for answers long enough.
func (c *checker) powered(a arm) {
	if n := a.samples(); n < minSamples {
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
	if d == nil || d.Speedup == nil {
		c.add(SpeedupDecodeOnly, where, "the speed-up stands without the medians of decoding alone; "+
			"write them beside it")
		return
	}
	one, two := median(cross.rates()), median(oracle.rates())
	measured := one / two
	claimed := value(d.Speedup)
	if math.IsNaN(measured) && d.Cross != nil && d.Oracle != nil {
		measured = value(d.Cross) / value(d.Oracle) // the rows have no times to compare with
	}
	if !near(claimed, measured, measured*ratioTolerance+absoluteTolerance) {
		c.add(SpeedupDecodeOnly, where+".speedup", "decoding is called %.4g times as fast, but the "+
			"rows give %.4g; compute it from the medians of the rows", claimed, measured)
	}
}

// scope asks that both arms' times cover the same, and that the speed-up is their ratio.
func (c *checker) scope(cross, oracle arm) {
	if cross.times.Scope != oracle.times.Scope || cross.times.Scope == "" {
		c.add(SpeedupScopeMismatch, crossTimes+".timing_scope", "the times cover %.64q and, "+
			"for the oracle, %.64q; time both the same and name it", cross.times.Scope, oracle.times.Scope)
		return
	}
	one, two := value(cross.times.TokensPerSecond), value(oracle.times.TokensPerSecond)
	claimed := value(c.report.Throughput.Speedup)
	if measured := one / two; two > 0 &&
		!near(claimed, measured, measured*ratioTolerance+absoluteTolerance) {
		c.add(SpeedupScopeMismatch, "throughput.cross_model_speedup_vs_oracle_ar",
			"the speed-up is called %.4g, but tokens per second of both arms give %.4g; "+
				"compute it from them", claimed, measured)
	}
}

// samples returns the number of different samples of the arm.
func (a arm) samples() int {
	seen, unnamed := map[Count]bool{}, 0
	for _, row := range a.times.Rows {
		if row.Sample == nil {
			unnamed++
			continue
		}
		seen[*row.Sample] = true
	}
	return len(seen) + unnamed
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
func (a arm) prefillSpread() float64 {
	var times []float64
	for _, row := range a.times.Rows {
		if s := row.prefill(); s > 0 {
			times = append(times, s)
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

// rates returns the tokens per second of decoding alone, of the samples that have both.
func (a arm) rates() []float64 {
	var rates []float64
	for i, row := range a.times.Rows[:min(len(a.times.Rows), len(a.tokens))] {
		if s := value(row.DecodeSeconds); s > 0 && a.tokens[i] > 0 {
			rates = append(rates, float64(a.tokens[i])/s)
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
