package main

import (
	"net/http/httptest"
	"strings"
	"testing"

	"tandem/app/control"
)

// A download goes on without a client. It can be paused, and then goes on where it was. A failed
// download shows its reason until it is dropped.
func TestDownloadsPauseAndGoOn(t *testing.T) {
	hub := &fakeHub{dir: tinyModel(t, "tiny", nil), hold: make(chan struct{})}
	server := httptest.NewServer(hub)
	defer server.Close()
	t.Setenv("HF_ENDPOINT", server.URL)
	t.Setenv("HF_TOKEN", hubToken)
	home := newHome(t)
	p := serveProcess(t, home)
	defer p.stop(t)
	c := client(t, home)
	ask := func(f func() (control.State, error)) control.State {
		t.Helper()
		st, err := f()
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	begin := func() (control.State, error) {
		return control.Call(t.Context(), c, control.StartDownload, control.PullRequest{ID: "lab/tiny"})
	}
	if st := ask(begin); len(st.Downloads) != 1 {
		t.Fatalf("downloads %+v", st.Downloads)
	}
	ask(begin) // a second request for a download under way
	waitState(t, c, func(s control.State) bool { return s.Downloads[0].Done > 0 })
	// The last request decides, even if the one before it is not done yet.
	pause := func() (control.State, error) {
		return control.Call(t.Context(), c, control.PauseDownload, control.PullRequest{ID: "lab/tiny"})
	}
	for range 5 {
		ask(pause)
		ask(begin)
	}
	waitState(t, c, func(s control.State) bool { return !s.Downloads[0].Paused })
	ask(pause)
	st := waitState(t, c, func(s control.State) bool { return s.Downloads[0].Paused })
	if d := st.Downloads[0]; d.Error != "" || d.PerSecond != 0 || d.Total < d.Done {
		t.Errorf("the paused download is %+v", d)
	}
	ask(begin)
	ask(pause)
	close(hub.hold)
	ask(begin)
	st = waitState(t, c, func(s control.State) bool { return len(s.Downloads) == 0 })
	if st.Models[0].ID != "lab/tiny" && st.Models[len(st.Models)-1].ID != "lab/tiny" {
		t.Errorf("the registry has %+v, want lab/tiny in it", st.Models)
	}

	ask(func() (control.State, error) {
		return control.Call(t.Context(), c, control.StartDownload,
			control.PullRequest{ID: "lab/unknown"})
	})
	st = waitState(t, c, func(s control.State) bool { return s.Downloads[0].Error != "" })
	if !strings.HasPrefix(st.Downloads[0].Error, "There is no such model at "+server.URL) {
		t.Errorf("the failed download is %+v", st.Downloads[0])
	}
	if st := ask(func() (control.State, error) {
		return control.Call(t.Context(), c, control.DropDownload,
			control.DropRequest{ID: "lab/unknown"})
	}); len(st.Downloads) > 0 {
		t.Errorf("the downloads are %+v after the failed one was dropped", st.Downloads)
	}
	for _, id := range []string{"lab/unknown", "../x"} {
		if _, err := control.Call(t.Context(), c, control.PauseDownload,
			control.PullRequest{ID: id}); err == nil {
			t.Errorf("the unknown download %q can be paused", id)
		}
	}
	if _, err := control.Call(t.Context(), c, control.StartDownload,
		control.PullRequest{ID: "../x"}); err == nil {
		t.Error("a path is accepted as a model")
	}
}

// A supervised process ends with its standard input. It waits until the process before it has
// released the home folder.
func TestSupervisedProcessEndsWithItsInput(t *testing.T) {
	home := newHome(t)
	first := serveProcess(t, home)
	second := supervised(t, home)
	first.stop(t)
	waitState(t, client(t, home), func(s control.State) bool {
		return s.PID == second.Process.Pid && s.Phase == control.PhaseReady
	})
	if err := second.life.Close(); err != nil {
		t.Fatal(err)
	}
	if code, _ := second.exit(t); code != 0 {
		t.Errorf("the supervised process exits with %d, want 0: %s", code, second.stderr)
	}
}
