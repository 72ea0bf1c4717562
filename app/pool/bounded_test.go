package pool

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/restore"
	"tandem/models"
	"tandem/storage"
)

// boundedModel returns the folder of a tiny model with a drafter inside. With theta, the drafter has
// an f_theta.
func boundedModel(t *testing.T, theta map[string]any) string {
	t.Helper()
	dir := enginetest.TinyModel(t, "qwen3")
	drafter := filepath.Join(dir, "drafter")
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Rename(enginetest.TinyDrafter(t, nil), drafter))
	if theta != nil {
		must(os.Rename(enginetest.TinyFTheta(t, theta), filepath.Join(drafter, models.FThetaFolder)))
	}
	return dir
}

// A model is served with bounded layers. State and history tell the layout, and what the caches hold,
// measured: own rows are as many for every length. The memory guard counts them.
func TestBoundedLayersAreServed(t *testing.T) {
	const sink, window, exact, row = 2, 9, 1, 2 * 2 * 16 * 4 // bytes
	theta := map[string]any{"sink_size": sink, "window_size": window, "exact_layers": []int{exact}}
	dir := boundedModel(t, theta)
	texts, keys := map[string]string{}, map[string]bool{}
	learned := map[string]bool{}
	needs := map[string]int64{}
	for _, layout := range []string{"", control.KVFull, control.KVBounded} {
		r := start(t, setup{Model: dir, KVLayout: layout})
		own := int64(0)
		for _, n := range []int{80, 400} { // bytes are tokens
			request := map[string]any{"prompt": strings.Repeat("ab c", n/4), "max_tokens": 20,
				"temperature": 0, "ignore_eos": true}
			a := r.ask(t, request, false)
			texts[layout] += a.Text
			run := r.endedRun(t, a.Timings.RunID)
			if run.KVLayout != layout {
				t.Errorf("%q: the run says %q", layout, run.KVLayout)
			}
			if layout != control.KVBounded {
				if run.KVExactBytes < int64(3*n*row) || run.KVOwnBytes+run.KVRestoredBytes > 0 {
					t.Errorf("%q: %+v", layout, run)
				}
				continue
			}
			want := int64(2 * (sink + window - 1 + cache.MaxBlock) * row)
			if run.KVOwnBytes != want || run.KVExactBytes < int64(n*row) ||
				run.KVRestoredBytes < int64(2*n*row) {
				t.Errorf("%d tokens: %d bytes of own rows, want %d; %d exact, %d restored", n,
					run.KVOwnBytes, want, run.KVExactBytes, run.KVRestoredBytes)
			}
			own = run.KVOwnBytes
		}
		m := r.pool.look().model()
		l := m.Describe()
		if needs[layout] = l.Needs; l.KVLayout != layout || (l.Bounded != nil) != (own > 0) {
			t.Errorf("%q: the state says %+v", layout, l)
		}
		if b := l.Bounded; b != nil && (b.Layers != 2 || b.Sink != sink || b.Window != window ||
			len(b.ExactLayers) != 1 || b.TotalBytes > 0 || // no request is in flight
			b.FTheta != filepath.Join(dir, "drafter", models.FThetaFolder)) {
			t.Errorf("the state says %+v", *b)
		}
		key, err := r.pool.checkpointKey(m)
		if err != nil {
			t.Fatal(err)
		}
		keys[key] = true
		learned[m.learnedForm()] = true
	}
	if texts[""] != texts[control.KVFull] || texts[""] == texts[control.KVBounded] {
		t.Errorf("answers by layout: %q", texts)
	}
	if len(keys) != 3 || len(learned) != 3 || !learned[""] {
		t.Errorf("three layouts have %d keys, and learn as %v", len(keys), learned)
	}
	if got, want := needs[control.KVBounded]-needs[""], boundedNeeds(t, dir); got != want {
		t.Errorf("bounded layers need %d bytes more, want %d", got, want)
	}
}

// boundedNeeds returns what bounded layers need beyond others: the weights of the f_theta, own rows and
// copies, and the caches of the drafter's layers. Package models compares them with real caches.
func boundedNeeds(t *testing.T, dir string) int64 {
	t.Helper()
	c, err := models.ReadFTheta(filepath.Join(dir, "drafter", models.FThetaFolder))
	if err != nil {
		t.Fatal(err)
	}
	f := measured(t, dir)
	drafter, err := measureDrafter(filepath.Join(dir, "drafter"))
	if err != nil {
		t.Fatal(err)
	}
	context := f.ContextLength
	return 4*c.Parameters() + f.Bounded(c).Text(context, true) - f.Text(context, true) +
		drafter.Text(context, true)
}

// Without an f_theta, without a drafter, or with one that was made for another drafter, the model is
// refused with a sentence. With a folder that is named, it is served.
func TestBoundedLayersNeedAnFTheta(t *testing.T) {
	foreign := enginetest.TinyFTheta(t, map[string]any{"drafter_num_layers": 5})
	plain := enginetest.TinyModel(t, "llama")
	for _, c := range []struct {
		set  setup
		want string
	}{
		{setup{Model: boundedModel(t, nil)}, "has a folder f_theta. Name an f_theta with --f-theta"},
		{setup{Model: plain}, "it has no drafter to restore rows from"},
		{setup{Model: boundedModel(t, nil), FTheta: foreign}, "take the f_theta trained on this drafter"},
		{setup{Model: boundedModel(t, nil), FTheta: enginetest.TinyFTheta(t, nil)}, ""},
	} {
		c.set.KVLayout, c.set.NoCheckpoints = control.KVBounded, true
		r := start(t, c.set)
		status, body := r.complete(t, control.Alias, "a")
		if (status == http.StatusOK) != (c.want == "") || !strings.Contains(string(body), c.want) {
			t.Errorf("%+v: %d %s, want %q", c.set, status, body, c.want)
		}
	}
}

// A drafter that cannot be loaded is no missing one: the refusal says what is wrong with it.
func TestBoundedLayersTellWhatIsWrongWithTheDrafter(t *testing.T) {
	dir := boundedModel(t, map[string]any{})
	if err := os.Truncate(filepath.Join(dir, "drafter", "model.safetensors"), 100); err != nil {
		t.Fatal(err)
	}
	r := open(t, setup{Model: dir, KVLayout: control.KVBounded})
	err := r.pool.Load(t.Context(), "tiny-qwen3")
	if err == nil || !strings.Contains(err.Error(), "the drafter cannot be used: ") ||
		!strings.Contains(err.Error(), "model.safetensors") ||
		!strings.Contains(err.Error(), "`tandem models drafter tiny-qwen3 FOLDER`") {
		t.Error(err)
	}
}

// An f_theta is looked for beside the drafter and the model. The pocket model and its drafter have no
// folder: what lies below the working folder is none of theirs.
func TestFThetaOfThePocketModelIsNotInTheWorkingFolder(t *testing.T) {
	work := t.TempDir()
	for _, beside := range []string{filepath.FromSlash(models.PocketDrafter), "."} {
		to := filepath.Join(work, beside, models.FThetaFolder)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700),
			os.Rename(enginetest.TinyFTheta(t, nil), to)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(work)
	r := open(t, setup{KVLayout: control.KVBounded})
	for _, drafter := range []string{models.PocketDrafter, enginetest.TinyDrafter(t, nil)} {
		dir, err := r.pool.findFTheta(storage.Model{ID: models.PocketID,
			Source: storage.SourcePocket}, drafter)
		if err == nil || !strings.Contains(err.Error(), "has a folder f_theta") {
			t.Errorf("%s: %s, %v", drafter, dir, err)
		}
	}
}

// The drafter of a model with bounded layers in memory cannot be changed: its f_theta reads that one.
// That of a model which is not in memory can be, as without bounded layers.
func TestDrafterOfBoundedLayersStays(t *testing.T) {
	r := start(t, setup{Model: boundedModel(t, map[string]any{}), KVLayout: control.KVBounded})
	if status, body := r.complete(t, control.Alias, "a"); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	none := control.DrafterRequest{Model: control.Alias, Drafter: control.DrafterNone}
	_, err := r.pool.Drafter(t.Context(), none)
	if err == nil || !strings.Contains(err.Error(), "its f_theta reads the drafter") {
		t.Error(err)
	}
	if err := r.pool.Unload(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if d, err := r.pool.Drafter(t.Context(), none); err != nil || d.Choice != control.DrafterNone {
		t.Errorf("%+v, %v", d, err)
	}
}

// The state lists no exact layers as an empty list, which a program can go through.
func TestNoExactLayersAreAList(t *testing.T) {
	c, err := models.ReadFTheta(enginetest.TinyFTheta(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	c.ExactLayers = nil
	b := &bounded{model: new(restore.Model), files: &models.FTheta{Config: c}}
	if got := b.describe("cpu", lm.KVBytes{}); got.ExactLayers == nil {
		t.Errorf("%+v", got)
	}
}
