package pool

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
	"tandem/models"
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

// Quantized weights are held in float32 if the memory allows it and nobody asked for another form.
// The state says which form and why. Its figures are of that form. The forms share no checkpoints.
func TestQuantizedWeightsAreHeldInFloat32WhereTheyFit(t *testing.T) {
	dir := quantizedModel(t)
	f := measured(t, dir)
	text := f.Text(f.ContextLength, true)
	enough := 2*int64(gib) + f.Unpacked().Weights(true) + text
	keys := map[string]string{}
	for _, c := range []struct {
		name   string
		set    setup
		held   string
		why    string
		weight int64
	}{
		{"enough", setup{Memory: enough}, control.HeldFloat32, "", f.Unpacked().Weights(true)},
		{"short", setup{Memory: enough - 1}, control.HeldQuantized, "do not fit", f.Weights(true)},
		{"kept", setup{Dtype: "checkpoint"}, control.HeldQuantized, "--dtype checkpoint",
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
			m := r.pool.current()
			l := m.Describe()
			if l.Held != c.held || m.Held() != c.held || !strings.Contains(l.HeldWhy, c.why) ||
				(c.why == "") != (l.HeldWhy == "") {
				t.Errorf("held as %q because %q", l.Held, l.HeldWhy)
			}
			if l.Bytes != c.weight {
				t.Errorf("its weights take %d bytes, want %d", l.Bytes, c.weight)
			}
			key, err := r.pool.checkpointKey(m.row, m.bundle)
			if err != nil {
				t.Fatal(err)
			}
			keys[key] = c.name
			next, err := r.pool.arithmeticKey(m.row, m.bundle, models.Arithmetic+1)
			if err != nil || next == key {
				t.Errorf("other arithmetic has the key %s, %v", next, err)
			}
		})
	}
	if len(keys) != 3 {
		t.Errorf("three forms have the keys %v", keys)
	}
}

// Float32 may not cost a context with which an agent can work.
func TestFloat32DoesNotCutTheContextOfAnAgent(t *testing.T) {
	f := measured(t, quantizedModel(t))
	f.ContextLength = 4 * agentContext
	m := loadable{Footprint: f, wide: true, unpacks: true}
	room := m.unpack().demand(agentContext).bytes() + m.demand(shortRequest).text
	if d, ok := fit(m, 0, room); !ok || !d.unpacked || d.context < agentContext {
		t.Errorf("%+v, %t", d, ok)
	}
	room = m.demand(agentContext).bytes() + m.demand(shortRequest).text
	if d, ok := fit(m, 0, room); !ok || d.unpacked || d.context != agentContext {
		t.Errorf("less memory: %+v, %t", d, ok)
	}
	if d, ok := fit(m, 2*agentContext, room); ok && d.unpacked {
		t.Errorf("asked for more: %+v, %t", d, ok)
	}
}
