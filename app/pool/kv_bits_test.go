package pool

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
)

// wideHeads makes a tiny model whose heads can be quantized. Its id is tiny-qwen3.
func wideHeads(t *testing.T) string {
	t.Helper()
	return enginetest.TinyModel(t, "qwen3", map[string]any{"head_dim": 32})
}

// quantizedText returns what a text of the model takes with so many bits.
func quantizedText(t *testing.T, dir string, bits, tokens int) int64 {
	t.Helper()
	f, err := measured(t, dir).QuantizedKV(bits)
	if err != nil {
		t.Fatal(err)
	}
	return f.SequenceBytes(tokens, true)
}

// Keys and values of a few bits make room for a longer context. State, history and needs tell them. A
// checkpoint of one format is none of another.
func TestQuantizedKeysMakeRoom(t *testing.T) {
	dir := wideHeads(t)
	f := measured(t, dir)
	const least = 1024
	keys, contexts := map[string]bool{}, map[int]int{}
	learned := map[string]bool{}
	for _, bits := range []int{0, 8, 4} {
		r := start(t, setup{Model: dir, KVBits: bits, NoCheckpoints: true})
		r.setRoom(t, f.Weights(true)+f.SequenceBytes(least, true))
		own := control.ModelSettings{Model: "tiny-qwen3", Context: new(least)}
		if _, err := r.pool.SetModelSettings(t.Context(), own); err != nil {
			t.Fatal(err)
		}
		if status, body := r.complete(t, "tiny-qwen3", "a"); status != http.StatusOK {
			t.Fatalf("%d bits: %d %s", bits, status, body)
		}
		m := r.pool.look().model()
		key, err := r.pool.checkpointKey(m)
		if err != nil {
			t.Fatal(err)
		}
		keys[key] = true
		learned[m.learned(m.restoration)] = true
		l := m.Describe()
		if want := f.Weights(true) + quantizedText(t, dir, bits, least); l.KVBits != bits ||
			l.Needs != want {
			t.Errorf("%d bits: the state says %d bits and %d bytes, want %d", bits, l.KVBits, l.Needs,
				want)
		}
		for _, run := range r.runs.all() {
			if run.KVBits != bits {
				t.Errorf("%d bits: the history says %d", bits, run.KVBits)
			}
		}
		for n := least; n <= 4096 && (n == least || m.LongerContext(n)); n += 256 {
			contexts[bits] = n
		}
	}
	if len(keys) != 3 || len(learned) != 3 || !learned[""] {
		t.Errorf("three formats have %d keys, and learn as %v", len(keys), learned)
	}
	if contexts[0] != least || contexts[8] < least*13/8 || contexts[4] < least*5/2 {
		t.Errorf("contexts that fit, by bits: %v", contexts)
	}
}

// A model's setting wins over the general one, and a flag wins over both. Each counts from the
// next load on, and is said to until then.
func TestKVBitsOfAModelCountFromTheNextLoad(t *testing.T) {
	dir := wideHeads(t)
	const id = "tiny-qwen3"
	r := open(t, setup{Model: dir, NoCheckpoints: true})
	load := func(bits int) {
		t.Helper()
		if err := errors.Join(r.pool.Unload(t.Context(), ""),
			r.pool.Load(t.Context(), id)); err != nil {
			t.Fatal(err)
		}
		st, err := r.pool.ModelSettings(t.Context(), id)
		if got := r.pool.look().model().Describe().KVBits; err != nil || got != bits || st.Later ||
			r.pool.SettingsLater()["kv_bits"] != "" {
			t.Errorf("loaded with %d bits, want %d; %+v, %v", got, bits, st, err)
		}
	}
	later := func(when string) {
		t.Helper()
		st, err := r.pool.ModelSettings(t.Context(), id)
		if err != nil || !st.Later || r.pool.SettingsLater()["kv_bits"] != control.AtNextLoad {
			t.Errorf("%s: %+v, %v, %v", when, st, r.pool.SettingsLater(), err)
		}
	}
	own := func(bits *int) {
		t.Helper()
		if _, err := r.pool.SetModelSettings(t.Context(),
			control.ModelSettings{Model: id, KVBits: bits}); err != nil {
			t.Fatal(err)
		}
	}
	load(0)
	if _, err := r.ChangeSettings(t.Context(),
		control.SettingsChange{"kv_bits": json.RawMessage("8")}); err != nil {
		t.Fatal(err)
	}
	later("all models")
	load(8)
	own(new(4))
	later("the model")
	load(4)
	own(new(0))
	load(0)
	own(nil)
	load(8)
	_, err := r.pool.SetModelSettings(t.Context(), control.ModelSettings{Model: id, KVBits: new(5)})
	if e, ok := errors.AsType[*control.Error](err); !ok || e.Param != "kv_bits" ||
		e.Code != control.CodeInvalid {
		t.Errorf("5 bits: %v", err)
	}

	r = open(t, setup{Model: dir, NoCheckpoints: true, KVBits: 4})
	own(new(8))
	load(4)
}

// A model whose heads cannot be quantized is refused with the reason, and with what to do.
func TestHeadsThatCannotBeQuantizedRefuseTheLoad(t *testing.T) {
	r := open(t, setup{Model: tinyModel(t, "qwen3", "narrow"), NoCheckpoints: true, KVBits: 8})
	err := r.pool.Load(t.Context(), "narrow")
	e, ok := errors.AsType[*control.Error](err)
	if !ok || e.Code != control.CodeModelInvalid || !strings.Contains(e.Message, "heads of 16") ||
		!strings.Contains(e.Message, "kv_bits is 8, by --kv-bits; leave that out") {
		t.Errorf("the load says %v", err)
	}
}
