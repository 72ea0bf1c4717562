package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/app/bench"
	"tandem/app/control"
	"tandem/engine/enginetest"
	"tandem/models"
	"tandem/models/hub"
)

// quickPlan is a plan of two measurements each, the fewest that a bench takes.
var quickPlan = bench.Plan{
	Pairs: 2, Restores: 2, Turns: 2, Fewest: 2, Warm: 1, Tokens: 96, Context: 32,
	Decode: time.Minute, Restore: time.Minute, Verify: time.Minute,
}

// benchable serves the built-in model with quickPlan.
func benchable(t *testing.T) *running {
	t.Helper()
	r := start(t, Options{Model: models.PocketID}, "127.0.0.1:0")
	r.benchPlan = quickPlan
	return r
}

// A bench keeps its result, whose figures agree with each other. A request is answered while the
// bench measures.
func TestShortBenchKeepsAConsistentResult(t *testing.T) {
	r := benchable(t)
	c := r.client(t)
	var request sync.Once
	parts := map[string]int{}
	b, err := c.Bench(t.Context(), func(p control.BenchProgress) {
		parts[p.Part] = max(parts[p.Part], p.Done)
		request.Do(func() {
			if status, body := r.complete(t, control.Alias, "func A("); status != http.StatusOK {
				t.Errorf("a request during the bench: %d %s", status, body)
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if parts["decode"] != 2 || parts["restore"] != 2 || parts["verify"] != 2 {
		t.Errorf("the progress is %v, want 2 of each part", parts)
	}
	v := b.Result
	if v.Decode.Pairs != 2 {
		t.Errorf("v.Decode.Pairs = %v, want 2", v.Decode.Pairs)
	}
	if v.Decode.Differing != 0 {
		t.Errorf("v.Decode.Differing = %v, want 0", v.Decode.Differing)
	}
	if v.Restore.Pairs != 2 {
		t.Errorf("v.Restore.Pairs = %v, want 2", v.Restore.Pairs)
	}
	if v.Verify.Turns != 2 {
		t.Errorf("v.Verify.Turns = %v, want 2", v.Verify.Turns)
	}
	if len(v.Verify.Rows) != 5 {
		t.Errorf("len(v.Verify.Rows) = %v, want 5", len(v.Verify.Rows))
	}
	if b.Model != models.PocketID {
		t.Errorf("b.Model = %v, want %v", b.Model, models.PocketID)
	}
	if b.Machine == "" {
		t.Error("b.Machine is empty")
	}
	if v.Seconds <= 0 {
		t.Errorf("v.Seconds = %v, want more than 0", v.Seconds)
	}
	if v.Restore.Tokens != 96 {
		t.Errorf("v.Restore.Tokens = %v, want 96", v.Restore.Tokens)
	}
	if v.Restore.Bytes == 0 {
		t.Error("v.Restore.Bytes is 0")
	}
	if v.Drafter == "" {
		t.Error("v.Drafter is empty")
	}
	for name, s := range map[string]control.Spread{
		"plain": v.Decode.Plain, "drafted": v.Decode.Drafted, "times": v.Decode.Times,
		"recomputed": v.Restore.Recomputed, "restored": v.Restore.Restored, "step": v.Verify.Step,
		"rows": v.Verify.Rows[4].MS,
	} {
		if !(0 < s.Low && s.Low <= s.Median && s.Median <= s.High) {
			t.Errorf("%s: %+v, want 0 < low <= median <= high", name, s)
		}
	}
	if left, err := filepath.Glob(filepath.Join(r.benchFolder(), "*")); err != nil ||
		len(left) > 0 {
		t.Errorf("files remain after the bench: %v, %v", left, err)
	}
	list, err := control.Ask(t.Context(), c, control.ListBenches)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Benches) != 1 {
		t.Fatalf("len(list.Benches) = %v, want 1", len(list.Benches))
	}
	if list.Running {
		t.Error("list.Running = true, want false")
	}
	if list.Benches[0].ID != b.ID {
		t.Errorf("list.Benches[0].ID = %v, want %v", list.Benches[0].ID, b.ID)
	}
	if list.Benches[0].Result.Decode != v.Decode {
		t.Errorf("list.Benches[0].Result.Decode = %v, want %v",
			list.Benches[0].Result.Decode, v.Decode)
	}
	if _, err := control.Call(t.Context(), c, control.DeleteBench, b.ID); err != nil {
		t.Error(err)
	}
	if list, err := control.Ask(t.Context(), c, control.ListBenches); err != nil || len(list.Benches) != 0 {
		t.Errorf("the list after the deletion is %+v, %v", list, err)
	}
}

// A bench ends when it is cancelled, when its client leaves, or when its model is unloaded. Then
// it keeps nothing, and requests are answered again. While it runs, a second bench is refused.
func TestShortBenchEndsEarlyAndKeepsNothing(t *testing.T) {
	for _, end := range []struct {
		name string
		by   func(t *testing.T, r *running, leave context.CancelFunc) error
		code control.Code
	}{
		{"cancel", func(t *testing.T, r *running, _ context.CancelFunc) error {
			_, err := control.Ask(t.Context(), r.client(t), control.CancelBench)
			return err
		}, control.CodeCancelled},
		{"unload", func(t *testing.T, r *running, _ context.CancelFunc) error {
			_, err := control.Call(t.Context(), r.client(t), control.UnloadModel,
				control.UnloadRequest{Model: ""})
			return err
		}, control.CodeModelBusy},
		{"leave", func(_ *testing.T, _ *running, leave context.CancelFunc) error { leave(); return nil }, ""},
	} {
		t.Run(end.name, func(t *testing.T) {
			r := benchable(t)
			r.benchPlan.Pairs = 1 << 30
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			var once sync.Once
			_, err := r.client(t).Bench(ctx, func(p control.BenchProgress) {
				if p.Done == 0 {
					return
				}
				once.Do(func() {
					if list, err := control.Ask(t.Context(), r.client(t), control.ListBenches); err != nil || !list.Running ||
						list.Progress == nil || list.Progress.Part != p.Part {
						t.Errorf("the list while it runs is %+v, %v", list, err)
					}
					if now := r.State().Measuring; now == nil || now.Part != p.Part {
						t.Errorf("while it runs the state says %+v", now)
					}
					_, err := r.client(t).Bench(t.Context(), func(control.BenchProgress) {})
					if e, ok := errors.AsType[*control.Error](err); !ok ||
						e.Code != control.CodeModelBusy {
						t.Errorf("a second bench: %v", err)
					}
					if err := end.by(t, r, leave); err != nil {
						t.Error(err)
					}
				})
			})
			e, ok := errors.AsType[*control.Error](err)
			if err == nil || end.code != "" && (!ok || e.Code != end.code) {
				t.Errorf("the bench ended with %v", err)
			}
			c := r.client(t)
			enginetest.Await(t, "no bench runs", func() bool {
				list, err := control.Ask(t.Context(), c, control.ListBenches)
				if err != nil || len(list.Benches) != 0 || !list.Running && list.Progress != nil {
					t.Fatalf("after the early end the list is %+v, %v", list, err)
				}
				return !list.Running
			})
			// The list tells the failure only if no person ended the bench.
			if list, err := control.Ask(t.Context(), c, control.ListBenches); err != nil ||
				(list.Failure != "") != (end.name == "unload") {
				t.Errorf("the failure is %q, %v", list.Failure, err)
			}
			if status, body := r.complete(t, control.Alias, "func A("); status != http.StatusOK {
				t.Errorf("a request after the bench: %d %s", status, body)
			}
		})
	}
}

// A bench that was killed leaves files in run/bench. The next Open deletes them.
func TestOpenDeletesFilesOfAKilledBench(t *testing.T) {
	home := t.TempDir()
	left := filepath.Join(home, "run", "bench", "1", "file")
	if err := errors.Join(os.Chmod(home, 0o700), os.MkdirAll(filepath.Dir(left), 0o700),
		os.WriteFile(left, []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	a, err := Open(t.Context(), Options{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}

// A bench measures each drafter that the model could have, and the text lookups alone. One that
// cannot be loaded is left out, with the reason. Requests keep the drafter that they have.
func TestShortBenchMeasuresAllDrafters(t *testing.T) {
	dir, cache := filepath.Join(t.TempDir(), "coder"), t.TempDir()
	cached := func(id string) string {
		return filepath.Join(cache, "models--"+strings.ReplaceAll(id, "/", "--"), "snapshots",
			strings.Repeat("a", 40))
	}
	other := cached("me/coder-DSpark")
	for to, from := range map[string]string{dir: "", cached("z-lab/coder-DFlash"): "drafter",
		other: "drafter"} {
		if err := os.CopyFS(to, os.DirFS(filepath.Join("../models/pocket", from))); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(other, "config.json")
	b, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	b = regexp.MustCompile(`"num_target_layers": *\d+`).ReplaceAll(b, []byte(`"num_target_layers":99`))
	if err := os.WriteFile(config, b, 0o600); err != nil {
		t.Fatal(err)
	}

	r := start(t, Options{Model: dir, Hub: hub.Options{CacheDir: cache}}, "127.0.0.1:0")
	r.benchPlan = quickPlan
	c := r.client(t)
	want := []control.BenchDrafter{
		{Name: "the draft model in its folder", Kind: "dflash",
			Choice: filepath.Join(dir, "drafter"), Served: true},
		{Name: "z-lab/coder-DFlash", Kind: "dflash", Choice: "z-lab/coder-DFlash"},
		{Name: "me/coder-DSpark", Choice: "me/coder-DSpark"},
		{Name: "earlier text only", Kind: "ngram", Choice: "none"},
	}
	list, err := control.Ask(t.Context(), c, control.ListBenches)
	if err != nil {
		t.Fatal(err)
	}
	if list.Plan == nil {
		t.Fatal("list.Plan is nil")
	}
	if list.Plan.Model != "coder" {
		t.Errorf(`list.Plan.Model = %q, want "coder"`, list.Plan.Model)
	}
	if !slices.Equal(list.Plan.Drafters, []string{want[0].Name, want[1].Name, want[2].Name}) {
		t.Errorf("list.Plan.Drafters = %v, want %v",
			list.Plan.Drafters, []string{want[0].Name, want[1].Name, want[2].Name})
	}
	if list.Plan.Seconds != (6 * time.Minute).Seconds() {
		t.Errorf("list.Plan.Seconds = %v, want %v",
			list.Plan.Seconds, (6 * time.Minute).Seconds())
	}
	var steps []string
	found, err := c.Bench(t.Context(), func(p control.BenchProgress) {
		if step := fmt.Sprintf("%d of %d: %s", p.Nth, p.Of, p.Drafter); p.Of > 0 &&
			!slices.Contains(steps, step) {
			steps = append(steps, step)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(steps, []string{"1 of 4: " + want[0].Name, "2 of 4: " + want[1].Name,
		"4 of 4: " + want[3].Name}) {
		t.Errorf("the progress is %q", steps)
	}
	got := slices.Clone(found.Result.Drafters)
	for i, d := range got {
		left := d.Name == "me/coder-DSpark"
		if left != strings.HasPrefix(d.Why, "The drafter is made for a target with 99 layers") {
			t.Errorf("%s: left out %t, because %q", d.Name, left, d.Why)
		}
		if left != (d.Decode.Pairs == 0) {
			t.Errorf("%s: left out %t, after %d pairs", d.Name, left, d.Decode.Pairs)
		}
		if !left && (d.Decode.Times.Median <= 0 || d.Decode.Differing > 0) {
			t.Errorf("%s: decodes %v times as fast with %d answers that differ, want more than 0 and none",
				d.Name, d.Decode.Times.Median, d.Decode.Differing)
		}
		if (d.Kind == "dflash") != (d.Bytes > 0) {
			t.Errorf("%s: a drafter of kind %q has %d bytes", d.Name, d.Kind, d.Bytes)
		}
		if (d.Kind == "ngram") != (d.Source == "") {
			t.Errorf("%s: a drafter of kind %q is from %q", d.Name, d.Kind, d.Source)
		}
		got[i] = control.BenchDrafter{Name: d.Name, Kind: d.Kind, Choice: d.Choice, Served: d.Served}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the drafters are\n%+v, want\n%+v", got, want)
	}
	if d := found.Result; d.Decode != d.Drafters[0].Decode || d.Drafter != "dflash" {
		t.Errorf("what requests had is %q, %+v", d.Drafter, d.Decode)
	}
	if d, err := control.Call(t.Context(), c, control.SetDrafter,
		control.DrafterRequest{Model: "coder"}); err != nil ||
		d.Source != filepath.Join(dir, "drafter") {
		t.Errorf("after the bench requests have %+v, %v", d, err)
	}
	before := r.State().InMemory[0].Bytes
	// What was measured can be set. How it is read was measured too.
	d, err := control.Call(t.Context(), c, control.SetDrafter,
		control.DrafterRequest{Model: "coder", Drafter: want[1].Choice})
	if err != nil || d.Source != cached("z-lab/coder-DFlash") || len(d.Trials) < 2 || d.Measuring {
		t.Errorf("%+v, %v", d, err)
	}
	if after := r.State().InMemory[0].Bytes; after != before {
		t.Errorf("the model takes %d bytes with a drafter of the same size, %d before", after, before)
	}
}
