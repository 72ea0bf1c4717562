package pool

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models"
)

// restoredWeights is how many weights a restoring Restoration has.
const restoredWeights = 1000

// restoring returns a Restore that needs a drafter, and serves each model as it is.
func restoring(key string) func(id, path, drafter string) (*Restoration, error) {
	return func(_, _, drafter string) (*Restoration, error) {
		if drafter == "" {
			return nil, errors.New("nothing restores rows")
		}
		return &Restoration{Layout: "bounded", Key: key,
			Footprint: func(f models.Footprint) models.Footprint {
				f.Elements += restoredWeights
				return f
			},
			Open: func(_ context.Context, b *models.Bundle, _ *models.Drafter) (lm.Model, func() error, error) {
				return b.Model, func() error { return nil }, nil
			}}, nil
	}
}

// drafted returns the folder of a tiny model with a drafter inside, whose config has these fields.
func drafted(t *testing.T, fields map[string]any) string {
	t.Helper()
	dir := enginetest.TinyModel(t, "qwen3")
	if err := os.Rename(enginetest.TinyDrafter(t, fields), filepath.Join(dir, "drafter")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// keyOf loads the choice again, and returns the key of its checkpoints.
func (r *running) keyOf(t *testing.T) string {
	t.Helper()
	if err := errors.Join(r.pool.Unload(t.Context(), ""),
		r.pool.Load(t.Context(), r.pool.Choice())); err != nil {
		t.Fatal(err)
	}
	return r.pool.look().model().Key()
}

// State and runs tell the layout of restored rows. The memory guard counts what restores them, and the
// drafter's caches twice.
func TestRestoredRowsAreTold(t *testing.T) {
	dir := drafted(t, nil)
	needs := map[bool]int64{}
	for _, restored := range []bool{false, true} {
		set, layout := setup{Model: dir}, ""
		if restored {
			set.Restore, layout = restoring("a"), "bounded"
		}
		r := start(t, set)
		a := r.ask(t, map[string]any{"prompt": "abc", "max_tokens": 2}, false)
		if run := r.endedRun(t, a.Timings.RunID); run.KVLayout != layout {
			t.Errorf("the run says %q, want %q", run.KVLayout, layout)
		}
		l := r.pool.look().model().Describe()
		if needs[restored] = l.Needs; l.KVLayout != layout {
			t.Errorf("the state says %q, want %q", l.KVLayout, layout)
		}
	}
	drafter, err := measureDrafter(filepath.Join(dir, "drafter"))
	if err != nil {
		t.Fatal(err)
	}
	want := 4*restoredWeights + drafter.SequenceBytes(measured(t, dir).ContextLength, true)
	if got := needs[true] - needs[false]; got != want {
		t.Errorf("restored rows need %d bytes more, want %d", got, want)
	}
}

// A drafter that cannot be loaded is no missing one: the refusal says what is wrong with it.
func TestRestorationTellsWhatIsWrongWithTheDrafter(t *testing.T) {
	dir := drafted(t, nil)
	if err := os.Truncate(filepath.Join(dir, "drafter", "model.safetensors"), 100); err != nil {
		t.Fatal(err)
	}
	r := open(t, setup{Model: dir, Restore: restoring("a")})
	err := r.pool.Load(t.Context(), "tiny-qwen3")
	if err == nil || !strings.Contains(err.Error(), "nothing restores rows") ||
		!strings.Contains(err.Error(), "the drafter cannot be used: ") ||
		!strings.Contains(err.Error(), "model.safetensors") {
		t.Error(err)
	}
}

// The drafter of a model in memory cannot be changed while rows are restored from its layers. That of a
// model which is not in memory can be.
func TestDrafterOfRestoredRowsStays(t *testing.T) {
	r := start(t, setup{Model: drafted(t, nil), Restore: restoring("a")})
	if status, body := r.complete(t, control.Alias, "a"); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	none := control.DrafterRequest{Model: control.Alias, Drafter: control.DrafterNone}
	_, err := r.pool.Drafter(t.Context(), none)
	if err == nil || !strings.Contains(err.Error(), "reads the drafter that it has") {
		t.Error(err)
	}
	if err := r.pool.Unload(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if d, err := r.pool.Drafter(t.Context(), none); err != nil || d.Choice != control.DrafterNone {
		t.Errorf("%+v, %v", d, err)
	}
}

// Restored rows are kept in checkpoints. So another Restoration has another key of checkpoints, and
// learns for itself.
func TestKeyTellsTheRestoration(t *testing.T) {
	r := open(t, setup{Model: drafted(t, nil)})
	keys, learned := map[string]bool{}, map[string]bool{}
	for _, restore := range []func(id, path, drafter string) (*Restoration, error){
		nil, restoring("a"), restoring("another"), restoring("a")} {
		r.pool.opts.Restore = restore
		keys[r.keyOf(t)] = true
		m := r.pool.look().model()
		learned[m.learned(m.restoration)] = true
	}
	if len(keys) != 3 || len(learned) != 3 || !learned[""] {
		t.Errorf("three restorations have %d keys, and learn as %v", len(keys), learned)
	}
}

// The drafter of a model may be held in another format at the next load, while the model itself is held
// as before. What it restores then has other bits, and another key.
func TestKeyTellsTheFormOfTheDrafterThatRestores(t *testing.T) {
	dir := drafted(t, nil)
	halve(t, filepath.Join(dir, "drafter", "model.safetensors"))
	r := open(t, setup{Model: dir, Restore: restoring("a")})
	wide := r.keyOf(t)
	before := r.pool.look().model()
	if _, err := r.ChangeSettings(t.Context(),
		control.SettingsChange{"dtype": json.RawMessage(`"checkpoint"`)}); err != nil {
		t.Fatal(err)
	}
	stored := r.keyOf(t)
	if now := r.pool.look().model(); now.bundle.Info != before.bundle.Info {
		t.Fatalf("the model has another format: %+v, %+v", before.bundle.Info, now.bundle.Info)
	}
	if stored == wide {
		t.Error("both formats of the drafter have one key")
	}
}

// halve makes the weights of a file bfloat16.
func halve(t *testing.T, path string) {
	t.Helper()
	th := enginetest.NewThread(t)
	tensors := enginetest.Tensors(t, path)
	var list []mlx.NamedArray
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		for _, name := range tensors.Names() {
			list = append(list, mlx.NamedArray{Name: name,
				Array: s.AsType(tensors.Load(s, name), mlx.BFloat16)})
		}
		file, err := os.Create(path + ".half")
		if err != nil {
			return err
		}
		return errors.Join(s.WriteTensors(file, list, map[string]string{"format": "mlx"}),
			file.Close(), os.Rename(path+".half", path))
	})
}

// Rows that are not restored may have fewer bits. Checkpoints and what is learned tell both.
func TestKeyTellsTheBitsBesideTheRestoration(t *testing.T) {
	dir := wideHeads(t)
	if err := os.Rename(enginetest.TinyDrafter(t, nil), filepath.Join(dir, "drafter")); err != nil {
		t.Fatal(err)
	}
	keys, learned := map[string]bool{}, map[string]bool{}
	for _, bits := range []int{0, 8, 4} {
		r := open(t, setup{Model: dir, Restore: restoring("a"), KVBits: bits})
		keys[r.keyOf(t)] = true
		m := r.pool.look().model()
		learned[m.learned(m.restoration)] = true
	}
	if len(keys) != 3 || len(learned) != 3 || learned[""] {
		t.Errorf("three formats have %d keys, and learn as %v", len(keys), learned)
	}
}
