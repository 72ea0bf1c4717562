package wire

import (
	"encoding/json"
	"testing"
)

// What a model or a client wrote keeps its spelling, also inside a type that writes itself. Text that
// looks like a packed Raw is text.
func TestEncoderKeepsTheSpellingOfRawValues(t *testing.T) {
	var e Encoder
	for range 2 {
		got := string(e.Encode([]any{
			RawObject(`{ "a" : "\u00e9\"\\" }`), ownWriter{Raw(` 1.0`)}, Raw(`"x"`),
			"<&>\u2028", `"\u003a x"`, ":\u0000", Logprob(-1e-5), Floats{1e6, 0.5}, Bytes{0, 255},
		}))
		const want = `[{ "a" : "\u00e9\"\\" },{"Value": 1.0},"x","<&>\u2028","\"\\u003a x\"",":\u0000",-1e-05,[1e+06,0.5],[0,255]]`
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// ownWriter is a type that writes itself.
type ownWriter struct{ Value Raw }

func (o ownWriter) MarshalJSON() ([]byte, error) {
	type plain ownWriter
	return Marshal(plain(o))
}

func FuzzEncoderRaw(f *testing.F) {
	for _, s := range []string{`{}`, `{ "a": "\n\u003a" }`, `"\"\u003a"`, `[1, {"b" : "\\"}]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !json.Valid([]byte(s)) {
			return
		}
		b := Encode(map[string]any{"a": Raw(s), "b": s})
		var got struct {
			A json.RawMessage `json:"a"`
			B string          `json:"b"`
		}
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
	})
}

// Only an Encoder knows a packed Raw, so that no other writer lets one through.
func TestRawOutsideOfAnEncoderPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	MustJSON(map[string]any{"a": Raw(`1`)})
}
