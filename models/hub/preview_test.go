package hub

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// headsAndBodies returns the requests for the beginning of weights, and those for the whole or the rest.
func headsAndBodies(h *fakeHub) (heads, bodies []string) {
	for _, line := range h.seen("GET cdn.test", ".safetensors") {
		if strings.Contains(line, " bytes=") && !strings.HasSuffix(line, "-") {
			heads = append(heads, line)
		} else {
			bodies = append(bodies, line)
		}
	}
	return heads, bodies
}

func TestRefusedModelCostsNoWeights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFakeHub(t, model())
		o := h.options(t.TempDir())
		refused := errors.New("no such architecture")
		o.Check = func(files fs.FS, _ *GGUF) error {
			if heads, _ := headsAndBodies(h); heads != nil {
				t.Errorf("weights were asked for before they are read: %q", heads)
			}
			if text, err := fs.ReadFile(files, "config.json"); err != nil ||
				!bytes.Equal(text, h.files["config.json"]) {
				t.Errorf("the check reads config.json as %q, %v", text, err)
			}
			if _, err := files.Open(shard); err != nil {
				t.Error(err)
			}
			return refused
		}
		got, err := Pull(t.Context(), "org/name", o, nil)
		if !errors.Is(err, refused) || got.Dir != "" {
			t.Errorf("the pull gives %+v, %v", got, err)
		}
		if heads, bodies := headsAndBodies(h); len(heads) != 2 || bodies != nil {
			t.Errorf("of the weights were asked %q and %q", heads, bodies)
		}
		if _, err := Resolve(o.CacheDir, "org/name"); err == nil {
			t.Error("the refused model is in the cache")
		}
	})
}

func TestCheckReadsWhatIsStillToCome(t *testing.T) {
	for _, ranges := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			h := newFakeHub(t, model())
			if !ranges {
				h.hook = func(w http.ResponseWriter, r *http.Request) bool {
					r.Header.Del("Range")
					return false
				}
			}
			o := h.options(t.TempDir())
			asked := 0
			o.Check = func(files fs.FS, _ *GGUF) error {
				asked++
				f, err := files.Open(shard)
				if err != nil {
					t.Fatal(err)
				}
				st, err := f.Stat()
				if err != nil || !st.Mode().IsRegular() || st.Size() != int64(len(h.files[shard])) {
					t.Errorf("%s is %+v, %v", shard, st, err)
				}
				for _, span := range [][2]int{{0, 8}, {8, 1000}, {headBytes - 10, headBytes + 90},
					{300_000, 400_000}, {0, 700_000}} {
					part := make([]byte, span[1]-span[0])
					n, err := f.(io.ReaderAt).ReadAt(part, int64(span[0]))
					if n != len(part) || err != nil ||
						!bytes.Equal(part, h.files[shard][span[0]:span[1]]) {
						t.Errorf("ranges %t: bytes %v give %d, %v", ranges, span, n, err)
					}
				}
				if _, err := f.(io.ReaderAt).ReadAt(make([]byte, 9), 699_995); err != io.EOF {
					t.Errorf("beyond the end: %v", err)
				}
				if _, err := files.Open("modeling.py"); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("a file that is not fetched gives %v", err)
				}
				if text, err := fs.ReadFile(files, "templates/tool use.jinja"); err != nil ||
					string(text) != "{{ tools }}" {
					t.Errorf("a template is read as %q, %v", text, err)
				}
				var names []string
				entries, err := fs.ReadDir(files, ".")
				for _, e := range entries {
					names = append(names, e.Name())
				}
				want := strings.Replace(strings.Join(fetched, ","), "/tool use.jinja", "", 1)
				if err != nil || strings.Join(names, ",") != want {
					t.Errorf("the folder holds %q, %v", names, err)
				}
				return nil
			}
			got, err := Pull(t.Context(), "org/name", o, nil)
			if err != nil || asked != 1 {
				t.Fatalf("asked %d times, %v", asked, err)
			}
			same(t, got.Dir, h.files, fetched)
			if _, err := Pull(t.Context(), "org/name", o, nil); err != nil || asked != 1 {
				t.Errorf("a model that is there was checked again, %d, %v", asked, err)
			}
		})
	}
}

// A hub may announce as many files of weights as it likes, each with a long header.
func TestHeadersOfAllWeightsHaveABoundTogether(t *testing.T) {
	v := &preview{p: &pull{name: "org/name"}}
	for range maxHeadsBytes >> 26 {
		if err := v.reserveBytes(1 << 26); err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, v.reserveBytes(1), Unsupported, "headers of its weights are longer than 256 MiB")
}

// A failure of the network is not an error of the model.
func TestCheckThatCannotReadGivesTheHubsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFakeHub(t, model())
		h.hook = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Host == "cdn.test" && strings.HasPrefix(r.Header.Get("Range"), "bytes=262144-") {
				w.WriteHeader(http.StatusNotFound)
				return true
			}
			return false
		}
		o := h.options(t.TempDir())
		o.Check = func(files fs.FS, _ *GGUF) error {
			f, err := files.Open(shard)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.(io.ReaderAt).ReadAt(make([]byte, 400_000), 0); err == nil {
				t.Error("it was read")
			}
			return errors.New("the model is damaged")
		}
		_, err := Pull(t.Context(), "org/name", o, nil)
		wantCode(t, err, Unavailable, "storage refused")
	})
}
