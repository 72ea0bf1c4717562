package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/pool"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models/hub"
)

// A spoken is what a test reads of a completion.
type spoken struct {
	Choices []struct {
		TokenIDs []int32 `json:"token_ids"`
	}
	Timings struct {
		DraftN    int    `json:"draft_n"`
		Accepted  int    `json:"draft_n_accepted"`
		Drafter   string `json:"drafter"`
		NoDrafter string `json:"no_drafter"`
	}
}

// say posts a completion, whose prompt ends with a space, with what the request says of speculation.
func (r *running) say(t *testing.T, model, speculation string) spoken {
	t.Helper()
	body := fmt.Sprintf(`{"model":%q,"prompt":"func main() { ","max_tokens":60,"temperature":0,"ignore_eos":true,"return_token_ids":true,"speculation":%s}`, model, speculation)
	resp, err := http.Post(r.url+"/v1/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", resp.StatusCode, text)
	}
	var a spoken
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	if len(a.Choices) != 1 || len(a.Choices[0].TokenIDs) != 60 {
		t.Fatalf("%s", text)
	}
	return a
}

// tinyModel makes a folder of the given name with a random model.
func tinyModel(t *testing.T, arch, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Rename(enginetest.TinyModel(t, arch), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

const fixedDepth = `{"drafter":%q,"depth":4}`

// TestDrafter sets drafters of both kinds for a model that is served, asks it
// with and without, and takes model and drafter out of memory again.
func TestDrafter(t *testing.T) {
	r := start(t, Options{Model: tinyModel(t, "qwen3", "tiny"), NoCheckpoints: true}, "127.0.0.1:0")
	c := r.client(t)
	plain := r.say(t, "tiny", `{"drafter":"none"}`)
	if plain.Timings.Drafter != "" || plain.Timings.DraftN != 0 {
		t.Errorf("plain: %+v", plain.Timings)
	}
	alone := r.thread.Memory().Active
	for i, x := range []struct{ kind, dir string }{
		{"dflash", enginetest.TinyDrafter(t, map[string]any{"layer_types": []string{"full_attention", "full_attention"}})},
		{"model", enginetest.TinyModel(t, "llama")},
		{"model", enginetest.TinyModel(t, "qwen3")}, // the same
	} {
		d, err := c.Drafter(t.Context(), control.DrafterRequest{Model: "tiny", Drafter: x.dir})
		if err != nil {
			t.Fatal(err)
		}
		if want := (control.Drafter{Model: "tiny", Choice: x.dir, Source: x.dir, Loaded: true, Kind: x.kind}); fmt.Sprint(d) != fmt.Sprint(want) {
			t.Errorf("%+v, want %+v", d, want)
		}
		if s := r.State(); s.Loaded == nil || s.Loaded.Drafter != x.kind {
			t.Errorf("%s: state %+v", x.kind, s.Loaded)
		}
		got := r.say(t, "tiny", fmt.Sprintf(fixedDepth, x.kind))
		if got.Timings.Drafter != x.kind || got.Timings.DraftN == 0 || got.Timings.NoDrafter != "" {
			t.Errorf("%s: %+v", x.kind, got.Timings)
		}
		if !slices.Equal(got.Choices[0].TokenIDs, plain.Choices[0].TokenIDs) {
			t.Errorf("%s: tokens %v, want %v", x.kind, got.Choices[0].TokenIDs, plain.Choices[0].TokenIDs)
		}
		if i == 2 && got.Timings.Accepted != got.Timings.DraftN {
			t.Errorf("the model drafts for itself, and %d of %d stand", got.Timings.Accepted, got.Timings.DraftN)
		}
	}
	if _, err := c.Drafter(t.Context(), control.DrafterRequest{Model: "tiny", Drafter: control.DrafterNone}); err != nil {
		t.Fatal(err)
	}
	if now := r.thread.Memory().Active; now != alone {
		t.Errorf("without its drafters the model takes %d bytes, %d before", now, alone)
	}
	// It is kept: the next load brings it.
	dir := enginetest.TinyModel(t, "llama")
	if _, err := c.Drafter(t.Context(), control.DrafterRequest{Model: "tiny", Drafter: dir}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := c.Unload(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if active := r.thread.Memory().Active; active != 0 {
			t.Fatalf("%d bytes are left in MLX", active)
		}
		if got := r.say(t, "tiny", fmt.Sprintf(fixedDepth, "model")); got.Timings.Drafter != "model" {
			t.Errorf("after a load: %+v", got.Timings)
		}
	}
	if _, err := c.Drafter(t.Context(), control.DrafterRequest{Model: "nobody"}); err == nil {
		t.Error("a drafter of no model")
	}
}

// TestDrafterRefused: what cannot draft for a model is refused when it is
// chosen, whether the model is in memory or not, and changes nothing.
func TestDrafterRefused(t *testing.T) {
	r := start(t, Options{Model: tinyModel(t, "qwen3", "tiny")}, "127.0.0.1:0")
	c := r.client(t)
	cut := enginetest.TinyDrafter(t, nil)
	if err := os.Truncate(filepath.Join(cut, "model.safetensors"), 200_000); err != nil {
		t.Fatal(err)
	}
	header := enginetest.TinyDrafter(t, nil)
	if err := os.WriteFile(filepath.Join(header, "model.safetensors"), bytes.Repeat([]byte{'x'}, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	others := enginetest.TinyModel(t, "llama")
	tokens, err := os.ReadFile(filepath.Join(others, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(others, "tokenizer.json"), bytes.Replace(tokens, []byte("|end|"), []byte("|fin|"), -1), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		before := r.thread.Memory().Active
		for name, want := range map[string]string{
			enginetest.TinyDrafter(t, map[string]any{"num_target_layers": 36}):                        "made for a target with 36 layers",
			enginetest.TinyDrafter(t, map[string]any{"architectures": []string{"DFlash2DraftModel"}}): "DFlash2DraftModel",
			cut:                         "cut short",
			header:                      "model.safetensors",
			others:                      `id 256 is the special token "<|fin|>" here and the special token "<|end|>" there`,
			filepath.Join(others, "no"): "no such folder",
			"nobody/nothing":            "is no folder",
			"./drafter":                 "by its whole path",
		} {
			_, err := c.Drafter(t.Context(), control.DrafterRequest{Model: "tiny", Drafter: name})
			if e, ok := errors.AsType[*control.Error](err); !ok || e.Code == control.CodeInternal || !strings.Contains(e.Message, want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
		d, err := c.Drafter(t.Context(), control.DrafterRequest{Model: "tiny"})
		if err != nil || d.Choice != control.DrafterAuto || d.Source != "" {
			t.Errorf("%+v, %v", d, err)
		}
		if now := r.thread.Memory().Active; now != before {
			t.Errorf("active memory went from %d to %d over refused drafters", before, now)
		}
		if err := r.pool.Load(t.Context(), "tiny"); err != nil { // and once more
			t.Fatal(err)
		}
	}
	_, err = Open(t.Context(), Options{Home: t.TempDir(), Model: tinyModel(t, "qwen3", "other"), Drafter: cut})
	if err == nil || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("serving with a damaged drafter: %v", err)
	}
}

// TestDrafterGoesBad: a model whose drafter has gone bad is served without, and
// each answer says why.
func TestDrafterGoesBad(t *testing.T) {
	dir := tinyModel(t, "qwen3", "tiny")
	if err := os.Rename(enginetest.TinyDrafter(t, nil), filepath.Join(dir, "drafter")); err != nil {
		t.Fatal(err)
	}
	r := start(t, Options{Model: dir}, "127.0.0.1:0")
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
	d, err := c.Drafter(t.Context(), control.DrafterRequest{Model: "tiny"})
	if err != nil || !strings.Contains(d.Reason, "cut short") || d.Kind != "" {
		t.Errorf("%+v, %v", d, err)
	}
	if got := r.say(t, "tiny", `{"drafter":"none"}`); strings.Contains(got.Timings.NoDrafter, "cut short") {
		t.Errorf("speculation is off: %+v", got.Timings)
	}
	await(t, c, func(s control.State) bool { return len(s.Active) == 0 })
	runs, err := r.history.Runs(t.Context(), control.RunQuery{})
	if err != nil || len(runs) != 3 || !strings.Contains(runs[1].NoDrafter, "cut short") {
		t.Errorf("runs %+v, %v", runs, err)
	}
}

// TestPairedDrafter: the names under which the hub's cache holds drafters, and
// which of them is taken.
func TestPairedDrafter(t *testing.T) {
	ids := []string{"z-lab/Qwen3-8B-DFlash-b16", "z-lab/Qwen3-8B-Coder-DFlash", "z-lab/Qwen3-4B-DFlash", "me/qwen3-8b-dflash", "me/DFlash", "me/x-DFlashy", "Qwen/Qwen3-8B"}
	for model, want := range map[string][]string{
		"Qwen/Qwen3-8B":               {"me/qwen3-8b-dflash", "z-lab/Qwen3-8B-DFlash-b16"},
		"mlx-community/Qwen3-8B-4bit": {"me/qwen3-8b-dflash", "z-lab/Qwen3-8B-DFlash-b16"},
		"org/Qwen3-8B-Coder-4bit":     {"z-lab/Qwen3-8B-Coder-DFlash", "me/qwen3-8b-dflash", "z-lab/Qwen3-8B-DFlash-b16"},
		"Qwen3-4B":                    {"z-lab/Qwen3-4B-DFlash"},
		"Qwen3-80B":                   nil,
		"x":                           nil,
	} {
		if got := pool.DrafterNames(model, ids); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", model, got, want)
		}
	}
	cache := t.TempDir()
	snapshot := filepath.Join(cache, "models--z-lab--tiny-DFlash", "snapshots", strings.Repeat("a", 40))
	if err := os.MkdirAll(filepath.Dir(snapshot), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(enginetest.TinyDrafter(t, nil), snapshot); err != nil {
		t.Fatal(err)
	}
	r := start(t, Options{Model: tinyModel(t, "qwen3", "tiny-4bit"), Hub: hub.Options{CacheDir: cache}}, "127.0.0.1:0")
	if got := r.say(t, "tiny-4bit", fmt.Sprintf(fixedDepth, "dflash")); got.Timings.Drafter != "dflash" {
		t.Errorf("%+v", got.Timings)
	}
	d, err := r.pool.Drafter(t.Context(), control.DrafterRequest{Model: "tiny-4bit", Drafter: "z-lab/tiny-DFlash"})
	if err != nil || d.Choice != snapshot {
		t.Errorf("%+v, %v", d, err)
	}
}

// parrot changes a Gemma model so that it repeats its last token for ever, and
// a drafter so that the newest token is all it goes by: read as trained it
// sees that token in front of each row and follows it; with scaled embeddings
// it mostly sees the mask, and with rows that see each other mostly masks.
func parrot(t *testing.T, model, drafter string) {
	t.Helper()
	scale := func(dir string, factor func(name string) float64) {
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
				case f < 0: // the identity
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
	scale(model, func(name string) float64 {
		if name == "model.embed_tokens.weight" {
			return 20
		}
		return 1
	})
	scale(drafter, func(name string) float64 {
		switch {
		case name == "hidden_norm.weight", strings.Contains(name, "mlp.down_proj"), strings.Contains(name, "self_attn.k_proj"):
			return 0 // nothing of the context, and all rows seen alike
		case strings.Contains(name, "v_proj"), strings.Contains(name, "o_proj"):
			return -5
		}
		return 1
	})
}

// TestDrafterChangesUnderRequests: who asks while drafters come and go is
// answered all the same, and no change takes a model from a request.
func TestDrafterChangesUnderRequests(t *testing.T) {
	r := start(t, Options{Model: tinyModel(t, "gemma3_text", "tiny")}, "127.0.0.1:0")
	want := r.say(t, "tiny", `{"drafter":"none"}`).Choices[0].TokenIDs
	choices := []string{enginetest.TinyDrafter(t, nil), control.DrafterNone, enginetest.TinyModel(t, "gemma3_text")}
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
			_, err := r.pool.Drafter(t.Context(), control.DrafterRequest{Model: "tiny", Drafter: choices[i%len(choices)]})
			if e, ok := errors.AsType[*control.Error](err); err == nil {
				changed.Add(1)
			} else if !ok || e.Code != control.CodeModelBusy {
				t.Error(err)
			}
			time.Sleep(5 * time.Millisecond) // turns are not queued
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
			if e, ok := errors.AsType[*control.Error](err); err != nil && (!ok || e.Code != control.CodeModelBusy) {
				t.Error(err)
			}
			r.State()
		}
	})
	for i := 0; i < 10 || changed.Load() < 3; i++ {
		if got := r.say(t, "tiny", `{"drafter":"auto","depth":3}`).Choices[0].TokenIDs; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		time.Sleep(time.Millisecond)
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
