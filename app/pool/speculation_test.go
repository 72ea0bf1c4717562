package pool

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/engine"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
)

// The option Speculation applies to requests that say nothing about it. A request that asks for
// drafts gets them.
func TestSpeculationOptionIsForRequestsThatSayNothing(t *testing.T) {
	r := start(t, setup{Speculation: engine.None})
	repeats := strings.Repeat("func (s *Server) Len() int {\n\treturn s.len\n}\n\n", 2)
	request := map[string]any{"prompt": repeats, "max_tokens": 24, "temperature": 0,
		"ignore_eos": true}
	for _, how := range []any{nil, map[string]any{"drafter": "none", "depth": 4}} {
		request["speculation"] = how
		a := r.ask(t, request, false)
		if a.Timings.DraftN != 0 || !strings.Contains(a.Timings.NoDrafter, "off") {
			t.Errorf("speculation %v: %+v", how, a.Timings)
		}
	}
	for _, how := range []any{map[string]any{"depth": 4},
		map[string]any{"drafter": "ngram", "depth": 4}} {
		request["speculation"] = how
		if a := r.ask(t, request, false); a.Timings.DraftN == 0 || a.Timings.NoDrafter != "" {
			t.Errorf("speculation %v: %+v", how, a.Timings)
		}
	}
}

// A request whose drafter fails half way is answered to its end. The answer and the run say why the
// drafts ended.
func TestAnswerGoesOnPlainlyWhenItsDrafterFails(t *testing.T) {
	r := start(t, setup{Model: writeModel(t, "tiny")})
	request := map[string]any{
		"prompt": "abc", "max_tokens": 60, "temperature": 0.8, "seed": 3, "ignore_eos": true,
		"stop": []string{"nowhere to be found"}, "speculation": map[string]any{"drafter": "none"},
	}
	plain := r.ask(t, request, false)

	d := &enginetest.Scripted{Vocab: 256}
	m, err := r.pool.Borrow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
	m.engine.Close()
	m.engine = engine.New(r.thread, m.Bundle().Model, m.Bundle().Tokenizer,
		engine.Options{Drafters: []draft.Drafter{d}})
	prompt, err := m.Tokenizer().Encode("abc", true)
	if err != nil {
		t.Fatal(err)
	}
	d.Text = slices.Concat(prompt, plain.IDs)
	proposals := 0
	d.Fail = func(int) error {
		if proposals++; proposals > 3 {
			return errors.New("the drafter broke")
		}
		return nil
	}
	request["speculation"] = map[string]any{"depth": 4}
	for _, stream := range []bool{false, true} {
		proposals = 0
		a := r.ask(t, request, stream)
		a.wantSame(t, "with a drafter that fails", plain)
		const why = "scripted failed: the drafter broke"
		if !strings.Contains(a.Timings.NoDrafter, why) || a.Timings.Accepted != 12 {
			t.Errorf("stream %v: %+v", stream, a.Timings)
		}
		run := r.endedRun(t, a.Timings.RunID)
		if run.NoDrafter != a.Timings.NoDrafter {
			t.Errorf("stream %v: run.NoDrafter = %v, want %v",
				stream, run.NoDrafter, a.Timings.NoDrafter)
		}
		if run.Verifies != 3 {
			t.Errorf("stream %v: run.Verifies = %v, want 3", stream, run.Verifies)
		}
		if run.Accepted != 12 {
			t.Errorf("stream %v: run.Accepted = %v, want 12", stream, run.Accepted)
		}
		if run.FinishReason != "length" {
			t.Errorf(`stream %v: run.FinishReason = %q, want "length"`,
				stream, run.FinishReason)
		}
		if run.Error != "" {
			t.Errorf(`stream %v: run.Error = %q, want ""`, stream, run.Error)
		}
	}
}

// A request that names the memory of texts is told why there is none.
func TestMemoryIsRefusedWithTheReason(t *testing.T) {
	r := start(t, setup{NoCheckpoints: true})
	status, body := r.post(t, "/v1/completions",
		`{"model":"tandem","prompt":"abc","speculation":{"drafter":"memory"}}`)
	if status != http.StatusBadRequest ||
		!strings.Contains(body, "ngram; nothing is remembered while checkpoints are off") {
		t.Errorf("%d %s", status, body)
	}
}

// A model whose depth is set to 0 drafts nothing for requests that do not say, and its state says so.
// Where the program drafts for none of them, a model has no say in it.
func TestDepthOfZeroTurnsAllDraftsOff(t *testing.T) {
	r := start(t, setup{Model: writeModel(t, "tiny")})
	request := map[string]any{"prompt": strings.Repeat("abcdefgh", 8), "max_tokens": 24,
		"temperature": 0, "ignore_eos": true}
	r.ask(t, request, false) // its answer is what the next one's drafts come from
	drafting := func() string {
		var st control.State
		r.pool.State(&st)
		return st.Loaded.Drafting
	}
	for _, c := range []struct {
		depth *int
		want  string
	}{{new(0), control.DraftingOff}, {new(4), control.DraftingOn}, {nil, control.DraftingOn}} {
		if _, err := r.pool.SetModelSettings(t.Context(),
			control.ModelSettings{Model: "tiny", Depth: c.depth}); err != nil {
			t.Fatal(err)
		}
		if got := drafting(); got != c.want {
			t.Errorf("with this depth drafting is %q, want %q", got, c.want)
		}
		a := r.ask(t, request, false)
		if off := strings.Contains(a.Timings.NoDrafter, "off"); off != (c.want == control.DraftingOff) ||
			off && a.Timings.DraftN > 0 {
			t.Errorf("drafting is %q, and timings are %+v", c.want, a.Timings)
		}
	}
	r.pool.opts.Speculation = engine.None
	if got := drafting(); got != "" {
		t.Errorf("drafting is %q where the program drafts for no request", got)
	}
}
