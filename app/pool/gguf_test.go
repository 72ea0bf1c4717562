package pool

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/engine/mlx"
	"tandem/models"
	"tandem/storage"
)

// ggufModel copies a recorded GGUF file, whose weights are quantized, into a folder of its own.
func ggufModel(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../models/testdata/gguf/llama.gguf")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "packed.gguf")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// On the CPU a GGUF file computes in float32 whatever the setting dtype is, and its checkpoints are the same.
func TestGGUFComputesInFloat32OnTheCPU(t *testing.T) {
	path := ggufModel(t)
	f := measured(t, path)
	keys := map[string]bool{}
	weights := f.Weights(true)
	for _, dtype := range []control.Dtype{control.DtypeAuto, control.DtypeFloat32, control.DtypeCheckpoint} {
		t.Run(string(dtype), func(t *testing.T) {
			r := start(t, setup{Model: path, Dtype: dtype, NoCheckpoints: true})
			if status, body := r.complete(t, "packed.gguf", "a"); status != http.StatusOK {
				t.Fatalf("%d %s", status, body)
			}
			m := r.pool.look().model()
			l := m.Describe()
			if l.Dtype != mlx.Float32.String() {
				t.Errorf("it computes in %s", l.Dtype)
			}
			text := f.SequenceBytes(f.ContextLength, true)
			if l.Bytes != weights || l.Needs != weights+text {
				t.Errorf("it needs %d bytes with weights of %d, want %d and %d", l.Needs, l.Bytes,
					weights+text, weights)
			}
			needs := r.pool.Needs(models.Summary{Footprint: f})
			if needs == nil || needs.Bytes != l.Needs {
				t.Errorf("before the load it needs %+v, and then %d", needs, l.Needs)
			}
			if later := r.pool.SettingsLater(); len(later) > 0 {
				t.Errorf("settings that work later: %v", later)
			}
			key, err := r.pool.checkpointKey(m)
			if err != nil {
				t.Fatal(err)
			}
			keys[key] = true
		})
	}
	if len(keys) != 1 {
		t.Errorf("one format has the keys %v", keys)
	}
}

// With the dtype checkpoint, a GGUF file that drafts computes in float32 beside a model of another
// type. A drafter computes as its model does if that is a GGUF file.
func TestDtypeOfDraftersAndGGUF(t *testing.T) {
	folder, file := quantizedModel(t), ggufModel(t)
	r := open(t, setup{Model: file, Dtype: control.DtypeCheckpoint, NoCheckpoints: true})
	stored, packed := measured(t, folder), measured(t, file)
	for _, c := range []struct {
		name, model, drafter string
		weights              int64
		dtype, drafts        models.DtypePolicy
	}{
		{"a file drafts", folder, file, stored.Weights(false) + packed.Weights(true),
			models.DtypeCheckpoint, models.DtypeFloat32},
		{"a folder drafts", file, folder, packed.Weights(true) + stored.Weights(true),
			models.DtypeFloat32, models.DtypeFloat32},
		{"folders", folder, folder, 2 * stored.Weights(false),
			models.DtypeCheckpoint, models.DtypeCheckpoint},
	} {
		row := storage.Model{ID: "m", Path: c.model, Source: storage.SourceFolder}
		d, size, err := r.pool.sizeWith(t.Context(), row, c.drafter, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := size.Fit(r.pool.Room()); n.Weights != c.weights {
			t.Errorf("%s: %+v, want weights of %d", c.name, n, c.weights)
		}
		if got := d.options().Dtype; got != c.dtype {
			t.Errorf("%s: the model is loaded as %s", c.name, got)
		}
		if got := d.drafterOptions().Dtype; got != c.drafts {
			t.Errorf("%s: the drafter is loaded as %s", c.name, got)
		}
	}
	if err := r.pool.Load(t.Context(), "packed.gguf"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.pool.Drafter(t.Context(), control.DrafterRequest{Model: "packed.gguf",
		Drafter: file}); err == nil || !strings.Contains(err.Error(), "is the model itself") {
		t.Errorf("the model as its own drafter: %v", err)
	}
	smaller := filepath.Join(t.TempDir(), "smaller.gguf")
	if err := os.Link(file, smaller); err != nil {
		t.Fatal(err)
	}
	if _, err := r.pool.Drafter(t.Context(), control.DrafterRequest{Model: "packed.gguf",
		Drafter: smaller}); err != nil {
		t.Fatal(err)
	}
	if info := r.pool.look().model().drafter.Files().Info; info.Dtype != mlx.Float32 {
		t.Errorf("its drafter computes in %s", info.Dtype)
	}
}
