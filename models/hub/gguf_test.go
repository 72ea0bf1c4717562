package hub

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// quantized returns a repository of GGUF files.
func quantized() map[string][]byte {
	return map[string][]byte{
		"README.md":                       []byte("# model"),
		"config.json":                     []byte(`{"model_type": "llama"}`),
		"n-Q4_K_M.gguf":                   weights(900_000),
		"n-Q8_0-00001-of-00002.gguf":      weights(500_000),
		"n-Q8_0-00002-of-00002.gguf":      weights(400_000),
		"BF16/n-BF16-00001-of-00001.gguf": weights(300_000),
		"n-UD-IQ2_XXS.gguf":               weights(100),
		"imatrix_unsloth.gguf":            weights(100),
		"mmproj-F16.gguf":                 weights(100),
	}
}

func TestPullTakesOneQuantization(t *testing.T) {
	for _, c := range []struct {
		name, file, quantization string
		files                    []string
	}{
		{"org/name", "n-Q4_K_M.gguf", "Q4_K_M", []string{"n-Q4_K_M.gguf"}},
		{"org/name:q8_0@main", "n-Q8_0-00001-of-00002.gguf", "Q8_0",
			[]string{"n-Q8_0-00001-of-00002.gguf", "n-Q8_0-00002-of-00002.gguf"}},
		{"org/name:BF16", "BF16/n-BF16-00001-of-00001.gguf", "BF16",
			[]string{"BF16/n-BF16-00001-of-00001.gguf"}},
	} {
		h := newFakeHub(t, quantized())
		o := h.options(t.TempDir())
		for _, added := range []bool{true, false} {
			s, err := Pull(t.Context(), c.name, o, nil)
			if err != nil {
				t.Fatal(c.name, err)
			}
			same(t, s.Dir, h.files, c.files)
			g := s.GGUF
			if g == nil {
				t.Fatalf("%s: g is nil", c.name)
			}
			if g.File != c.file {
				t.Errorf("%s: g.File = %v, want %v", c.name, g.File, c.file)
			}
			if g.Quantization != c.quantization {
				t.Errorf("%s: g.Quantization = %v, want %v", c.name, g.Quantization, c.quantization)
			}
			if !g.Projector {
				t.Errorf("%s: g.Projector = false, want true", c.name)
			}
			if len(g.Others) != 3 {
				t.Errorf("%s: len(g.Others) = %v, want 3", c.name, len(g.Others))
			}
			if slices.Contains(g.Others, c.quantization) {
				t.Errorf("%s: g.Others = %v, want it without %v", c.name, g.Others, c.quantization)
			}
			if s.Added != added {
				t.Errorf("%s: s.Added = %v, want %v", c.name, s.Added, added)
			}
		}
		o.Offline = true
		s, err := Pull(t.Context(), c.name, o, nil)
		if err != nil || s.GGUF == nil || s.GGUF.File != c.file {
			t.Errorf("offline %s is %+v, %v", c.name, s, err)
		}
		_, err = Pull(t.Context(), "org/name:Q6_K", o, nil)
		wantCode(t, err, Offline, "a GGUF file of Q6_K is missing in the cache ",
			"HF_HUB_OFFLINE forbids downloading it")
	}
}

func TestQuantizationThatIsNotThere(t *testing.T) {
	h := newFakeHub(t, quantized())
	o := h.options(t.TempDir())
	_, err := Pull(t.Context(), "org/name:Q5_K_M", o, nil)
	wantCode(t, err, Unsupported, "Q5_K_M", "Q4_K_M, Q8_0")
	for _, name := range []string{"org/name:", "org/name:@main", "org/name:a/b", "org/name:a:b"} {
		_, err = Pull(t.Context(), name, o, nil)
		wantCode(t, err, Invalid)
	}
	h.set(func() { delete(h.files, "n-Q8_0-00002-of-00002.gguf") })
	_, err = Pull(t.Context(), "org/name:Q8_0", o, nil)
	wantCode(t, err, Unsupported, "n-Q8_0-00002-of-00002.gguf")
	if len(h.seen("cdn.test")) > 0 {
		t.Errorf("weights were asked for: %q", h.seen("cdn.test"))
	}
}

// A set that is half there spoils no other file. Of it the missing part is named.
func TestHalfASetSpoilsNoOtherFile(t *testing.T) {
	h := newFakeHub(t, quantized())
	o := h.options(t.TempDir())
	inCache(t, o.CacheDir, "org/name", commitB, map[string]string{"config.json": "{}",
		"n-Q4_K_M-00001-of-00002.gguf": "w", "n-Q8_0.gguf": "w", "n-Q2_K.gguf": "w"})
	o.Offline = true
	for name, want := range map[string]string{"org/name": "n-Q8_0.gguf",
		"org/name:Q2_K": "n-Q2_K.gguf"} {
		s, err := Pull(t.Context(), name, o, nil)
		if err != nil || s.GGUF == nil || s.GGUF.File != want ||
			slices.Contains(s.GGUF.Others, "Q4_K_M") {
			t.Errorf("%s is %+v, %v", name, s, err)
		}
	}
	_, err := Pull(t.Context(), "org/name:Q4_K_M", o, nil)
	wantCode(t, err, Offline, "n-Q4_K_M-00002-of-00002.gguf is missing")
	// Another snapshot has it whole.
	lay(t, o.CacheDir, map[string]string{"models--org--name/refs/main": commitB})
	inCache(t, o.CacheDir, "org/name", commitA, map[string]string{"n-Q4_K_M.gguf": "w"})
	if s, err := Pull(t.Context(), "org/name:Q4_K_M", o, nil); err != nil || s.Commit != commitA {
		t.Errorf("the whole set is passed over: %+v, %v", s, err)
	}
	if dir, err := Resolve(o.CacheDir, "org/name"); err != nil || filepath.Base(dir) != commitB {
		t.Errorf("main is passed over: %s, %v", dir, err)
	}
}

// The usual quantization is taken, or else the one next to it.
func TestDefaultQuantization(t *testing.T) {
	for _, c := range []struct{ want, has string }{
		{"Q4_K_M", "Q8_0 Q4_K_S Q4_K_M Q2_K"}, {"Q4_K_S", "Q8_0 Q4_K_S Q3_K_M F16"},
		{"Q5_K_M", "Q8_0 Q5_K_M Q3_K_M"}, {"Q8_0", "F16 Q8_0 IQ1_S"}, {"IQ1_S", "IQ1_S"},
	} {
		var files []string
		for tag := range strings.FieldsSeq(c.has) {
			files = append(files, "n."+strings.ToLower(tag)+".gguf")
		}
		g, err := chooseGGUF("org/name", files, fileChoice{})
		if err != nil || g.Quantization != c.want || len(g.Others) != len(files)-1 {
			t.Errorf("of %s %+v is taken, %v", c.has, g, err)
		}
	}
	if g, err := chooseGGUF("org/name", []string{"mmproj-n.gguf"}, fileChoice{}); g != nil || err != nil {
		t.Errorf("what lets a model see is taken for one: %+v, %v", g, err)
	}
}

// A repository of many sets costs no more for each of its files than a small one.
func TestRepositoryOfManySets(t *testing.T) {
	var files []string
	for i := range 1000 {
		files = append(files, fmt.Sprintf("m%d-Q4_K_M-00001-of-01024.gguf", i))
	}
	const most = 50 // for each file
	n := testing.AllocsPerRun(1, func() { _, _ = chooseGGUF("org/name", files, fileChoice{}) })
	if n > most*float64(len(files)) {
		t.Errorf("%d files take %v allocations", len(files), n)
	}
}

// A model that cannot be loaded is refused after its header was read, and before its weights come.
func TestGGUFIsCheckedBeforeItsWeights(t *testing.T) {
	h := newFakeHub(t, quantized())
	h.files["n-Q4_K_M.gguf"] = weights(20 << 20)
	o := h.options(t.TempDir())
	const header = 1 << 20
	refuse := errors.New("refused")
	o.Check = func(files fs.FS, of *GGUF) error {
		f, err := files.Open(of.File)
		if err != nil {
			return err
		}
		defer f.Close()
		got := make([]byte, header)
		for at := 0; at < header; at += header / 32 { // in small steps, as headers are read
			if _, err := f.(io.ReaderAt).ReadAt(got[at:at+header/32], int64(at)); err != nil {
				return err
			}
		}
		if !slices.Equal(got, h.files[of.File][:header]) {
			t.Error("the header is not the file's")
		}
		return refuse
	}
	if _, err := Pull(t.Context(), "org/name", o, nil); !errors.Is(err, refuse) {
		t.Fatal(err)
	}
	if asked := h.seen("GET cdn.test"); len(asked) != 3 {
		t.Errorf("the header took %q", asked)
	}
	for _, file := range tree(t, o.CacheDir) {
		t.Errorf("%s is left", file)
	}
}

// A GGUF file is removed alone, while others of its repository stay.
func TestRemoveOneGGUFFile(t *testing.T) {
	h := newFakeHub(t, quantized())
	o := h.options(t.TempDir())
	var paths []string
	for _, name := range []string{"org/name:Q4_K_M", "org/name:Q8_0"} {
		s, err := Pull(t.Context(), name, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, filepath.Join(s.Dir, s.GGUF.File))
	}
	for i, path := range paths {
		told, err := Freed(path)
		if err != nil || told != 900_000 {
			t.Errorf("%d bytes would be freed, %v", told, err)
		}
		freed, err := Remove(path)
		if err != nil || freed != told {
			t.Errorf("%d bytes are freed, not %d, %v", freed, told, err)
		}
		if i == 0 {
			same(t, filepath.Dir(path), h.files,
				[]string{"n-Q8_0-00001-of-00002.gguf", "n-Q8_0-00002-of-00002.gguf"})
		}
		_, err = Remove(path)
		wantCode(t, err, NotFound)
	}
	if left := tree(t, o.CacheDir); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// A snapshot that a pull of safetensors shares with GGUF files keeps what is not removed.
func TestModelsThatShareASnapshotAreRemovedAlone(t *testing.T) {
	files := quantized()
	files["model.safetensors"] = weights(700_000)
	for _, ggufFirst := range []bool{false, true} {
		h := newFakeHub(t, files)
		o := h.options(t.TempDir())
		var paths []string
		for _, name := range []string{"org/name", "org/name:BF16"} {
			s, err := Pull(t.Context(), name, o, nil)
			if err != nil {
				t.Fatal(err)
			}
			paths = append(paths, s.Dir)
			if s.GGUF != nil {
				paths[1] = filepath.Join(s.Dir, s.GGUF.File)
			}
		}
		left := []string{"BF16/n-BF16-00001-of-00001.gguf"}
		if ggufFirst {
			slices.Reverse(paths)
			left = []string{"config.json", "model.safetensors"}
		}
		for i, path := range paths {
			told, err := Freed(path)
			freed, err2 := Remove(path)
			if err != nil || err2 != nil || freed != told || freed < 300_000 {
				t.Errorf("%d bytes are freed, not %d, %v, %v", freed, told, err, err2)
			}
			if i == 0 {
				same(t, filepath.Join(o.CacheDir, "models--org--name/snapshots", commitA), files, left)
				if _, err := Resolve(o.CacheDir, "org/name"); err != nil {
					t.Errorf("the ref is gone: %v", err)
				}
			}
		}
		if left := tree(t, o.CacheDir); len(left) > 0 {
			t.Errorf("%q are left", left)
		}
	}
}
