package terminal

import (
	"fmt"
	"time"
)

// Time returns a moment as it is printed on standard output: how long ago it was on a terminal, and in
// local time elsewhere; - for none.
func (p *Program) Time(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	if p.Shown {
		return ago(t.Local(), time.Now())
	}
	return Clock(t)
}

// Clock returns a moment in local time.
func Clock(t time.Time) string { return t.Local().Format(time.DateTime) }

// ago returns how long before now a moment was, or its day if that was more than a week ago. Both are in
// the same zone.
func ago(t, now time.Time) string {
	noon := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 12, 0, 0, 0, time.UTC) }
	days := int(noon(now).Sub(noon(t)).Hours() / 24)
	switch past := now.Sub(t); {
	case past < time.Minute:
		return "just now"
	case past < time.Hour:
		return fmt.Sprintf("%d min ago", int(past.Minutes()))
	case days < 1 || past < 6*time.Hour:
		return fmt.Sprintf("%d h ago", int(past.Hours()))
	case days == 1:
		return "yesterday"
	case days < 7:
		return fmt.Sprintf("%d days ago", days)
	}
	return t.Format(time.DateOnly)
}
