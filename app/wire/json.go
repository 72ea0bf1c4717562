package wire

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// asIs has true for each ASCII character that needs no escape in a JSON string.
var asIs = func() (t [256]bool) {
	for c := byte(' '); c < 0x7f; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD. The two line separators
// that JavaScript once forbade in strings are escaped.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if asIs[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i]...), "\ufffd"...)
				start = i + 1
			} else if r == '\u2028' || r == '\u2029' {
				dst = append(append(dst, s[start:i]...), `\u202`...)
				dst = append(dst, hexDigits[r&0xf])
				start = i + size
			}
			i += size
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// AppendInts appends list as a JSON list.
func AppendInts[T ~int32 | ~byte](dst []byte, list []T) []byte {
	dst = append(dst, '[')
	for i, x := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(x), 10)
	}
	return append(dst, ']')
}

// MustJSON returns v as JSON for a file, the database or a hash, with <, > and & escaped; an Encoder
// writes answers. v holds only types that always encode, and no Raw.
func MustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err == nil && bytes.Contains(b, []byte(packedRaw)) {
		err = errors.New("wire: a Raw outside of an Encoder")
	}
	if err != nil {
		panic(err)
	}
	return b
}

func NewID(prefix string) string { return prefix + rand.Text() }
