package tokenizer

import (
	"strconv"
	"unicode/utf8"
)

// byteChars is the GPT-2 alphabet: one visible character for each byte. A byte that is visible in
// Latin-1 stands for itself. The other 68 are numbered from U+0100 on.
var byteChars = func() (t [256]string) {
	next := rune(0x100)
	for b := range rune(256) {
		if b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE {
			t[b] = string(b)
		} else {
			t[b] = string(next)
			next++
		}
	}
	return t
}()

// charBytes maps the alphabet's characters to bytes; -1 is a character outside the alphabet.
var charBytes = func() (t [0x144]int16) {
	for i := range t {
		t[i] = -1
	}
	for b, s := range byteChars {
		r, _ := utf8.DecodeRuneInString(s)
		t[r] = int16(b)
	}
	return t
}()

// appendByteChars appends the bytes of a token in the byte-level alphabet. If the token has other
// characters, ok is false and nothing is appended.
func appendByteChars(dst []byte, token string) (_ []byte, ok bool) {
	start := len(dst)
	for _, r := range token {
		if int(r) >= len(charBytes) || charBytes[r] < 0 {
			return dst[:start], false
		}
		dst = append(dst, byte(charBytes[r]))
	}
	return dst, true
}

// byteToken returns the spelling of a byte under byte fallback.
func byteToken(b byte) string {
	const hex = "0123456789ABCDEF"
	return string([]byte{'<', '0', 'x', hex[b>>4], hex[b&15], '>'})
}

// parseByteToken reads <0xNN>, in upper or lower case.
func parseByteToken(token string) (byte, bool) {
	if len(token) != 6 || token[:3] != "<0x" || token[5] != '>' {
		return 0, false
	}
	b, err := strconv.ParseUint(token[3:5], 16, 8)
	return byte(b), err == nil
}
