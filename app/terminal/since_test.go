package terminal

import (
	"testing"
	"time"
)

// --since takes a duration before now, a date, or a moment in local time or RFC 3339. It refuses
// other texts and leaves the variable alone then.
func TestSinceFlagReadsMomentsAndDurations(t *testing.T) {
	zone := time.FixedZone("east", 2*60*60)
	now := time.Date(2026, 11, 22, 9, 30, 0, 0, zone)
	for text, want := range map[string]string{
		"90m":                  "2026-11-22T06:00:00Z",
		"2h":                   "2026-11-22T05:30:00Z",
		"3d":                   "2026-11-19T07:30:00Z",
		"0d":                   "2026-11-22T07:30:00Z",
		"1h30m":                "2026-11-22T06:00:00Z",
		"2026-11-20":           "2026-11-19T22:00:00Z",
		"2026-11-20 08:15":     "2026-11-20T06:15:00Z",
		"2026-11-20 08:15:30":  "2026-11-20T06:15:30Z",
		"2026-11-20T08:15:30Z": "2026-11-20T08:15:30Z",
		"":                     "", "d": "", "-1d": "", "-2h": "", "2": "", "99999d": "",
		"yesterday": "", "2026-13-01": "", "1.5d": "", "0001-01-01T00:00:00Z": "",
	} {
		var at time.Time
		got := ""
		if err := Since(now, &at)(text); err == nil {
			got = at.UTC().Format(time.RFC3339)
		} else if !at.IsZero() {
			t.Errorf("%q is refused and sets %v", text, at)
		}
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
