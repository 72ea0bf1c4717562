package pool

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/engine/enginetest"
	"tandem/storage"
)

// renew makes the row of a model stand for another revision.
func (r *running) renew(t *testing.T, id string) {
	t.Helper()
	row, err := r.db.Models.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	row.Source, row.Revision = storage.SourceHub, "another"
	if _, err := r.db.Models.Register(t.Context(), row); err != nil {
		t.Fatal(err)
	}
}

// A model whose row stands for other files does not answer from the old ones.
func TestRenewedModelDoesNotAnswerFromOldFiles(t *testing.T) {
	r := start(t, setup{Model: writeModel(t, "tiny")})
	old := r.acquire(t, "tiny")
	r.renew(t, "tiny")
	_, err := r.pool.Acquire(t.Context(), "tiny")
	if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeModelBusy ||
		!strings.Contains(e.Message, "has changed") {
		t.Errorf("while it is in use: %v", err)
	}
	old.Release()
	m := r.acquire(t, "tiny")
	defer m.Release()
	if m == old {
		t.Error("the earlier revision answers")
	}
}

// A renewed model in memory is loaded again in its own place, even where requests load no other
// model.
func TestRenewedModelTakesItsOwnPlaceUnderLoadNever(t *testing.T) {
	r := startWithRoom(t, 10, "one", "two")
	r.wantAnswers(t, "one", "two")
	r.setLoadOnRequest(t, control.LoadNever)
	r.renew(t, "two")
	r.wantAnswers(t, "two")
	r.wantInMemory(t, "in the end", "one two")
}

// A row may change while a request for its model waits. The request gets what the row is then.
func TestRowThatChangedWhileWaitingLoadsNothing(t *testing.T) {
	r := startWithRoom(t, 10, "one", "two")
	// while calls change on the owner's goroutine, after a request for two has begun to wait for it.
	while := func(change func()) (m *Model, err error) {
		begun, done := make(chan struct{}), make(chan struct{})
		go func() {
			<-begun
			m, err = r.pool.acquire(t.Context(), "two", 1)
			close(done)
		}()
		r.onOwner(t, func(*owner) {
			close(begun)
			time.Sleep(20 * time.Millisecond) // if it is not enough, the request sees the new row at first
			change()
		})
		<-done
		return m, err
	}
	m, err := while(func() { r.renew(t, "two") })
	if err != nil {
		t.Fatal(err)
	}
	if m.row.Revision != "another" {
		t.Errorf("the revision %q was loaded", m.row.Revision)
	}
	m.Release()
	if err := r.pool.Unload(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	_, err = while(func() {
		if err := r.db.Models.Remove(t.Context(), "two"); err != nil {
			t.Error(err)
		}
	})
	if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeModelNotFound {
		t.Errorf("a request for the removed model: %v", err)
	}
	err = r.pool.Load(t.Context(), "two")
	if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeModelNotFound {
		t.Errorf("a switch to the removed model: %v", err)
	}
	r.wantInMemory(t, "in the end", "")
	r.wantAnswers(t, "one")
}

// Settings count for a model if they were made during its load.
func TestSettingsMadeDuringALoadCount(t *testing.T) {
	r := startWithRoom(t, 10, "one", "two")
	row, err := r.db.Models.Get(t.Context(), "two")
	if err != nil {
		t.Fatal(err)
	}
	var m *Model
	r.onOwner(t, func(o *owner) {
		if m, err = o.pool.open(row, format{}, 0, o.announce("two")); err == nil {
			r.keep(t, "two", true)
			o.add(m)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !m.modelSettings().KeepLoaded {
		t.Error("the settings count only from the next load on")
	}
}

// Settings count for a model if they were made during the load of its drafter.
func TestSettingsMadeDuringAChangeOfDrafterCount(t *testing.T) {
	r := start(t, setup{Model: tinyModel(t, "qwen3", "tiny"), NoCheckpoints: true})
	r.wantAnswers(t, "tiny")
	thread, done := enginetest.Hold(t, r.thread), make(chan error, 1)
	go func() {
		_, err := r.pool.Drafter(t.Context(),
			control.DrafterRequest{Model: "tiny", Drafter: enginetest.TinyModel(t, "llama")})
		done <- err
	}()
	enginetest.Await(t, "the drafter is loading", func() bool { return r.State().Loading != nil })
	r.keep(t, "tiny", true)
	thread.Free()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if m := r.pool.look().model(); !m.modelSettings().KeepLoaded || m.drafter == nil {
		t.Errorf("kept: %t, with a drafter: %t", m.modelSettings().KeepLoaded, m.drafter != nil)
	}
}

// Choosing a model whose weights on disk have changed loads them.
func TestChoosingAModelLoadsItsChangedWeights(t *testing.T) {
	dir := writeModel(t, "tiny")
	r := start(t, setup{Model: dir})
	load := func() *Model {
		t.Helper()
		if err := r.pool.Load(t.Context(), "tiny"); err != nil {
			t.Fatal(err)
		}
		return r.pool.look().model()
	}
	old := load()
	if load() != old {
		t.Error("the unchanged model was loaded again")
	}
	if err := os.Chtimes(filepath.Join(dir, "model.safetensors"), time.Time{},
		time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	changed := load()
	if changed == old {
		t.Error("the changed model was not loaded again")
	}
	if load() != changed {
		t.Error("the changed model was loaded twice")
	}
}

// A model may still answer beside the choice when its weights change. That answer ends first.
func TestChangedWeightsWaitForTheLastAnswer(t *testing.T) {
	r := startWithRoom(t, 10, "one", "two")
	r.wantAnswers(t, "one")
	row, err := r.db.Models.Get(t.Context(), "two")
	if err != nil {
		t.Fatal(err)
	}
	old, err := r.pool.acquire(t.Context(), "two", 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(row.Path, "model.safetensors"), time.Time{},
		time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- r.pool.Load(t.Context(), "two") }()
	enginetest.Await(t, "the old model leaves", func() bool {
		return old.users.now().closed || len(done) > 0
	})
	old.Release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	v := r.pool.look()
	if m := find(v.models, "two"); m == nil || m == old || v.current != "two" {
		t.Errorf("the choice is %s, loaded again: %t", v.current, m != old)
	}
}
