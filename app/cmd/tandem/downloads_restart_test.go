package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
)

// The next process resumes a download that was under way. A download that a person stopped stays
// stopped, and its progress stays known. A discarded download leaves nothing.
func TestDownloadsGoOnAfterARestart(t *testing.T) {
	hub := &fakeHub{dir: tinyModel(t, "tiny", nil), hold: make(chan struct{})}
	server := httptest.NewServer(hub)
	defer server.Close()
	t.Setenv("HF_ENDPOINT", server.URL)
	t.Setenv("HF_TOKEN", hubToken)
	cache := t.TempDir()
	t.Setenv("HF_HUB_CACHE", cache)
	home := newHome(t)
	moved := func(s control.State) bool { return len(s.Downloads) == 1 && s.Downloads[0].Done > 0 }

	p := serveProcess(t, home)
	c := client(t, home)
	if _, err := control.Call(t.Context(), c, control.StartDownload, control.PullRequest{ID: "lab/tiny",
		Revision: hubCommit}); err != nil {
		t.Fatal(err)
	}
	waitState(t, c, moved)
	if err := p.Process.Kill(); err != nil { // as in a crash
		t.Fatal(err)
	}
	p.exit(t)
	p = serveProcess(t, home)
	st := waitState(t, c, moved)
	if d := st.Downloads[0]; d.Paused || d.Error != "" {
		t.Errorf("after a crash the download is %+v", d)
	}
	p.stop(t)
	p = serveProcess(t, home)
	waitState(t, c, moved)

	if _, err := control.Call(t.Context(), c, control.PauseDownload,
		control.PullRequest{ID: "lab/tiny"}); err != nil {
		t.Fatal(err)
	}
	paused := waitState(t, c, func(s control.State) bool { return s.Downloads[0].Paused }).Downloads[0]
	p.stop(t)
	p = serveProcess(t, home)
	st = waitState(t, c, func(s control.State) bool { return s.Phase == control.PhaseReady })
	if len(st.Downloads) != 1 || st.Downloads[0] != paused {
		t.Errorf("after a restart the downloads are %+v, want %+v", st.Downloads, paused)
	}

	// The download goes on where it was, at the revision with which it began.
	if _, err := control.Call(t.Context(), c, control.StartDownload,
		control.PullRequest{ID: "lab/tiny"}); err != nil {
		t.Fatal(err)
	}
	waitState(t, c, func(s control.State) bool { return !s.Downloads[0].Paused })
	if _, err := control.Call(t.Context(), c, control.DropDownload, control.DropRequest{ID: "lab/tiny",
		Discard: true}); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "models--*")); len(left) > 0 {
		t.Errorf("the discarded download leaves %v", left)
	}
	p.stop(t)
	p = serveProcess(t, home)
	defer p.stop(t)
	if st = waitState(t, c, func(s control.State) bool { return s.Phase == control.PhaseReady }); len(st.Downloads) > 0 {
		t.Errorf("after a restart the discarded download is there again: %+v", st.Downloads)
	}

	// Files of this model that another program fetched stay.
	blobs := filepath.Join(cache, "models--lab--tiny", "blobs")
	if err := os.MkdirAll(blobs, 0o755); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(blobs, strings.Repeat("c", 64)+".incomplete")
	if err := os.WriteFile(foreign, []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Call(t.Context(), c, control.StartDownload,
		control.PullRequest{ID: "lab/tiny"}); err != nil {
		t.Fatal(err)
	}
	waitState(t, c, moved)
	if _, err := control.Call(t.Context(), c, control.DropDownload, control.DropRequest{ID: "lab/tiny",
		Discard: true}); err != nil {
		t.Fatal(err)
	}
	left, _ := os.ReadDir(blobs)
	if len(left) != 1 || filepath.Join(blobs, left[0].Name()) != foreign {
		t.Errorf("the folder has %v, want only another program's file", left)
	}
}
