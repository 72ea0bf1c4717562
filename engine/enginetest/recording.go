package enginetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"tandem/engine/mlx"
)

// A Recording says where a fixture comes from that another implementation recorded. It is part of
// the fixture.json beside the recorded files.
type Recording struct {
	Versions map[string]string `json:"versions"` // of the reference
	Command  string            `json:"command"`
	Input    string            `json:"input_sha256"` // of the files it was recorded from

	dir string
}

// Read reads fixture.json in a folder into v, which has r as a part. It ends the test if versions
// or command are missing.
func (r *Recording) Read(t testing.TB, dir string, v any) {
	t.Helper()
	r.dir = dir
	if err := json.Unmarshal(readFile(t, filepath.Join(dir, "fixture.json")), v); err != nil {
		t.Fatalf("%s/fixture.json: %v", dir, err)
	}
	if len(r.Versions) == 0 || r.Command == "" {
		t.Fatalf("%s/fixture.json lacks versions or command", dir)
	}
}

// Check ends the test unless r was recorded from the config.json of its folder and from the weights
// among these files. So it fails if a recipe makes other bytes here than in Python.
func (r *Recording) Check(t testing.TB, files fstest.MapFS) {
	t.Helper()
	hash := sha256.New()
	hash.Write(readFile(t, filepath.Join(r.dir, "config.json")))
	for _, name := range slices.Sorted(maps.Keys(files)) { // as the recorder does
		if filepath.Ext(name) == ".safetensors" {
			hash.Write(files[name].Data)
		}
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != r.Input {
		t.Fatalf("%s was recorded from other files: their hash is %s, it says %q",
			r.dir, got, r.Input)
	}
}

// Tensors opens a safetensors file.
func Tensors(t testing.TB, path string) *mlx.Tensors {
	t.Helper()
	return OpenTensors(t, readFile(t, path))
}

// OpenTensors opens the contents of a safetensors file.
func OpenTensors(t testing.TB, data []byte) *mlx.Tensors {
	t.Helper()
	ts, err := mlx.OpenTensors(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

// TensorsIn opens a safetensors file that is open. It reads a tensor when that is asked for.
func TensorsIn(t testing.TB, f fs.File) *mlx.Tensors {
	t.Helper()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	ts, err := mlx.OpenTensors(f.(io.ReaderAt), info.Size())
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
