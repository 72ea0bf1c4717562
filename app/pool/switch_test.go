package pool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tandem/app/control"
)

// A loadLog records which models were loaded, and how they write.
type loadLog struct {
	slog.Handler
	mu       sync.Mutex
	loads    []string // by id
	dialects []string // the id and the dialect
}

func (l *loadLog) Handle(ctx context.Context, r slog.Record) error {
	if r.Message != "model loaded" {
		return nil
	}
	told := map[string]string{}
	r.Attrs(func(a slog.Attr) bool { told[a.Key] = a.Value.String(); return true })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loads = append(l.loads, told["model"])
	l.dialects = append(l.dialects, told["model"]+" "+told["dialect"])
	return nil
}

func (l *loadLog) Enabled(context.Context, slog.Level) bool { return true }

// Ten switches happen while clients ask the model tandem without a pause. No request fails, and
// each switch loads one model, once.
func TestNoRequestFailsDuringSwitches(t *testing.T) {
	log := &loadLog{Handler: slog.DiscardHandler}
	r := start(t, setup{Model: writeModel(t, "one"), Logger: slog.New(log)})
	if _, err := r.library.AddModel(t.Context(),
		control.AddRequest{Path: writeModel(t, "two")}); err != nil {
		t.Fatal(err)
	}
	if err := r.pool.Load(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	var answered, mixed atomic.Int64
	var stop atomic.Bool
	var clients sync.WaitGroup
	for range 3 {
		clients.Go(func() {
			for !stop.Load() {
				status, body := r.complete(t, control.Alias, "a")
				if status != http.StatusOK {
					t.Errorf("%d %s", status, body)
					return
				}
				answered.Add(1)
				if strings.Contains(body, `"model":"two"`) {
					mixed.Add(1)
				}
			}
		})
	}
	want := []string{"one"}
	for i := range 10 {
		before := answered.Load()
		for answered.Load() < before+3 {
			if t.Failed() {
				stop.Store(true)
				clients.Wait()
				return
			}
		}
		id := []string{"two", "one"}[i%2]
		want = append(want, id)
		if err := r.pool.Load(t.Context(), id); err != nil {
			t.Error(err)
		}
		if st := r.State(); st.Choice != id || st.Loaded == nil || st.Loaded.ID != id {
			t.Errorf("chosen %s, state %+v", id, st)
		}
	}
	stop.Store(true)
	clients.Wait()
	if fmt.Sprint(log.loads) != fmt.Sprint(want) {
		t.Errorf("loaded %v, want %v", log.loads, want)
	}
	if mixed.Load() == 0 {
		t.Error("no request was answered by the other model")
	}
}

// If a model cannot be loaded, the one in memory stays or comes back.
func TestFailedSwitchLeavesTheChoice(t *testing.T) {
	r := start(t, setup{Model: writeModel(t, "one")})
	for _, id := range []string{"gone", "damaged"} {
		dir := writeModel(t, id)
		if _, err := r.library.AddModel(t.Context(), control.AddRequest{Path: dir}); err != nil {
			t.Fatal(err)
		}
		if id == "gone" {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte("{}"),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.pool.Load(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"gone", "damaged"} {
		err := r.pool.Load(t.Context(), id)
		if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeModelInvalid {
			t.Errorf("%s: %v", id, err)
		}
		if st := r.State(); st.Choice != "one" || st.Loaded == nil || st.Loaded.ID != "one" ||
			st.Error != "" {
			t.Errorf("%s: state %+v", id, st)
		}
		if status, body := r.complete(t, control.Alias, "a"); status != http.StatusOK {
			t.Errorf("%s: %d %s", id, status, body)
		}
	}
}

// The state shows a model that is loaded again after a failed load.
func TestStateShowsTheModelThatComesBack(t *testing.T) {
	r := startWithRoom(t, 2.5, "one", "two")
	r.wantAnswers(t, "one", "two")
	r.onOwner(t, func(o *owner) {
		unloaded := []*Model{find(o.models, "two")}
		o.announce("three")
		o.reserved = unloaded[0].needs
		o.remove(unloaded)
		if err := closeAll(unloaded); err != nil {
			t.Error(err)
			return
		}
		o.restore(unloaded)
		if seen := r.State().Loading; seen.ID != "two" || seen.Done == 0 {
			t.Errorf("the state shows %+v", seen)
		}
		if o.reserved != unloaded[0].needs {
			t.Errorf("the reserved memory is %+v, want %+v", o.reserved, unloaded[0].needs)
		}
	})
	r.wantInMemory(t, "in the end", "one two")
}

// A client that leaves while a switch waits for requests changes nothing.
func TestClientThatLeavesASwitchChangesNothing(t *testing.T) {
	r := start(t, setup{Model: writeModel(t, "one")})
	if _, err := r.library.AddModel(t.Context(),
		control.AddRequest{Path: writeModel(t, "two")}); err != nil {
		t.Fatal(err)
	}
	held, err := r.pool.Acquire(t.Context(), control.Alias)
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.pool.Load(ctx, "two") }()
	for r.State().Loading == nil {
	}
	leave()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the switch ended with %v", err)
	}
	if st := r.State(); st.Choice != "one" || st.Loaded == nil || st.Loading != nil {
		t.Errorf("state %+v", st)
	}
	held.Release()
	if err := r.pool.Load(t.Context(), "two"); err != nil {
		t.Error(err)
	}
}
