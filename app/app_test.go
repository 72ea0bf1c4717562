package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
)

// writeModel returns a folder of the given name that holds a random Llama.
func writeModel(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Rename(enginetest.TinyModel(t, "llama"), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// running is an app that serves on a free port.
type running struct {
	*App
	url  string
	stop context.CancelFunc
	done chan error
}

// start opens an app and serves it at addr until the test ends. Without Options.Home it has a
// new home folder.
func start(t *testing.T, o Options, addr string) *running {
	t.Helper()
	if o.Home == "" {
		o.Home = t.TempDir()
	}
	a, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return serving(t, a, ServeOptions{Addr: addr})
}

// serving serves a until the test ends. It returns once a is ready.
func serving(t *testing.T, a *App, o ServeOptions) *running {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r := &running{App: a, stop: stop, done: make(chan error, 1)}
	ready := make(chan struct{})
	go func() {
		o.Ready = func(url, _ string) { r.url = url; close(ready) }
		r.done <- a.Serve(ctx, o)
	}()
	<-ready
	t.Cleanup(func() {
		stop()
		if err := <-r.done; err != nil {
			t.Error(err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// complete posts a completion of at most 4 tokens, and returns the status and the body.
func (r *running) complete(t *testing.T, model, prompt string) (int, string) {
	t.Helper()
	body := fmt.Sprintf(`{"model":%q,"prompt":%q,"max_tokens":4,"temperature":0}`, model, prompt)
	resp, err := http.Post(r.url+"/v1/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// A completion leaves one run in the history, with its token counts. The endpoint answers on
// both loopback families at one port.
func TestCompletionLeavesOneRunWithItsCounts(t *testing.T) {
	r := start(t, Options{Model: writeModel(t, "tiny")}, "127.0.0.1:0")
	status, body := r.complete(t, control.Alias, "abc")
	if status != http.StatusOK || !strings.Contains(body, `"model":"tiny"`) {
		t.Fatalf("status %d: %s", status, body)
	}
	await(t, r.client(t), func(s control.State) bool { return len(s.Active) == 0 })
	runs, err := r.history.Runs(t.Context(), control.RunQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 1 {
		t.Fatalf("len(runs) = %v, want 1", len(runs))
	}
	if runs[0].Model != "tiny" {
		t.Errorf(`runs[0].Model = %q, want "tiny"`, runs[0].Model)
	}
	if runs[0].PromptTokens != 3 {
		t.Errorf("runs[0].PromptTokens = %v, want 3", runs[0].PromptTokens)
	}
	if runs[0].CompletionTokens != 4 {
		t.Errorf("runs[0].CompletionTokens = %v, want 4", runs[0].CompletionTokens)
	}
	if runs[0].FinishReason != "length" {
		t.Errorf(`runs[0].FinishReason = %q, want "length"`, runs[0].FinishReason)
	}
	// IPv4 and IPv6 are served at the same port.
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(r.url, "http://"))
	if probe, err := net.Listen("tcp6", "[::1]:0"); err == nil { // the machine has IPv6
		probe.Close()
		resp, err := http.Get("http://[::1]:" + port + "/health")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
}

// A request names the model that answers it. With load_on_request "replace" a busy model stays,
// and the request gets status 409.
func TestRequestForAnotherModelReplacesOnlyAnIdleOne(t *testing.T) {
	one, two := writeModel(t, "one"), writeModel(t, "two")
	r := start(t, Options{Model: one}, "127.0.0.1:0")
	if status, body := r.complete(t, "two", "a"); status != http.StatusNotFound ||
		!strings.Contains(body, "model_not_found") {
		t.Errorf("a model that is not registered: %d %s", status, body)
	}
	if _, err := r.library.AddModel(t.Context(), control.AddRequest{Path: two}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"one", "two", control.Alias} {
		status, body := r.complete(t, id, "a")
		want := id
		if id == control.Alias {
			want = "one"
		}
		if status != http.StatusOK || !strings.Contains(body, fmt.Sprintf(`"model":%q`, want)) {
			t.Errorf("%s: %d %s", id, status, body)
		}
	}
	if _, err := r.ChangeSettings(t.Context(),
		control.SettingsChange{"load_on_request": []byte(`"replace"`)}); err != nil {
		t.Fatal(err)
	}
	if err := r.pool.Unload(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	held, err := r.pool.Acquire(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	status, body := r.complete(t, "two", "a")
	if status != http.StatusConflict || !strings.Contains(body, "one") ||
		!strings.Contains(body, "two") {
		t.Errorf("two, while one is busy: %d %s", status, body)
	}
	if err := r.pool.Unload(t.Context(), ""); err == nil {
		t.Error("a busy model was unloaded")
	}
	held.Release()
	if err := r.pool.Unload(t.Context(), ""); err != nil {
		t.Error(err)
	}
	if r.State().Loaded != nil {
		t.Error("a model is loaded after all were unloaded")
	}
}

// The model of --model stays the chosen one after a restart without that flag.
func TestChosenModelSurvivesARestart(t *testing.T) {
	home, dir := t.TempDir(), writeModel(t, "kept")
	for _, model := range []string{dir, ""} {
		a, err := Open(t.Context(), Options{Home: home, Model: model})
		if err != nil {
			t.Fatal(err)
		}
		if got := a.State().Choice; got != "kept" {
			t.Errorf("with --model %q the choice is %q, want kept", model, got)
		}
		m, err := a.pool.Acquire(t.Context(), control.Alias)
		if err != nil {
			t.Fatal(err)
		}
		m.Release()
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Open checks the drafter that the command line names, and refuses a damaged one.
func TestOpenRefusesADamagedDrafter(t *testing.T) {
	dir, drafter := writeModel(t, "tiny"), enginetest.TinyDrafter(t, nil)
	if err := os.Truncate(filepath.Join(drafter, "model.safetensors"), 200_000); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Options{Home: t.TempDir(), Model: dir, Drafter: drafter})
	if err == nil || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("a damaged drafter: %v, want that it was cut short", err)
	}
}

// The error of a second Open of a home folder has the pid and the address of the first process.
func TestSecondProcessLearnsPidAndAddressOfTheFirst(t *testing.T) {
	dir := t.TempDir()
	r := start(t, Options{Home: dir, Model: writeModel(t, "tiny")}, "127.0.0.1:0")
	_, err := Open(t.Context(), Options{Home: dir})
	e, ok := errors.AsType[*home.LockedError](err)
	if !ok || !strings.Contains(e.Error(), fmt.Sprint("pid ", os.Getpid())) ||
		!strings.Contains(e.Error(), r.url) {
		t.Errorf("the second Open: %v, want pid %d and address %s", err, os.Getpid(), r.url)
	}
}

// When another program has the port, the control socket is served all the same. The state has no
// address and says who took the port.
func TestControlSocketIsServedWhenThePortIsTaken(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	home := t.TempDir()
	r := start(t, Options{Home: home, Model: writeModel(t, "tiny")}, other.Addr().String())
	if r.url != "" {
		t.Errorf("the endpoint is at %s, and the port is taken", r.url)
	}
	c := control.Dial(home)
	defer c.Close()
	state, err := control.Ask(t.Context(), c, control.GetState)
	if err != nil {
		t.Fatal(err)
	}
	if state.Address != "" || !strings.Contains(state.Error, "is taken by ") {
		t.Errorf("state %+v, want no address and who took the port", state)
	}
}

// AddModel refuses a folder that holds no whole model. The error is model_invalid, and its
// message names the fault.
func TestUnusableModelFolderIsRefusedWithItsFault(t *testing.T) {
	r := start(t, Options{}, "")
	half := writeModel(t, "half")
	if err := os.Remove(filepath.Join(half, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	cut := writeModel(t, "cut")
	if err := os.Truncate(filepath.Join(cut, "model.safetensors"), 5000); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		filepath.Join(half, "nowhere"): "no such folder",
		t.TempDir():                    "config.json",
		half:                           "model.safetensors is missing",
		cut:                            "missing",
	} {
		_, err := r.library.AddModel(t.Context(), control.AddRequest{Path: dir})
		if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeModelInvalid ||
			!strings.Contains(e.Message, want) {
			t.Errorf("folder %s: %v, want %q", dir, err, want)
		}
	}
}

// RemoveModel refuses the built-in model and a model in use. An idle model is unloaded, its
// folder stays, and the choice becomes pocket.
func TestRemovedModelIsUnloadedAndItsFolderStays(t *testing.T) {
	dir := writeModel(t, "gone")
	r := start(t, Options{Model: dir}, "")
	if _, err := r.library.RemoveModel(t.Context(), "pocket"); err == nil {
		t.Error("the built-in model was removed")
	}
	if err := r.pool.Load(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	held, err := r.pool.Acquire(t.Context(), "gone")
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.library.RemoveModel(t.Context(), "gone")
	if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeModelBusy {
		t.Errorf("a model in use was removed: %v", err)
	}
	held.Release()
	if _, err := r.library.RemoveModel(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	if s := r.State(); s.Loaded != nil {
		t.Errorf("a removed model is still in memory: %+v", s.Loaded)
	}
	if _, err := os.Stat(filepath.Join(dir, "config.json")); err != nil {
		t.Error("RemoveModel deleted a folder of the user")
	}
	if got := r.State().Choice; got != "pocket" {
		t.Errorf("the choice is %q, want pocket", got)
	}
}

// After a stop, the request in flight is answered in full.
func TestDrainAnswersTheRequestInFlight(t *testing.T) {
	r := start(t, Options{Model: writeModel(t, "tiny")}, "127.0.0.1:0")
	if err := r.pool.Load(t.Context(), "tiny"); err != nil {
		t.Fatal(err)
	}
	thread := enginetest.Hold(t, r.thread)
	answered := make(chan int, 1)
	go func() {
		status, _ := r.complete(t, control.Alias, "abc")
		answered <- status
	}()
	await(t, r.client(t), func(s control.State) bool { return active(s, 3) != nil })
	r.stop()
	enginetest.Await(t, "the server is draining", func() bool {
		return r.State().Phase == control.PhaseDraining
	})
	thread.Free()
	if status := <-answered; status != http.StatusOK {
		t.Errorf("the request in flight got status %d, want 200", status)
	}
}

// PeakBytes is the most memory since the start. It does not fall when an engine resets the peak
// for a measurement of its own.
func TestPeakMemorySurvivesAReset(t *testing.T) {
	r := start(t, Options{}, "")
	const size = 8 << 20
	if err := r.thread.Do(t.Context(), func(s *mlx.Scope) error {
		if err := s.Eval(s.Zeros(mlx.Float32, size/4)); err != nil {
			return err
		}
		s.ResetPeak()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	before := r.State().PeakBytes
	if err := r.thread.Do(t.Context(),
		func(s *mlx.Scope) error { s.ResetPeak(); return nil }); err != nil {
		t.Fatal(err)
	}
	if after := r.State().PeakBytes; before < size || after < before {
		t.Errorf("the peak was %d bytes before the reset and is %d after it, want at least %d",
			before, after, size)
	}
}
