package native

import "math"

// maxMultiple bounds the numbers of multipleOf. llguidance makes a state of each remainder:
// 10,000,019 takes minutes and gigabytes, and none of its limits bounds that.
const maxMultiple = 100_000

// multiples are the numbers of multipleOf in the schemas of one grammar.
type multiples []decimal

// A decimal is n * 10^-exp with the least exp.
type decimal struct{ n, exp uint64 }

func (m *multiples) add(v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			m.add(x)
		}
	case map[string]any:
		for key, x := range v {
			if f, ok := x.(float64); ok && key == "multipleOf" {
				m.number(f)
			}
			m.add(x)
		}
	}
}

// number adds a number as llguidance reads it. llguidance refuses numbers with more digits.
func (m *multiples) number(f float64) {
	exp := uint64(0)
	for ; f != math.Trunc(f); exp++ {
		f *= 10
	}
	if f < 1 || f > math.MaxUint32 {
		return
	}
	n := uint64(f)
	for ; exp > 0 && n%10 == 0; exp-- {
		n /= 10
	}
	*m = append(*m, decimal{n, exp})
}

// fit reports whether the least common multiple is small enough. llguidance makes that of numbers
// that hold together. Powers of ten cost nothing, since the last digits tell them.
func (m multiples) fit() bool {
	exp := uint64(0)
	for _, x := range m {
		exp = max(exp, x.exp)
	}
	common := uint64(1)
	for _, x := range m {
		n := x.n
		for range exp - x.exp {
			if n *= 10; n > math.MaxUint32 {
				return false
			}
		}
		if common = common / gcd(common, n) * n; common > math.MaxUint32 {
			return false // llguidance counts in 32 bits
		}
	}
	twos, fives := uint64(1), uint64(1)
	for ; common%2 == 0; common /= 2 {
		twos *= 2
	}
	for ; common%5 == 0; common /= 5 {
		fives *= 5
	}
	return common*max(twos, fives) <= maxMultiple
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
