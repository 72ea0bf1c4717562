package history

import (
	"testing"
	"time"

	"tandem/app/control"
)

func TestTextsAreKeptAsLongAsTheSettingSays(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for k, want := range map[control.KeepRequests][2]time.Time{
		control.KeepNone:  {now, now.Add(-24 * time.Hour)},
		control.KeepWeek:  {now.AddDate(0, 0, -7), now.AddDate(0, 0, -7)},
		control.KeepMonth: {now.AddDate(0, 0, -30), now.AddDate(0, 0, -30)},
	} {
		if ended, cutOff := keptSince(k, now); !ended.Equal(want[0]) || !cutOff.Equal(want[1]) {
			t.Errorf("%s: texts are kept since %v, cut-off ones since %v", k, ended, cutOff)
		}
	}
}
