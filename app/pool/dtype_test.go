package pool

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"tandem/app/control"
	"tandem/engine/checkpoint"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models"
)

// quantizedModel copies the recorded 4-bit llama, with its tokenizer, to a temporary folder.
func quantizedModel(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "packed")
	files := enginetest.RecordedModel(t, "../../models/testdata/parity", "llama-4bit")
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The setting dtype decides in which type a model computes. The state has the figures of that type, and the
// types share no checkpoints.
func TestQuantizedModelTakesWhatItsTypeTakes(t *testing.T) {
	dir := quantizedModel(t)
	f := measured(t, dir)
	keys := map[string]bool{}
	for _, c := range []struct {
		dtype  control.Dtype
		weight int64
	}{{control.DtypeAuto, f.Weights(true)}, {control.DtypeCheckpoint, f.Weights(false)}} {
		t.Run(string(c.dtype), func(t *testing.T) {
			r := start(t, setup{Dtype: c.dtype, Model: dir, NoCheckpoints: true})
			if status, body := r.complete(t, "packed", "a"); status != http.StatusOK {
				t.Fatalf("%d %s", status, body)
			}
			m := r.pool.look().model()
			if l := m.Describe(); l.Bytes != c.weight {
				t.Errorf("its weights take %d bytes, want %d", l.Bytes, c.weight)
			}
			key, err := r.pool.checkpointKey(m)
			if err != nil {
				t.Fatal(err)
			}
			keys[key] = true
			if want := fmt.Sprintf("MLX %s and models %d", mlx.Version(),
				models.Arithmetic); checkpoint.Arithmetic(key) != want || IsTextOnly(key) {
				t.Errorf("the key is %q, want the arithmetic %q", key, want)
			}
			target, err := r.pool.targetKey(m)
			if err != nil {
				t.Fatal(err)
			}
			for _, other := range []string{target, checkpoint.NewKey(target, "MLX 0.32.2 and models 5"),
				checkpoint.NewKey(target, fmt.Sprintf("MLX %s and models %d", mlx.Version(),
					models.Arithmetic+1))} {
				if other == key || !IsTextOnly(other) {
					t.Errorf("%q counts as a key of this program", other)
				}
			}
		})
	}
	if len(keys) != 2 {
		t.Errorf("two types have the keys %v", keys)
	}
}

// The setting dtype counts from the next load on, and the settings say so until then. The model in
// memory keeps its type, and so does its next drafter.
func TestDtypeCountsFromTheNextLoad(t *testing.T) {
	r := open(t, setup{Model: quantizedModel(t), NoCheckpoints: true})
	set := func(value string) {
		t.Helper()
		if _, err := r.ChangeSettings(t.Context(), control.SettingsChange{
			"dtype": json.RawMessage(value)}); err != nil {
			t.Fatal(err)
		}
	}
	load := func(dtype mlx.Dtype, later control.Later) {
		t.Helper()
		if err := r.pool.Load(t.Context(), "packed"); err != nil {
			t.Fatal(err)
		}
		if m := r.pool.look().model(); m.bundle.Info.Dtype != dtype || r.pool.SettingsLater()["dtype"] != later {
			t.Errorf("it computes in %s, and the settings say %q", m.bundle.Info.Dtype,
				r.pool.SettingsLater()["dtype"])
		}
	}
	unload := func() {
		t.Helper()
		if err := r.pool.Unload(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	drafts := func(dtype mlx.Dtype) {
		t.Helper()
		if got := r.pool.look().model().drafter.Files().Info.Dtype; got != dtype {
			t.Errorf("its drafter computes in %s, not in %s", got, dtype)
		}
	}
	load(mlx.Float32, "")
	set(`"checkpoint"`)
	load(mlx.Float32, control.AtNextLoad)
	if _, err := r.pool.Drafter(t.Context(), control.DrafterRequest{Model: "packed",
		Drafter: quantizedModel(t)}); err != nil {
		t.Fatal(err)
	}
	drafts(mlx.Float32)
	unload()
	load(mlx.BFloat16, "")
	drafts(mlx.BFloat16)
	unload()
	set("null")
	load(mlx.Float32, "")
}
