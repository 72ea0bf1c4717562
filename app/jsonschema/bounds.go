package jsonschema

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// formats are the formats that llguidance knows, and unknown, which is any text to it.
var formats = []string{
	"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri",
	"unknown",
}

// maxCount bounds lengths and numbers of items. llguidance counts in 32 bits.
const maxCount = math.MaxInt32

// counted returns the value of a counting keyword, such as minLength. ok is false if the schema
// does not have it, or if it is not supported.
func (s *scope) counted(key string) (n int, ok bool) {
	v := s.in.get(key)
	if v == nil {
		return 0, false
	}
	at := s.at.under(key)
	r, ok := rational(v)
	if !ok || !r.IsInt() || r.Sign() < 0 {
		s.bad(at, "%s is a whole number from 0 on", key)
		return 0, false
	}
	if !r.Num().IsInt64() || r.Num().Int64() > maxCount {
		if strings.HasPrefix(key, "min") {
			s.bad(at, "%s is %d at most", key, maxCount)
		}
		return 0, false // no value is that long
	}
	return int(r.Num().Int64()), true
}

// readBounds reads the keywords that bound values of one type.
func (s *scope) readBounds() {
	if s.admitsType("string") {
		s.readText()
	}
	if s.admitsType("number") {
		s.readNumbers()
	}
	if s.admitsType("array") {
		s.readArray()
	}
	if s.admitsType("object") {
		s.readObject()
	}
}

// readPair reads a minimum and a maximum count. ok is false if no count fits.
func (s *scope) readPair(minKey, maxKey string) (low, high int, ok bool) {
	low, hasLow := s.counted(minKey)
	high, hasHigh := s.counted(maxKey)
	if hasLow && low > 0 {
		s.out.set(minKey, newNumber(strconv.Itoa(low)))
	}
	if !hasHigh {
		return low, unbounded, true
	}
	s.out.set(maxKey, newNumber(strconv.Itoa(high)))
	return low, high, low <= high
}

// readText reads the keywords of strings.
func (s *scope) readText() {
	low, high, ok := s.readPair("minLength", "maxLength")
	if !ok {
		s.exclude(s.at, "minLength is greater than maxLength; change one of the two", "string")
	}
	if v := s.in.get("pattern"); v != nil {
		if v.kind != text {
			s.bad(s.at.under("pattern"), "pattern is a text")
		} else if p, err := readPattern(v.text); err != nil {
			s.badPattern(s.at.under("pattern"), err)
		} else {
			s.out.set("pattern", newText(p.String()))
			s.comparePattern(p, low, high)
		}
	}
	if v := s.in.get("format"); v != nil {
		if v.kind == text && slices.Contains(formats, v.text) {
			s.out.set("format", v)
		} else {
			s.bad(s.at.under("format"), "the format %.40s is unknown: leave it out, or use one of %s",
				v.append(nil), strings.Join(formats[:len(formats)-1], ", "))
		}
	}
}

// comparePattern excludes strings if no match of a pattern has a length from low to high.
func (s *scope) comparePattern(p *pattern, low, high int) {
	at := s.at.under("pattern")
	shortest, longest := p.lengths()
	switch {
	case high != unbounded && shortest > high:
		s.exclude(at, fmt.Sprintf("a match has %d characters at least, and maxLength is %d; "+
			"change one of the two", shortest, high), "string")
	case longest != unbounded && p.wholeText() && longest < low:
		s.exclude(at, fmt.Sprintf("a match has %d characters at most, and minLength is %d; "+
			"change one of the two", longest, low), "string")
	}
}

// badPattern refuses a pattern that is not supported.
func (s *scope) badPattern(at *place, err error) {
	s.bad(at, "%v: change the pattern, or leave it out", err)
}

// readArray reads the keywords of arrays. Items in an array are the older form of prefixItems.
func (s *scope) readArray() {
	if s.arrayRead {
		return
	}
	s.arrayRead = true
	items, prefix, itemsAt, prefixAt := s.in.get("items"), s.in.get("prefixItems"),
		s.at.under("items"), s.at.under("prefixItems")
	if items != nil && items.kind == list {
		prefix, prefixAt = items, itemsAt
		items, itemsAt = s.in.get("additionalItems"), s.at.under("additionalItems")
	}
	if prefix != nil && len(prefix.list) > 0 {
		all := newList()
		for i, x := range prefix.list {
			all.list = append(all.list, s.schema(x, prefixAt.item(i)))
		}
		s.out.set("prefixItems", all)
	}
	if items != nil {
		if x := s.schema(items, itemsAt); x.kind != trueKind {
			s.out.set("items", x)
		}
	}
	if _, _, ok := s.readPair("minItems", "maxItems"); !ok {
		s.exclude(s.at, "minItems is greater than maxItems; change one of the two", "array")
	}
}
