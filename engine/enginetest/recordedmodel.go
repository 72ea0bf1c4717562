package enginetest

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"testing/fstest"

	"tandem/engine/mlx"
)

// recordedVocabulary is the vocabulary of recorded models: a token is a byte of ASCII.
const recordedVocabulary = 128

// RecordedModel returns the files of the recording of that name below a folder of recordings. It
// may borrow the weights of another one. It has no chat template. Nothing was recorded of texts, so
// its tokenizer has a byte of ASCII for each id. What the test does from here on is charged to the
// model.
func RecordedModel(t testing.TB, recordings, name string) fstest.MapFS {
	t.Helper()
	var recording struct {
		Weights string `json:"weights"` // the recording whose weights it borrows
	}
	dir := filepath.Join(recordings, name)
	path := filepath.Join(dir, "fixture.json")
	if err := json.Unmarshal(readFile(t, path), &recording); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	files := fstest.MapFS{"tokenizer.json": {Data: byteTokenizerJSON(recordedVocabulary)}}
	for _, from := range []string{filepath.Join(recordings, recording.Weights), dir} {
		paths, err := filepath.Glob(filepath.Join(from, "[cm]o*")) // config.json, model*
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			files[filepath.Base(path)] = &fstest.MapFile{Data: readFile(t, path)}
		}
	}
	Charge(t, modelTypeOf(t, files["config.json"].Data))
	return files
}

// RecordedAnswer returns a prompt and the ids that the reference says after it, greedily in float32,
// of the recording of that name.
func RecordedAnswer(t testing.TB, recordings, name string) (prompt, ids []int32) {
	t.Helper()
	tensors := Tensors(t, filepath.Join(recordings, name, "float32.safetensors"))
	Do(t, NewThread(t), func(s *mlx.Scope) (err error) {
		if prompt, err = mlx.Read[int32](s, tensors.Load(s, "prompt")); err == nil {
			ids, err = mlx.Read[int32](s, tensors.Load(s, "ids"))
		}
		return err
	})
	return prompt, ids
}
