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
	files := RecordedWeights(t, recordings, name)
	files["tokenizer.json"] = &fstest.MapFile{Data: byteTokenizerJSON(recordedVocabulary)}
	paths, err := filepath.Glob(filepath.Join(recordings, name, "[cm]o*.json")) // config, an index
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		files[filepath.Base(path)] = &fstest.MapFile{Data: readFile(t, path)}
	}
	Charge(t, modelTypeOf(t, files["config.json"].Data))
	return files
}

// RecordedWeights makes the files of a recording that its fixture.json has recipes of.
func RecordedWeights(t testing.TB, recordings, name string) fstest.MapFS {
	t.Helper()
	var recording struct {
		Weights string                       `json:"weights"` // the recording whose weights it borrows
		Seed    int                          `json:"seed"`
		Files   map[string]map[string]recipe `json:"files"`
	}
	path := filepath.Join(recordings, name, "fixture.json")
	if err := json.Unmarshal(readFile(t, path), &recording); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if recording.Weights != "" {
		return RecordedWeights(t, recordings, recording.Weights)
	}
	files := fstest.MapFS{}
	for file, tensors := range recording.Files {
		files[file] = &fstest.MapFile{Data: safetensors(t, recording.Seed, tensors)}
	}
	return files
}

// RecordedTensors returns a recording's weights and what they are tried on, from its folder.
func RecordedTensors(t testing.TB, dir string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range []string{"model.safetensors", "target.safetensors"} {
		files[name] = &fstest.MapFile{Data: readFile(t, filepath.Join(dir, name))}
	}
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
