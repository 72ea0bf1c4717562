package pool

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/engine/native"
)

// Drafters of all kinds draft for a model in memory and change no token. Their memory is free
// again after they or the model leave.
func TestDraftersOfAllKindsDraftAndLeaveNoMemory(t *testing.T) {
	r := start(t, setup{Model: tinyModel(t, "qwen3", "tiny"), NoCheckpoints: true})
	c := r.client(t)
	plain := r.say(t, "tiny", `{"drafter":"none"}`)
	if plain.Timings.Drafter != "" || plain.Timings.DraftN != 0 {
		t.Errorf("plain: %+v", plain.Timings)
	}
	alone := r.thread.Memory().Active
	twin := enginetest.TinyModel(t, "qwen3")
	for _, x := range []struct{ kind, dir string }{
		{"dflash", enginetest.TinyDrafter(t, map[string]any{
			"layer_types": []string{"full_attention", "full_attention"},
		})},
		{"dflash", enginetest.TinyDFlash2(t, 259, []int{0, 2}, map[string]any{
			"layer_types": []string{"full_attention", "full_attention"},
		})},
		{"dspark", enginetest.TinyDSpark(t, 259, []int{0, 2}, nil)},
		{"mtp", enginetest.TinyHead(t, nil)},
		{"model", enginetest.TinyModel(t, "llama")},
		{"model", twin}, // the model itself
	} {
		d, err := control.Call(t.Context(), c, control.SetDrafter,
			control.DrafterRequest{Model: "tiny", Drafter: x.dir})
		if err != nil {
			t.Fatal(err)
		}
		want := control.Drafter{Model: "tiny", Choice: x.dir, Source: x.dir, Loaded: true,
			Kind: x.kind}
		if fmt.Sprint(d) != fmt.Sprint(want) {
			t.Errorf("%+v, want %+v", d, want)
		}
		if s := r.State(); s.Loaded == nil || s.Loaded.Drafter != x.kind {
			t.Errorf("%s: state %+v", x.kind, s.Loaded)
		}
		got := r.say(t, "tiny", fmt.Sprintf(fixedDepth, x.kind))
		if got.Timings.Drafter != x.kind || got.Timings.DraftN == 0 || got.Timings.NoDrafter != "" {
			t.Errorf("%s: %+v", x.kind, got.Timings)
		}
		if !slices.Equal(got.IDs, plain.IDs) {
			t.Errorf("%s: tokens %v, want %v", x.kind, got.IDs, plain.IDs)
		}
		if x.dir == twin && got.Timings.Accepted != got.Timings.DraftN {
			t.Errorf("the model drafts for itself, and %d of %d drafts are accepted",
				got.Timings.Accepted, got.Timings.DraftN)
		}
	}
	if _, err := control.Call(t.Context(), c, control.SetDrafter, control.DrafterRequest{Model: "tiny",
		Drafter: control.DrafterNone}); err != nil {
		t.Fatal(err)
	}
	if now := r.thread.Memory().Active; now != alone {
		t.Errorf("without its drafters the model takes %d bytes, %d before", now, alone)
	}
	// The choice is kept: the next load loads the drafter too.
	dir := enginetest.TinyModel(t, "llama")
	if _, err := control.Call(t.Context(), c, control.SetDrafter, control.DrafterRequest{Model: "tiny",
		Drafter: dir}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := control.Call(t.Context(), c, control.UnloadModel,
			control.UnloadRequest{Model: ""}); err != nil {
			t.Fatal(err)
		}
		if active := r.thread.Memory().Active; active != 0 {
			t.Fatalf("%d bytes are left in MLX", active)
		}
		if got := r.say(t, "tiny", fmt.Sprintf(fixedDepth,
			"model")); got.Timings.Drafter != "model" {
			t.Errorf("after a load: %+v", got.Timings)
		}
	}
	if _, err := control.Call(t.Context(), c, control.SetDrafter,
		control.DrafterRequest{Model: "unknown"}); err == nil {
		t.Error("a model that is not registered has a drafter")
	}
}

// A change of drafter leaves what the model made for grammars, and its end frees it.
func TestChangeOfDrafterLeavesTheVocabulary(t *testing.T) {
	r := start(t, setup{Model: tinyModel(t, "qwen3", "tiny"), NoCheckpoints: true})
	m := r.acquire(t, "tiny").(*Model)
	matcher, err := m.Matcher(t.Context(), model.Grammar{Regex: "[ab]+"})
	if err != nil {
		t.Fatal(err)
	}
	if err := matcher.Close(); err != nil {
		t.Error(err)
	}
	m.Release()
	made, err := m.bundle.Vocabulary()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := control.Call(t.Context(), r.client(t), control.SetDrafter,
		control.DrafterRequest{Model: "tiny",
			Drafter: enginetest.TinyModel(t, "llama")}); err != nil {
		t.Fatal(err)
	}
	if again, err := r.pool.look().model().bundle.Vocabulary(); again != made || err != nil {
		t.Errorf("the vocabulary is made again; %v", err)
	}
	if err := r.pool.Unload(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := made.Matcher(t.Context(), native.Grammar{Regex: "a"}); err == nil {
		t.Error("the vocabulary of a model that has left the memory is not freed")
	}
}

// otherTokens makes a folder with a random Llama whose tokens are not those of the others.
func otherTokens(t *testing.T) string {
	t.Helper()
	dir := enginetest.TinyModel(t, "llama")
	file := filepath.Join(dir, "tokenizer.json")
	tokens, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tokens = bytes.ReplaceAll(tokens, []byte("|end|"), []byte("|fin|"))
	if err := os.WriteFile(file, tokens, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A drafter that does not fit a model is refused when it is chosen, whether the model is in memory
// or not. Nothing changes then.
func TestUnfitDrafterIsRefusedWhenItIsChosen(t *testing.T) {
	r := start(t, setup{Model: tinyModel(t, "qwen3", "tiny")})
	c := r.client(t)
	cut := enginetest.TinyDrafter(t, nil)
	if err := os.Truncate(filepath.Join(cut, "model.safetensors"), 200_000); err != nil {
		t.Fatal(err)
	}
	header := enginetest.TinyDrafter(t, nil)
	noTensors := bytes.Repeat([]byte{'x'}, 4096)
	if err := os.WriteFile(filepath.Join(header, "model.safetensors"), noTensors,
		0o600); err != nil {
		t.Fatal(err)
	}
	others := otherTokens(t)
	layers := enginetest.TinyDrafter(t, map[string]any{"num_target_layers": 36})
	architecture := enginetest.TinyDrafter(t,
		map[string]any{"architectures": []string{"DFlash3DraftModel"}})
	for range 2 {
		before := r.thread.Memory().Active
		for name, want := range map[string]string{
			layers:                      "made for a target with 36 layers",
			architecture:                "DFlash3DraftModel",
			cut:                         "cut short",
			header:                      "model.safetensors",
			others:                      `id 256 is the special token "<|fin|>" here and the special token "<|end|>" there`,
			filepath.Join(others, "no"): "no such folder",
			"nobody/nothing":            "is neither a folder nor an installed model",
			"./drafter":                 "by its whole path",
		} {
			_, err := control.Call(t.Context(), c, control.SetDrafter,
				control.DrafterRequest{Model: "tiny", Drafter: name})
			e, ok := errors.AsType[*control.Error](err)
			if !ok || e.Code == control.CodeInternal || !strings.Contains(e.Message, want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
		d, err := control.Call(t.Context(), c, control.SetDrafter,
			control.DrafterRequest{Model: "tiny"})
		if err != nil || d.Choice != control.DrafterAuto || d.Source != "" {
			t.Errorf("%+v, %v", d, err)
		}
		if now := r.thread.Memory().Active; now != before {
			t.Errorf("active memory went from %d to %d over refused drafters", before, now)
		}
		// the second time with the model in memory
		if err := r.pool.Load(t.Context(), "tiny"); err != nil {
			t.Fatal(err)
		}
	}
	err := r.pool.UseDrafter(t.Context(), cut)
	if err == nil || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("a damaged drafter for this process: %v", err)
	}
}

// A model whose drafter was damaged later is served without it. Each answer and run says why.
func TestModelWithADamagedDrafterIsServedWithoutIt(t *testing.T) {
	dir := tinyModel(t, "qwen3", "tiny")
	if err := os.Rename(enginetest.TinyDrafter(t, nil), filepath.Join(dir, "drafter")); err != nil {
		t.Fatal(err)
	}
	r := start(t, setup{Model: dir})
	c := r.client(t)
	if got := r.say(t, "tiny", fmt.Sprintf(fixedDepth, "dflash")); got.Timings.Drafter != "dflash" {
		t.Errorf("the drafter in the model's folder: %+v", got.Timings)
	}
	if err := r.pool.Unload(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "drafter", "model.safetensors"), 200_000); err != nil {
		t.Fatal(err)
	}
	got := r.say(t, "tiny", `{"drafter":"auto"}`)
	if !strings.Contains(got.Timings.NoDrafter, "cut short") {
		t.Errorf("%+v", got.Timings)
	}
	d, err := control.Call(t.Context(), c, control.SetDrafter, control.DrafterRequest{Model: "tiny"})
	if err != nil || !strings.Contains(d.Reason, "cut short") || d.Kind != "" {
		t.Errorf("%+v, %v", d, err)
	}
	if got := r.say(t, "tiny", `{"drafter":"none"}`); strings.Contains(got.Timings.NoDrafter,
		"cut short") {
		t.Errorf("speculation is off: %+v", got.Timings)
	}
	r.waitUntilQuiet(t)
	if runs := r.runs.all(); len(runs) != 3 || !strings.Contains(runs[1].NoDrafter, "cut short") {
		t.Errorf("runs %+v", runs)
	}
}

// Requests get the same tokens while the drafter changes, and no change takes a model from a
// request.
func TestAnswersStayTheSameWhileDraftersChange(t *testing.T) {
	r := start(t, setup{Model: tinyModel(t, "gemma3_text", "tiny")})
	want := r.say(t, "tiny", `{"drafter":"none"}`).IDs
	choices := []string{
		enginetest.TinyDrafter(t, nil), control.DrafterNone, enginetest.TinyModel(t, "gemma3_text"),
	}
	stop := make(chan struct{})
	var others sync.WaitGroup
	var changed atomic.Int32
	others.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			change := control.DrafterRequest{Model: "tiny", Drafter: choices[i%len(choices)]}
			_, err := r.pool.Drafter(t.Context(), change)
			if e, ok := errors.AsType[*control.Error](err); err == nil {
				changed.Add(1)
			} else if !ok || e.Code != control.CodeModelBusy {
				t.Error(err)
			}
			time.Sleep(5 * time.Millisecond) // a refused change does not wait in line
		}
	})
	others.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
			err := r.pool.Unload(t.Context(), "")
			e, ok := errors.AsType[*control.Error](err)
			if err != nil && (!ok || e.Code != control.CodeModelBusy) {
				t.Error(err)
			}
			r.State()
		}
	})
	for i := 0; i < 10 || changed.Load() < 3; i++ {
		if got := r.say(t, "tiny", `{"drafter":"auto","depth":3}`).IDs; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	close(stop)
	others.Wait()
	t.Logf("%d changes", changed.Load())
	if err := r.pool.Unload(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if active := r.thread.Memory().Active; active != 0 {
		t.Errorf("%d bytes are left in MLX", active)
	}
}

// While a drafter is changed, the new one and the old one count. Where the memory does not allow both,
// the old one leaves first, and comes back if the new one cannot be used.
func TestChangeOfDrafterKeepsToTheMemory(t *testing.T) {
	dir, first := longModel(t), enginetest.TinyModel(t, "llama")
	second := enginetest.TinyModel(t, "llama")
	others := otherTokens(t)
	size, drafter := measured(t, dir), measured(t, first)
	const context = 256 // so that a text takes less than a drafter
	weights, drafts := size.Weights(true), drafter.Weights(true)
	text := size.SequenceBytes(context, true) + drafter.SequenceBytes(context, true)
	if text >= drafts {
		t.Fatalf("a text takes %d bytes, and a drafter %d", text, drafts)
	}
	for _, c := range []struct {
		name   string
		memory int64
		both   bool
	}{
		{"both fit", weights + 2*drafts + 64<<10, true}, // which what is computed takes
		{"one fits", max(weights+2*drafts-1, weights+drafts+text), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, setup{Model: dir, Memory: 2*int64(gib) + c.memory, ContextLength: context,
				NoCheckpoints: true})
			choose := func(name string) error {
				_, err := r.pool.Drafter(t.Context(), control.DrafterRequest{Model: "long", Drafter: name})
				return err
			}
			drafting := func() string {
				t.Helper()
				d, err := r.pool.Drafter(t.Context(), control.DrafterRequest{Model: "long"})
				if err != nil || !d.Loaded {
					t.Fatalf("%+v, %v", d, err)
				}
				if got := r.say(t, "long", fmt.Sprintf(fixedDepth, "model")); got.Timings.DraftN == 0 {
					t.Errorf("%s: %+v", d.Source, got.Timings)
				}
				return d.Source
			}
			if err := choose(first); err != nil {
				t.Fatal(err)
			}
			if err := r.pool.Load(t.Context(), "long"); err != nil {
				t.Fatal(err)
			}
			enginetest.Do(t, r.thread, func(s *mlx.Scope) error { s.ResetPeak(); return nil })
			old := r.pool.look().model()
			if err := choose(second); err != nil {
				t.Fatal(err)
			}
			if old.users.take(1) { // by a request that found it before
				t.Error("the model with the old drafter can still be used")
			}
			peak := r.thread.Memory().Peak
			if both := peak >= weights+2*drafts; both != c.both || !both && peak > c.memory {
				t.Errorf("at most %d bytes were in use of %d; the weights are %d, a drafter's %d", peak,
					c.memory, weights, drafts)
			}
			if got := drafting(); got != second {
				t.Errorf("%s drafts", got)
			}
			if err := choose(others); err == nil || !strings.Contains(err.Error(), "its tokens") {
				t.Errorf("a drafter with other tokens gives %v", err)
			}
			if got := drafting(); got != second {
				t.Errorf("after one with other tokens %s drafts", got)
			}
			if !c.both {
				r.losesDrafter(t, second, others)
			}
			r.onOwner(t, func(o *owner) {
				m := find(o.models, "long")
				o.remove([]*Model{m})
				o.reserved = m.needs
				defer o.add(m)
				_, both, err := o.makeRoomForDrafter(t.Context(), m, first)
				if want := weights + 2*drafts; both != c.both || both && o.reserved.Bytes() < want {
					t.Errorf("%d bytes are reserved, both: %t; want %d", o.reserved.Bytes(), both, want)
				}
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// losesDrafter chooses a drafter that cannot be used while the files of the old one are gone. The old
// one left to make room, so the error says that the model has none now.
func (r *running) losesDrafter(t *testing.T, old, unfit string) {
	t.Helper()
	if err := os.Rename(old, old+".away"); err != nil {
		t.Fatal(err)
	}
	_, err := r.pool.Drafter(t.Context(), control.DrafterRequest{Model: "long", Drafter: unfit})
	if err == nil || !strings.Contains(err.Error(), "its tokens") ||
		!strings.Contains(err.Error(), "long is served without a drafter now") {
		t.Errorf("without the old drafter's files: %v", err)
	}
	if err := os.Rename(old+".away", old); err != nil {
		t.Fatal(err)
	}
	if _, err := r.pool.Drafter(t.Context(),
		control.DrafterRequest{Model: "long", Drafter: old}); err != nil {
		t.Fatal(err)
	}
}

// Gemma 4's assistant drafts for a model with a ring, and changes no token.
func TestAssistantDrafts(t *testing.T) {
	r := start(t, setup{Model: tinyModel(t, "gemma3_text", "tiny"), NoCheckpoints: true})
	plain := r.say(t, "tiny", `{"drafter":"none"}`)
	dir := enginetest.TinyAssistant(t, 64, nil)
	d, err := control.Call(t.Context(), r.client(t), control.SetDrafter,
		control.DrafterRequest{Model: "tiny", Drafter: dir})
	if err != nil || d.Kind != "mtp" {
		t.Fatalf("%+v, %v", d, err)
	}
	got := r.say(t, "tiny", fmt.Sprintf(fixedDepth, "mtp"))
	if got.Timings.Drafter != "mtp" || got.Timings.DraftN == 0 || got.Timings.NoDrafter != "" {
		t.Errorf("%+v", got.Timings)
	}
	if !slices.Equal(got.IDs, plain.IDs) {
		t.Errorf("tokens %v, want %v", got.IDs, plain.IDs)
	}
}
