package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\\n\r\t\x00\x1f\x7f", "é日本😀", "\xff\xc3",
		"\u2028\u2029\ufffd"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := AppendString([]byte("x"), s)
		var got string
		if err := json.Unmarshal(b[1:], &got); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); utf8.ValidString(s) && got != s ||
			strings.Count(got, "\ufffd") < strings.Count(want, "\ufffd") {
			t.Errorf("got %q, want %q", got, want)
		}
		if strings.ContainsAny(string(b), "\n\r\u2028\u2029") {
			t.Errorf("%q breaks a line", b)
		}
	})
}
