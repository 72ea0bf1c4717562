package hub

import "bytes"

// nonFinite lists the numbers that Python writes into JSON and that JSON does not allow, the longest
// first where one ends in another.
var nonFinite = [][]byte{[]byte("-Infinity"), []byte("Infinity"), []byte("NaN")}

// PythonJSON returns a JSON text as Python writes it, with a value in place of each Infinity,
// -Infinity and NaN. A text without them is returned as it is. Other errors in the JSON stay.
func PythonJSON(text []byte, value string) []byte {
	if !bytes.Contains(text, nonFinite[1]) && !bytes.Contains(text, nonFinite[2]) {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		end := i + 1
		if text[i] == '"' {
			end = endOfString(text, i)
		}
		for _, number := range nonFinite {
			if bytes.HasPrefix(text[i:], number) {
				out = append(out, value...)
				i += len(number)
				end = i
				break
			}
		}
		out = append(out, text[i:end]...)
		i = end
	}
	return out
}

// endOfString returns the offset after the string that begins at start.
func endOfString(text []byte, start int) int {
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}
