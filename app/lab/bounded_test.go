package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/app"
	"tandem/app/control"
	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/models"
)

// boundedModel returns the folder of a tiny model with a drafter inside. With theta, the drafter has
// an f_theta.
func boundedModel(t *testing.T, theta map[string]any) string {
	t.Helper()
	dir := enginetest.TinyModel(t, "qwen3")
	drafter := filepath.Join(dir, "drafter")
	err := os.Rename(enginetest.TinyDrafter(t, nil), drafter)
	if theta != nil {
		err = errors.Join(err, os.Rename(enginetest.TinyFTheta(t, theta), filepath.Join(drafter, models.FThetaFolder)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// completed is an answer of /v1/completions, or its error.
type completed struct {
	Choices []struct{ Text string }
	Timings struct {
		RunID int64 `json:"run_id"`
	}
	Error struct{ Message string }
}

// complete asks for n tokens.
func complete(t *testing.T, url, prompt string, n int) (a completed) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": control.Alias, "prompt": prompt, "max_tokens": n,
		"temperature": 0, "ignore_eos": true})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(url+"/v1/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close(), json.Unmarshal(text, &a)); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return a
}

// endedRun returns a run once it has its figures. They are written after the client has its answer.
func endedRun(t *testing.T, c *control.Client, id int64) control.Run {
	t.Helper()
	for {
		run, err := control.Call(t.Context(), c, control.GetRun, id)
		if err != nil {
			t.Fatal(err)
		}
		if !run.EndedAt.IsZero() {
			return run
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A model is served with bounded layers. State and history tell the layout, and what the caches hold,
// measured: own rows are as many for every length. The memory guard counts them.
func TestBoundedLayersAreServed(t *testing.T) {
	const sink, window, exact, row = 2, 9, 1, 2 * 2 * 16 * 4 // bytes
	dir := boundedModel(t, map[string]any{"sink_size": sink, "window_size": window, "exact_layers": []int{exact}})
	texts, needs := map[string]string{}, map[string]int64{}
	for _, layout := range []string{"", control.KVFull, Bounded} {
		o := app.Options{Model: dir, KVLayout: layout}
		if layout == Bounded {
			o.KVLayout, o.Restore = "", RestoreBy("")
		}
		url, home := serveApp(t, o)
		c := control.Dial(home)
		t.Cleanup(c.Close)
		for _, n := range []int{80, 400} { // bytes are tokens
			a := complete(t, url, strings.Repeat("ab c", n/4), 20)
			if a.Error.Message != "" {
				t.Fatalf("%q: %s", layout, a.Error.Message)
			}
			texts[layout] += a.Choices[0].Text
			run := endedRun(t, c, a.Timings.RunID)
			if run.KVLayout != layout {
				t.Errorf("%q: the run says %q", layout, run.KVLayout)
			}
			if layout != Bounded {
				if run.KVExactBytes < int64(3*n*row) || run.KVOwnBytes+run.KVRestoredBytes > 0 {
					t.Errorf("%q: %+v", layout, run)
				}
				continue
			}
			want := int64(2 * (sink + window - 1 + cache.MaxBlock) * row)
			if run.KVOwnBytes != want || run.KVExactBytes < int64(n*row) ||
				run.KVRestoredBytes < int64(2*n*row) {
				t.Errorf("%d tokens: %d bytes of own rows, want %d; %d exact, %d restored", n,
					run.KVOwnBytes, want, run.KVExactBytes, run.KVRestoredBytes)
			}
		}
		s, err := control.Ask(t.Context(), c, control.GetState)
		if err != nil || s.Loaded == nil || s.Loaded.KVLayout != layout {
			t.Fatalf("%q: the state says %+v, %v", layout, s.Loaded, err)
		}
		needs[layout] = s.Loaded.Needs
	}
	if texts[""] != texts[control.KVFull] || texts[""] == texts[Bounded] {
		t.Errorf("answers by layout: %q", texts)
	}
	if got, want := needs[Bounded]-needs[""], boundedNeeds(t, dir); got != want {
		t.Errorf("bounded layers need %d bytes more, want %d", got, want)
	}
}

// boundedNeeds returns what bounded layers need beyond others: the weights of the f_theta, own rows and
// copies, and the caches of the drafter's layers. Package models compares them with real caches.
func boundedNeeds(t *testing.T, dir string) int64 {
	t.Helper()
	drafter := filepath.Join(dir, "drafter")
	c, err := models.ReadFTheta(filepath.Join(drafter, models.FThetaFolder))
	if err != nil {
		t.Fatal(err)
	}
	s, err := models.Inspect(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := models.OpenDrafter(drafter)
	if err != nil {
		t.Fatal(err)
	}
	drafts, err := files.Drafter()
	if err != nil {
		t.Fatal(err)
	}
	f := s.Footprint
	return 4*c.Parameters() + f.Bounded(c).SequenceBytes(f.ContextLength, true) - f.SequenceBytes(f.ContextLength, true) +
		drafts.SequenceBytes(f.ContextLength, true)
}

// Without an f_theta, without a drafter, or with one that was made for another drafter, the model is
// refused with a sentence. With a folder that is named, it is served.
func TestBoundedLayersNeedAnFTheta(t *testing.T) {
	foreign := enginetest.TinyFTheta(t, map[string]any{"drafter_num_layers": 5})
	for _, c := range []struct{ model, fTheta, want string }{
		{boundedModel(t, nil), "", "has a folder f_theta. Name an f_theta with --f-theta"},
		{enginetest.TinyModel(t, "llama"), "", "it has no drafter to restore rows from. Set one with `tandem models drafter tiny-llama FOLDER`"},
		{boundedModel(t, nil), foreign, "take the f_theta trained on this drafter"},
		{boundedModel(t, nil), enginetest.TinyFTheta(t, nil), ""},
	} {
		url, _ := serveApp(t, app.Options{Model: c.model, NoCheckpoints: true, Restore: RestoreBy(c.fTheta)})
		a := complete(t, url, "a", 4)
		if (len(a.Choices) > 0) != (c.want == "") || !strings.Contains(a.Error.Message, c.want) {
			t.Errorf("%+v: %+v", c, a)
		}
	}
}

// An f_theta is looked for beside the drafter and the model. The pocket model and its drafter have no
// folder: what lies below the working folder is none of theirs.
func TestFThetaOfThePocketModelIsNotInTheWorkingFolder(t *testing.T) {
	work := t.TempDir()
	for _, beside := range []string{filepath.FromSlash(models.PocketDrafter), "."} {
		to := filepath.Join(work, beside, models.FThetaFolder)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700),
			os.Rename(enginetest.TinyFTheta(t, nil), to)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(work)
	for _, drafter := range []string{models.PocketDrafter, enginetest.TinyDrafter(t, nil)} {
		r, err := RestoreBy("")(models.PocketID, "", drafter)
		if err == nil || !strings.Contains(err.Error(), "has a folder f_theta") {
			t.Errorf("%s: %+v, %v", drafter, r, err)
		}
	}
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
	key := func() string {
		t.Helper()
		r, err := RestoreBy("")("id", dir, drafter)
		if err != nil {
			t.Fatal(err)
		}
		return r.Key
	}
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
	seen := map[string]string{key(): "the first form"}
	if seen[key()] == "" {
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
		k := key()
		if as := seen[k]; as != "" {
			t.Errorf("%s: the key is as for %s", part.name, as)
		}
		seen[k] = part.name
	}
}
