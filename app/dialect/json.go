package dialect

import "strings"

// maxDepth is the number of objects and lists that may be open at once in a call's JSON.
const maxDepth = 128

// A scanner reads one JSON value, byte by byte. It accepts one thing that JSON forbids: a control
// character in a string, because models leave newlines unescaped.
type scanner struct {
	open  []byte // the closing brackets that must still come
	state scan
	rest  string // the bytes that a literal still needs, or one byte for each missing hex digit
	key   bool   // the string is an object's key
}

// A scan is the state of a scanner: what it expects next.
type scan int

const (
	value      scan = iota // a value
	firstValue             // a value or the end of the list
	firstKey               // a key or the end of the object
	nextKey                // a key
	colon                  // a colon
	after                  // after a value: a comma, or the end of the list or object
	inString               // a byte of a string, or its end
	escape                 // the byte after a backslash
	hex                    // a hex digit of an escape
	inLiteral              // the next byte of true, false or null
	minus                  // after a minus: a digit
	zero                   // after a leading 0: a point, an exponent, or the end of the number
	digits                 // a digit, a point, an exponent, or the end of the number
	point                  // after the point: a digit
	fraction               // a digit, an exponent, or the end of the number
	exponent               // after the e: a sign or a digit
	sign                   // after the sign of an exponent: a digit
	power                  // a digit of the exponent, or the end of the number
	done                   // only white space
)

// inNumber reports whether a number has begun that may go on.
func (s scan) inNumber() bool { return minus <= s && s <= power }

// depth returns the number of open objects and lists.
func (s *scanner) depth() int { return len(s.open) }

// insideString reports whether the next byte belongs to a string.
func (s *scanner) insideString() bool {
	return s.state == inString || s.state == escape || s.state == hex
}

// lacksBrace reports whether only the last brace of an object is missing. After a number it is
// false, because the number may continue.
func (s *scanner) lacksBrace() bool {
	return len(s.open) == 1 && (s.state == after || s.state == firstKey)
}

// read reads the next byte. It returns false, and changes nothing, if c is not allowed here.
func (s *scanner) read(c byte) bool {
	switch {
	case s.insideString():
		return s.readString(c)
	case s.state == inLiteral:
		return s.readLiteral(c)
	case s.state.inNumber():
		return s.readNumber(c) || s.readAfterNumber(c)
	case isSpace(c):
		return true
	}
	return s.readStructure(c)
}

// readString reads a byte of a string, or the quote that ends it.
func (s *scanner) readString(c byte) bool {
	switch s.state {
	case inString:
		switch {
		case c == '\\':
			s.state = escape
		case c == '"' && s.key:
			s.state = colon
		case c == '"':
			s.endValue()
		}
	case escape:
		switch {
		case c == 'u':
			s.state, s.rest = hex, "0000"
		case strings.IndexByte(`"\/bfnrt`, c) >= 0:
			s.state = inString
		default:
			return false
		}
	case hex:
		if !isHex(c) {
			return false
		}
		if s.rest = s.rest[1:]; s.rest == "" {
			s.state = inString
		}
	}
	return true
}

// readLiteral reads a byte of true, false or null.
func (s *scanner) readLiteral(c byte) bool {
	if c != s.rest[0] {
		return false
	}
	if s.rest = s.rest[1:]; s.rest == "" {
		s.endValue()
	}
	return true
}

// readAfterNumber ends the number and reads the byte after it. It returns false, and changes
// nothing, if the number is not complete or c cannot follow it.
func (s *scanner) readAfterNumber(c byte) bool {
	if !s.numberComplete() {
		return false
	}
	was := s.state
	if s.endValue(); s.read(c) {
		return true
	}
	s.state = was
	return false
}

// readStructure reads a bracket, a comma, a colon, or the first byte of a key or a value.
func (s *scanner) readStructure(c byte) bool {
	switch s.state {
	case value, firstValue:
		if c == ']' && s.state == firstValue {
			return s.closeBracket(c)
		}
		return s.beginValue(c)
	case firstKey, nextKey:
		if c == '}' && s.state == firstKey {
			return s.closeBracket(c)
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
			return s.closeBracket(c)
		}
		s.state = value
		if s.open[len(s.open)-1] == '}' {
			s.state = nextKey
		}
		return true
	}
	return false
}

// beginValue reads the first byte of a value.
func (s *scanner) beginValue(c byte) bool {
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

// readNumber reads a byte of a number. It returns false, and changes nothing, if c is not one.
func (s *scanner) readNumber(c byte) bool {
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

// numberComplete reports whether a number may end here.
func (s *scanner) numberComplete() bool {
	return s.state == zero || s.state == digits || s.state == fraction || s.state == power
}

// closeBracket reads a closing bracket.
func (s *scanner) closeBracket(c byte) bool {
	last := len(s.open) - 1
	if last < 0 || s.open[last] != c {
		return false
	}
	s.open = s.open[:last]
	s.endValue()
	return true
}

// endValue sets the state after a value.
func (s *scanner) endValue() {
	s.state = after
	if len(s.open) == 0 {
		s.state = done
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
