package enginetest

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"testing/fstest"
)

// RecordedModel returns the files of the recording of that name below a folder of recordings. It
// may borrow the weights of another one. Its tokenizer has one token: only ids are compared, and any
// tokenizer does that is no larger than the vocabulary.
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
	files := fstest.MapFS{"tokenizer.json": {Data: []byte(`{"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"pre_tokenizer":{"type":"ByteLevel"},"decoder":{"type":"ByteLevel"}}`)}}
	for _, from := range []string{filepath.Join(recordings, recording.Weights), dir} {
		paths, err := filepath.Glob(filepath.Join(from, "[cm]o*")) // config.json, model*
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			files[filepath.Base(path)] = &fstest.MapFile{Data: readFile(t, path)}
		}
	}
	return files
}
