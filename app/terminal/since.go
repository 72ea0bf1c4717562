package terminal

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// sinceForms are the forms of a moment. It is in local time if it names no zone.
var sinceForms = []string{time.DateOnly, "2006-01-02 15:04", time.DateTime, time.RFC3339}

// Since reads the value of a flag: a moment, or how long before now it was, into t.
func Since(now time.Time, t *time.Time) func(string) error {
	return func(text string) error {
		if days, ok := strings.CutSuffix(text, "d"); ok {
			if n, err := strconv.ParseUint(days, 10, 16); err == nil {
				*t = now.AddDate(0, 0, -int(n))
				return nil
			}
		}
		if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
			*t = now.Add(-ago)
			return nil
		}
		for _, form := range sinceForms {
			if at, err := time.ParseInLocation(form, text, now.Location()); err == nil &&
				!at.IsZero() {
				*t = at
				return nil
			}
		}
		return errors.New("write how long ago, such as 90m, 2h or 3d, or a day or a moment, such as 2026-11-22 or '2026-11-22 09:30'")
	}
}
