package evidence

import (
	"math"
	"slices"
)

// How near a claim of memory must be.
const (
	formulaTolerance = 0.05 // between the formula and the bytes held
	savingTolerance  = 0.5  // in points, between the claim and the bytes
	bytesTolerance   = 0.01 // between a sum and its parts
)

// memory holds the bytes that caches held to each other, and a claimed saving to them.
func (c *checker) memory(f *facts) {
	m := c.report.Memory
	if m == nil {
		return
	}
	if m.Measured != nil {
		c.bytes(f, m.Measured, part(m.Formula))
	}
	if m.SavingPercent != nil {
		c.saving(f, m)
	}
}

// flagMatches is the path of the flag that says whether the formula describes the run.
const flagMatches = "memory.s5.formula_matches_run"

// matches reports whether the formula is said to describe the run.
func (f Formula) matches() bool { return f.MatchesRun != nil && *f.MatchesRun }

// bytes holds measured bytes to their sum, to what ran, and to the formula.
func (c *checker) bytes(f *facts, held *Measured, formula Formula) {
	total := held.sum()
	switch {
	case f.own && (held.ExactBytes == nil || held.BoundedBytes == nil || held.RestoredBytes == nil):
		c.add(MemoryClaimMismatch, "memory.measured", "the bytes of some layers are missing; write "+
			"exact_layer_bytes, bounded_own_bytes and restored_bytes")
	case !near(value(held.TotalBytes), total, total*bytesTolerance):
		c.add(MemoryClaimMismatch, "memory.measured.total_bytes", "the total is %s, but its parts "+
			"have %.0f bytes; count restored rows or latents too", shown(held.TotalBytes), total)
	case f.own && len(f.heldBy(held)) == 0:
		c.add(MemoryClaimMismatch, "memory.measured", "no row of the system under test held these "+
			"bytes; write those of a sample, and each row's under held")
	}
	if held.rows() < 0 {
		c.add(MemoryClaimMismatch, "memory.measured.source_bytes", "it is %s, but restored_bytes has "+
			"it too and is %s; count both parts", shown(held.SourceBytes), shown(held.RestoredBytes))
	} else if f.restored > 0 && held.rows() == 0 {
		c.add(MemoryClaimMismatch, "memory.measured.restored_bytes", "rows were restored, but they "+
			"take no bytes; count them, or the latents they are rebuilt from")
	}
	if matches := formula.matches(); formula.TotalBytes != nil && matches != held.Matches(formula) {
		c.add(MemoryClaimMismatch, flagMatches, "it is %t, but the formula gives %s bytes and the "+
			"layers held %.0f of their own; compute it from both", matches, shown(formula.TotalBytes), held.own())
	}
}

// saving holds a claimed saving to the bytes that were held. Where others measured none, it holds it
// to their formula.
func (c *checker) saving(f *facts, m *Memory) {
	measured, formula, full := m.Measured, part(m.Formula), part(m.Full)
	held, by := value(formula.TotalBytes), "of the formula"
	if measured != nil {
		held, by = measured.sum(), "held"
	}
	switch {
	case measured == nil && c.report.isOwn():
		c.add(MemoryClaimMismatch, "memory.measured", "a saving is claimed, but no bytes were "+
			"measured; write the bytes that the caches held")
	case measured == nil && !formula.matches():
		c.add(MemoryClaimMismatch, flagMatches, "a saving is claimed from a formula that does not "+
			"describe the run; withhold it, or measure the bytes")
	case measured == nil && (held == 0 || full.bytes() == 0):
		c.add(MemoryClaimMismatch, "memory.s5.total_resident_bytes", "a saving is claimed by a formula "+
			"that is not there; write its bytes, and those of full caches in naive_full_kv")
	case full.bytes() == 0 || c.report.isOwn() && full.MeasuredBytes == nil:
		c.add(MemoryClaimMismatch, "memory.naive_full_kv", "a saving is claimed, but nobody measured "+
			"what full caches hold; write measured_bytes of the oracle's")
	case f.own && !f.fullHeld(measured, full):
		c.add(MemoryClaimMismatch, "memory.naive_full_kv.measured_bytes", "no row of the oracle held "+
			"%s bytes after the same prompt; write the oracle's, and each row's under held",
			shown(full.MeasuredBytes))
	default:
		if saved := SavingPercent(held, full.bytes()); !near(value(m.SavingPercent), saved,
			savingTolerance) {
			c.add(MemoryClaimMismatch, "memory.savings_vs_naive_pct", "a saving of %s %% is claimed, but "+
				"the bytes %s give %.4g %%; compute it from them", shown(m.SavingPercent), by, saved)
		}
	}
}

// heldBy returns the prompts, by their tokens, after which the system under test held so many bytes.
func (f *facts) heldBy(m *Measured) (tokens []Count) {
	for _, row := range f.crossTimes.Rows {
		if h := row.Held; h != nil && row.PromptTokens != nil &&
			value(h.ExactBytes) == value(m.ExactBytes) &&
			value(h.BoundedBytes) == value(m.BoundedBytes) &&
			value(h.RestoredBytes) == value(m.RestoredBytes) &&
			value(h.SourceBytes) == value(m.SourceBytes) {
			tokens = append(tokens, *row.PromptTokens)
		}
	}
	return tokens
}

// fullHeld reports whether the oracle held the bytes that full caches are said to hold. It looks at
// prompts after which the system under test held the measured bytes, and one match is enough. It
// returns true if there is no such prompt: bytes that no row held are told elsewhere.
func (f *facts) fullHeld(m *Measured, full FullKV) bool {
	prompts := f.heldBy(m)
	return len(prompts) == 0 || slices.ContainsFunc(f.oracleTimes.Rows, func(r Row) bool {
		return r.Held != nil && r.PromptTokens != nil && slices.Contains(prompts, *r.PromptTokens) &&
			r.Held.sum() == value(full.MeasuredBytes)
	})
}

// own returns the bytes that layers hold of their own rows.
func (m *Measured) own() float64 { return value(m.ExactBytes) + value(m.BoundedBytes) }

// rows returns the bytes of restored rows or latents, without those of what restores them.
func (m *Measured) rows() float64 { return value(m.RestoredBytes) - value(m.SourceBytes) }

// sum returns all bytes held.
func (m *Measured) sum() float64 { return m.own() + value(m.RestoredBytes) }

// Matches reports whether the formula describes what the layers held of their own.
func (m *Measured) Matches(f Formula) bool {
	own := m.own()
	return f.TotalBytes != nil && own > 0 &&
		math.Abs(value(f.TotalBytes)-own) <= own*formulaTolerance
}

// bytes returns what full caches take: measured, or by the formula.
func (f FullKV) bytes() float64 {
	if f.MeasuredBytes != nil {
		return value(f.MeasuredBytes)
	}
	return 1e6 * value(f.FormulaMB)
}

// SavingPercent returns how much less held is than full. It is NaN if full is 0.
func SavingPercent(held, full float64) float64 {
	if full <= 0 {
		return math.NaN()
	}
	return 100 * (1 - held/full)
}
