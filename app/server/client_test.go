package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
	"tandem/app/wire"
	"tandem/engine/enginetest"
)

// TestControlClientWorksOnTheSocket plays control.Client against the socket.
func TestControlClientWorksOnTheSocket(t *testing.T) {
	home, err := os.MkdirTemp("/tmp", "s") // short enough for the address of a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	l, err := control.Listen(home)
	if err != nil {
		t.Fatal(err)
	}
	fake := roomtest.NewBackend()
	srv := wire.HTTP(New(services(fake), Options{}).Socket(), nil, nil)
	go srv.Serve(l)
	defer srv.Close()
	c := control.Dial(home)
	defer c.Close()
	ctx := t.Context()
	codeOf := func(err error) control.Code {
		if e, ok := errors.AsType[*control.Error](err); ok {
			return e.Code
		}
		return ""
	}

	state, err := control.Ask(ctx, c, control.GetState)
	if err != nil || state.Phase != control.PhaseReady || state.Loaded.ID != "acme/coder" ||
		state.Active == nil {
		t.Errorf("state: %+v %v", state, err)
	}
	if _, err := control.Call(ctx, c, control.LoadModel,
		control.LoadRequest{Model: "acme/coder"}); err != nil {
		t.Errorf("load: %v", err)
	}
	if _, err := control.Call(ctx, c, control.LoadModel,
		control.LoadRequest{Model: "no/such"}); codeOf(err) != control.CodeModelNotFound ||
		!strings.Contains(err.Error(), "no/such") {
		t.Errorf("load an unknown model: %v", err)
	}
	if _, err := control.Call(ctx, c, control.UnloadModel,
		control.UnloadRequest{Model: ""}); err != nil || len(fake.Unloaded) != 1 {
		t.Errorf("unload: %v", err)
	}
	if list, err := control.Ask(ctx, c, control.ListModels); err != nil || len(list.Models) != 2 || list.Models[1].ID != "acme/coder" ||
		list.Models[1].AddedAt.IsZero() {
		t.Errorf("models: %+v %v", list, err)
	}
	if m, err := control.Call(ctx, c, control.AddModel,
		control.AddRequest{Path: "/models/new"}); err != nil ||
		m.ID != "new" {
		t.Errorf("add: %+v %v", m, err)
	}
	if _, err := control.Call(ctx, c, control.RemoveModel, "acme/coder"); err != nil {
		t.Errorf("remove: %v", err)
	}
	if _, err := control.Call(ctx, c, control.RemoveModel,
		"odd ?#%2F name"); codeOf(err) != control.CodeModelNotFound ||
		!strings.Contains(err.Error(), "odd ?#%2F name") {
		t.Errorf("remove an odd name: %v", err)
	}
	if code, err := control.Ask(ctx, c, control.IssueCode); err != nil || !strings.HasSuffix(code.URL, "/#"+code.Code) {
		t.Errorf("session: %+v %v", code, err)
	}

	if st, err := control.Call(ctx, c, control.ChangeSettings,
		control.SettingsChange{"port": json.RawMessage("9000")}); err != nil ||
		st.Settings.Port != 9000 {
		t.Errorf("settings: %+v %v", st, err)
	}
	if _, err := control.Call(ctx, c, control.ChangeSettings,
		control.SettingsChange{"port": json.RawMessage("9")}); codeOf(err) != control.CodeInvalid ||
		err.(*control.Error).Param != "port" {
		t.Errorf("a bad setting: %v", err)
	}
	if st, err := control.Ask(ctx, c, control.GetSettings); err != nil || st.Settings.Port != 9000 {
		t.Errorf("settings: %+v %v", st, err)
	}

	var seen []control.Progress
	m, err := c.Pull(ctx, control.PullRequest{ID: "acme/coder"},
		func(p control.Progress) { seen = append(seen, p) })
	if err != nil || m.Bytes != 10 || len(seen) != 1 || seen[0].Done != 5 {
		t.Errorf("pull: %+v %v after %+v", m, err, seen)
	}
	if _, err := c.Pull(ctx, control.PullRequest{ID: "acme/gated"},
		func(control.Progress) {}); codeOf(err) != control.CodeGated {
		t.Errorf("pull a gated model: %v", err)
	}
	if _, err := c.Pull(ctx, control.PullRequest{},
		func(control.Progress) {}); codeOf(err) != control.CodeInvalid {
		t.Errorf("pull nothing: %v", err)
	}

	// The standard routes answer on the socket too.
	resp, err := c.Do(ctx, http.MethodPost, "/v1/completions",
		map[string]any{"model": "tandem", "prompt": "x", "stream": true})
	if err != nil {
		t.Fatal(err)
	}
	events := 0
	for _, err := range control.Events(resp.Body) {
		if err != nil {
			t.Error(err)
		}
		events++
	}
	resp.Body.Close()
	if events != 12 { // 11 runes, and the end
		t.Errorf("%d events", events)
	}
	if _, err := c.Do(ctx, http.MethodPost, "/v1/completions",
		map[string]any{"model": "tandem"}); codeOf(err) != control.CodeInvalid {
		t.Errorf("no prompt: %v", err)
	}
	runs, err := control.Call(ctx, c, control.ListRuns, control.RunQuery{Limit: 1, Model: "tandem"})
	if err != nil {
		t.Fatalf("runs: %v", err)
	}
	if len(runs.Runs) != 1 {
		t.Fatalf("runs: len(runs) = %v, want 1", len(runs.Runs))
	}
	if runs.Runs[0].ID != 2 {
		t.Errorf("runs: runs[0].ID = %v, want 2", runs.Runs[0].ID)
	}
	if runs.Runs[0].Client != "tandem" {
		t.Errorf(`runs: runs[0].Client = %q, want "tandem"`, runs.Runs[0].Client)
	}
	if runs.Runs[0].FinishReason != "error" {
		t.Errorf(`runs: runs[0].FinishReason = %q, want "error"`, runs.Runs[0].FinishReason)
	}
	// The client may see the end of a stream before the server has finished the run.
	enginetest.Await(t, "the run is finished and can't be cancelled", func() bool {
		_, err := control.Call(ctx, c, control.CancelRun, control.CancelRequest{Run: "1"})
		return codeOf(err) == control.CodeRunNotFound
	})
}

// TestPullStopsWhenClientLeaves: a client that leaves stops the download.
func TestPullStopsWhenClientLeaves(t *testing.T) {
	fake := roomtest.NewBackend()
	stopped := make(chan error, 1)
	started := make(chan struct{})
	fake.OnPull = func(ctx context.Context, progress func(control.Progress)) (control.Model, error) {
		progress(control.Progress{Done: 1})
		close(started)
		<-ctx.Done()
		stopped <- ctx.Err()
		return control.Model{}, ctx.Err()
	}
	home, err := os.MkdirTemp("/tmp", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	l, err := control.Listen(home)
	if err != nil {
		t.Fatal(err)
	}
	srv := wire.HTTP(New(services(fake), Options{}).Socket(), nil, nil)
	go srv.Serve(l)
	defer srv.Close()
	c := control.Dial(home)
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	if _, err := c.Pull(ctx, control.PullRequest{ID: "a/b"},
		func(control.Progress) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("pull: %v", err)
	}
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Errorf("the download ended with %v", err)
	}
}
