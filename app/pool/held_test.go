package pool

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/eviction"
	"tandem/engine/checkpoint"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models"
	"tandem/storage"
)

// quantizedModel writes the recorded 4-bit llama, with a tokenizer, into a folder of its own.
func quantizedModel(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "packed")
	files := enginetest.RecordedModel(t, "../../models/testdata/parity", "llama-4bit")
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Quantized weights are held in float32 if the memory allows it, unless a person chose another format.
// The state says which format and why. Its figures are of that format. The formats share no checkpoints.
func TestQuantizedWeightsAreHeldInFloat32WhereTheyFit(t *testing.T) {
	dir := quantizedModel(t)
	f := measured(t, dir)
	text := f.SequenceBytes(f.ContextLength, true)
	enough := 2*int64(gib) + f.Dequantized().Weights(true) + text
	keys := map[string]string{}
	for _, c := range []struct {
		name   string
		set    setup
		held   string
		why    string
		weight int64
	}{
		{"enough", setup{Memory: enough}, control.HeldFloat32, "", f.Dequantized().Weights(true)},
		{"short", setup{Memory: enough - 1}, control.HeldQuantized, "do not fit", f.Weights(true)},
		{"kept", setup{Dtype: "checkpoint"}, control.HeldQuantized, "dtype is checkpoint",
			f.Weights(false)},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.set.Model, c.set.NoCheckpoints = dir, true
			r := start(t, c.set)
			if status, body := r.complete(t, "packed", "a"); status != http.StatusOK {
				t.Fatalf("%d %s", status, body)
			}
			for _, run := range r.runs.all() {
				if run.Held != c.held {
					t.Errorf("the history says %q", run.Held)
				}
			}
			m := r.pool.look().model()
			l := m.Describe()
			if l.Held != c.held || m.Held() != c.held || !strings.Contains(l.HeldWhy, c.why) ||
				(c.why == "") != (l.HeldWhy == "") {
				t.Errorf("held as %q because %q", l.Held, l.HeldWhy)
			}
			if l.Bytes != c.weight {
				t.Errorf("its weights take %d bytes, want %d", l.Bytes, c.weight)
			}
			key, err := r.pool.checkpointKey(m)
			if err != nil {
				t.Fatal(err)
			}
			keys[key] = c.name
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
	if len(keys) != 3 {
		t.Errorf("three formats have the keys %v", keys)
	}
}

// fit returns what a model takes in so much room, and in which format.
func fit(m loadable, asked int, room int64) (eviction.Need, format) {
	z := m.size(asked)
	n, _ := z.Fit(room)
	return n, formatOf(z, n)
}

// drafterFormat asks the owner for the format of a drafter.
func (r *running) drafterFormat(t *testing.T, row storage.Model, dir string) (f format, err error) {
	t.Helper()
	r.onOwner(t, func(o *owner) { f, err = o.drafterFormat(t.Context(), row, dir) })
	return f, err
}

// Float32 may not cost a context with which an agent can work.
func TestFloat32DoesNotCutTheContextOfAnAgent(t *testing.T) {
	f := measured(t, quantizedModel(t))
	const agent = 32 << 10 // tokens
	f.ContextLength = 4 * agent
	m := loadable{Footprint: f, dequantizes: true, format: format{wide: true}}
	_, short := m.Bytes(eviction.ShortRequest)
	room := total(m.as(format{dequantized: true}).Bytes(agent)) + short
	if n, f := fit(m, 0, room); n.Bytes() > room || !f.dequantized || n.Context < agent {
		t.Errorf("%+v, %+v", n, f)
	}
	room = total(m.Bytes(agent)) + short
	if n, f := fit(m, 0, room); n.Bytes() > room || f.dequantized || n.Context != agent {
		t.Errorf("less memory: %+v, %+v", n, f)
	}
	if n, f := fit(m, 2*agent, room); n.Bytes() <= room && f.dequantized {
		t.Errorf("asked for more: %+v, %+v", n, f)
	}
}

// The setting dtype counts from the next load on, and the settings say so until then. The model in
// memory keeps its format, and so does its next drafter.
func TestDtypeCountsFromTheNextLoad(t *testing.T) {
	r := open(t, setup{Model: quantizedModel(t), NoCheckpoints: true})
	set := func(value string) {
		t.Helper()
		if _, err := r.ChangeSettings(t.Context(), control.SettingsChange{
			"dtype": json.RawMessage(value)}); err != nil {
			t.Fatal(err)
		}
	}
	load := func(held string, later control.Later) {
		t.Helper()
		if err := r.pool.Load(t.Context(), "packed"); err != nil {
			t.Fatal(err)
		}
		if m := r.pool.look().model(); m.Held() != held || r.pool.SettingsLater()["dtype"] != later {
			t.Errorf("held as %q, and the settings say %q", m.Held(),
				r.pool.SettingsLater()["dtype"])
		}
	}
	unload := func() {
		t.Helper()
		if err := r.pool.Unload(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	load(control.HeldFloat32, "")
	set(`"checkpoint"`)
	load(control.HeldFloat32, control.AtNextLoad)
	if _, err := r.pool.Drafter(t.Context(), control.DrafterRequest{Model: "packed",
		Drafter: quantizedModel(t)}); err != nil {
		t.Fatal(err)
	}
	m := r.pool.look().model()
	if info := m.drafter.Files().Info; !info.Dequantized || m.Held() != control.HeldFloat32 {
		t.Errorf("the model is held as %q, its drafter dequantized: %t", m.Held(), info.Dequantized)
	}
	unload()
	load(control.HeldQuantized, "")
	if m := r.pool.look().model(); m.drafter.Files().Info.Dequantized {
		t.Error("the drafter is unpacked, though the settings keep the stored format")
	}
	unload()
	set("null")
	load(control.HeldFloat32, "")
}

// A drafter is held in float32 where it fits, also beside a model that is not. A drafter that does
// not fit so is held as it is stored.
func TestDrafterIsHeldInFloat32WhereItFits(t *testing.T) {
	dir, drafter := quantizedModel(t), enginetest.TinyDrafter(t, map[string]any{
		"num_target_layers": nil, "vocab_size": 128, "quantization": map[string]any{
			"group_size": 32, "bits": 6},
		"dflash_config": map[string]any{"mask_token_id": 127, "target_layer_ids": []int{0, 1}}})
	f := measured(t, dir)
	d, err := measureDrafter(drafter)
	if err != nil {
		t.Fatal(err)
	}
	text := f.SequenceBytes(f.ContextLength, true) + d.SequenceBytes(f.ContextLength, true)
	for _, c := range []struct {
		name              string
		weights           int64
		unpacked, drafted bool
	}{
		{"both", f.Dequantized().Weights(true) + d.Dequantized().Weights(true), true, true},
		{"the drafter", f.Weights(true) + d.Dequantized().Weights(true), false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := setup{Memory: 2*int64(gib) + c.weights + text, Model: dir, NoCheckpoints: true}
			r := open(t, o)
			check := func(when string) {
				t.Helper()
				if err := r.pool.Load(t.Context(), "packed"); err != nil {
					t.Fatal(err)
				}
				m := r.pool.look().model()
				if m.drafter == nil {
					t.Fatalf("%s: no drafter: %s", when, m.noDrafter)
				}
				// On Linux a drafter stays packed.
				if got := m.drafter.Files().Info.Dequantized; m.bundle.Info.Dequantized != c.unpacked || got {
					t.Errorf("%s: model dequantized: %t, drafter dequantized: %t", when,
						m.bundle.Info.Dequantized, got)
				}
				if m.needs.Weights > c.weights {
					t.Errorf("%s: it needs %d bytes of weights, and %d are there", when,
						m.needs.Weights, c.weights)
				}
			}
			set := func(name string) {
				t.Helper()
				if _, err := r.pool.Drafter(t.Context(), control.DrafterRequest{Model: "packed",
					Drafter: name}); err != nil {
					t.Fatal(err)
				}
			}
			row, err := r.db.Models.Get(t.Context(), "packed")
			if err != nil {
				t.Fatal(err)
			}
			how, err := r.drafterFormat(t, row, drafter)
			if o := how.drafterOptions(); err != nil || o.Dequantize != c.drafted ||
				o.Dtype != models.DtypeFloat32 {
				t.Errorf("it is checked as %+v, %v", o, err)
			}
			set(drafter)
			check("loaded with it")
			how, err = r.drafterFormat(t, row, drafter)
			if err != nil || how.drafterOptions().Dequantize {
				t.Errorf("though no memory is left, it is checked as %+v, %v", how, err)
			}
			set(control.DrafterNone)
			set(drafter)
			check("set while the model is loaded")
		})
	}
}
