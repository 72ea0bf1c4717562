package history

import (
	"testing"
	"time"

	"tandem/app/control"
)

func TestWaitsAreForTheClientThatWasAnswered(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 11, 26, 9, 0, s, 0, time.UTC) }
	for _, x := range []struct {
		name   string
		runs   []control.Run // the newest first
		behind string
	}{
		{"the one that was answered longest", []control.Run{
			{ID: 4, Client: "a", Model: "m", QueueMS: 3_000, StartedAt: at(10), EndedAt: at(20)},
			{ID: 3, Client: "zed", Model: "other", StartedAt: at(0), EndedAt: at(60)},
			{ID: 2, Client: "b", Model: "m", StartedAt: at(5), EndedAt: at(12)},
			{ID: 1, Client: "c", Model: "m", StartedAt: at(5), EndedAt: at(11)},
		}, "b"},
		{"not while the model is loaded", []control.Run{
			{ID: 3, Client: "a", Model: "m", LoadMS: 5_000, QueueMS: 3_000, StartedAt: at(10), EndedAt: at(20)},
			{ID: 2, Client: "b", Model: "m", StartedAt: at(5), EndedAt: at(15)},
			{ID: 1, Client: "c", Model: "m", LoadMS: 10_000, StartedAt: at(5), EndedAt: at(16)},
		}, "c"},
		{"one that is in flight", []control.Run{
			{ID: 3, Client: "a", Model: "m", QueueMS: 3_000, StartedAt: at(10), EndedAt: at(20)},
			{ID: 2, Client: "b", StartedAt: at(5)},
			{ID: 1, Client: "c", Model: "m", StartedAt: at(5), EndedAt: at(11)},
		}, "b"},
		{"not one that waits too", []control.Run{
			{ID: 4, Client: "a", Model: "m", QueueMS: 3_000, StartedAt: at(10), EndedAt: at(20)},
			{ID: 3, Client: "b", Model: "m", QueueMS: 3_000, StartedAt: at(10), EndedAt: at(20)},
			{ID: 2, Client: "b", Model: "m", QueueMS: 3_000, StartedAt: at(10), EndedAt: at(20)},
			{ID: 1, Client: "c", Model: "m", StartedAt: at(5), EndedAt: at(11)},
		}, "c"},
		{"nobody", []control.Run{
			{ID: 1, Client: "a", Model: "m", QueueMS: 3_000, StartedAt: at(10), EndedAt: at(20)},
		}, ""},
	} {
		for _, i := range queued(x.runs, at(59)) {
			if i.Client == "a" && i.Behind != x.behind {
				t.Errorf("%s: it waited for %q, want %q", x.name, i.Behind, x.behind)
			}
		}
	}
}

// So many requests may wait at once that no pair of them can be looked at.
func TestManyRequestsWaitAtOnce(t *testing.T) {
	start, many := time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC), 100_000
	runs := []control.Run{}
	for i := range many {
		runs = append(runs, control.Run{ID: int64(many + 1 - i), Client: "a", Model: "m", StartedAt: start,
			EndedAt: start.Add(time.Hour), QueueMS: 600_000})
	}
	runs = append(runs, control.Run{ID: 1, Client: "b", Model: "m", StartedAt: start, EndedAt: start.Add(time.Hour)})
	got := queued(runs, start.Add(time.Hour))
	if len(got) != 1 || got[0].Runs != many || got[0].Behind != "b" {
		t.Errorf("%+v", got)
	}
}
