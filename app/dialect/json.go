package dialect

import "strings"

// maxDepth is how deep JSON may nest in a call.
const maxDepth = 128

// A scanner reads one JSON value, byte by byte. A control character in a string is the one thing
// it lets pass that JSON doesn't have: models forget to escape a line's end.
type scanner struct {
	open  []byte // the closing brackets that are due
	state scan
	rest  string // of a literal, or the hex digits of an escape
	key   bool   // the string is an object's key
}

// A scan is what a scanner expects.
type scan int

const (
	value      scan = iota
	firstValue      // or the end of the list
	firstKey        // or the end of the object
	nextKey
	colon
	after // a value: a comma, or the end of what it is in
	inString
	escape
	hex
	inLiteral
	minus // a digit
	zero  // what is behind a first 0
	digits
	point // a digit
	fraction
	exponent // a sign or a digit
	sign     // a digit
	power
	done // nothing, but for white space
)

// depth is how many objects and lists are open.
func (s *scanner) depth() int { return len(s.open) }

// inside reports whether the next byte belongs to a string.
func (s *scanner) inside() bool { return s.state == inString || s.state == escape || s.state == hex }

// lacksBrace reports whether nothing but the last brace of an object is missing. A number might go on.
func (s *scanner) lacksBrace() bool {
	return len(s.open) == 1 && (s.state == after || s.state == firstKey)
}

// read takes the next byte, or reports false: it can't stand here, and nothing has changed.
func (s *scanner) read(c byte) bool {
	switch s.state {
	case inString:
		switch c {
		case '"':
			s.state = after
			if s.key {
				s.state = colon
			} else {
				s.ended()
			}
		case '\\':
			s.state = escape
		}
		return true
	case escape:
		switch {
		case c == 'u':
			s.state, s.rest = hex, "0000"
		case strings.IndexByte(`"\/bfnrt`, c) >= 0:
			s.state = inString
		default:
			return false
		}
		return true
	case hex:
		if !isHex(c) {
			return false
		}
		if s.rest = s.rest[1:]; s.rest == "" {
			s.state = inString
		}
		return true
	case inLiteral:
		if c != s.rest[0] {
			return false
		}
		if s.rest = s.rest[1:]; s.rest == "" {
			s.ended()
		}
		return true
	}
	if s.state >= minus && s.state <= power {
		if s.number(c) {
			return true
		}
		if !s.complete() {
			return false
		}
		was := s.state
		if s.ended(); s.read(c) {
			return true
		}
		s.state = was
		return false
	}
	if isSpace(c) {
		return true
	}
	switch s.state {
	case value, firstValue:
		if c == ']' && s.state == firstValue {
			return s.shut(c)
		}
		return s.begin(c)
	case firstKey, nextKey:
		if c == '}' && s.state == firstKey {
			return s.shut(c)
		}
		if c != '"' {
			return false
		}
		s.state, s.key = inString, true
		return true
	case colon:
		if c != ':' {
			return false
		}
		s.state = value
		return true
	case after:
		if c != ',' {
			return s.shut(c)
		}
		s.state = value
		if s.open[len(s.open)-1] == '}' {
			s.state = nextKey
		}
		return true
	}
	return false
}

// begin reads the first byte of a value.
func (s *scanner) begin(c byte) bool {
	switch c {
	case '{', '[':
		if len(s.open) == maxDepth {
			return false
		}
		if c == '{' {
			s.open, s.state = append(s.open, '}'), firstKey
		} else {
			s.open, s.state = append(s.open, ']'), firstValue
		}
	case '"':
		s.state, s.key = inString, false
	case 't':
		s.state, s.rest = inLiteral, "rue"
	case 'f':
		s.state, s.rest = inLiteral, "alse"
	case 'n':
		s.state, s.rest = inLiteral, "ull"
	case '-':
		s.state = minus
	case '0':
		s.state = zero
	default:
		if !isDigit(c) {
			return false
		}
		s.state = digits
	}
	return true
}

// number reads a byte within a number.
func (s *scanner) number(c byte) bool {
	next := s.state
	switch digit := isDigit(c); {
	case digit && s.state == minus:
		next = digits
		if c == '0' {
			next = zero
		}
	case digit && (s.state == digits || s.state == fraction || s.state == power):
	case digit && s.state == point:
		next = fraction
	case digit && (s.state == exponent || s.state == sign):
		next = power
	case c == '.' && (s.state == zero || s.state == digits):
		next = point
	case (c == 'e' || c == 'E') && (s.state == zero || s.state == digits || s.state == fraction):
		next = exponent
	case (c == '+' || c == '-') && s.state == exponent:
		next = sign
	default:
		return false
	}
	s.state = next
	return true
}

// complete reports whether a number may end here.
func (s *scanner) complete() bool {
	return s.state == zero || s.state == digits || s.state == fraction || s.state == power
}

// shut reads a bracket that closes.
func (s *scanner) shut(c byte) bool {
	last := len(s.open) - 1
	if last < 0 || s.open[last] != c {
		return false
	}
	s.open = s.open[:last]
	s.ended()
	return true
}

// ended goes on behind a value.
func (s *scanner) ended() {
	s.state = after
	if len(s.open) == 0 {
		s.state = done
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
