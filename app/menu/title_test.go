package menu

import (
	"testing"
	"time"
)

// A title changes at most once a second, but it appears and disappears immediately. Next returns
// how long a change is held back.
func TestTitleChangesOnceASecond(t *testing.T) {
	start := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	var title Title
	for _, c := range []struct {
		at         time.Duration
		text, want string
		wait       time.Duration
	}{
		{0, "", "", 0},
		{100 * time.Millisecond, "40 t/s", "40 t/s", 0},
		{600 * time.Millisecond, "41 t/s", "40 t/s", 500 * time.Millisecond},
		{1000 * time.Millisecond, "42 t/s", "40 t/s", 100 * time.Millisecond},
		{1050 * time.Millisecond, "40 t/s", "40 t/s", 0}, // no change is held back any more
		{1100 * time.Millisecond, "43 t/s", "43 t/s", 0},
		{1600 * time.Millisecond, "44 t/s", "43 t/s", 500 * time.Millisecond},
		{1700 * time.Millisecond, "", "", 0},
		{1800 * time.Millisecond, "45 t/s", "45 t/s", 0},
		{9 * time.Second, "46 t/s", "46 t/s", 0},
	} {
		var wait time.Duration
		if title, wait = title.Next(start.Add(c.at), c.text); title.Text != c.want ||
			wait != c.wait {
			t.Errorf("after %v %q shows %q and waits %v, want %q and %v",
				c.at, c.text, title.Text, wait, c.want, c.wait)
		}
	}
}
