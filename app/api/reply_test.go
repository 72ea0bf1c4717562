package api

import (
	"bytes"
	"encoding/json"
	"testing"
)

// A load of less than a millisecond is left out of the timings, and a longer one is told.
func TestShortLoadIsLeftOut(t *testing.T) {
	for ms, want := range map[float64]string{0: "", 0.7: "", 1: `"load_ms":1,`, 12.9: `"load_ms":12,`} {
		r := Reply{Run: &Run{Ctx: t.Context()}, Choices: []*Choice{{}}}
		r.Run.Row.LoadMS = ms
		text, err := json.Marshal(r.timings(total{}))
		if told := bytes.Contains(text, []byte("load_ms")); err != nil || told != (want != "") ||
			!bytes.Contains(text, []byte(want)) {
			t.Errorf("%v ms: %s, %v", ms, text, err)
		}
	}
}
