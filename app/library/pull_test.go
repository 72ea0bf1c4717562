package library

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
	"tandem/models/hub"
	"tandem/storage"
)

// A repository is the files of org/name at a hub that the test serves.
type repository struct {
	dir     string
	pushes  atomic.Int64 // each makes a commit of its own
	weights atomic.Int64 // bytes of weights that were sent
}

// serve serves a folder as the repository org/NAME of a hub, and returns its address.
func (r *repository) serve(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		commit := fmt.Sprintf("%040x", r.pushes.Load())
		if strings.HasPrefix(q.URL.Path, "/api/") {
			entries, err := os.ReadDir(r.dir)
			if err != nil {
				t.Error(err)
			}
			list := []map[string]string{}
			for _, e := range entries {
				list = append(list, map[string]string{"rfilename": e.Name()})
			}
			json.NewEncoder(w).Encode(map[string]any{"sha": commit, "siblings": list})
			return
		}
		_, name, _ := strings.Cut(q.URL.Path, "/resolve/"+commit+"/")
		data, err := os.ReadFile(filepath.Join(r.dir, name))
		if err != nil {
			http.NotFound(w, q)
			return
		}
		etag := fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(data), data)))
		if end := filepath.Ext(name); end == ".safetensors" || end == ".gguf" {
			etag = fmt.Sprintf("%x", sha256.Sum256(data))
			w = &counting{w, &r.weights}
		}
		w.Header().Set("ETag", `"`+etag+`"`)
		http.ServeFile(w, q, filepath.Join(r.dir, name))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A counting writer counts the bytes of an answer.
type counting struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (c *counting) Write(p []byte) (int, error) {
	c.sent.Add(int64(len(p)))
	return c.ResponseWriter.Write(p)
}

// editJSON changes fields of a JSON file.
func editJSON(t *testing.T, path string, fields map[string]any) {
	t.Helper()
	all := map[string]any{}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	maps.Copy(all, fields)
	if err == nil {
		text, err = json.Marshal(all)
	}
	if err = errors.Join(err, os.WriteFile(path, text, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// pad adds a tensor that no model has, so that weights are longer than what is fetched of them
// before they are checked.
func pad(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i := range 8 {
		n |= int(data[i]) << (8 * i)
	}
	const more = 2 << 20
	at := len(data) - 8 - n
	header := strings.TrimRight(string(data[8:8+n]), " \n")
	header = strings.TrimSuffix(header, "}") + fmt.Sprintf(
		`,"model.layers.0.self_attn.rotary_emb.inv_freq":{"dtype":"F32","shape":[%d],"data_offsets":[%d,%d]}}`,
		more/4, at, at+more)
	out := make([]byte, 8)
	for i := range 8 {
		out[i] = byte(len(header) >> (8 * i))
	}
	out = append(append(append(out, header...), data[8+n:]...), make([]byte, more)...)
	if err := os.WriteFile(path, out, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A model that cannot be used is refused before its weights are fetched. The same folder is refused
// where it is added, in the same words, and listed with them.
func TestUnusableModelIsRefusedBeforeItsWeightsAreFetched(t *testing.T) {
	for name, spoil := range map[string]struct {
		file   string
		fields map[string]any
		want   string
	}{
		"nothing": {"config.json", nil, ""},
		"awq": {"config.json", map[string]any{"quantization_config": map[string]any{
			"quant_method": "awq", "bits": 4}}, `quantized by "awq"`},
		"mode": {"config.json", map[string]any{"quantization": map[string]any{
			"mode": "fp6", "bits": 6, "group_size": 32}}, `"fp6"`},
		"architecture": {"config.json", map[string]any{"model_type": "tomorrow"}, `"tomorrow"`},
		"sizes":        {"config.json", map[string]any{"num_hidden_layers": 4}, "lacks"},
		"vocabulary":   {"config.json", map[string]any{"vocab_size": 100}, "shape"},
		"tokenizer": {"tokenizer.json", map[string]any{"model": map[string]any{
			"type": "Unigram", "vocab": []any{}}}, "Unigram"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &repository{dir: enginetest.TinyModel(t, "llama")}
			path := filepath.Join(r.dir, spoil.file)
			pad(t, filepath.Join(r.dir, "model.safetensors"))
			editJSON(t, path, spoil.fields)
			folders := []ModelFolder{{Path: r.dir, Place: control.PlaceFolder}}
			a := open(t, setup{Hub: hub.Options{CacheDir: t.TempDir(), Endpoint: r.serve(t)},
				ModelFolders: folders})
			_, ofPull := a.library.Pull(t.Context(), control.PullRequest{ID: "org/name"},
				func(control.Progress) {})
			sent := r.weights.Load()
			_, ofAdd := a.library.AddModel(t.Context(), control.AddRequest{Path: r.dir})
			found, err := a.library.Found(t.Context())
			if err != nil || len(found.Models) == 0 {
				t.Fatalf("found %+v, %v", found, err)
			}
			why := found.Models[len(found.Models)-1].Why
			if spoil.want == "" {
				if ofPull != nil || ofAdd != nil || why != "" || sent < 2<<20 {
					t.Errorf("%v, %v, %q, %d bytes", ofPull, ofAdd, why, sent)
				}
				return
			}
			for _, err := range []error{ofPull, ofAdd} {
				e, ok := errors.AsType[*control.Error](err)
				if !ok || e.Code != control.CodeModelInvalid || !strings.Contains(e.Message, spoil.want) {
					t.Errorf("got %v, want %q", err, spoil.want)
				}
			}
			if !strings.Contains(why, spoil.want) {
				t.Errorf("it is listed with %q, want %q", why, spoil.want)
			}
			if sent > 1<<20 {
				t.Errorf("%d bytes of the weights were sent", sent)
			}
		})
	}
}

// A drafter that fits none of the models that it is named for is refused before its weights are
// fetched.
func TestDrafterThatFitsNoModelIsRefusedBeforeItsWeightsAreFetched(t *testing.T) {
	for name, test := range map[string]struct {
		fields     map[string]any
		registered bool
		want       string
	}{
		"it fits":             {nil, true, ""},
		"no model is here":    {map[string]any{"hidden_size": 128}, false, ""},
		"another width":       {map[string]any{"hidden_size": 128}, true, "hidden elements"},
		"another vocabulary":  {map[string]any{"vocab_size": 77}, true, "vocabulary"},
		"other layers":        {map[string]any{"num_target_layers": 77}, true, "layers"},
		"tensors do not fit":  {map[string]any{"intermediate_size": 77}, true, "shape"},
		"a config of no kind": {map[string]any{"num_hidden_layers": -1}, false, "num_hidden_layers"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &repository{dir: enginetest.TinyDrafter(t, nil)}
			editJSON(t, filepath.Join(r.dir, "config.json"), test.fields)
			cache := t.TempDir()
			a := open(t, setup{Hub: hub.Options{CacheDir: cache, Endpoint: r.serve(t)}})
			if test.registered {
				dir := cachedModel(t, cache, "org/Tiny-4bit", "llama")
				if _, err := a.library.AddModel(t.Context(),
					control.AddRequest{Path: dir}); err != nil {
					t.Fatal(err)
				}
			}
			_, err := a.library.Pull(t.Context(), control.PullRequest{ID: "maker/Tiny-DFlash"},
				func(control.Progress) {})
			_, kept := a.db.Models.DrafterFile(t.Context(), "maker/Tiny-DFlash")
			if test.want == "" {
				if err != nil || kept != nil {
					t.Errorf("got %v, %v", err, kept)
				}
				return
			}
			e, ok := errors.AsType[*control.Error](err)
			if !ok || e.Code != control.CodeModelInvalid || !strings.Contains(e.Message, test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if !storage.IsNotFound(kept) {
				t.Errorf("it is kept, %v", kept)
			}
		})
	}
}

// A pull says what parts of a model are left out.
func TestPullSaysWhatIsLeftOut(t *testing.T) {
	const tokens = `{"model":{"type":"BPE","vocab":{"a":0},"merges":[]},` +
		`"pre_tokenizer":{"type":"ByteLevel"},"decoder":{"type":"ByteLevel"}}`
	for name, want := range map[string]string{
		"gemma4-unified": "org/gemma4-unified reads text alone here: its parts for images and sound are left out",
		"gemma4":         "",
	} {
		r := &repository{dir: t.TempDir()}
		err := os.CopyFS(r.dir, enginetest.RecordedModel(t, "../../models/testdata/parity", name))
		err = errors.Join(err, os.WriteFile(filepath.Join(r.dir, "tokenizer.json"), []byte(tokens),
			0o600))
		if err != nil {
			t.Fatal(err)
		}
		l := open(t, setup{Hub: hub.Options{CacheDir: t.TempDir(), Endpoint: r.serve(t)}}).library
		var note string
		_, err = l.Pull(t.Context(), control.PullRequest{ID: "org/" + name},
			func(p control.Progress) {
				if p.Note != "" {
					note = p.Note
				}
			})
		if err != nil || note != want {
			t.Errorf("%s: note %q, %v; want %q", name, note, err, want)
		}
	}
}
