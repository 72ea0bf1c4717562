package storage

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// TestDaysAreLocal expects that a run belongs to the local day of its start. A process reads its
// zone when it begins, so a second process runs the test in another zone.
func TestDaysAreLocal(t *testing.T) {
	const zone, ahead = "Etc/GMT-14", 14 * time.Hour
	if os.Getenv("TZ") != zone {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDaysAreLocal$",
			"-test.count=1")
		cmd.Env = append(os.Environ(), "TZ="+zone)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	db := mustOpen(t, "")
	db.now = func() time.Time { return noon }
	if _, err := db.Runs.Begin(t.Context(), Run{Model: "a", Client: "zed"}); err != nil {
		t.Fatal(err)
	}
	there, here := noon.Format(time.DateOnly), noon.Add(ahead).Format(time.DateOnly)
	if v, err := db.Runs.Values(t.Context()); err != nil || !slices.Equal(v.Days, []string{here}) {
		t.Errorf("days %v, %v; want %s", v.Days, err, here)
	}
	if u, err := db.Usage(t.Context(), ByDay); err != nil || len(u) != 1 || u[0].Name != here {
		t.Errorf("by day %+v, %v; want %s", u, err, here)
	}
	for day, want := range map[string]int{here: 1, there: 0} {
		runs, _, err := db.Runs.List(t.Context(), RunQuery{Day: day})
		if err != nil || len(runs) != want {
			t.Errorf("%s has %d runs, %v; want %d", day, len(runs), err, want)
		}
		if would, _, err := db.WouldForget(t.Context(), Scope{Day: day}); err != nil ||
			would.InFlight != want {
			t.Errorf("%s would forget %+v, %v; want %d in flight", day, would, err, want)
		}
	}
}
