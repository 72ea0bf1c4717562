package app

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tandem/app/control"
	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/enginetest"
)

// longModel writes a model with a context of 65,536 tokens that does not end by itself. Tests that
// step the MLX thread use it with NoCheckpoints: a checkpoint takes steps too, and no state shows
// them.
func longModel(t *testing.T) string {
	t.Helper()
	dir := writeModel(t, "long")
	path := filepath.Join(dir, "config.json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	config := map[string]any{}
	if err := json.Unmarshal(b, &config); err != nil {
		t.Fatal(err)
	}
	config["max_position_embeddings"], config["eos_token_id"] = 1<<16, 1000
	if b, err = json.Marshal(config); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// post starts a streamed completion of a prompt with the given number of tokens.
func (r *running) post(
	t *testing.T, ctx context.Context, prompt, maxTokens int,
) (*http.Response, error) {
	t.Helper()
	body := fmt.Sprintf(`{"model":"tandem","prompt":%q,"max_tokens":%d,"ignore_eos":true,"temperature":0,"stream":true}`,
		strings.Repeat("a", prompt), maxTokens)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/v1/completions",
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	return http.DefaultClient.Do(req)
}

// client returns a client of the control socket that is closed with the test.
func (r *running) client(t *testing.T) *control.Client {
	c := control.Dial(r.home.Dir)
	t.Cleanup(c.Close)
	return c
}

// await asks for the state until ok accepts it, and returns it.
func await(t *testing.T, c *control.Client, ok func(control.State) bool) (s control.State) {
	t.Helper()
	enginetest.Await(t, "the state", func() bool {
		var err error
		if s, err = control.Ask(t.Context(), c, control.GetState); err != nil {
			t.Fatal(err)
		}
		return ok(s)
	})
	return s
}

// active returns the request in flight whose prompt has the given number of tokens, or nil.
func active(s control.State, prompt int) *control.Active {
	for i := range s.Active {
		if s.Active[i].PromptTokens == prompt {
			return &s.Active[i]
		}
	}
	return nil
}

// A short request gets its first token within three chunks of the long prompt that is being read.
// The engine gets the MLX thread job by job, so that chunks are counted and not timed.
func TestShortRequestIsAnsweredDuringALongPrompt(t *testing.T) {
	const long, short = 8192, 5
	r := start(t, Options{Model: longModel(t), NoCheckpoints: true}, "127.0.0.1:0")
	c := r.client(t)
	if _, err := control.Call(t.Context(), c, control.LoadModel,
		control.LoadRequest{Model: "long"}); err != nil {
		t.Fatal(err)
	}
	thread := enginetest.Hold(t, r.thread)
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	defer func() {
		cancel()
		thread.Free()
		clients.Wait()
	}()
	send := func(prompt int) {
		clients.Go(func() {
			resp, err := r.post(t, ctx, prompt, 8)
			if err == nil {
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	send(long)
	s := await(t, c, func(s control.State) bool { return active(s, long) != nil })
	// advance gives the engine one job, which may be a part of a chunk, and reads the state after it.
	advance := func() {
		thread.Step()
		s = await(t, c, func(control.State) bool { return true })
	}
	a := active(s, long)
	for ; a != nil && a.PromptDone < 2*cache.MaxChunk; a = active(s, long) {
		advance()
	}
	if a == nil {
		t.Fatal("the long prompt's request is gone")
	}
	// The engine waits for the thread now, so the short request has to queue.
	send(short)
	s = await(t, c, func(s control.State) bool { return s.Loaded.Queued == 1 })
	before := active(s, long).PromptDone
	for a := active(s, short); a != nil && a.CompletionTokens == 0; a = active(s, short) {
		advance()
	}
	a = active(s, long)
	if a == nil || a.PromptDone >= long {
		t.Fatal("the long prompt was read to its end first")
	}
	if chunks := (a.PromptDone - before) / cache.MaxChunk; chunks > 3 {
		t.Errorf("the first token came after %d chunks of the long prompt, want 3 at most", chunks)
	} else {
		t.Logf("the first token came after %d chunks of the long prompt", chunks)
	}
}

// A client that closes its connection stops its run, both while the prompt is read and after.
func TestClosedConnectionStopsTheRun(t *testing.T) {
	r := start(t, Options{Model: longModel(t), NoCheckpoints: true}, "127.0.0.1:0")
	c := r.client(t)
	for i, prompt := range []int{8192, 3} {
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			resp, err := r.post(t, ctx, prompt, 60000-prompt)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			left <- err
		}()
		await(t, c, func(s control.State) bool {
			a := active(s, prompt)
			return a != nil && (a.PromptDone > 0 || a.CompletionTokens > 0)
		})
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("the answer ended with %v, want %v", err, context.Canceled)
		}
		await(t, c, func(s control.State) bool { return len(s.Active) == 0 })
		runs, err := control.Call(t.Context(), c, control.ListRuns, control.RunQuery{})
		if err != nil {
			t.Fatal(err)
		}
		if len(runs.Runs) != i+1 || runs.Runs[0].FinishReason != control.FinishCancel ||
			runs.Runs[0].EndedAt.IsZero() || runs.Runs[0].CompletionTokens >= 60000-prompt {
			t.Errorf("the runs are %+v, want %d, the last one cancelled", runs, i+1)
		}
	}
	if status, body := r.complete(t, control.Alias, "abc"); status != http.StatusOK {
		t.Errorf("a completion after both: %d %s", status, body)
	}
}

// A run that is cancelled over the control socket ends as at its token limit. Its client gets the
// tokens so far and finish_reason "length". The second cancel fails with run_not_found.
func TestCancelledRunEndsAsAtItsLimit(t *testing.T) {
	r := start(t, Options{Model: longModel(t), NoCheckpoints: true}, "127.0.0.1:0")
	c := r.client(t)
	resp, err := r.post(t, t.Context(), 3, 60000)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	s := await(t, c, func(s control.State) bool {
		a := active(s, 3)
		return a != nil && a.CompletionTokens > 0
	})
	id := s.Active[0].RunID
	if _, err := control.Call(t.Context(), c, control.CancelRun,
		control.CancelRequest{Run: fmt.Sprint(id)}); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(text), `"finish_reason":"length"`) ||
		!strings.HasSuffix(string(text), "data: [DONE]\n\n") {
		t.Errorf("the stream ends with %q, %v", text[max(0, len(text)-300):], err)
	}
	await(t, c, func(s control.State) bool { return len(s.Active) == 0 })
	runs, err := control.Call(t.Context(), c, control.ListRuns, control.RunQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if len(runs.Runs) != 1 {
		t.Fatalf("len(runs) = %v, want 1", len(runs.Runs))
	}
	if runs.Runs[0].ID != id {
		t.Errorf("runs[0].ID = %v, want %v", runs.Runs[0].ID, id)
	}
	if runs.Runs[0].FinishReason != control.FinishCancel {
		t.Errorf("runs[0].FinishReason = %v, want %v",
			runs.Runs[0].FinishReason, control.FinishCancel)
	}
	if runs.Runs[0].CompletionTokens == 0 {
		t.Error("runs[0].CompletionTokens is 0")
	}
	_, err = control.Call(t.Context(), c, control.CancelRun, control.CancelRequest{Run: fmt.Sprint(id)})
	if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeRunNotFound {
		t.Errorf("the second cancel: %v, want %s", err, control.CodeRunNotFound)
	}
}

// The state, the health, the metrics, the page and the list of models are answered while the MLX
// thread is busy. This holds during a load and during a generation.
func TestStateIsAnsweredWhileTheMLXThreadIsBusy(t *testing.T) {
	home := t.TempDir()
	a, err := Open(t.Context(), Options{Home: home, Model: longModel(t), NoCheckpoints: true})
	if err != nil {
		t.Fatal(err)
	}
	thread := enginetest.Hold(t, a.thread)
	r := serving(t, a, ServeOptions{Addr: "127.0.0.1:0", Preload: true})
	c := r.client(t)
	get := func(path string) int {
		resp, err := http.Get(r.url + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	await(t, c, func(s control.State) bool {
		return s.Phase == control.PhaseLoading && s.Loading != nil && s.Loading.ID == "long"
	})
	for path, want := range map[string]int{"/health": 503, "/v1/models": 200, "/metrics": 200,
		"/": 200} {
		if status := get(path); status != want {
			t.Errorf("%s during the load: status %d, want %d", path, status, want)
		}
	}
	thread.Free()
	await(t, c, func(s control.State) bool { return s.Phase == control.PhaseReady })

	thread = enginetest.Hold(t, a.thread)
	ctx, leave := context.WithCancel(t.Context())
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if resp, err := r.post(t, ctx, 3, 1000); err == nil {
			bufio.NewReader(resp.Body).ReadString(0)
			resp.Body.Close()
		}
	}()
	await(t, c, func(s control.State) bool { return active(s, 3) != nil })
	for path, want := range map[string]int{"/health": 200, "/v1/models": 200, "/metrics": 200,
		"/": 200} {
		if status := get(path); status != want {
			t.Errorf("%s during the generation: status %d, want %d", path, status, want)
		}
	}
	thread.Free()
	leave()
	<-answered
}

// A stop does not wait for a load. A request that waits for the model gets 503.
func TestStopDoesNotWaitForALoad(t *testing.T) {
	a, err := Open(t.Context(), Options{Home: t.TempDir(), Model: writeModel(t, "tiny")})
	if err != nil {
		t.Fatal(err)
	}
	thread := enginetest.Hold(t, a.thread)
	r := serving(t, a, ServeOptions{Addr: "127.0.0.1:0", Preload: true})
	c := r.client(t)
	await(t, c, func(s control.State) bool { return s.Phase == control.PhaseLoading })
	answered := make(chan int, 1)
	go func() {
		status, _ := r.complete(t, control.Alias, "abc")
		answered <- status
	}()
	await(t, c, func(s control.State) bool { return len(s.Active) == 1 })
	r.stop()
	if status := <-answered; status != http.StatusServiceUnavailable {
		t.Errorf("the request that waited got status %d, want 503", status)
	}
	thread.Free()
}

// Many callers load, unload, use and remove models at once. A call may fail only because another
// call uses the model or has removed it. At the end no user and no byte of MLX is left.
func TestModelsChangeUnderManyCallers(t *testing.T) {
	r := start(t, Options{Model: writeModel(t, "one")}, "")
	for _, id := range []string{"two", "three"} {
		if _, err := r.library.AddModel(t.Context(),
			control.AddRequest{Path: writeModel(t, id)}); err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	allowed := func(err error) {
		e, ok := errors.AsType[*control.Error](err)
		if err != nil && !(ok && (e.Code == control.CodeModelBusy ||
			e.Code == control.CodeModelNotFound)) {
			t.Error(err)
		}
	}
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for k := range 6 {
				switch id := []string{"one", "two"}[k%2]; (i + k) % 4 {
				case 0:
					allowed(r.pool.Load(ctx, id))
				case 1:
					allowed(r.pool.Unload(ctx, ""))
				case 2:
					m, err := r.pool.Acquire(ctx, id)
					if allowed(err); err != nil {
						continue
					}
					if m.ID() != id {
						t.Errorf("the pool gave %s, want %s", m.ID(), id)
					}
					for _, err := range m.Generate(ctx,
						engine.Request{Prompt: []int32{1, 2}, MaxTokens: new(2)}) {
						if err != nil {
							t.Error(err)
						}
					}
					m.Release()
				case 3:
					if s := r.State(); s.Loading != nil && s.Resident(s.Loading.ID) != nil {
						t.Errorf("%s is in memory and is being loaded: %+v", s.Loading.ID, s)
					}
					_, err := r.library.RemoveModel(ctx, "three")
					allowed(err)
				}
			}
		})
	}
	callers.Wait()
	m, err := r.pool.Acquire(ctx, "two")
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
	if n := r.pool.Users(); n != 0 {
		t.Errorf("the pool has %d users, want 0", n)
	}
	if err := r.pool.Unload(ctx, ""); err != nil {
		t.Error(err)
	}
	if active := r.thread.Memory().Active; active != 0 {
		t.Errorf("MLX has %d bytes, want 0", active)
	}
}

// A model whose file was cut after it was added is refused with model_invalid. The model in memory
// stays and answers.
func TestDamagedModelIsRefusedAndTheLoadedOneStays(t *testing.T) {
	bad := writeModel(t, "bad")
	r := start(t, Options{Model: writeModel(t, "good")}, "127.0.0.1:0")
	if _, err := r.library.AddModel(t.Context(), control.AddRequest{Path: bad}); err != nil {
		t.Fatal(err)
	}
	if err := r.pool.Load(t.Context(), "good"); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(bad, "model.safetensors"), 5000); err != nil {
		t.Fatal(err)
	}
	if status, body := r.complete(t, "bad", "a"); status != http.StatusUnprocessableEntity ||
		!strings.Contains(body, "model_invalid") {
		t.Errorf("the damaged model: %d %s", status, body)
	}
	if s := r.State(); s.Phase != control.PhaseReady || s.Loaded == nil || s.Loaded.ID != "good" {
		t.Errorf("the state is %+v, want good loaded and ready", s)
	}
	if status, body := r.complete(t, "good", "a"); status != http.StatusOK {
		t.Errorf("the loaded model: %d %s", status, body)
	}
}
