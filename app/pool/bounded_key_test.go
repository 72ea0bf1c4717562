package pool

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models"
)

// keyOf loads the choice again, and returns the key of its checkpoints.
func (r *running) keyOf(t *testing.T) string {
	t.Helper()
	if err := errors.Join(r.pool.Unload(t.Context(), ""),
		r.pool.Load(t.Context(), r.pool.Choice())); err != nil {
		t.Fatal(err)
	}
	m := r.pool.look().model()
	key, err := r.pool.checkpointKey(m)
	if err != nil || m.bounded == nil {
		t.Fatalf("%v; %+v", err, m.bounded)
	}
	return key
}

// editJSON sets a field of a file of JSON. The file keeps its date, as a copy of an older one has.
func editJSON(t *testing.T, path, field string, value any) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	config := map[string]any{}
	if err = errors.Join(err, json.Unmarshal(text, &config)); err != nil {
		t.Fatal(err)
	}
	config[field] = value
	text, err = json.Marshal(config)
	if err = errors.Join(err, os.WriteFile(path, text, 0o600),
		os.Chtimes(path, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
}

// Restored rows are kept in checkpoints. So each part of what makes them has a key of its own: the
// config and the weights of the f_theta, and those of the drafter.
func TestKeyOfBoundedLayersTellsWhatRestores(t *testing.T) {
	dir := boundedModel(t, map[string]any{})
	drafter := filepath.Join(dir, "drafter")
	theta := filepath.Join(drafter, models.FThetaFolder)
	other := enginetest.TinyFTheta(t, map[string]any{"rank": 4})
	field := func(path, name string, value any) func() {
		return func() { editJSON(t, path, name, value) }
	}
	copied := func(from, to string) func() {
		return func() {
			data, err := os.ReadFile(from)
			if err := errors.Join(err, os.WriteFile(to, data, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	config, weights := filepath.Join(theta, models.FThetaConfigFile), "model.safetensors"
	r := open(t, setup{Model: dir, KVLayout: control.KVBounded})
	seen := map[string]string{r.keyOf(t): "the first form"}
	if key := r.keyOf(t); len(seen[key]) == 0 {
		t.Error("the same files have another key at the second load")
	}
	for _, part := range []struct {
		name string
		edit func()
	}{
		{"sink", field(config, "sink_size", 3)},
		{"window", field(config, "window_size", 9)},
		{"exact layers", field(config, "exact_layers", []int{1})},
		{"embedding", field(config, "embedding", "scaled")},
		{"a field that is not known", field(config, "trained_on", "another text")},
		{"rank", func() {
			field(config, "rank", 4)()
			copied(filepath.Join(other, weights), filepath.Join(theta, weights))()
		}},
		{"weights of the f_theta", copied(filepath.Join(theta, weights), filepath.Join(theta, weights))},
		{"rope", field(filepath.Join(drafter, "config.json"), "rope_theta", 5000.0)},
		{"norms", field(filepath.Join(drafter, "config.json"), "rms_norm_eps", 1e-5)},
		{"window of the drafter", field(filepath.Join(drafter, "config.json"), "sliding_window", 12)},
		{"sliding of the drafter", field(filepath.Join(drafter, "config.json"), "use_sliding_window",
			false)},
		{"weights of the drafter", copied(filepath.Join(drafter, weights),
			filepath.Join(drafter, weights))},
	} {
		part.edit()
		key := r.keyOf(t)
		if as := seen[key]; as != "" {
			t.Errorf("%s: the key is as for %s", part.name, as)
		}
		seen[key] = part.name
	}
}

// The drafter of a model may be held in another form at the next load, while the model itself is held
// as before. What it restores then has other bits, and another key.
func TestKeyOfBoundedLayersTellsTheFormOfTheDrafter(t *testing.T) {
	packed := map[string]any{"quantization": map[string]any{"group_size": 32, "bits": 6}}
	for _, c := range []struct {
		name   string
		fields map[string]any
		half   bool // stored in bfloat16
	}{{"packed", packed, false}, {"bfloat16", nil, true}} {
		t.Run(c.name, func(t *testing.T) {
			dir := enginetest.TinyModel(t, "qwen3")
			drafter := filepath.Join(dir, "drafter")
			if err := errors.Join(os.Rename(enginetest.TinyDrafter(t, c.fields), drafter),
				os.Rename(enginetest.TinyFTheta(t, nil),
					filepath.Join(drafter, models.FThetaFolder))); err != nil {
				t.Fatal(err)
			}
			if c.half {
				halve(t, filepath.Join(drafter, "model.safetensors"))
			}
			r := open(t, setup{Model: dir, KVLayout: control.KVBounded})
			wide := r.keyOf(t)
			before := r.pool.look().model()
			if _, err := r.ChangeSettings(t.Context(),
				control.SettingsChange{"dtype": json.RawMessage(`"checkpoint"`)}); err != nil {
				t.Fatal(err)
			}
			stored := r.keyOf(t)
			if now := r.pool.look().model(); now.bundle.Info != before.bundle.Info {
				t.Fatalf("the model has another form: %+v, %+v", before.bundle.Info, now.bundle.Info)
			}
			if stored == wide {
				t.Error("both forms of the drafter have one key")
			}
		})
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

// Exact layers beside bounded ones may have fewer bits. Checkpoints and what is learned tell both.
func TestKeyOfBoundedLayersTellsTheBitsOfExactOnes(t *testing.T) {
	dir := wideHeads(t)
	drafter := filepath.Join(dir, "drafter")
	if err := errors.Join(os.Rename(enginetest.TinyDrafter(t, nil), drafter),
		os.Rename(enginetest.TinyFTheta(t, map[string]any{"verifier_head_dim": 32,
			"exact_layers": []int{1}}), filepath.Join(drafter, models.FThetaFolder))); err != nil {
		t.Fatal(err)
	}
	keys, learned := map[string]bool{}, map[string]bool{}
	for _, bits := range []int{0, 8, 4} {
		r := open(t, setup{Model: dir, KVLayout: control.KVBounded, KVBits: bits})
		keys[r.keyOf(t)] = true
		learned[r.pool.look().model().learnedForm()] = true
	}
	if len(keys) != 3 || len(learned) != 3 || learned[""] {
		t.Errorf("three forms have %d keys, and learn as %v", len(keys), learned)
	}
}
