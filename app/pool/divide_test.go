package pool

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/eviction"
	"tandem/engine"
	"tandem/engine/enginetest"
	"tandem/engine/texts"
	"tandem/models"
)

// Checkpoints take no memory that loaded models need. The models may have been loaded under a
// smaller budget of checkpoints.
func TestCheckpointsTakeNothingThatModelsNeed(t *testing.T) {
	r := start(t, setup{Model: writeModel(t, "one")})
	r.wantAnswers(t, "one")
	check := func(beside int64, off bool) {
		t.Helper()
		r.onOwner(t, func(*owner) { // the shares are divided at the end of a change
			r.pool.opts.Memory = 2<<30 + texts.MaxBytes + r.pool.look().model().needs.Bytes() + beside
		})
		_, body := r.complete(t, "one", "abc")
		var got struct {
			Timings struct {
				MissReason string `json:"miss_reason"`
			}
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil ||
			got.Timings.MissReason == "checkpoints are off" != off {
			t.Errorf("with %d bytes beside the model: %v, %s", beside, err, body)
		}
	}
	check(1<<30, false)
	check(0, true)
	check(1<<30, false)
}

// setRoom sets the memory for models, in bytes.
func (r *running) setRoom(t *testing.T, room int64) {
	t.Helper()
	r.onOwner(t, func(*owner) { r.pool.opts.Memory = 2<<30 + room })
}

// onOwner calls f on the owner's goroutine.
func (r *running) onOwner(t *testing.T, f func(*owner)) {
	t.Helper()
	if err := r.pool.change(t.Context(), func(o *owner) error { f(o); return nil }); err != nil {
		t.Fatal(err)
	}
}

// A drafter that does not fit beside the models in memory is refused, and nothing is changed.
func TestDrafterWithoutMemoryIsRefused(t *testing.T) {
	r := start(t, setup{Model: tinyModel(t, "qwen3", "tiny"), NoCheckpoints: true})
	r.wantAnswers(t, "tiny")
	dir, m := enginetest.TinyModel(t, "llama"), r.pool.look().model()
	size, err := r.pool.measure(m.row, dir, m.formatSetting)
	if err != nil {
		t.Fatal(err)
	}
	set := func(room int64, drafter string) error {
		r.setRoom(t, room)
		_, err := r.pool.Drafter(t.Context(),
			control.DrafterRequest{Model: "tiny", Drafter: drafter})
		return err
	}
	need := total(size.Bytes(4096))
	err = set(need-1, dir)
	if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeMemory ||
		!strings.Contains(e.Message, "With that drafter tiny needs 0 GiB") {
		t.Errorf("with a byte too little: %v", err)
	}
	d, err := r.pool.Drafter(t.Context(), control.DrafterRequest{Model: "tiny"})
	if err != nil || d.Choice != control.DrafterAuto || d.Kind != "" || r.pool.look().model() != m {
		t.Errorf("after a refusal %+v, %v", d, err)
	}
	r.wantAnswers(t, "tiny")
	if err := set(need, dir); err != nil || r.pool.look().model().needs.Bytes() != need {
		t.Errorf("with room for it: %v", err)
	}
	if err := set(0, control.DrafterNone); err != nil || r.pool.look().model().needs.Bytes() >= need {
		t.Errorf("no drafter, which needs no memory: %v", err)
	}
}

// A drafter that auto finds and that does not fit is no error. The model continues without it, and
// says why.
func TestModelGoesOnWithoutAnAutoDrafterThatDoesNotFit(t *testing.T) {
	model := tinyModel(t, "qwen3", "tiny")
	dir := filepath.Join(model, "drafter")
	if err := os.CopyFS(dir, os.DirFS(enginetest.TinyModel(t, "llama"))); err != nil {
		t.Fatal(err)
	}
	r := start(t, setup{Model: model, NoCheckpoints: true})
	set := func(drafter string) control.Drafter {
		t.Helper()
		d, err := r.pool.Drafter(t.Context(),
			control.DrafterRequest{Model: "tiny", Drafter: drafter})
		if err != nil || d.Choice != drafter {
			t.Fatalf("%s: %+v, %v", drafter, d, err)
		}
		return d
	}
	set(control.DrafterNone)
	r.wantAnswers(t, "tiny")
	size, err := r.pool.measure(r.pool.look().model().row, dir, formatSetting{dtype: models.DtypeAuto})
	if err != nil {
		t.Fatal(err)
	}
	need := total(size.Bytes(4096))
	r.setRoom(t, need-1)
	if d := set(control.DrafterAuto); d.Kind != "" ||
		!strings.Contains(d.Reason, "With that drafter tiny needs") {
		t.Errorf("with a byte too little: %+v", d)
	}
	if got := r.pool.look().model().needs.Bytes(); got >= need {
		t.Errorf("the model needs %d bytes, with the drafter %d", got, need)
	}
	r.wantAnswers(t, "tiny")
	r.setRoom(t, need)
	if d := set(control.DrafterAuto); d.Kind == "" || d.Reason != "" {
		t.Errorf("with room for it: %+v", d)
	}
	r.wantAnswers(t, "tiny")
}

// The choice comes back with the same context as alone. An idle model leaves for it, unless it fits
// beside the choice. A model in use stays.
func TestChoiceComesBackWithItsWholeContext(t *testing.T) {
	long, small := longModel(t), writeModel(t, "two")
	f := measured(t, long)
	g := measured(t, small)
	r := start(t, setup{Model: long, NoCheckpoints: true})
	if _, err := r.library.AddModel(t.Context(), control.AddRequest{Path: small}); err != nil {
		t.Fatal(err)
	}
	row, err := r.db.Models.Get(t.Context(), "long")
	if err != nil {
		t.Fatal(err)
	}
	two := g.Weights(true) + g.SequenceBytes(4096, true)
	for _, c := range []struct {
		name  string
		room  int64
		held  bool
		there string
		whole bool // its context is as long as alone
	}{
		{"the idle one goes", f.Weights(true) + f.SequenceBytes(1<<16, true) + two/2, false, "long", true},
		{"one in use stays", f.Weights(true) + f.SequenceBytes(1<<16, true) + two/2, true, "long two", false},
		{"both fit", f.Weights(true) + f.SequenceBytes(1<<16, true) + two, false, "long two", true},
		{"its context is cut so that another fits beside it", f.Weights(true) + f.SequenceBytes(60<<10, true), false, "long two", true},
	} {
		r.setRoom(t, c.room)
		alone, _, err := r.pool.need(t.Context(), row)
		if err != nil {
			t.Fatal(err)
		}
		r.wantAnswers(t, "two")
		held := r.acquire(t, "two")
		if !c.held {
			held.Release()
		}
		r.wantAnswers(t, control.Alias)
		r.wantInMemory(t, c.name, c.there)
		if got := r.State().Loaded.ContextLength; got == alone.Context != c.whole ||
			got < 32<<10 {
			t.Errorf("%s: a context of %d, alone %d", c.name, got, alone.Context)
		}
		if c.held {
			held.Release()
		}
		if err := r.pool.Unload(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
}

// A load waits for a limited time for texts in its way, and the texts continue. The choice waits
// for their end.
func TestOnlyTheChoiceWaitsForTextsWithoutLimit(t *testing.T) {
	r, leave := startCrowded(t)
	r.onOwner(t, func(*owner) { r.pool.patience = time.Millisecond })
	r.wantRefused(t, "two", control.CodeModelBusy,
		"The memory that two needs is taken by requests that long is answering")
	r.wantInMemory(t, "after a refusal", "long")
	r.keep(t, "long", true) // otherwise long leaves
	chosen := make(chan error, 1)
	go func() { chosen <- r.pool.Load(t.Context(), "two") }()
	select {
	case err := <-chosen:
		t.Fatalf("the switch did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	leave[0]()
	if err := <-chosen; err != nil {
		t.Error(err)
	}
	r.wantInMemory(t, "in the end", "long two")
}

// While a small model is loaded in place of a larger one, the memory of the larger one stays
// reserved. The larger one may have to come back.
func TestMemoryOfAnEvictedModelIsKeptDuringTheLoad(t *testing.T) {
	long := longModel(t)
	f := measured(t, long)
	r := start(t, setup{Model: long, NoCheckpoints: true, Memory: 2<<30 +
		(f.Weights(true)+f.SequenceBytes(1<<16, true))*3/2})
	for _, name := range []string{"two", "three"} {
		if _, err := r.library.AddModel(t.Context(),
			control.AddRequest{Path: writeModel(t, name)}); err != nil {
			t.Fatal(err)
		}
	}
	r.wantAnswers(t, "long", "two")
	row, err := r.db.Models.Get(t.Context(), "three")
	if err != nil {
		t.Fatal(err)
	}
	r.onOwner(t, func(o *owner) {
		old, two := find(o.models, "long"), find(o.models, "two")
		_, size, err := o.sizeOf(t.Context(), row)
		if err != nil {
			t.Error(err)
			return
		}
		w := want(row, size)
		w.Current, w.Replaces = true, "long"
		need, unloaded, err := o.planLoad(w)
		if err == nil {
			err = o.makeRoom(t.Context(), w, need, unloaded)
		}
		if err != nil || !slices.Equal(unloaded, []*Model{old}) ||
			!slices.Equal(o.models, []*Model{two}) {
			t.Errorf("unloaded %v, %v", unloaded, err)
			return
		}
		if got := o.state().Shares(o.reserved)[0].Sequences; two.needs.Weights+got+old.needs.Bytes() > r.pool.Room() {
			t.Errorf("two has room for %d bytes of texts, and long needs %d of %d",
				got, old.needs.Bytes(), r.pool.Room())
		}
	})
}

// startCrowded starts a pool whose chosen model, long, answers two requests without an end. They
// take the memory that the registered model two needs. Each function in leave ends one of them.
func startCrowded(t *testing.T) (r *running, leave [2]context.CancelFunc) {
	t.Helper()
	long, small := longModel(t), writeModel(t, "two")
	f := measured(t, long)
	g := measured(t, small)
	text := f.SequenceBytes(1<<16, true)
	r = start(t, setup{Model: long, NoCheckpoints: true, Memory: 2<<30 + f.Weights(true) + 2*text +
		f.SequenceBytes(eviction.ShortRequest, true) + (g.Weights(true)+g.SequenceBytes(4096, true))/2})
	if _, err := r.library.AddModel(t.Context(), control.AddRequest{Path: small}); err != nil {
		t.Fatal(err)
	}
	m := r.acquire(t, "long")
	var answers sync.WaitGroup
	for i := range leave {
		ctx, cancel := context.WithCancel(t.Context())
		leave[i] = cancel
		begun := make(chan struct{})
		answers.Go(func() {
			n := 0
			for _, err := range m.Generate(ctx,
				engine.Request{Prompt: []int32{1, 2, 3}, IgnoreEOS: true,
					Speculation: engine.Speculation{Drafter: engine.None}}) {
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				if n++; n == 1 {
					close(begun)
				}
			}
		})
		<-begun
	}
	t.Cleanup(func() {
		for _, end := range leave {
			end()
		}
		answers.Wait()
		m.Release()
	})
	return r, leave
}

// A model may accept texts beyond a whole context. They end before another model is loaded into
// their memory.
func TestLoadWaitsForTextsBeyondAWholeContext(t *testing.T) {
	r, leave := startCrowded(t)
	var ended atomic.Bool
	came := make(chan bool)
	go func() {
		if status, body := r.complete(t, "two", "abc"); status != http.StatusOK {
			t.Errorf("%d %s", status, body)
		}
		came <- ended.Load()
	}()
	enginetest.Await(t, "a load waits for memory", func() bool { return r.State().Loading != nil })
	ended.Store(true)
	leave[0]()
	if !<-came {
		t.Error("the model was loaded while two texts had its memory")
	}
	r.wantInMemory(t, "in the end", "long two")
}
