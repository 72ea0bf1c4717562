package pool

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/eviction"
	"tandem/engine/enginetest"
)

// A model is loaded and answers in the midst of another model's answer. That answer ends as it does
// alone.
func TestModelAnswersWhileAnotherIsInTheMidstOfAnAnswer(t *testing.T) {
	r := startWithRoom(t, 2.5, "one", "two")
	one := r.acquire(t, "one")
	defer one.Release()
	alone := newTurnstile(0)
	want, err := alone.generate(t.Context(), one)
	if err != nil || len(want) != 12 {
		t.Fatalf("%v, %v", want, err)
	}
	var got []int32
	held := newTurnstile(5)
	var answer sync.WaitGroup
	answer.Go(func() { got, err = held.generate(t.Context(), one) })
	<-held.arrived
	r.wantAnswers(t, "two", "two")
	st := r.State()
	first, second := st.Resident("one"), st.Resident("two")
	if first == nil {
		t.Fatal("first is nil")
	}
	if second == nil {
		t.Fatal("second is nil")
	}
	if !first.InUse {
		t.Error("first.InUse = false, want true")
	}
	if second.InUse {
		t.Error("second.InUse = true, want false")
	}
	if st.Loaded.ID != "one" {
		t.Errorf(`st.Loaded.ID = %q, want "one"`, st.Loaded.ID)
	}
	if st.Phase != control.PhaseReady {
		t.Errorf("st.Phase = %v, want %v", st.Phase, control.PhaseReady)
	}
	if first.Bytes <= 0 {
		t.Errorf("first.Bytes = %v, want more than 0", first.Bytes)
	}
	if first.Needs <= first.Bytes {
		t.Errorf("first.Needs = %v, want more than %v", first.Needs, first.Bytes)
	}
	close(held.open)
	answer.Wait()
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("beside another %v, %v; alone %v", got, err, want)
	}
	var clients sync.WaitGroup
	for i := range 12 {
		clients.Go(func() {
			id := []string{"one", "two", control.Alias}[i%3]
			if status, body := r.complete(t, id, "abc"); status != http.StatusOK {
				t.Errorf("%s: %d %s", id, status, body)
			}
		})
	}
	clients.Wait()
}

// With memory for two, a third model takes the place of the least valuable one. The choice, a model
// in use and a kept model stay. Then the request is refused with names and figures.
func TestThirdModelTakesThePlaceOfTheLeastValuable(t *testing.T) {
	r := startWithRoom(t, 2.5, "one", "two", "three")
	r.wantAnswers(t, "two", "one", "two")
	r.wantInMemory(t, "both", "one two")
	r.setIdle(time.Hour, "one")
	r.wantAnswers(t, "three")
	r.wantInMemory(t, "after a third", "one three")
	r.wantAnswers(t, control.Alias, "one", "three")
	m := r.acquire(t, "three")
	r.wantRefused(t, "two", control.CodeNotLoaded, "two needs 0 GiB",
		"one (0 GiB, the current model)", "three (0 GiB, answering requests)",
		"context of 4,096 tokens", "only 0 GiB of the 0 GiB for models are left")
	r.wantInMemory(t, "after a refusal", "one three")
	m.Release()
	r.keep(t, "three", true)
	r.wantRefused(t, "two", control.CodeNotLoaded, "three (0 GiB, set to stay)")
	r.keep(t, "three", false)
	r.wantAnswers(t, "two")
	r.wantInMemory(t, "no longer kept", "one two")
	if err := r.pool.Load(t.Context(), "three"); err != nil {
		t.Fatal(err)
	}
	r.wantInMemory(t, "after a switch", "three two")
	r.wantAnswers(t, control.Alias, "two")
	if err := r.pool.Load(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	r.wantInMemory(t, "after a switch to one in memory", "three two")
	if st := r.State(); st.Choice != "two" || st.Loaded.ID != "two" {
		t.Errorf("the choice is %s, loaded %+v", st.Choice, st.Loaded)
	}
}

// A former choice that is set to stay in memory stays as long as there is memory.
func TestSwitchKeepsAKeptModelWhileThereIsMemory(t *testing.T) {
	r := startWithRoom(t, 2.5, "one", "two", "three")
	r.wantAnswers(t, "one")
	r.keep(t, "one", true)
	if err := r.pool.Load(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	r.wantInMemory(t, "chosen two", "one two")
	r.keep(t, "two", true)
	if err := r.pool.Load(t.Context(), "three"); err != nil {
		t.Fatal(err)
	}
	if st := r.State(); len(st.InMemory) != 2 || st.Resident("three") == nil {
		t.Errorf("chosen three, in memory %+v", st.InMemory)
	}
}

// A request for the choice waits until a model in its way has answered. Meanwhile that model gets
// no new request.
func TestChoiceWaitsForModelsInItsWay(t *testing.T) {
	r := startWithRoom(t, 1.5, "one", "two")
	held := r.acquire(t, "two")
	r.wantInMemory(t, "at first", "two")
	answered := make(chan error, 1)
	go func() {
		if status, body := r.complete(t, control.Alias, "abc"); status != http.StatusOK ||
			!strings.Contains(body, `"model":"one"`) {
			answered <- fmt.Errorf("%d %s", status, body)
		}
		close(answered)
	}()
	enginetest.Await(t, "the model takes no new request", func() bool {
		return find(r.pool.look().models, "two").users.now().closed
	})
	ctx, stop := context.WithCancel(t.Context())
	late := make(chan error, 1)
	go func() {
		_, err := r.pool.Acquire(ctx, "two")
		late <- err
	}()
	stop()
	if err := <-late; !errors.Is(err, context.Canceled) {
		t.Errorf("a request for the model that leaves gets %v", err)
	}
	select {
	case err := <-answered:
		t.Fatalf("the choice did not wait: %v", err)
	default:
	}
	held.Release()
	if err := <-answered; err != nil {
		t.Error(err)
	}
	r.wantInMemory(t, "in the end", "one")
	r.wantRefused(t, "two", control.CodeNotLoaded, "one")
}

// The setting decides what a request for another model does.
func TestLoadOnRequestDecidesHowARequestLoads(t *testing.T) {
	r := startWithRoom(t, 10, "one", "two")
	r.setLoadOnRequest(t, control.LoadNever)
	r.wantRefused(t, "two", control.CodeNotLoaded, "two is not loaded", "the current one, one",
		"load_on_request is never")
	r.wantAnswers(t, "one", control.Alias)
	r.wantInMemory(t, "never", "one")
	row, err := r.db.Models.Get(t.Context(), "two")
	if err != nil {
		t.Fatal(err)
	}
	away := row.Path + ".away"
	if err := os.Rename(row.Path, away); err != nil {
		t.Fatal(err)
	}
	r.wantRefused(t, "two", control.CodeNotLoaded, "load_on_request is never") // its files are not read
	if err := os.Rename(away, row.Path); err != nil {
		t.Fatal(err)
	}
	r.setLoadOnRequest(t, control.LoadBeside)
	r.wantAnswers(t, "two")
	r.wantInMemory(t, "beside", "one two")
	r.setLoadOnRequest(t, control.LoadNever)
	r.wantAnswers(t, "two") // is in memory already
	if err := r.pool.Unload(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	r.wantInMemory(t, "unloaded", "")
	r.wantAnswers(t, control.Alias)
	r.setLoadOnRequest(t, control.LoadReplace)
	r.wantAnswers(t, "two")
	r.wantInMemory(t, "replaced", "two")
	r.wantAnswers(t, control.Alias)
	r.wantInMemory(t, "replaced again", "one")
	held := r.acquire(t, "one")
	r.wantRefused(t, "two", control.CodeModelBusy, "one is answering requests",
		"two cannot take its place")
	held.Release()
	if _, err := r.ChangeSettings(t.Context(),
		control.SettingsChange{"load_on_request": []byte(`"always"`)}); err == nil ||
		!strings.Contains(err.Error(), "beside, replace or never") {
		t.Errorf("an unknown value: %v", err)
	}
}

// A client asks one model for vectors and another for answers, in turns. Each model is loaded once.
func TestEmbeddingsAndChatInTurnsLoadEachModelOnce(t *testing.T) {
	r := start(t, setup{Model: writeModel(t, "talker")})
	if _, err := r.library.AddModel(t.Context(),
		control.AddRequest{Path: enginetest.TinyEmbedder(t), ID: "embedder"}); err != nil {
		t.Fatal(err)
	}
	r.embedded(t, `"input":"abc"`)
	r.wantAnswers(t, control.Alias)
	before := r.pool.look().models
	for range 3 {
		r.embedded(t, `"input":"abc"`)
		r.wantAnswers(t, control.Alias)
	}
	if after := r.pool.look().models; len(before) != 2 || !slices.Equal(before, after) {
		t.Errorf("the %d models in memory became %d, or other ones", len(before), len(after))
	}
}

// Of two models the idle one is unloaded, and comes back with the next request.
func TestIdleModelOfTwoIsUnloaded(t *testing.T) {
	r := startWithRoom(t, 2.5, "one", "two")
	if _, err := r.ChangeSettings(t.Context(),
		control.SettingsChange{"idle_unload_minutes": []byte("5")}); err != nil {
		t.Fatal(err)
	}
	now, idle := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), eviction.IdleTimes{}
	pass := func(d time.Duration) {
		for end := now.Add(d); now.Before(end); {
			now = now.Add(eviction.IdleStep)
			r.pool.unloadIfIdle(t.Context(), idle, now)
		}
	}
	r.wantAnswers(t, "one", "two")
	pass(4 * time.Minute)
	r.wantAnswers(t, "two")
	pass(2 * time.Minute)
	r.wantInMemory(t, "one idle", "two")
	r.wantAnswers(t, "one")
	r.keep(t, "two", true)
	pass(time.Hour)
	r.wantInMemory(t, "one kept", "two")
	if len(idle) != 1 {
		t.Errorf("idle times are kept for %d models", len(idle))
	}
}

// Each model can be unloaded by its name or the alias, unless it is in use. Without a name all are
// unloaded, or none.
func TestUnloadByNameAliasOrAll(t *testing.T) {
	r := startWithRoom(t, 3.5, "one", "two", "three")
	r.wantAnswers(t, "one", "two", "three")
	c := r.client(t)
	unload := func(id string, want control.Code) {
		t.Helper()
		_, err := control.Call(t.Context(), c, control.UnloadModel, control.UnloadRequest{Model: id})
		if e, _ := errors.AsType[*control.Error](err); err == nil != (want == "") || e != nil &&
			e.Code != want {
			t.Errorf("unload %q: %v", id, err)
		}
	}
	unload("two", "")
	r.wantInMemory(t, "without two", "one three")
	unload("two", "")
	unload("four", control.CodeModelNotFound)
	held := r.acquire(t, "three")
	unload("three", control.CodeModelBusy)
	unload("", control.CodeModelBusy)
	r.wantInMemory(t, "one is in use", "one three")
	unload(control.Alias, "")
	r.wantInMemory(t, "without the choice", "three")
	if st := r.State(); st.Loaded == nil || st.Loaded.ID != "three" ||
		st.Phase != control.PhaseReady {
		t.Errorf("state %+v", st)
	}
	held.Release()
	unload("", "")
	r.wantInMemory(t, "in the end", "")
	if active := r.thread.Memory().Active; active != 0 {
		t.Errorf("%d bytes are left in MLX", active)
	}
}
