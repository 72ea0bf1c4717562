package jsonschema

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

const (
	maxDigits   = 400 // of a number that takes part in arithmetic
	maxExponent = 400

	// exactDigits and exactExponent bound decimals that keep their digits on the way into a float64
	// and back, in any library.
	exactDigits   = 15
	exactExponent = 22

	// maxInteger and mostNumber bound the bounds of integers and of other numbers. llguidance
	// writes regular expressions for ranges, by arithmetic in 64 bits.
	maxInteger = math.MaxInt64 - 1023 // the greatest float64 below 2^63
	maxNumber  = 999_999_999_999_999_000
)

// rational returns the exact value of a number. ok is false for other values, and for a number that
// is too long for arithmetic.
func rational(v *value) (r *big.Rat, ok bool) {
	if v.kind != number || len(v.text) > maxDigits {
		return nil, false
	}
	if i := strings.IndexAny(v.text, "eE"); i >= 0 {
		e, err := strconv.Atoi(v.text[i+1:])
		if err != nil || e > maxExponent || e < -maxExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(v.text)
}

// isInteger reports whether a number is spelled as an integer.
func isInteger(spelling string) bool {
	r, ok := rational(newNumber(spelling))
	return !strings.ContainsAny(spelling, ".eE") || ok && r.IsInt()
}

// faithful reports whether llguidance writes a number as its schema has it.
func faithful(spelling string) bool {
	r, ok := rational(newNumber(spelling))
	if !ok {
		return false
	}
	if r.IsInt() && r.Num().IsInt64() && small(r.Num().Int64()) {
		return true
	}
	if r.Cmp(new(big.Rat).SetInt64(-maxInteger)) < 0 {
		return false // llguidance does not accept a number this low
	}
	digits, exponent := decimal(spelling)
	return len(digits) <= exactDigits && exponent >= -exactExponent && exponent <= exactExponent
}

// small reports whether a float64 holds an integer and its neighbours.
func small(n int64) bool { return n >= -1<<53 && n <= 1<<53 }

// decimal returns the significant digits of a number and the power of ten of the last one.
func decimal(spelling string) (digits string, exponent int) {
	spelling = strings.TrimPrefix(spelling, "-")
	if i := strings.IndexAny(spelling, "eE"); i >= 0 {
		exponent, _ = strconv.Atoi(spelling[i+1:])
		spelling = spelling[:i]
	}
	before, after, _ := strings.Cut(spelling, ".")
	digits = strings.TrimLeft(before+after, "0")
	exponent -= len(after)
	trimmed := strings.TrimRight(digits, "0")
	return trimmed, exponent + len(digits) - len(trimmed)
}

// A bound is the least or the greatest value of a range.
type bound struct {
	at  *big.Rat // nil: no bound
	out bool     // the value itself is not in the range
}

// readNumbers reads the keywords of numbers.
func (s *scope) readNumbers() {
	whole := s.types != nil && !s.has("number")
	low := s.bound("minimum", "exclusiveMinimum", 1)
	high := s.bound("maximum", "exclusiveMaximum", -1)
	if whole {
		low, high = low.toInteger(1), high.toInteger(-1)
	}
	if low.at != nil && high.at != nil {
		if c := low.at.Cmp(high.at); c > 0 || c == 0 && (low.out || high.out) {
			s.exclude(s.at, "no number is between its bounds; change one of them", "number", "integer")
			return
		}
	}
	low, high, ok := s.align(low, high, s.readMultiple(whole))
	if !ok {
		s.exclude(s.at, "no multiple of multipleOf is between its bounds; change one of them",
			"number", "integer")
		return
	}
	limit := int64(maxNumber)
	if whole {
		limit = maxInteger
	}
	if low.beyond(limit) || high.beyond(limit) {
		s.writeFarBounds(low, high, limit, whole)
	} else {
		s.writeBounds(low, high, whole)
	}
}

func (s *scope) has(name string) bool {
	for _, t := range s.types {
		if t == name {
			return true
		}
	}
	return false
}

// bound returns the bound that two keywords make. side is 1 for the least value and -1 for the
// greatest. In draft 4 the second keyword says whether the first is exclusive.
func (s *scope) bound(key, exclusive string, side int) bound {
	var b bound
	if v := s.in.get(key); v != nil {
		r, ok := rational(v)
		if !ok {
			s.badNumber(key, v)
		} else {
			b.at = r
		}
	}
	v := s.in.get(exclusive)
	switch {
	case v == nil || v.kind == falseKind:
	case v.kind == trueKind:
		b.out = b.at != nil
	default:
		r, ok := rational(v)
		if !ok {
			s.badNumber(exclusive, v)
		} else if b.at == nil || r.Cmp(b.at)*side >= 0 {
			b = bound{r, true}
		}
	}
	return b
}

func (s *scope) badNumber(key string, v *value) {
	if v.kind == number {
		s.bad(s.at.under(key), "%s has more digits than can be honoured", key)
		return
	}
	s.bad(s.at.under(key), "%s is a number", key)
}

// toInteger moves a bound inwards to an integer, which is in the range.
func (b bound) toInteger(side int) bound {
	if b.at == nil {
		return b
	}
	n := floor(b.at)
	if side > 0 {
		n = ceil(b.at)
	}
	if b.out && b.at.IsInt() {
		n.Add(n, big.NewInt(int64(side)))
	}
	return bound{at: new(big.Rat).SetInt(n)}
}

func floor(r *big.Rat) *big.Int {
	return new(big.Int).Div(r.Num(), r.Denom()) // Euclid's: the rest is not negative
}

func ceil(r *big.Rat) *big.Int {
	n := floor(new(big.Rat).Neg(r))
	return n.Neg(n)
}

// beyond reports whether a bound is further from 0 than the limit, or close to it.
func (b bound) beyond(limit int64) bool {
	if b.at == nil {
		return false
	}
	return new(big.Rat).Abs(b.at).Cmp(new(big.Rat).SetInt64(limit/10)) > 0
}

// writeFarBounds writes a range that has a bound far from 0. The range ends at the limit on the side
// where it goes further, or has no bound.
func (s *scope) writeFarBounds(low, high bound, limit int64, whole bool) {
	lo, hi := new(big.Rat).SetInt64(-limit), new(big.Rat).SetInt64(limit)
	if low.at != nil && low.at.Cmp(hi) > 0 || high.at != nil && high.at.Cmp(lo) < 0 {
		s.bad(s.at, "its numbers are further from 0 than can be honoured")
		return
	}
	if low.at == nil || low.at.Cmp(lo) < 0 {
		low = bound{at: lo}
	}
	if high.at == nil || high.at.Cmp(hi) > 0 {
		high = bound{at: hi}
	}
	s.writeBounds(low, high, whole)
}

func (s *scope) writeBounds(low, high bound, whole bool) {
	low.write(s.out, "minimum", "exclusiveMinimum", 1, whole)
	high.write(s.out, "maximum", "exclusiveMaximum", -1, whole)
	lo, noLeast := s.written("minimum", "exclusiveMinimum")
	hi, noMost := s.written("maximum", "exclusiveMaximum")
	if lo == nil || hi == nil {
		return
	}
	if c := compare(hi, lo); c < 0 || c == 0 && (noLeast || noMost) {
		s.bad(s.at, "its bounds are closer together than can be honoured")
		for _, key := range []string{"minimum", "exclusiveMinimum", "maximum",
			"exclusiveMaximum"} {
			s.out.remove(key)
		}
	}
}

// written returns the bound that was written by one of two keywords.
func (s *scope) written(key, exclusive string) (v *value, out bool) {
	if v := s.out.get(key); v != nil {
		return v, false
	}
	return s.out.get(exclusive), true
}

// write writes a bound with digits that llguidance keeps. One with more digits moves inwards.
func (b bound) write(out *value, key, exclusive string, side int, whole bool) {
	if b.at == nil {
		return
	}
	spelling, moved := inwards(b.at, side, whole)
	if b.out && !moved {
		key = exclusive
	}
	out.set(key, newNumber(spelling))
}

// inwards returns a number that is at r, or close to it on the side of the range.
func inwards(r *big.Rat, side int, whole bool) (spelling string, moved bool) {
	if r.IsInt() && (whole || r.Num().IsInt64() && small(r.Num().Int64())) {
		return integerInwards(r.Num(), side)
	}
	f, _ := r.Float64()
	places := exactExponent // after the point; below 0 before it
	if f != 0 {
		places = min(places, exactDigits-1-int(math.Floor(math.Log10(math.Abs(f)))))
	}
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(places, -places))), nil)
	scale := new(big.Rat).SetInt(ten)
	if places < 0 {
		scale.Inv(scale)
	}
	scaled := new(big.Rat).Mul(r, scale)
	n := floor(scaled)
	if side > 0 {
		n = ceil(scaled)
	}
	near := new(big.Rat).SetInt(n)
	near.Quo(near, scale)
	return trimPoint(near.FloatString(max(places, 0))), near.Cmp(r) != 0
}

// trimPoint removes zeros after the point.
func trimPoint(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// integerInwards returns an integer that a float64 holds.
func integerInwards(n *big.Int, side int) (spelling string, moved bool) {
	f, _ := new(big.Float).SetInt(n).Float64()
	back, _ := new(big.Float).SetFloat64(f).Int(nil)
	if c := back.Cmp(n); c*side < 0 {
		f = math.Nextafter(f, math.Inf(side))
		back, _ = new(big.Float).SetFloat64(f).Int(nil)
	}
	return back.String(), back.Cmp(n) != 0
}

// readMultiple reads multipleOf, and returns it as it was written, or nil. llguidance has no digits
// for a long one. The integer multiples of a fraction are the multiples of its numerator.
func (s *scope) readMultiple(whole bool) *big.Rat {
	v, at := s.in.get("multipleOf"), s.at.under("multipleOf")
	if v == nil {
		return nil
	}
	r, ok := rational(v)
	if !ok || r.Sign() == 0 {
		s.bad(at, "multipleOf is a number other than 0")
		return nil
	}
	r.Abs(r)
	if whole {
		r.SetInt(r.Num())
	}
	if !multiple(r) {
		s.bad(at, "multipleOf has more digits than can be honoured")
		return nil
	}
	spelling, _ := r.Float64()
	s.out.set("multipleOf", newNumber(strconv.FormatFloat(spelling, 'f', -1, 64)))
	return r
}

// align moves bounds inwards to multiples of step, which may be nil. ok is false if no multiple is
// in the range. llguidance divides the bounds as float64, which may lose one multiple at each end.
// So a single multiple is written without multipleOf, and of two only one is at its bound.
func (s *scope) align(low, high bound, step *big.Rat) (newLow, newHigh bound, ok bool) {
	if step == nil {
		return low, high, true
	}
	low, first := low.multiple(step, 1)
	high, last := high.multiple(step, -1)
	if first == nil || last == nil || step.IsInt() {
		return low, high, first == nil || last == nil || first.Cmp(last) <= 0
	}
	half := new(big.Rat).Mul(step, big.NewRat(1, 2))
	switch n := new(big.Int).Sub(last, first); {
	case n.Sign() < 0:
		return low, high, false
	case n.Sign() == 0:
		s.out.remove("multipleOf")
	case n.Cmp(big.NewInt(1)) == 0 && first.Sign() > 0:
		low.at.Sub(low.at, half)
	case n.Cmp(big.NewInt(1)) == 0 && last.Sign() < 0:
		high.at.Add(high.at, half) // the end close to 0: llguidance writes it with all digits
	}
	return low, high, true
}

// multiple moves a bound inwards to n steps, which are in the range.
func (b bound) multiple(step *big.Rat, side int) (moved bound, n *big.Int) {
	if b.at == nil {
		return b, nil
	}
	moved = bound{new(big.Rat).Quo(b.at, step), b.out}.toInteger(side)
	n = new(big.Int).Set(moved.at.Num())
	moved.at.Mul(moved.at, step)
	return moved, n
}

// multiple reports whether llguidance reads a number of multipleOf as it is. It multiplies the
// float64 by ten until that is whole.
func multiple(r *big.Rat) bool {
	f, _ := r.Float64()
	scale := new(big.Int).SetInt64(1)
	for f != math.Trunc(f) {
		f *= 10
		scale.Mul(scale, big.NewInt(10))
	}
	if f < 1 || f > math.MaxUint32 {
		return false
	}
	return new(big.Rat).SetFrac(new(big.Int).SetUint64(uint64(f)), scale).Cmp(r) == 0
}
