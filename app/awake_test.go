package app

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tandem/app/control"
)

// work names a reason for requests, loads and downloads that move. It returns "" for downloads
// that wait, are paused or failed.
func TestWorkIsWhatRunsNow(t *testing.T) {
	for _, c := range []struct {
		name  string
		state control.State
		busy  bool
	}{
		{"nothing", control.State{Phase: control.PhaseReady, Loaded: &control.Loaded{ID: "m"}}, false},
		{"a request", control.State{Phase: control.PhaseReady, Active: []control.Active{{}}}, true},
		{"a load", control.State{Phase: control.PhaseLoading}, true},
		{"a load while another model is ready", control.State{Phase: control.PhaseReady, Loading: &control.Loading{ID: "m"}}, true},
		{"a download", control.State{Downloads: []control.Download{{ID: "d"}}}, true},
		{"a download that waits", control.State{Downloads: []control.Download{{ID: "d", Waiting: "no network"}}}, false},
		{"a paused and a failed download", control.State{Downloads: []control.Download{{ID: "d", Paused: true}, {ID: "e", Error: "no room"}}}, false},
		{"a paused and a moving download", control.State{Downloads: []control.Download{{ID: "d", Paused: true}, {ID: "e"}}}, true},
	} {
		if got := work(c.state); (got != "") != c.busy {
			t.Errorf("%s: reason %q, want one: %t", c.name, got, c.busy)
		}
	}
}

// keepAwake takes one hold for each stretch of work, whatever the work is. It releases the hold
// when the work or the context ends.
func TestComputerIsHeldAwakeOncePerStretchOfWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var st control.State
		var told []string
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			keepAwake(ctx, func() string { return work(st) }, func(reason string) func() {
				told = append(told, reason)
				return func() { told = append(told, "released") }
			})
		}()
		step := func(next control.State) {
			synctest.Wait()
			st = next
			time.Sleep(awakeEvery)
			synctest.Wait()
		}
		busy := control.State{Active: []control.Active{{}}}
		step(control.State{})
		step(busy)
		step(control.State{Phase: control.PhaseLoading})
		step(control.State{})
		step(control.State{})
		step(busy)
		cancel()
		<-ended
		want := []string{"answering requests", "released", "answering requests", "released"}
		if !slices.Equal(told, want) {
			t.Errorf("holds and releases %q, want %q", told, want)
		}
	})
}

// computation names a reason for a bench, and for a verification, which uses a model without a
// request.
func TestComputationIncludesBenchesAndVerifications(t *testing.T) {
	for _, c := range []struct {
		name      string
		measuring bool
		users     int
		busy      bool
	}{
		{"nothing", false, 0, false},
		{"a verification", false, 1, true},
		{"a bench", true, 0, true},
	} {
		if got := computation(c.measuring, c.users); (got != "") != c.busy {
			t.Errorf("%s: reason %q, want one: %t", c.name, got, c.busy)
		}
	}
}

// Serve takes a hold for a request in flight, and releases it when the request ends.
func TestServeHoldsAwakeWhileARequestRuns(t *testing.T) {
	a, err := Open(t.Context(), Options{Home: t.TempDir(), Model: longModel(t),
		NoCheckpoints: true})
	if err != nil {
		t.Fatal(err)
	}
	held, released := make(chan string, 100), make(chan bool, 100)
	r := serving(t, a, ServeOptions{Addr: "127.0.0.1:0", Hold: func(reason string) func() {
		held <- reason
		return func() { released <- true }
	}})
	resp, err := r.post(t, t.Context(), 3, 60000)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	<-held // for the load of the model, or for the request
	c := r.client(t)
	s := await(t, c, func(s control.State) bool { return active(s, 3) != nil })
	if _, err := control.Call(t.Context(), c, control.CancelRun, control.CancelRequest{
		Run: fmt.Sprint(s.Active[0].RunID)}); err != nil {
		t.Fatal(err)
	}
	<-released
}
