package pool

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/eviction"
	"tandem/engine/enginetest"
	"tandem/engine/texts"
	"tandem/models"
	"tandem/storage"
	"tandem/storage/disk"
)

const gib = 1 << 30

// total is what a model takes with a context.
func total(weights, cache int64) int64 { return weights + cache }

// What a model takes counts its drafter, in the types that both compute in.
func TestNeedCountsTheDrafter(t *testing.T) {
	f := measured(t, enginetest.TinyModel(t, "llama"))
	stored := models.Footprint{Floats: 2_000_000, Elements: 1_000_000} // it computes in float32
	for _, drafter := range []models.Footprint{{}, f, stored} {
		m := loadable{Footprint: f, drafter: drafter, format: format{wide: true}}
		weights, text := m.Bytes(4096)
		if want := f.Weights(true) + drafter.Weights(true); weights != want {
			t.Errorf("the weights take %d bytes, want %d", weights, want)
		}
		if want := f.SequenceBytes(4096, true) + drafter.SequenceBytes(4096, true); text != want {
			t.Errorf("the context takes %d bytes, want %d", text, want)
		}
	}
}

// Models get no memory of the budgets of checkpoints and remembered texts.
func TestMemoryOfCheckpointsIsNotForModels(t *testing.T) {
	a := open(t, setup{Memory: 16 * gib})
	check := func(what string, want int64) {
		t.Helper()
		if m, err := a.pool.Memory(t.Context()); err != nil || m.Total != 16*gib ||
			m.Room != want || a.State().MemoryRoom != want {
			t.Errorf("%s: %+v, %v, and %d; want room for %d",
				what, m, err, a.State().MemoryRoom, want)
		}
	}
	check("an eighth for checkpoints, and the texts", 10*gib-texts.MaxBytes)
	if _, err := a.ChangeSettings(t.Context(),
		control.SettingsChange{"checkpoint_memory": json.RawMessage("1073741824")}); err != nil {
		t.Fatal(err)
	}
	check("1 GiB for checkpoints, and the texts", 11*gib-texts.MaxBytes)
	a.pool.opts.NoCheckpoints = true
	check("neither", 12*gib)
}

// measured returns the footprint of a model.
func measured(t *testing.T, dir string) models.Footprint {
	t.Helper()
	s, err := models.Inspect(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s.Footprint
}

// Requests in flight may take all memory beside the weights, and a whole context at least.
func TestRequestsHaveWhatTheWeightsLeave(t *testing.T) {
	dir := longModel(t)
	f := measured(t, dir)
	a := open(t, setup{NoCheckpoints: true})
	m := &Model{pool: a.pool, row: storage.Model{ID: "long", Path: dir}, context: 5 * 1024}
	whole := f.SequenceBytes(5*1024, true)
	for _, c := range []struct{ left, want int64 }{{3 * whole, 3 * whole}, {whole / 2, whole}} {
		a.pool.opts.Memory = 2<<30 + f.Weights(true) + c.left
		text, needs := m.sequenceMemory(nil)
		s := eviction.State{Limits: a.pool.limits(), Models: []eviction.Model{{Need: needs}}}
		room := s.Shares(eviction.Need{})[0].Sequences
		if room != c.want || text(5*1024) != whole || text(1024) != f.SequenceBytes(1024, true) {
			t.Errorf("with %d bytes beside the weights: room for %d, want %d; a context takes %d, want %d",
				c.left, room, c.want, text(5*1024), whole)
		}
	}
}

// A model that does not fit is refused with the figures, and the model in memory stays. The pocket
// model is served on every machine.
func TestModelThatDoesNotFitIsRefusedWithFigures(t *testing.T) {
	small, large := writeModel(t, "small"), writeModel(t, "large")
	r := start(t, setup{Model: small})
	if _, err := r.library.AddModel(t.Context(), control.AddRequest{Path: large}); err != nil {
		t.Fatal(err)
	}
	if status, body := r.complete(t, "small", "abc"); status != 200 {
		t.Fatal(status, body)
	}
	r.setRoom(t, 1<<10) // too little for any model
	err := r.pool.Load(t.Context(), "large")
	e, ok := errors.AsType[*control.Error](err)
	if !ok {
		t.Fatalf("err = %v", err)
	}
	if e.Code != control.CodeMemory {
		t.Errorf("e.Code = %v, want %v", e.Code, control.CodeMemory)
	}
	if !strings.Contains(e.Message, "large needs 0 GiB") {
		t.Errorf(`e.Message = %q, want it to have "large needs 0 GiB"`, e.Message)
	}
	if !strings.Contains(e.Message, "4,096 tokens") {
		t.Errorf(`e.Message = %q, want it to have "4,096 tokens"`, e.Message)
	}
	if !strings.Contains(e.Message,
		"models may take only 0 GiB of this machine's 2 GiB, beside 0.3 GiB for checkpoints and 0.1 GiB for remembered texts") {
		t.Errorf("e.Message = %q, want it to tell the room", e.Message)
	}
	if !strings.Contains(e.Message, "Choose a smaller model") {
		t.Errorf(`e.Message = %q, want it to have "Choose a smaller model"`, e.Message)
	}
	if status, body := r.complete(t, "large", "abc"); status != 507 ||
		!strings.Contains(body, `"code":"memory_short"`) {
		t.Errorf("a request for it gets %d %s", status, body)
	}
	if st := r.State(); st.Loaded == nil || st.Loaded.ID != "small" || st.Choice != "small" {
		t.Errorf("the loaded model did not stay: %+v", st.Loaded)
	}
	if err := r.pool.Load(t.Context(), "pocket"); err != nil {
		t.Errorf("the pocket model: %v", err)
	}
}

// A context that does not fit beside a short text is cut, unless it was asked for.
func TestContextIsCutToTheMemory(t *testing.T) {
	dir := longModel(t)
	f := measured(t, dir)
	most := f.Weights(true) + f.SequenceBytes(5*1024, true) + f.SequenceBytes(eviction.ShortRequest, true)
	// an eighth of the memory is for checkpoints, and a quarter is less than 2 GB
	memory := (most + texts.MaxBytes + 2<<30 + 8) / 7 * 8
	r := start(t, setup{Model: dir, Memory: memory})
	if status, body := r.complete(t, control.Alias, "abc"); status != 200 {
		t.Fatal(status, body)
	}
	if got := r.State().Loaded.ContextLength; got != 5*1024 {
		t.Errorf("the context is %d of %d, want %d", got, f.ContextLength, 5*1024)
	}
	asking := start(t, setup{Model: dir, Memory: memory, ContextLength: 10 * 1024})
	if status, body := asking.complete(t, control.Alias, "abc"); status != 507 ||
		!strings.Contains(body,
			"Give it a shorter context, or choose a smaller model, or give checkpoints less memory (checkpoint_memory).") {
		t.Errorf("a context that does not fit: %d %s", status, body)
	}
}

// A registered model that cannot be loaded is told with the reason, in place of its needs.
func TestMemoryTellsWhatCannotBeLoaded(t *testing.T) {
	dir := enginetest.TinyModel(t, "llama")
	r := open(t, setup{Model: dir})
	if err := errors.Join(os.Remove(filepath.Join(dir, "config.json")),
		syscall.Mkfifo(filepath.Join(dir, "config.json"), 0o600)); err != nil {
		t.Fatal(err)
	}
	m, err := r.pool.Memory(t.Context())
	if err != nil || len(m.Models) != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	for _, n := range m.Models {
		if n.ID == models.PocketID {
			if n.Why != "" || n.Needs.Bytes == 0 {
				t.Errorf("%+v", n)
			}
		} else if !strings.Contains(n.Why, "config.json is a named pipe") || n.Needs.Bytes != 0 {
			t.Errorf("%+v", n)
		}
	}
}

// A model whose folder does not answer costs its own requests one wait. Other models are loaded
// after it, and it can be removed.
func TestSilentFolderHoldsUpNoOtherModel(t *testing.T) {
	silent, dir := enginetest.SilentFolder(t), enginetest.TinyModel(t, "llama")
	link := filepath.Join(t.TempDir(), "model")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	r := open(t, setup{})
	away, err := r.library.AddModel(t.Context(), control.AddRequest{Path: link, ID: "away"})
	if err != nil {
		t.Fatal(err)
	}
	near, err := r.library.AddModel(t.Context(), control.AddRequest{
		Path: enginetest.TinyModel(t, "qwen3"), ID: "near"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(link), os.Symlink(silent, link)); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			if m, err := r.pool.Acquire(t.Context(), away.ID); err == nil ||
				!strings.Contains(err.Error(), "does not answer") {
				t.Errorf("the model is %v, %v", m, err)
			}
		})
	}
	asking.Go(func() {
		m, err := r.pool.Acquire(t.Context(), near.ID)
		if err != nil {
			t.Error(err)
			return
		}
		m.Release()
	})
	asking.Wait()
	if d := time.Since(start); d > 2*disk.Patience {
		t.Errorf("it took %v", d)
	}
	start = time.Now()
	if _, err := r.pool.Memory(t.Context()); err != nil {
		t.Error(err)
	}
	if d := time.Since(start); d > disk.Patience {
		t.Errorf("the list took %v", d)
	}
}

// With the layout full a drafter that is a model keeps every row too, and is counted so.
func TestDrafterWithEveryRowIsCounted(t *testing.T) {
	drafter := tinyModel(t, "gemma3_text", "smaller")
	d := measured(t, drafter)
	needs := map[string]int64{}
	const context = 4096
	for _, layout := range []string{control.KVRing, control.KVFull} {
		r := open(t, setup{Model: longModel(t), KVLayout: layout, ContextLength: context,
			NoCheckpoints: true})
		if _, err := r.pool.Drafter(t.Context(), control.DrafterRequest{Model: control.Alias,
			Drafter: drafter}); err != nil {
			t.Fatal(err)
		}
		if err := r.pool.Load(t.Context(), "long"); err != nil {
			t.Fatal(err)
		}
		l := r.pool.look().model().Describe()
		if needs[layout] = l.Needs; l.Drafter == "" {
			t.Errorf("%s: no drafter: %s", layout, l.NoDrafter)
		}
	}
	more := d.Full().SequenceBytes(context, true) - d.SequenceBytes(context, true)
	if got := needs[control.KVFull] - needs[control.KVRing]; got != more || more <= 0 {
		t.Errorf("every row needs %d bytes more, want %d", got, more)
	}
}

// What a model would need is not said where a number would be wrong: with restored rows, which a
// drafter decides, and with bits that its heads cannot have.
func TestNeedsAreNotToldWhereOnlyTheLoadKnows(t *testing.T) {
	narrow, wide := enginetest.TinyModel(t, "qwen3"), wideHeads(t)
	embedder := enginetest.TinyEmbedder(t)
	for _, c := range []struct {
		set   setup
		dir   string
		known bool
	}{
		{setup{}, narrow, true},
		{setup{KVBits: 8}, narrow, false},
		{setup{KVBits: 8}, wide, true},
		{setup{KVBits: 8}, embedder, true},
		{setup{KVLayout: control.KVFull}, narrow, true},
		{setup{Restore: restoring("a")}, narrow, false},
		{setup{Restore: restoring("a")}, embedder, true},
	} {
		s, err := models.Inspect(c.dir)
		if err != nil {
			t.Fatal(err)
		}
		if needs := open(t, c.set).pool.Needs(s); (needs != nil) != c.known ||
			c.known && (needs.Bytes <= 0 || !needs.Fits) {
			t.Errorf("%+v, %s: %+v", c.set, c.dir, needs)
		}
	}
}
