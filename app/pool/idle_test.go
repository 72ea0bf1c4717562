package pool

import (
	"net/http"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/eviction"
)

// An idle model is unloaded after the minutes in the settings, unless it is kept. The next request
// loads it again.
func TestIdleModelIsUnloadedAfterTheMinutesSet(t *testing.T) {
	r := start(t, setup{Model: writeModel(t, "tiny")})
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	idle := eviction.IdleTimes{}
	pass := func(d time.Duration) {
		for end := now.Add(d); now.Before(end); {
			now = now.Add(eviction.IdleStep)
			r.pool.unloadIfIdle(t.Context(), idle, now)
		}
	}
	complete := func() {
		t.Helper()
		if status, body := r.complete(t, control.Alias, "abc"); status != http.StatusOK {
			t.Fatal(status, body)
		}
	}
	set := func(minutes string) {
		t.Helper()
		if _, err := r.ChangeSettings(t.Context(),
			control.SettingsChange{"idle_unload_minutes": []byte(minutes)}); err != nil {
			t.Fatal(err)
		}
	}
	there := func(want bool, when string) {
		t.Helper()
		if got := r.State().Loaded != nil; got != want {
			t.Fatalf("%s: the model is in memory: %t", when, got)
		}
	}
	complete()
	before := r.thread.Memory().Active
	pass(24 * time.Hour)
	there(true, "with no limit set")
	set("5")
	clear(idle)
	pass(4 * time.Minute)
	there(true, "after four minutes")
	complete()
	pass(4 * time.Minute)
	there(true, "four minutes after another request")
	now = now.Add(time.Hour) // the machine slept
	r.pool.unloadIfIdle(t.Context(), idle, now)
	there(true, "after an hour of sleep")
	pass(2 * time.Minute)
	there(false, "after six minutes")
	if after := r.thread.Memory().Active; after >= before {
		t.Errorf("%d bytes are in use without the model, %d with it", after, before)
	}
	complete()
	there(true, "after another request")
	if _, err := r.pool.SetModelSettings(t.Context(),
		control.ModelSettings{Model: "tiny", KeepLoaded: true}); err != nil {
		t.Fatal(err)
	}
	pass(time.Hour)
	there(true, "kept")
	m, err := r.pool.acquire(t.Context(), "tiny", 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.pool.SetModelSettings(t.Context(),
		control.ModelSettings{Model: "tiny"}); err != nil {
		t.Fatal(err)
	}
	pass(time.Hour)
	there(true, "in use")
	m.Release()
	pass(time.Hour)
	there(false, "no longer in use")
}
