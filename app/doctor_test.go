package app

import (
	"testing"

	"tandem/app/control"
	"tandem/app/terminal"
)

// What the server does is told in words, with the first thing to mend.
func TestDoctorTellsOfTheServer(t *testing.T) {
	well := terminal.Finding{Name: "current model", OK: true}
	at := control.State{Address: "http://127.0.0.1:1", PID: 7, Choice: "m"}
	with := func(change func(*control.State)) control.State {
		s := at
		change(&s)
		return s
	}
	for _, c := range []struct {
		state  control.State
		choice terminal.Finding
		ok     bool
		want   string
	}{
		{with(func(s *control.State) { s.Phase = control.PhaseReady }), well, true, "pid 7 at http://127.0.0.1:1, model m, ready"},
		{with(func(s *control.State) { s.Phase = control.PhaseNoModel }), well, true,
			"pid 7 at http://127.0.0.1:1, model m, loads on first use"},
		{with(func(s *control.State) {
			s.Phase, s.InMemory = control.PhaseReady, []control.Loaded{{ID: "m", KVBits: 8}}
		}), well, true,
			"pid 7 at http://127.0.0.1:1, model m, ready, kv_bits 8"},
		{with(func(s *control.State) { s.Warning = "the disk is full" }), well, false,
			"pid 7 at http://127.0.0.1:1 answers, but the disk is full"},
		{with(func(s *control.State) { s.Phase, s.Error = control.PhaseFailed, "it is gone" }), terminal.Finding{}, true,
			"pid 7 at http://127.0.0.1:1, without its model"},
		{with(func(s *control.State) { s.Address, s.Error = "", "the port is taken" }), well, false,
			"the Tandem that runs (pid 7) has no endpoint: the port is taken"},
	} {
		if got := examineServer(c.state, c.choice); got.OK != c.ok || got.Detail != c.want {
			t.Errorf("%t, %q, want %t, %q", got.OK, got.Detail, c.ok, c.want)
		}
	}
}
