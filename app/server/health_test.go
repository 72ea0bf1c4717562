package server

import (
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
)

func TestHealthFollowsPhase(t *testing.T) {
	fake := roomtest.NewBackend()
	s := New(services(fake), Options{})
	for phase, want := range map[control.Phase]int{
		control.PhaseStarting: 503, control.PhaseLoading: 503, control.PhaseFailed: 503,
		control.PhaseDraining: 503,
		control.PhaseReady:    200, control.PhaseNoModel: 200,
	} {
		fake.Phase = phase
		if w := roomtest.Get(s.Endpoint(), "/health"); w.Code != want ||
			(w.Header().Get("Retry-After") == "1") != (want == 503) {
			t.Errorf("%s: %d %v", phase, w.Code, w.Header())
		}
	}
}
