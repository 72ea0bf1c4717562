package app

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/drafters"
	"tandem/app/model"
	"tandem/engine"
	"tandem/engine/texts"
)

// askAs posts a body with a key, or without one, and returns the answer. It fails unless the answer
// is well.
func (r *running) askAs(t *testing.T, key, path, body string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+path,
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s %v", body, resp.StatusCode, answer, err)
	}
	return answer
}

// asClient begins a streamed completion with a key, as a page that may come back. The caller closes
// the body.
func (r *running) asClient(ctx context.Context, t *testing.T, key string,
	body io.Reader) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/v1/completions", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("X-Tandem-Resumable", "true")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return nil
	}
	return resp
}

// readAnswer returns a function that reads an answer to its end.
func readAnswer(t *testing.T) func(*http.Response, error) {
	return func(resp *http.Response, err error) {
		t.Helper()
		if err == nil {
			defer resp.Body.Close()
			_, err = io.Copy(io.Discard, resp.Body)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// addKey makes a key and returns its secret.
func (r *running) addKey(t *testing.T, name string) string {
	t.Helper()
	k, err := control.Call(t.Context(), r.client(t), control.AddKey, control.KeyRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return k.Secret
}

// answerAround sends a request with a key. Its last part comes after meanwhile has returned.
func (r *running) answerAround(t *testing.T, key string, meanwhile func()) {
	t.Helper()
	from, to := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		resp := r.asClient(t.Context(), t, key, from)
		if resp == nil {
			return
		}
		defer resp.Body.Close()
		if answer, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%d %s %v", resp.StatusCode, answer, err)
		}
	}()
	if _, err := io.WriteString(to, remembering[:1]); err != nil {
		t.Fatal(err)
	}
	await(t, r.client(t), func(s control.State) bool { return len(s.Active) == 1 })
	meanwhile()
	if _, err := io.WriteString(to, remembering[1:]); err != nil {
		t.Error(err)
	}
	to.Close()
	<-done
}

// generate has the model generate a few tokens for an author.
func (r *running) generate(t *testing.T, by model.Author) {
	t.Helper()
	m, err := r.pool.Acquire(t.Context(), control.Alias)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	few := 9
	for _, err := range m.Generate(model.WithAuthor(t.Context(), by),
		engine.Request{Prompt: []int32{1, 2, 3}, MaxTokens: &few}) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// deleteOnlyKey deletes the one key that there is.
func (r *running) deleteOnlyKey(t *testing.T) {
	t.Helper()
	keys, err := control.Ask(t.Context(), r.client(t), control.ListKeys)
	if err != nil || len(keys.Keys) != 1 {
		t.Fatalf("%v, %v", keys, err)
	}
	if _, err := control.Call(t.Context(), r.client(t), control.DeleteKey,
		keys.Keys[0].ID); err != nil {
		t.Fatal(err)
	}
}

const remembering = `{"model":"tandem","prompt":"func sumOfSquares(list []int) int {\n","max_tokens":1000,"temperature":0,"ignore_eos":true,"stream":true}`

// A run that a person resumes in the window stays its client's. A branch of a client's checkpoint is
// not remembered.
func TestResumedRunIsRememberedOfItsClient(t *testing.T) {
	r := start(t, Options{}, "127.0.0.1:0")
	c := r.client(t)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	resp := r.asClient(ctx, t, r.addKey(t, "Ada"), strings.NewReader(remembering))
	if _, err := io.ReadFull(resp.Body, make([]byte, 2000)); err != nil {
		t.Fatal(err)
	}
	leave()
	resp.Body.Close()
	run := number(t, resp.Header.Get("X-Tandem-Run"))
	await(t, c, func(s control.State) bool { return len(s.Active) == 0 })
	if end := r.Run(t, run).FinishReason; end != control.FinishInterrupted {
		t.Fatalf("the run ended with %q", end)
	}
	before := r.remembered(t)
	readAnswer(t)(c.ResumeRun(t.Context(), run))
	after := r.remembered(t)
	if after["Ada"] <= before["Ada"] || len(after) != 1 {
		t.Errorf("%v are remembered, before the run was resumed %v", after, before)
	}
	list, err := control.Call(t.Context(), c, control.ListCheckpoints, control.CheckpointQuery{})
	if err != nil || len(list.Checkpoints) == 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	readAnswer(t)(c.BranchCheckpoint(t.Context(), list.Checkpoints[0].ID,
		map[string]any{"prompt": "\n// go on", "raw": true, "max_tokens": 9}))
	if left := r.remembered(t); left["Ada"] != after["Ada"] || len(left) != 1 {
		t.Errorf("after a branch %v are remembered, before it %v", left, after)
	}
	if _, err := control.Call(t.Context(), c, control.Forget,
		control.ForgetRequest{Client: "Ada"}); err != nil {
		t.Fatal(err)
	}
	if left := r.remembered(t); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// What a request of a deleted key says is not remembered, whether a later key has the name or not. A
// process that ended too early leaves some. The next start removes it.
func TestDeletedKeyIsNotRemembered(t *testing.T) {
	dir := t.TempDir()
	t.Run("in flight", func(t *testing.T) {
		r := start(t, Options{Home: dir}, "127.0.0.1:0")
		key := r.addKey(t, "Ada")
		r.answerAround(t, key, func() {
			all := control.ForgetRequest{Client: "Ada"}
			if _, err := control.Call(t.Context(), r.client(t), control.Forget, all); err != nil {
				t.Error(err)
			}
		})
		if left := r.remembered(t); len(left) > 0 {
			t.Errorf("%v are remembered of a request that was there when its texts were forgotten", left)
		}
		r.answerAround(t, key, func() {
			r.deleteOnlyKey(t)
			r.addKey(t, "Ada")
		})
		r.generate(t, model.Author{Key: 1, Arrived: time.Now()})
		if left := r.remembered(t); len(left) > 0 {
			t.Errorf("%v are remembered of a key that is deleted", left)
		}
	})
	folder := filepath.Join(dir, drafters.TextFolder)
	store := texts.NewStore(texts.Options{Dir: folder})
	for _, client := range []string{"1", "2", ""} { // key 1 is deleted
		use := store.Open(texts.Owner{Client: client},
			texts.Origin{Client: "Ada", Started: time.Now()})
		use.Add(texts.Text{Tokens: []int32{1, 2, 3}})
		use.Close()
	}
	store.Flush()
	r := start(t, Options{Home: dir}, "127.0.0.1:0")
	if left := r.remembered(t); left["Ada"] != 3 || left[""] != 3 {
		t.Errorf("%v are remembered", left)
	}
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != 2 {
		t.Errorf("%d files are left, %v", len(files), err)
	}
}

// A text belongs to the day on which its request arrived, as the run in the history does.
func TestTextBelongsToTheDayOfItsArrival(t *testing.T) {
	r := start(t, Options{}, "127.0.0.1:0")
	arrived := time.Now().AddDate(0, 0, -1)
	r.generate(t, model.Author{Run: 1, Arrived: arrived})
	for _, c := range []struct {
		day  time.Time
		some bool
	}{{time.Now(), false}, {arrived, true}} {
		tokens, _, err := r.pool.Texts.Forget(control.ForgetRequest{Day: c.day.Format(time.DateOnly)})
		if err != nil || (tokens > 0) != c.some {
			t.Errorf("of %v %d tokens are forgotten, %v", c.day, tokens, err)
		}
	}
}
