package gguf

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/engine/mlx"
)

// FuzzHeader opens any bytes as a file. What opens shows tensors that mlx accepts, and files of
// JSON.
func FuzzHeader(f *testing.F) {
	whole := smallest().file()
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(whole[:64])
	f.Add(scored([]string{"a", "b", "ab", strings.Repeat("ab", 99)}, -1).file())
	huge := smallest()
	huge.set("llama.rope.scaling.type", "linear")
	huge.set("llama.rope.scaling.factor", 1e300)
	f.Add(huge.file())
	recorded, err := filepath.Glob("../testdata/gguf/*.gguf")
	if err != nil || len(recorded) == 0 {
		f.Fatalf("no recorded files: %v", err)
	}
	for _, name := range recorded {
		file, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file[:16<<10]) // the header
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		d, err := open(t, file)
		if err != nil {
			return
		}
		for _, name := range d.names() {
			if name == weightsFile {
				continue
			}
			if text := mustRead(t, d, name); !json.Valid(text) {
				t.Errorf("%s is no JSON: %.200q", name, text)
			}
		}
		w, err := d.Open(weightsFile)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		info, err := fs.Stat(d, weightsFile)
		if err != nil {
			t.Fatal(err)
		}
		tensors, err := mlx.OpenTensors(w.(io.ReaderAt), info.Size())
		if err != nil {
			return // more tensors than it takes
		}
		for _, name := range tensors.Names() {
			_, _ = tensors.Data(name) // a scale that is no number is an error
		}
		exact, err := d.OpenExact()
		if err != nil {
			t.Fatal(err)
		}
		if exact != nil {
			defer exact.Close()
			_, _ = io.Copy(io.Discard, exact)
		}
	})
}
