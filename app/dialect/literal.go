package dialect

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A literal reads arguments that are not JSON, and writes them as JSON. It reads Python's keyword
// arguments f(a=1, b='x') and Gemma's form of them, {a:1,b:<|"|>x<|"|>}. Gemma's models slip into
// Python's and JSON's form, so quotes and parentheses are read there too.
type literal struct {
	delim    string                // around strings; "": Python's quotes
	isString func(key string) bool // reports whether an argument without delim is a string; nil: never
	open     []frame
	at       literalPlace
	isKey    bool   // the word or string being read is a key
	name     string // the name of the argument being read
	word     []byte // the word being read; in a string an escape, or the beginning of a delimiter
	quote    byte   // the quote around the string being read; 0: the delimiter
	triple   bool   // three quotes around the string
	quotes   int    // quotes read in a row
	hasValue bool   // a value has begun
	filled   bool   // the string in delimiters has a byte
	close    byte   // the bracket after the arguments
	slipped  bool   // a delimiter is missing or came twice
}

// A frame is an open object or list.
type frame struct {
	close, sep byte // sep is between key and value; 0 in a list
	count      int  // items read
}

type literalPlace int

const (
	litItem   literalPlace = iota // before an item, or the end
	litSep                        // between key and value
	litValue                      // before a value
	litWord                       // in a word
	litDelim                      // in the delimiter that opens a string
	litQuotes                     // in the quotes that open a string
	litText                       // in a string
	litEscape                     // after a backslash
	litAfter                      // after an item: a comma, or the end
	litEmpty                      // after two delimiters: an empty string, or one that begins there
	litAgain                      // in a delimiter after one that ended a string
)

// newLiteral returns a reader that begins after the opening bracket of the arguments.
func newLiteral(close, sep byte, delim string) literal {
	return literal{delim: delim, close: close, open: []frame{{close: close, sep: sep}}}
}

// pythonList returns the JSON of a Python list, tuple or dict. ok is false for any other text.
func pythonList(text []byte) (list []byte, ok bool) {
	if len(text) == 0 || strings.IndexByte("[{(", text[0]) < 0 {
		return nil, false
	}
	l := newLiteral(']', 0, "") // the reader reads text as the only item of a list
	for i, c := range text {
		var v verdict
		if list, v = l.read(list, c); v != more || len(l.open) == 1 && i < len(text)-1 {
			return nil, false
		}
	}
	return list, len(l.open) == 1
}

// read takes the next byte and adds its JSON to dst.
func (l *literal) read(dst []byte, c byte) ([]byte, verdict) {
	switch l.at {
	case litWord:
		if !l.endsWord(c) {
			if len(l.word) == maxHeld {
				return dst, wrong
			}
			l.word = append(l.word, c)
			return dst, more
		}
		dst, ok := l.endWord(dst)
		if !ok {
			return dst, wrong
		}
		return l.read(dst, c)
	case litDelim:
		if l.word = append(l.word, c); !strings.HasPrefix(l.delim, string(l.word)) {
			l.at = litWord
			return dst, more
		}
		if len(l.word) == len(l.delim) {
			l.word, l.at, l.quote, l.filled = l.word[:0], litText, 0, false
			dst = append(dst, '"')
		}
		return dst, more
	case litQuotes:
		return l.readQuotes(dst, c)
	case litText:
		return l.readString(dst, c), more
	case litEscape:
		return l.readEscape(dst, c)
	case litEmpty:
		if isSpace(c) || strings.IndexByte(",:]}", c) >= 0 || c == l.open[len(l.open)-1].close {
			l.at = litAfter
			return l.read(l.endString(dst), c)
		}
		l.at, l.slipped = litText, true
		return l.readString(dst, c), more
	case litAgain:
		if !strings.HasPrefix(l.delim, string(append(l.word, c))) {
			return dst, wrong
		}
		if l.word = append(l.word, c); len(l.word) == len(l.delim) {
			l.word, l.at, l.slipped = l.word[:0], litAfter, true
		}
		return dst, more
	}
	if isSpace(c) {
		return dst, more
	}
	f := &l.open[len(l.open)-1]
	if l.at == litAfter && l.delim != "" && c == l.delim[0] && dst[len(dst)-1] == '"' {
		l.word, l.at = append(l.word[:0], c), litAgain
		return dst, more
	}
	switch {
	case c == f.close && (l.at == litItem || l.at == litAfter):
		end := byte(']')
		if f.sep != 0 {
			end = '}'
		}
		l.open, l.at = l.open[:len(l.open)-1], litAfter
		if dst = append(dst, end); len(l.open) == 0 {
			return dst, ended
		}
		return dst, more
	case l.at == litAfter && c == ',':
		l.at = litItem
		return dst, more
	case l.at == litSep && (c == f.sep || f.mixed(l.delim) && c == ':'):
		l.at = litValue
		return append(dst, ':'), more
	case l.at == litItem:
		if f.count++; f.count > 1 {
			dst = append(dst, ',')
		}
		if f.sep != 0 {
			return l.beginKey(dst, c, f.sep)
		}
		return l.beginValue(dst, c)
	case l.at == litValue:
		return l.beginValue(dst, c)
	}
	return dst, wrong
}

// beginKey reads the first byte of a key. In a Python dict that is a string, elsewhere a bare word.
func (l *literal) beginKey(dst []byte, c, sep byte) ([]byte, verdict) {
	l.isKey, l.word = true, append(l.word[:0], c)
	switch {
	case l.delim != "" && c == l.delim[0]:
		l.at = litDelim
	case l.delim == "" && sep == ':':
		if c != '"' && c != '\'' {
			return dst, wrong
		}
		l.at, l.quote, l.quotes, l.triple = litQuotes, c, 1, false
	case l.endsWord(c) || l.delim == "" && !isLetter(c):
		return dst, wrong
	default:
		l.at = litWord
	}
	return dst, more
}

// beginValue reads the first byte of a value.
func (l *literal) beginValue(dst []byte, c byte) ([]byte, verdict) {
	l.isKey, l.hasValue, l.word = false, true, append(l.word[:0], c)
	switch {
	case c == '{' || c == '[' || c == '(' && l.delim == "":
		if len(l.open) == maxDepth {
			return dst, wrong
		}
		f := map[byte]frame{'{': {close: '}', sep: ':'}, '[': {close: ']'}, '(': {close: ')'}}[c]
		l.open, l.at = append(l.open, f), litItem
		if c == '(' {
			c = '['
		}
		return append(dst, c), more
	case l.delim != "" && c == l.delim[0]:
		l.at = litDelim
	case c == '"' || c == '\'':
		l.at, l.quote, l.quotes, l.triple = litQuotes, c, 1, false
	case l.endsWord(c):
		return dst, wrong
	default:
		l.at = litWord
	}
	return dst, more
}

// lacksBracket reports whether only the last bracket of the arguments is missing. After a word it is false,
// because the word may continue.
func (l *literal) lacksBracket() bool {
	return len(l.open) == 1 && (l.at == litAfter || l.at == litItem && l.open[0].count == 0)
}

// mixed reports whether a frame is in parentheses, of a family that has braces and delimiters. Then
// either sign may separate key and value.
func (f *frame) mixed(delim string) bool { return f.close == ')' && delim != "" }

// endsWord reports whether a word ends before c.
func (l *literal) endsWord(c byte) bool {
	if l.delim == "" {
		return strings.IndexByte(" \t\r\n,:=()[]{}'\"", c) >= 0
	}
	switch mixed := l.open[len(l.open)-1].mixed(l.delim); {
	case mixed && (c == ')' || l.isKey && c == '='):
		return true
	case l.isKey:
		return c == ':' || c == '}' || c == ','
	}
	return c == ',' || c == '}' || c == ']'
}

// endWord adds the JSON of the word that has been read. It returns false if the word is not a
// literal.
func (l *literal) endWord(dst []byte) ([]byte, bool) {
	word := string(bytes.TrimSpace(l.word))
	if l.isKey {
		if l.delim != "" {
			word = unquoted(word)
		}
		if len(l.open) == 1 {
			l.name = word
		}
		l.at = litSep
		return appendString(dst, word), true
	}
	l.at = litAfter
	if text, ok := strings.CutSuffix(word, l.delim); ok && l.delim != "" { // only its beginning is missing
		l.slipped = true
		return appendString(dst, text), true
	}
	if len(l.open) == 1 && l.delim != "" && l.isString != nil && l.isString(l.name) {
		return appendString(dst, word), true
	}
	switch word {
	case "True":
		word = "true"
	case "False":
		word = "false"
	case "None":
		word = "null"
	}
	if json.Valid([]byte(word)) {
		return append(dst, word...), true
	}
	if l.delim != "" {
		return appendString(dst, word), true
	}
	number, ok := pythonNumber(word)
	if !ok {
		l.at = litWord
		return dst, false
	}
	return append(dst, number...), true
}

// unquoted returns a key without quotes around it.
func unquoted(key string) string {
	last := len(key) - 1
	if last < 1 || key[0] != key[last] || key[0] != '"' && key[0] != '\'' {
		return key
	}
	return key[1:last]
}

// pythonNumber returns a Python number in JSON's spelling: 1_000, +1, .5, 1., 0x10.
func pythonNumber(word string) (string, bool) {
	sign := ""
	switch {
	case strings.HasPrefix(word, "-"):
		sign, word = "-", word[1:]
	case strings.HasPrefix(word, "+"):
		word = word[1:]
	}
	if word == "" || !isDigit(word[0]) && word[0] != '.' {
		return "", false
	}
	leadingZero := len(word) > 1 && word[0] == '0' && isDigit(word[1])
	if n, err := strconv.ParseUint(word, 0, 64); err == nil && !leadingZero {
		return sign + strconv.FormatUint(n, 10), true
	}
	word = strings.ReplaceAll(word, "_", "")
	if strings.HasPrefix(word, ".") {
		word = "0" + word
	}
	if before, after, ok := strings.Cut(word, "."); ok && (after == "" || !isDigit(after[0])) {
		word = before + ".0" + after
	}
	return sign + word, json.Valid([]byte(sign + word))
}

// readQuotes reads the quotes at the beginning of a Python string. One or three open a string, two
// are an empty one.
func (l *literal) readQuotes(dst []byte, c byte) ([]byte, verdict) {
	if c == l.quote && l.quotes < 3 {
		if l.quotes++; l.quotes < 3 {
			return dst, more
		}
		l.triple = true
		l.at, l.quotes, l.word = litText, 0, l.word[:0]
		return append(dst, '"'), more
	}
	empty := l.quotes == 2
	l.at, l.quotes, l.word = litText, 0, l.word[:0]
	dst = append(dst, '"')
	if empty {
		return l.read(l.endString(dst), c)
	}
	return l.read(dst, c)
}

// readString reads a byte of a string, or of the delimiter or quotes that end it.
func (l *literal) readString(dst []byte, c byte) []byte {
	if l.quote == 0 {
		for l.word = append(l.word, c); len(l.word) > 0; l.word = l.word[1:] {
			if string(l.word) == l.delim {
				if l.word = nil; !l.filled {
					l.at = litEmpty
					return dst
				}
				return l.endString(dst)
			}
			if strings.HasPrefix(l.delim, string(l.word)) {
				return dst
			}
			dst, l.filled = appendEscaped(dst, l.word[0]), true
		}
		l.word = nil
		return dst
	}
	if c == l.quote {
		if l.quotes++; l.quotes == 3 || !l.triple {
			l.quotes = 0
			return l.endString(dst)
		}
		return dst
	}
	for ; l.quotes > 0; l.quotes-- {
		dst = appendEscaped(dst, l.quote)
	}
	if c == '\\' {
		l.at, l.word = litEscape, l.word[:0]
		return dst
	}
	return appendEscaped(dst, c)
}

// endString ends a string.
func (l *literal) endString(dst []byte) []byte {
	if l.at = litAfter; l.isKey {
		l.at = litSep
	}
	return append(dst, '"')
}

// escapes are Python's escapes of one letter.
var escapes = map[byte]rune{'n': '\n', 't': '\t', 'r': '\r', '\\': '\\', '\'': '\'', '"': '"',
	'a': 7, 'b': '\b', 'f': '\f', 'v': '\v'}

// digitsOf gives the number of hex digits after the letter of an escape.
var digitsOf = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// readEscape reads a byte after the backslash of a Python string.
func (l *literal) readEscape(dst []byte, c byte) ([]byte, verdict) {
	l.word = append(l.word, c)
	first := l.word[0]
	n := digitsOf[first]
	switch {
	case n > 0 && len(l.word) == 1, n > 0 && isHex(c) && len(l.word) <= n:
		return dst, more
	case n > 0 && isHex(c):
		l.at = litText
		return l.appendRune(dst, string(l.word[1:]), 16), more
	case n > 0: // too few digits: the escape is text
		rest := l.word
		l.at, l.word = litText, nil
		dst = appendEscaped(dst, '\\')
		for _, c := range rest {
			dst = l.readString(dst, c)
		}
		return dst, more
	case '0' <= first && first <= '7':
		if '0' <= c && c <= '7' && len(l.word) < 3 {
			return dst, more
		}
		if '0' <= c && c <= '7' {
			l.at = litText
			return l.appendRune(dst, string(l.word), 8), more
		}
		dst = l.appendRune(dst, string(l.word[:len(l.word)-1]), 8)
		l.at, l.word = litText, l.word[:0]
		return l.readString(dst, c), more
	}
	l.at, l.word = litText, l.word[:0]
	if c == '\n' { // a backslash joins two lines
		return dst, more
	}
	if r, ok := escapes[c]; ok {
		return appendRune(dst, r), more
	}
	return appendEscaped(append(dst, '\\', '\\'), c), more
}

// appendRune adds the character whose number the digits give in that base. It adds the replacement
// character for an invalid number.
func (l *literal) appendRune(dst []byte, digits string, base int) []byte {
	l.word = l.word[:0]
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n > utf8.MaxRune {
		n = utf8.RuneError
	}
	if 0xd800 <= n && n < 0xe000 { // half of a surrogate pair: the other half may follow
		return append(append(dst, `\u`...), strconv.FormatUint(n, 16)...)
	}
	return appendRune(dst, rune(n))
}

// unwritten returns the bytes that were read but not yet written.
func (l *literal) unwritten() []byte {
	switch l.at {
	case litWord, litDelim, litText, litAgain:
		return slices.Concat(l.word, slices.Repeat([]byte{l.quote}, l.quotes))
	case litQuotes:
		return slices.Repeat([]byte{l.quote}, l.quotes)
	case litEscape:
		return append([]byte{'\\'}, l.word...)
	}
	return nil
}

// appendRune adds a character of a string in JSON's spelling.
func appendRune(dst []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		return appendEscaped(dst, byte(r))
	}
	return utf8.AppendRune(dst, r)
}

// appendString adds a string in JSON's spelling.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		dst = appendEscaped(dst, s[i])
	}
	return append(dst, '"')
}

func isLetter(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c >= utf8.RuneSelf
}
