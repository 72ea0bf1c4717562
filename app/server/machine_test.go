package server

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/roomtest"
)

func TestMachineRouteAnswers(t *testing.T) {
	w := roomtest.Get(New(services(roomtest.NewBackend()), Options{}).Socket(), "/app/machine")
	if want := `"chip":"a chip","cores":8,"fast_cores":4,"memory":17179869184,`; w.Code != http.StatusOK ||
		!strings.Contains(w.Body.String(), want) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestCheckpointTitlesAreLimited: the route returns the titles that can be read, and refuses too
// many ids at once.
func TestCheckpointTitlesAreLimited(t *testing.T) {
	fake := roomtest.NewBackend()
	fake.OnDisk.ID = "mwrc6x2w"
	s := New(services(fake), Options{})
	for path, want := range map[string]string{
		"/app/checkpoint-titles":                       `{"titles":[]}`,
		"/app/checkpoint-titles?ids=,nothing,":         `{"titles":[]}`,
		"/app/checkpoint-titles?ids=nothing,mwrc6x2w,": `{"titles":[{"id":"mwrc6x2w","title":"About mwrc6x2w"}]}`,
	} {
		if w := roomtest.Get(s.Socket(), path); w.Code != http.StatusOK ||
			strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	roomtest.WantError(t, roomtest.Get(s.Socket(), "/app/checkpoint-titles?ids="+strings.Repeat("x,", 101)),
		http.StatusBadRequest, control.CodeInvalid)
}

// TestReportNamesRunThatResumed: a run that was cut off names the run that completed it, so that it
// is not completed twice.
func TestReportNamesRunThatResumed(t *testing.T) {
	fake := roomtest.NewBackend()
	now := time.Now()
	fake.Rows = []control.Run{{ID: 1, EndedAt: now, FinishReason: control.FinishInterrupted},
		{ID: 2, EndedAt: now, FinishReason: "stop"}}
	s := New(services(fake), Options{})
	says := func(run, what string) bool {
		return strings.Contains(roomtest.Get(s.Socket(), "/app/runs/"+run+"/report").Body.String(), what)
	}
	if says("1", "resumed_by") {
		t.Error("the report names no run that completed it")
	}
	fake.Rows[1].Resumes = 1
	if !says("1", `"resumed_by":2`) || says("2", "resumed_by") {
		t.Error("the report does not name the run that completed it, or names another")
	}
}
