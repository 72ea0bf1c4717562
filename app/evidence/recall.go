package evidence

import (
	"math"
	"slices"
)

// shareTolerance is how far apart two figures of one share may be: some have three digits.
const shareTolerance = 0.0005

// origins are the origins of restored rows.
var origins = []string{FromOwnRows, FromCapture, FromFTheta}

// A shareClaim is recall that a report claims of one arm.
type shareClaim struct {
	where   string
	recall  *Share
	answers Answers
	rows    []Row
	bare    bool // the rows carry times alone, and may all be left out
}

// recall holds the claims of recall to the samples.
func (c *checker) recall(f *facts) {
	cross, oracle := f.crossTimes.Rows, f.oracleTimes.Rows
	restored := shareClaim{"gate.recall_cross_model", f.gate.Recall, f.cross, cross, false}
	native := shareClaim{"gate.recall_native_baseline", f.gate.RecallNative, f.cross, cross, false}
	bounded := shareClaim{"gate.recall_sink_window", f.gate.RecallBounded, f.cross, cross, false}
	full := shareClaim{"gate.recall_oracle", f.gate.RecallOracle, f.oracle, oracle, !f.own}
	if restored.recall != nil {
		c.restoredRecall(f, restored)
	}
	if native.recall != nil {
		c.nativeRecall(f, native)
	}
	if bounded.recall != nil {
		c.boundedRecall(f, bounded)
	}
	if full.recall != nil {
		if n, ran := f.oracleArm().notPlain(); n > 0 {
			c.add(RecallScope, full.where, "%d rows of the oracle have %s, so it did not keep and attend "+
				"every row; measure it with full caches", n, ran)
		} else {
			c.share(full)
		}
	}
	c.delta(f)
}

// restoredRecall holds recall with restoration to rows that were missing and restored.
func (c *checker) restoredRecall(f *facts, claim shareClaim) {
	switch {
	case !f.allRestored():
		c.add(RecallScope, claim.where, "recall is claimed for restoration, but %d of %d rows are known "+
			"to have restored; claim it only if all did", f.restored, len(claim.rows))
	case f.kept > 0:
		c.add(RecallScope, claim.where, "in %d of %d samples no layer gave up a row, so nothing had to "+
			"be restored; ask longer prompts", f.kept, len(claim.rows))
	case f.own && !slices.Contains(origins, f.cross.RestoredFrom):
		c.add(RecallScope, "results.k3_cross_model.restored_from", "it is %.64q, so nobody knows whose "+
			"rows were restored; write %q, %q or %q", f.cross.RestoredFrom, FromOwnRows, FromCapture,
			FromFTheta)
	default:
		c.share(claim)
	}
}

// nativeRecall holds recall of full caches to a run that had them.
func (c *checker) nativeRecall(f *facts, claim shareClaim) {
	if f.cross.SystemUnderTest == SinkWindow || f.restored > 0 || f.evicted.rows > 0 {
		c.add(RecallScope, claim.where, "recall of full caches is claimed, but %.64q ran, and %d rows "+
			"restored or gave up rows; claim what ran", f.cross.SystemUnderTest,
			max(f.restored, f.evicted.rows))
		return
	}
	c.share(claim)
}

// boundedRecall holds recall of bounded caches alone to a run whose layers gave up rows.
func (c *checker) boundedRecall(f *facts, claim shareClaim) {
	if f.cross.SystemUnderTest != SinkWindow || f.native < len(claim.rows) ||
		f.evicted.rows < len(claim.rows) || len(claim.rows) == 0 {
		c.add(RecallScope, claim.where, "recall of bounded caches alone is claimed, but %.64q ran, and "+
			"%d of %d rows gave up rows and restored none; claim what ran", f.cross.SystemUnderTest,
			min(f.native, f.evicted.rows), len(claim.rows))
		return
	}
	c.share(claim)
}

// share holds a claim to the count of right answers, and that count to rows.
func (c *checker) share(claim shareClaim) {
	a, own := claim.answers, c.report.isOwn()
	total := int(value(a.Total))
	measured, agree := a.recall()
	rows := len(claim.rows)
	if own {
		rows = named(claim.rows)
	}
	hasRows := !claim.bare || rows > 0
	switch {
	case total == 0 || a.Right == nil && len(a.Correct) == 0:
		c.add(RecallScope, claim.where, "recall is claimed of no number of samples; "+
			"write samples_total and samples_correct")
	case hasRows && rows < total || own && rows > total:
		c.add(RecallScope, claim.where, "recall is claimed for %d samples, but %d of them have a row "+
			"with their number; write one for each", total, rows)
	case !agree || !near(value(claim.recall), measured, shareTolerance):
		c.add(RecallScope, claim.where, "%s is not the share of right answers under results, "+
			"%.4g; compute it from the samples", shown(claim.recall), measured)
	case own:
		c.judged(claim)
	}
}

// judged compares each answer's verdict with its text. Reports of others do not say how they judge,
// so theirs are not compared.
func (c *checker) judged(claim shareClaim) {
	a, total := claim.answers, int(value(claim.answers.Total))
	if len(a.Correct) != total || len(a.Decoded) != total || len(a.Expected) != total ||
		slices.Contains(a.Expected, "") {
		c.add(RecallScope, claim.where, "nobody sees which answers are right; write per_sample_correct, "+
			"per_sample_decoded and per_sample_expected for each sample")
		return
	}
	wrong, first := 0, 0
	for i, correct := range a.Correct {
		if correct == Found(a.Decoded[i], a.Expected[i]) {
			continue
		}
		if wrong++; wrong == 1 {
			first = i
		}
	}
	if wrong > 0 {
		c.add(RecallScope, claim.where, "%d answers do not count as their texts say, such as sample %d; "+
			"one is right if what was expected stands in it", wrong, first)
	}
}

// delta holds what is said of the distance between both arms to their recalls.
func (c *checker) delta(f *facts) {
	claimed := f.gate.Recall
	for _, other := range []*Share{f.gate.RecallNative, f.gate.RecallBounded} {
		if claimed == nil {
			claimed = other
		}
	}
	delta := 100 * math.Abs(value(claimed)-value(f.gate.RecallOracle))
	if within := f.gate.Within5Points; within != nil && *within &&
		(claimed == nil || f.gate.RecallOracle == nil || delta > 5+1e-6) {
		c.add(RecallScope, "gate.recall_delta_within_5pp", "it is true, but the arms are not known "+
			"to be within 5 points; compute it from both recalls")
	} else if (within != nil && *within || f.gate.DeltaPoints != nil) && !f.samePrompts() {
		c.add(RecallScope, "gate.recall_delta_within_5pp", "the arms are compared, but sample or "+
			"prompt_tokens of their rows differ; let both answer the same prompts")
	}
	if d := f.gate.DeltaPoints; d != nil && !near(math.Abs(value(d)), delta, 200*shareTolerance) {
		c.add(RecallScope, "gate.recall_delta_vs_oracle_pp", "it is %s, but the arms are %.4g points "+
			"apart; compute it from both recalls", shown(d), delta)
	}
}

// recall returns the share of right answers, if the counts, the list and the figure agree on it.
func (a Answers) recall() (share float64, agree bool) {
	agree = true
	shares := []float64{}
	if a.Recall != nil {
		shares = append(shares, value(a.Recall))
	}
	if value(a.Total) > 0 && a.Right != nil {
		shares = append(shares, value(a.Right)/value(a.Total))
	}
	if n := len(a.Correct); n > 0 {
		right := 0
		for _, correct := range a.Correct {
			if correct {
				right++
			}
		}
		shares = append(shares, float64(right)/float64(n))
		agree = a.Total == nil || n == int(*a.Total)
	}
	if len(shares) == 0 {
		return 0, false
	}
	least, most := slices.Min(shares), slices.Max(shares)
	return least, agree && near(least, most, shareTolerance)
}

// named returns how many different samples rows have numbers of.
func named(rows []Row) int {
	seen := map[Count]bool{}
	for _, row := range rows {
		if row.Sample != nil {
			seen[*row.Sample] = true
		}
	}
	return len(seen)
}
