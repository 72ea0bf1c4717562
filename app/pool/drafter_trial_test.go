package pool

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/drafters"
	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models"
	"tandem/storage"
)

// A drafter's checkpoint may leave open how to read it. Tandem finds the reading that it was
// trained for while the model is idle, and keeps it.
func TestMeasuringFindsAndKeepsTheReadingOfADrafter(t *testing.T) {
	model := tinyModel(t, "gemma3_text", "parrot")
	drafter := enginetest.TinyDrafter(t, map[string]any{
		"num_hidden_layers": 1, "layer_types": []string{"sliding_attention"},
		"num_attention_heads": 4, "num_key_value_heads": 4,
		"dflash_config": map[string]any{"mask_token_id": 259, "target_layer_ids": []int{0, 2}},
	})
	makeParrot(t, model, drafter)
	r := start(t, setup{Model: model})
	c := r.client(t)
	if _, err := control.Call(t.Context(), c, control.LoadModel,
		control.LoadRequest{Model: "parrot"}); err != nil {
		t.Fatal(err)
	}
	d, err := control.Call(t.Context(), c, control.SetDrafter,
		control.DrafterRequest{Model: "parrot", Drafter: drafter})
	if err != nil {
		t.Fatal(err)
	}
	if !d.Measuring {
		t.Errorf("%+v", d)
	}
	enginetest.Await(t, "the drafter is measured", func() bool {
		if d, err = control.Call(t.Context(), c, control.SetDrafter,
			control.DrafterRequest{Model: "parrot"}); err != nil {
			t.Fatal(err)
		}
		return !d.Measuring
	})
	t.Logf("%+v", d)
	if d.Embedding != "raw" || d.Sliding != "causal" || len(d.Trials) != 4 ||
		d.Trials[0].Blocks < 50 {
		t.Errorf("%+v", d)
	}
	got := r.say(t, "parrot", fmt.Sprintf(fixedDepth, "dflash"))
	if got.Timings.Accepted*3 < got.Timings.DraftN {
		t.Errorf("with the best reading: %+v", got.Timings)
	}
	// The next load does not measure again.
	if err := r.pool.Unload(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if active := r.thread.Memory().Active; active != 0 {
		t.Errorf("%d bytes are left in MLX", active)
	}
	if err := r.pool.Load(t.Context(), "parrot"); err != nil {
		t.Fatal(err)
	}
	if d, err = control.Call(t.Context(), c, control.SetDrafter,
		control.DrafterRequest{Model: "parrot"}); err != nil ||
		d.Measuring || d.Embedding != "raw" || d.Sliding != "causal" {
		t.Errorf("%+v, %v", d, err)
	}
	// Other weights in the same folder are another drafter.
	if err := r.pool.Unload(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(drafter, "model.safetensors"), time.Time{},
		time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := r.pool.Load(t.Context(), "parrot"); err != nil {
		t.Fatal(err)
	}
	if d, err = control.Call(t.Context(), c, control.SetDrafter,
		control.DrafterRequest{Model: "parrot"}); err != nil ||
		!d.Measuring || len(d.Trials) > 0 {
		t.Errorf("%+v, %v", d, err)
	}
}

// A measurement waits while a request holds the model, and ends when the model leaves the memory.
func TestMeasurementWaitsForRequestsAndEndsWithTheModel(t *testing.T) {
	model := tinyModel(t, "gemma3_text", "tiny")
	if err := os.Rename(enginetest.TinyDrafter(t, nil),
		filepath.Join(model, "drafter")); err != nil {
		t.Fatal(err)
	}
	r := start(t, setup{Model: model})
	c := r.client(t)
	for _, begun := range []bool{false, true} {
		if err := r.pool.Load(t.Context(), "tiny"); err != nil {
			t.Fatal(err)
		}
		if idle := r.thread.Syncs(); begun {
			enginetest.Await(t, "a measurement computes", func() bool {
				return r.thread.Syncs() != idle
			})
		}
		held, err := r.pool.Acquire(t.Context(), "tiny")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(drafters.TrialPause / 2) // a step may have begun
		before := r.thread.Syncs()
		time.Sleep(2 * drafters.TrialPause) // nothing tells that no step begins
		if after := r.thread.Syncs(); after != before {
			t.Errorf("a measurement computed while a request held the model: %d syncs, then %d",
				before, after)
		}
		held.Release()
		if err := r.pool.Unload(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if active := r.thread.Memory().Active; active != 0 {
			t.Errorf("%d bytes are left in MLX", active)
		}
		d, err := control.Call(t.Context(), c, control.SetDrafter,
			control.DrafterRequest{Model: "tiny"})
		if err != nil || len(d.Trials) > 0 || d.Embedding != "" {
			t.Errorf("a measurement that was cut off left %+v, %v", d, err)
		}
	}
}

// A model whose answers end at once measures no reading. The state says so, and nothing is kept.
func TestNothingIsKeptOfAModelWhoseAnswersEndAtOnce(t *testing.T) {
	every := make([]int, 256)
	for i := range every {
		every[i] = i
	}
	model := enginetest.TinyModel(t, "gemma3_text", map[string]any{"eos_token_id": every})
	if err := os.Rename(enginetest.TinyDrafter(t, nil),
		filepath.Join(model, "drafter")); err != nil {
		t.Fatal(err)
	}
	r := start(t, setup{Model: model})
	c := r.client(t)
	id := r.State().Choice
	if err := r.pool.Load(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	var d control.Drafter
	enginetest.Await(t, "the measurement ends", func() bool {
		var err error
		if d, err = control.Call(t.Context(), c, control.SetDrafter,
			control.DrafterRequest{Model: id}); err != nil {
			t.Fatal(err)
		}
		return !d.Measuring
	})
	if d.Kind != "dflash" || len(d.Trials) > 0 || d.Embedding != "" {
		t.Errorf("%+v", d)
	}
	if _, err := r.db.Models.Reading(t.Context(), id, models.WeightsKey(d.Source)); !storage.IsNotFound(err) {
		t.Errorf("a reading was kept: %v", err)
	}
}

// makeParrot changes a Gemma model so that it repeats its last token for ever, and a drafter so
// that only the newest token counts:
//
//   - read as trained, each row of the drafter sees that token before it, and follows it;
//   - with scaled embeddings it mostly sees the mask;
//   - with rows that see each other it sees mostly masks.
func makeParrot(t *testing.T, model, drafter string) {
	t.Helper()
	scaleTensors(t, model, func(name string) float64 {
		if name == "model.embed_tokens.weight" {
			return 20
		}
		return 1
	})
	scaleTensors(t, drafter, func(name string) float64 {
		switch {
		case name == "hidden_norm.weight", strings.Contains(name, "mlp.down_proj"),
			strings.Contains(name, "self_attn.k_proj"):
			return 0 // the context has no effect, and all rows get equal attention
		case strings.Contains(name, "v_proj"), strings.Contains(name, "o_proj"):
			return -5
		}
		return 1
	})
}

// scaleTensors multiplies the tensors of a model's folder. A negative factor stands for the
// identity matrix times its absolute value.
func scaleTensors(t *testing.T, dir string, factor func(name string) float64) {
	t.Helper()
	path := filepath.Join(dir, "model.safetensors")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	in, err := mlx.OpenTensors(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	var out bytes.Buffer
	if err := th.Do(t.Context(), func(s *mlx.Scope) error {
		var list []mlx.NamedArray
		for _, name := range in.Names() {
			a := in.Load(s, name)
			switch f := factor(name); {
			case f < 0:
				eye := make([]float32, a.Dim(0)*a.Dim(1))
				for i := range min(a.Dim(0), a.Dim(1)) {
					eye[i*a.Dim(1)+i] = float32(-f)
				}
				a = mlx.New(s, eye, a.Dim(0), a.Dim(1))
			case f != 1:
				a = s.Mul(a, s.Scalar(f, mlx.Float32))
			}
			list = append(list, mlx.NamedArray{Name: name, Array: a})
		}
		return s.WriteTensors(&out, list, nil)
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// cachesTold tells the options of the caches that a model made last.
type cachesTold struct {
	lm.Model
	asked cache.Options
}

func (c *cachesTold) NewCaches(o cache.Options) []cache.Cache {
	c.asked = o
	return c.Model.NewCaches(o)
}

// A drafter is measured on the model as it is served: with its layout, its bits and its restored rows.
// What a format decided is not taken for another one.
func TestReadingsAreMeasuredInTheFormThatIsServed(t *testing.T) {
	draftsOf := func(dir string, fields map[string]any) string {
		t.Helper()
		if err := os.Rename(enginetest.TinyDrafter(t, fields),
			filepath.Join(dir, "drafter")); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	open4 := map[string]any{"layer_types": []string{"sliding_attention"}, "num_hidden_layers": 1}
	full := draftsOf(tinyModel(t, "gemma3_text", "tiny"), open4)
	for _, c := range []setup{
		{Model: full}, {Model: full, KVLayout: control.KVFull},
		{Model: draftsOf(wideHeads(t), nil), KVBits: 4},
		{Model: drafted(t, nil), Restore: restoring("a")},
	} {
		c.NoCheckpoints = true
		r := open(t, c)
		if err := r.pool.Load(t.Context(), r.pool.Choice()); err != nil {
			t.Fatal(err)
		}
		m := r.pool.look().model()
		m.endLending()
		m.borrowers.Wait() // a measurement of its own
		told := &cachesTold{Model: m.served}
		m.served = told
		if err := r.pool.drafters.MeasureVariants(t.Context(), m.drafter, m.target()); err != nil {
			t.Fatal(err)
		}
		if got := told.asked; got.Bits != c.KVBits ||
			(got.Layout == cache.Full) != (c.KVLayout == control.KVFull) {
			t.Errorf("%+v: the caches have %+v", c, got)
		}

		own := m.formatSetting
		for _, f := range []formatSetting{{}, {layout: control.KVFull}, {kvBits: 4},
			{kvBits: 4, layout: control.KVFull}} {
			variant, err := r.pool.drafters.Variant(t.Context(), m.row.ID, m.drafter.Source(),
				r.pool.drafterOptionsOf(m.row, m.drafter.Source(), format{formatSetting: f}))
			same := f.kvBits == own.kvBits && f.layout == own.layout
			if err != nil || (len(variant.Trials) > 0) != same {
				t.Errorf("%+v: a format %+v has the trials %+v, %v", own, f, variant.Trials, err)
			}
		}
		if c.Restore == nil {
			continue
		}
		r.pool.opts.Restore = restoring("another")
		variant, err := r.pool.drafters.Variant(t.Context(), m.row.ID, m.drafter.Source(),
			r.pool.drafterOptionsOf(m.row, m.drafter.Source(), m.format))
		if err != nil || len(variant.Trials) > 0 {
			t.Errorf("another restoration has the trials %+v, %v", variant.Trials, err)
		}
	}
}
