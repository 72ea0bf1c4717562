package pool

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/engine"
)

// The request decides, then the model's settings, then its generation_config.json. A context counts
// from the next load on.
func TestRequestThenModelSettingThenModelFileDecides(t *testing.T) {
	r := start(t, setup{Model: writeModel(t, "tiny")})
	complete := func() {
		t.Helper()
		if status, body := r.complete(t, control.Alias, "abc"); status != http.StatusOK {
			t.Fatal(status, body)
		}
	}
	set := func(s control.ModelSettings) control.ModelSettingsState {
		t.Helper()
		st, err := r.pool.SetModelSettings(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	complete()
	st, err := r.pool.ModelSettings(t.Context(), control.Alias)
	if err != nil {
		t.Fatal(err)
	}
	if st.Settings != (control.ModelSettings{Model: "tiny"}) {
		t.Errorf("st.Settings = %v, want %v",
			st.Settings, control.ModelSettings{Model: "tiny"})
	}
	if st.Serving != 4096 {
		t.Errorf("st.Serving = %v, want 4096", st.Serving)
	}
	if st.Later {
		t.Error("st.Later = true, want false")
	}
	if st.ContextLength != 4096 {
		t.Errorf("st.ContextLength = %v, want 4096", st.ContextLength)
	}
	if st.Needs == nil {
		t.Fatal("st.Needs is nil")
	}
	if !st.Needs.Fits {
		t.Error("st.Needs.Fits = false, want true")
	}
	if st.Drafter != control.DrafterAuto {
		t.Errorf("st.Drafter = %v, want %v", st.Drafter, control.DrafterAuto)
	}
	m := r.pool.look().model()
	if d := m.Defaults(); d.Temperature != nil || d.TopK != nil {
		t.Errorf("defaults %+v", d)
	}
	// stands for the model's generation_config.json
	m.bundle.Defaults.Temperature, m.bundle.Defaults.TopP = new(0.7), new(0.9)
	st = set(control.ModelSettings{Model: "tiny", Context: new(512), Temperature: new(0.0),
		TopK: new(20), Depth: new(3), Rule: "rejection"})
	if st.Serving != 4096 || !st.Later || st.Needs.Context != 512 {
		t.Errorf("with a context of 512 %+v, %+v", st, st.Needs)
	}
	if d := m.Defaults(); *d.Temperature != 0 || *d.TopP != 0.9 || *d.TopK != 20 || d.MinP != nil {
		t.Errorf("defaults %v %v %v", *d.Temperature, *d.TopP, *d.TopK)
	}
	// A request with any field of speculation decides all of them.
	if s := m.speculate(engine.Speculation{}); *s.Depth != 3 || s.Rule != engine.Rejection {
		t.Errorf("speculation by default %+v", s)
	}
	if s := m.speculate(engine.Speculation{Drafter: engine.Auto}); s.Depth != nil || s.Rule != "" {
		t.Errorf("speculation as asked %+v", s)
	}
	complete() // the engine accepts the depth
	if err := r.pool.Unload(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	complete()
	if st, err = r.pool.ModelSettings(t.Context(), "tiny"); err != nil || st.Serving != 512 ||
		st.Later {
		t.Errorf("loaded again %+v, %v", st, err)
	}
	const larger = "or set a larger context in the model's settings."
	if status, body := r.complete(t, control.Alias,
		longText(600)); status != http.StatusBadRequest || !strings.Contains(body, larger) {
		t.Errorf("a prompt of 600 tokens gets %d %s", status, body)
	}
	set(control.ModelSettings{Model: "tiny", Context: new(4096)})
	if err := r.pool.Unload(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if status, body := r.complete(t, control.Alias,
		longText(5000)); status != http.StatusBadRequest || strings.Contains(body, larger) {
		t.Errorf("a prompt that is too long for the model gets %d %s", status, body)
	}
	_, err = r.pool.SetModelSettings(t.Context(),
		control.ModelSettings{Model: "tiny", Context: new(5000)})
	if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeInvalid ||
		e.Param != "context" {
		t.Errorf("a context longer than the model's: %v", err)
	}
	for i, f := range []func() error{
		func() error { _, err := r.pool.ModelSettings(t.Context(), "none"); return err },
		func() error {
			_, err := r.pool.SetModelSettings(t.Context(), control.ModelSettings{Model: "none"})
			return err
		},
	} {
		err := f()
		if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeModelNotFound {
			t.Errorf("call %d for a model that is not registered: %v", i, err)
		}
	}
}

// A longer context is advised only if it fits the model and the machine.
func TestNoLongerContextIsAdvisedThanFits(t *testing.T) {
	dir := tinyModel(t, "qwen3", "tiny")
	f := measured(t, dir)
	r := start(t, setup{Model: dir, NoCheckpoints: true})
	if _, err := r.pool.SetModelSettings(t.Context(),
		control.ModelSettings{Model: "tiny", Context: new(512)}); err != nil {
		t.Fatal(err)
	}
	r.wantAnswers(t, "tiny")
	m := r.pool.look().model()
	for _, c := range []struct {
		room         int64
		tokens, more int // the longest context that fits, and one that does not
	}{
		{1 << 30, 4096, 4097},
		{f.Weights(true) + f.SequenceBytes(1024, true), 1024, 1025},
	} {
		r.setRoom(t, c.room)
		st, err := r.pool.ModelSettings(t.Context(), "tiny")
		if err != nil || st.Longest != c.tokens {
			t.Errorf("with room for %d bytes the longest context is %d, %v, want %d", c.room, st.Longest, err, c.tokens)
		}
		if !m.LongerContext(c.tokens) || m.LongerContext(c.more) {
			t.Errorf("with room for %d bytes: %d tokens %t, %d tokens %t",
				c.room, c.tokens, m.LongerContext(c.tokens), c.more, m.LongerContext(c.more))
		}
	}
}

// longText returns a text of n bytes. A tiny model reads each byte as a token.
func longText(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(i%26)
	}
	return string(b)
}
