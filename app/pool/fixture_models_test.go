package pool

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/engine"
	"tandem/models"
)

// startWithRoom starts a pool with memory for that number of tiny models with whole contexts. The
// first name is the choice.
func startWithRoom(t *testing.T, room float64, names ...string) *running {
	t.Helper()
	var dirs []string
	for _, name := range names {
		dirs = append(dirs, writeModel(t, name))
	}
	f := measured(t, dirs[0])
	each := f.Weights(true) + f.SequenceBytes(4096, true)
	leaves := new(atomic.Pointer[departure])
	r := start(t, setup{Model: dirs[0], NoCheckpoints: true,
		Memory: 2<<30 + int64(room*float64(each)),
		Logger: slog.New(departureLog{slog.DiscardHandler, leaves})})
	r.leaves = leaves
	for _, dir := range dirs[1:] {
		if _, err := r.library.AddModel(t.Context(), control.AddRequest{Path: dir}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// wantAnswers asks models for a completion, one after the other.
func (r *running) wantAnswers(t *testing.T, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if status, body := r.complete(t, id, "abc"); status != http.StatusOK {
			t.Fatalf("%s: %d %s", id, status, body)
		}
	}
}

// wantRefused asks a model for a completion. It expects a refusal with 409, the code and all words.
func (r *running) wantRefused(t *testing.T, id string, code control.Code, words ...string) {
	t.Helper()
	status, body := r.complete(t, id, "abc")
	var got struct {
		Error struct {
			Message string
			Code    control.Code
		}
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusConflict ||
		got.Error.Code != code {
		t.Fatalf("%s: %d %s", id, status, body)
	}
	for _, word := range words {
		if !strings.Contains(got.Error.Message, word) {
			t.Errorf("%s is refused without a word of %q: %s", id, word, got.Error.Message)
		}
	}
}

// wantInMemory compares the names of the models in memory, in alphabetical order.
func (r *running) wantInMemory(t *testing.T, when, want string) {
	t.Helper()
	var ids []string
	for _, l := range r.State().InMemory {
		ids = append(ids, l.ID)
	}
	slices.Sort(ids)
	if got := strings.Join(ids, " "); got != want {
		t.Fatalf("%s: the models in memory are %q, want %q", when, got, want)
	}
}

// setIdle makes models look unused for some time.
func (r *running) setIdle(idle time.Duration, ids ...string) {
	for _, id := range ids {
		u := find(r.pool.look().models, id).users
		u.mu.Lock()
		u.used = time.Now().Add(-idle)
		u.mu.Unlock()
	}
}

// acquire holds a model until its Release.
func (r *running) acquire(t *testing.T, id string) model.Model {
	t.Helper()
	m, err := r.pool.Acquire(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (r *running) setLoadOnRequest(t *testing.T, value control.LoadOnRequest) {
	t.Helper()
	if _, err := r.ChangeSettings(t.Context(),
		control.SettingsChange{"load_on_request": fmt.Appendf(nil, "%q", value)}); err != nil {
		t.Fatal(err)
	}
}

func (r *running) keep(t *testing.T, id string, keep bool) {
	t.Helper()
	if _, err := r.pool.SetModelSettings(t.Context(),
		control.ModelSettings{Model: id, KeepLoaded: keep}); err != nil {
		t.Fatal(err)
	}
}

// A turnstile looks for stop texts and finds none. At one look it holds up the generation until it
// is opened. It does not hold up the thread.
type turnstile struct {
	at, n         int // the look at which it holds up, from 1; the looks so far
	arrived, open chan struct{}
}

func newTurnstile(at int) *turnstile {
	return &turnstile{at: at, arrived: make(chan struct{}), open: make(chan struct{})}
}

func (s *turnstile) stop(string) string {
	if s.n++; s.n == s.at {
		close(s.arrived)
		<-s.open
	}
	return ""
}

// generate collects the tokens of an answer that a turnstile holds up.
func (s *turnstile) generate(ctx context.Context, m model.Model) (ids []int32, err error) {
	for tok, err := range m.Generate(ctx, engine.Request{
		Prompt: []int32{1, 2, 3}, MaxTokens: new(12), IgnoreEOS: true,
		Speculation: engine.Speculation{Drafter: engine.None},
		Stopper:     func() func(string) string { return s.stop },
	}) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, tok.ID)
	}
	return ids, nil
}

// measureDrafter opens a drafter and measures it.
func measureDrafter(source string) (models.Footprint, error) {
	f, err := models.OpenDrafter(source)
	if err != nil {
		return models.Footprint{}, err
	}
	return f.Drafter()
}
