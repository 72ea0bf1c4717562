package dialect

import (
	"bytes"
	"slices"
	"strings"
)

// maxDepth is the number of objects and lists that may be open at once in a call's JSON.
const maxDepth = 128

// A scanner reads one JSON value, byte by byte, and writes it as it is. It writes as JSON what is
// nearly JSON:
//   - a control character in a string, because models leave newlines unescaped
//   - an escape that JSON does not have: it is text
//   - a comma before a closing bracket
//   - Python's quotes, True, False and None
type scanner struct {
	open  []byte // the closing brackets that must still come
	state scan
	rest  string // the bytes that a literal still needs
	to    string // the JSON of rest
	quote byte   // the quote around the string
	held  []byte // an escape that is not complete
	key   bool   // the string is an object's key

	slipped bool // the value is not JSON, apart from control characters
}

// A scan is the state of a scanner: what it expects next.
type scan int

const (
	value      scan = iota // a value
	firstValue             // a value or the end of the list
	firstKey               // a key or the end of the object
	nextKey                // a key, or the end of an object after a comma
	nextValue              // a value, or the end of a list after a comma
	colon                  // a colon
	after                  // after a value: a comma, or the end of the list or object
	inString               // a byte of a string, or its end
	escape                 // a byte after a backslash
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
	return s.state == inString || s.state == escape
}

// lacksBrace reports whether only the last brace of an object is missing. After a number it is
// false, because the number may continue.
func (s *scanner) lacksBrace() bool {
	return len(s.open) == 1 && (s.state == after || s.state == firstKey)
}

// readArgument reads the next byte of p's arguments, which are an object. ended reports whether it is
// whole; ok is false if c is not allowed here.
func (s *scanner) readArgument(p *Parser, c byte) (ended, ok bool) {
	if s.depth() == 0 && c != '{' {
		return false, false
	}
	p.emit(Arguments)
	p.run, ok = s.read(p.run, c)
	p.slipped = p.slipped || s.slipped
	return s.depth() == 0, ok
}

// readObject reads a text. It returns false if that is not an object.
func (s *scanner) readObject(text string) (object []byte, ok bool) {
	ok = strings.HasPrefix(text, "{")
	for i := 0; ok && i < len(text); i++ {
		object, ok = s.read(object, text[i])
	}
	return object, ok && s.state == done
}

// read reads the next byte and adds its JSON to dst, which holds that of the open objects and lists so
// far. It returns false, and changes nothing, if c is not allowed here.
func (s *scanner) read(dst []byte, c byte) ([]byte, bool) {
	switch {
	case s.insideString():
		return s.readString(dst, c), true
	case s.state == inLiteral:
		return s.readLiteral(dst, c)
	case s.state.inNumber():
		if s.readNumber(c) {
			return append(dst, c), true
		}
		return s.readAfterNumber(dst, c)
	case isSpace(c):
		return append(dst, c), true
	}
	return s.readStructure(dst, c)
}

// readString reads a byte of a string, or the quote that ends it.
func (s *scanner) readString(dst []byte, c byte) []byte {
	if s.state == escape {
		return s.readEscape(dst, c)
	}
	switch {
	case c == '\\':
		s.state, s.held = escape, append(s.held[:0], c)
		return dst
	case c != s.quote:
		return appendEscaped(dst, c)
	case s.key:
		s.state = colon
	default:
		s.endValue()
	}
	return append(dst, '"')
}

// readEscape reads a byte of an escape. Python has more of them in single quotes than JSON.
func (s *scanner) readEscape(dst []byte, c byte) []byte {
	held := append(s.held, c)
	s.held = held
	kind, n, single := held[1], len(held)-2, s.quote == '\''
	switch {
	case n == 0 && (c == 'u' || c == 'x' && single), n > 0 && n < digitsOf[kind] && isHex(c):
		return dst
	case n > 0 && isHex(c):
		s.state = inString
		return append(append(dst, `\u0000`[:6-n]...), held[2:]...)
	case n == 0 && strings.IndexByte(`"\/bfnrt`, c) >= 0:
		s.state = inString
		return append(dst, held...)
	case n == 0 && c == '\'' && single:
		s.state = inString
		return append(dst, c)
	}
	s.state, s.slipped = inString, true
	dst = append(dst, '\\', '\\')
	for _, c := range held[1:] {
		dst = s.readString(dst, c)
	}
	return dst
}

// readLiteral reads a byte of true, false or null.
func (s *scanner) readLiteral(dst []byte, c byte) ([]byte, bool) {
	if c != s.rest[0] {
		return dst, false
	}
	dst = append(dst, s.to[0])
	if s.rest, s.to = s.rest[1:], s.to[1:]; s.rest == "" {
		s.endValue()
	}
	return dst, true
}

// readAfterNumber ends the number and reads the byte after it. It returns false, and changes
// nothing, if the number is not complete or c cannot follow it.
func (s *scanner) readAfterNumber(dst []byte, c byte) ([]byte, bool) {
	if !s.numberComplete() {
		return dst, false
	}
	was := s.state
	s.endValue()
	dst, ok := s.read(dst, c)
	if !ok {
		s.state = was
	}
	return dst, ok
}

// readStructure reads a bracket, a comma, a colon, or the first byte of a key or a value.
func (s *scanner) readStructure(dst []byte, c byte) ([]byte, bool) {
	switch s.state {
	case firstValue, firstKey, nextValue, nextKey:
		if last := len(s.open) - 1; c == s.open[last] {
			if s.state == nextValue || s.state == nextKey {
				s.slipped = true
				if at := bytes.LastIndexByte(dst, ','); at >= 0 { // else the caller has dropped it
					dst = slices.Delete(dst, at, at+1)
				}
			}
			s.closeBracket(c)
			break
		}
		if s.state == firstValue || s.state == nextValue {
			return s.beginValue(dst, c)
		}
		if c != '"' && c != '\'' {
			return dst, false
		}
		s.key = true
		return s.beginString(dst, c), true
	case value:
		return s.beginValue(dst, c)
	case colon:
		if c != ':' {
			return dst, false
		}
		s.state = value
	case after:
		if c != ',' {
			if !s.closeBracket(c) {
				return dst, false
			}
		} else if s.state = nextValue; s.open[len(s.open)-1] == '}' {
			s.state = nextKey
		}
	default:
		return dst, false
	}
	return append(dst, c), true
}

// beginString reads the quote that opens a string.
func (s *scanner) beginString(dst []byte, c byte) []byte {
	s.state, s.quote = inString, c
	s.slipped = s.slipped || c != '"'
	return append(dst, '"')
}

// beginValue reads the first byte of a value.
func (s *scanner) beginValue(dst []byte, c byte) ([]byte, bool) {
	switch c {
	case '{', '[':
		if len(s.open) == maxDepth {
			return dst, false
		}
		if c == '{' {
			s.open, s.state = append(s.open, '}'), firstKey
		} else {
			s.open, s.state = append(s.open, ']'), firstValue
		}
	case '"', '\'':
		s.key = false
		return s.beginString(dst, c), true
	case 't', 'T':
		s.rest, s.to = "rue", "rue"
	case 'f', 'F':
		s.rest, s.to = "alse", "alse"
	case 'n':
		s.rest, s.to = "ull", "ull"
	case 'N':
		s.rest, s.to = "one", "ull"
	case '-':
		s.state = minus
	case '0':
		s.state = zero
	default:
		if !isDigit(c) {
			return dst, false
		}
		s.state = digits
	}
	if s.rest != "" {
		s.state = inLiteral
		s.slipped = s.slipped || c < 'a'
		c |= 0x20
	}
	return append(dst, c), true
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
