package pool

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/eviction"
	"tandem/app/home"
	"tandem/engine/enginetest"
	"tandem/models"
)

// startShort starts a pool with the pocket model as the choice and a tiny model that is idle, both in
// memory. Checkpoints may shrink to nothing.
func startShort(t *testing.T) *running {
	t.Helper()
	r := start(t, setup{})
	r.pool.minCheckpoints = 1
	if _, err := r.library.AddModel(t.Context(),
		control.AddRequest{Path: writeModel(t, "idle")}); err != nil {
		t.Fatal(err)
	}
	r.sayLong(t)
	r.wantAnswers(t, "idle")
	return r
}

// sayLong asks the choice about a text that is long enough for checkpoints.
func (r *running) sayLong(t *testing.T) completed {
	t.Helper()
	return r.ask(t, map[string]any{"max_tokens": 80, "ignore_eos": true, "temperature": 0,
		"prompt": strings.Repeat("func main() { fmt.Println(1) }\n", 9)}, false)
}

// until waits until the state is as it should be.
func (r *running) until(t *testing.T, what string, as func(control.State) bool) {
	t.Helper()
	enginetest.Await(t, what, func() bool { return as(r.State()) })
}

// A shortage frees the idle model first, then checkpoints. The answer in progress is what it is
// alone, and so is the next one.
func TestShortageFreesIdleModelsThenCheckpoints(t *testing.T) {
	r := startShort(t)
	long := r.sayLong(t)
	m := r.acquire(t, control.Alias)
	want, err := newTurnstile(0).generate(t.Context(), m)
	if err != nil || len(want) != 12 {
		t.Fatalf("%v, %v", want, err)
	}
	levels := make(chan home.Pressure)
	ctx, end := context.WithCancel(t.Context())
	var following, answer sync.WaitGroup
	defer following.Wait()
	defer end()
	following.Go(func() {
		r.pool.FollowPressure(ctx, func(ctx context.Context, say func(home.Pressure)) error {
			for {
				select {
				case level := <-levels:
					say(level)
				case <-ctx.Done():
					return nil
				}
			}
		})
	})
	var got []int32
	held := newTurnstile(5)
	answer.Go(func() { got, err = held.generate(t.Context(), m) })
	<-held.arrived
	r.setIdle(2*time.Minute, "idle")
	began := time.Now().Add(-time.Second)
	levels <- home.PressureWarning
	r.until(t, "a warning", func(st control.State) bool {
		return st.Pressure != nil && len(st.Pressure.Unloaded) == 1
	})
	r.wantInMemory(t, "at a warning", models.PocketID)
	p := r.State().Pressure
	if p.Level != control.PressureWarning {
		t.Errorf("at a warning: p.Level = %v, want %v", p.Level, control.PressureWarning)
	}
	if p.Unloaded[0] != "idle" {
		t.Errorf(`at a warning: p.Unloaded[0] = %q, want "idle"`, p.Unloaded[0])
	}
	if p.Since.Before(began) {
		t.Errorf("at a warning: p.Since = %v, want no earlier than %v", p.Since, began)
	}
	if p.CheckpointBytes != 0 {
		t.Errorf("at a warning: p.CheckpointBytes = %v, want 0", p.CheckpointBytes)
	}
	if !strings.Contains(p.Text, "Tandem unloaded idle") {
		t.Errorf(`at a warning: p.Text = %q, want it to have "Tandem unloaded idle"`,
			p.Text)
	}
	levels <- home.PressureCritical
	r.until(t, "a critical level", func(st control.State) bool {
		return st.Pressure.Level == control.PressureCritical
	})
	close(held.open)
	r.until(t, "checkpoints", func(st control.State) bool { return st.Pressure.CheckpointBytes > 0 })
	answer.Wait()
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("in a shortage %v, %v; alone %v", got, err, want)
	}
	r.wantInMemory(t, "at a critical level", models.PocketID)
	m.Release()
	r.sayLong(t).wantSame(t, "after checkpoints left the memory", long)
	m = r.acquire(t, control.Alias)
	defer m.Release()
	if got, err = newTurnstile(0).generate(t.Context(), m); err != nil || !slices.Equal(got, want) {
		t.Errorf("after checkpoints left the memory %v, %v; before %v", got, err, want)
	}
}

// Levels that come and go do not load and unload models in turns. A model that left is loaded by a
// request alone, and then stays for a while. The words end with the shortage, and checkpoints get
// their memory back.
func TestLevelsThatComeAndGoAreOneShortage(t *testing.T) {
	r := startShort(t)
	now, s := time.Now(), &relief{Pool: r.pool}
	at := func(after time.Duration, level home.Pressure) {
		now = now.Add(after)
		s.relieve(t.Context(), level, now)
	}
	budget := func() (bytes int64) {
		r.onOwner(t, func(o *owner) { bytes, _ = o.state().CheckpointBudget(eviction.Need{}) })
		return bytes
	}
	whole := budget()
	at(0, home.PressureNormal)
	if r.State().Pressure != nil {
		t.Error("a normal level is a shortage")
	}
	at(0, home.PressureWarning)
	r.wantInMemory(t, "used a moment ago", "idle pocket")
	if got := budget(); got != whole/2 {
		t.Errorf("checkpoints may take %d bytes, want %d", got, whole/2)
	}
	at(time.Second, home.PressureWarning) // no step is due
	if got := budget(); got != whole/2 {
		t.Errorf("a second later checkpoints may take %d bytes, want %d", got, whole/2)
	}
	since := r.State().Pressure.Since
	at(5*time.Second, home.PressureNormal)
	at(time.Minute, home.PressureWarning) // the level was never looked at as calm for long enough
	if st := r.State().Pressure; !st.Since.Equal(since) || !slices.Equal(st.Unloaded,
		[]string{"idle"}) {
		t.Errorf("a minute later %+v", st)
	}
	r.wantAnswers(t, "idle")
	for range 9 {
		at(10*time.Second, home.PressureWarning)
	}
	at(0, home.PressureCritical)
	r.wantInMemory(t, "it has come back", "idle")
	if st := r.State().Pressure; !slices.Equal(st.Unloaded, []string{"idle", models.PocketID}) {
		t.Errorf("at a critical level %+v", st)
	}
	at(5*time.Minute, home.PressureCritical)
	r.wantInMemory(t, "later", "")
	at(time.Second, home.PressureNormal)
	at(29*time.Second, home.PressureNormal)
	if r.State().Pressure == nil {
		t.Error("the shortage ends too soon")
	}
	at(time.Second, home.PressureNormal)
	if st := r.State(); st.Pressure != nil || len(st.InMemory) != 0 {
		t.Errorf("after the end: %+v, %+v", st.Pressure, st.InMemory)
	}
	if status, body := r.complete(t, control.Alias, "abc"); status != http.StatusOK {
		t.Fatal(status, body)
	}
	if got := budget(); got < whole {
		t.Errorf("after the end checkpoints may take %d bytes, before %d", got, whole)
	}
}

// Kept models and models that requests use stay at every level. The choice stays at a warning, until
// a person seems to have gone.
func TestShortageLeavesWhatIsKeptOrUsed(t *testing.T) {
	r := startWithRoom(t, 4.5, "one", "two", "three")
	r.wantAnswers(t, "one", "two", "three")
	r.keep(t, "two", true)
	now, s := time.Now(), &relief{Pool: r.pool}
	at := func(after time.Duration, level home.Pressure) {
		now = now.Add(after)
		s.relieve(t.Context(), level, now)
	}
	held := r.acquire(t, "three")
	at(5*time.Minute, home.PressureWarning)
	r.wantInMemory(t, "at a warning", "one three two")
	if text := r.State().Pressure.Text; !strings.Contains(text, "nothing idle to free") {
		t.Errorf("with nothing to free: %q", text)
	}
	at(5*time.Minute, home.PressureWarning)
	r.wantInMemory(t, "after ten minutes", "three two")
	at(time.Minute, home.PressureCritical)
	r.wantInMemory(t, "at a critical level", "three two")
	held.Release()
	at(time.Minute, home.PressureCritical)
	r.wantInMemory(t, "in the end", "two")
}

// While checkpoints are on their way to the disk, a shortage takes none from the memory, and no other
// change waits for that.
func TestShortageWaitsForTheDiskWithoutAChange(t *testing.T) {
	r := startShort(t)
	waited := 0
	limit := func() (bytes int64) {
		r.onOwner(t, func(o *owner) { bytes = o.checkpointLimit })
		return bytes
	}
	s := &relief{Pool: r.pool}
	s.shortage.Look(eviction.LevelCritical, time.Now())
	s.shrinkCheckpoints(t.Context(), func(context.Context) {
		waited++
		if limit := limit(); limit != 0 { // a change that waited for the disk would keep the owner
			t.Errorf("before the disk has them the limit is %d", limit)
		}
	})
	if waited != 1 || limit() != 1 {
		t.Errorf("it waited %d times, and the limit is %d", waited, limit())
	}
	// Nothing is left to take, so nothing waits.
	if s.shrinkCheckpoints(t.Context(), func(context.Context) { waited++ }); waited != 1 {
		t.Errorf("it waited with nothing to take from the memory")
	}
}
