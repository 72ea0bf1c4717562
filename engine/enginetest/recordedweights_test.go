package enginetest

import (
	"path/filepath"
	"testing"
)

// TestWeightsAreTheRecorders compares the checksum of every recording's weights with the one that
// Python made.
func TestWeightsAreTheRecorders(t *testing.T) {
	for root, want := range map[string]int{"parity": 103, "embedding": 4} {
		recordings := filepath.Join("..", "..", "models", "testdata", root)
		paths, err := filepath.Glob(filepath.Join(recordings, "*", "fixture.json"))
		if err != nil || len(paths) < want {
			t.Fatalf("%d recordings in %s, want %d, %v", len(paths), recordings, want, err)
		}
		for _, path := range paths {
			name := filepath.Base(filepath.Dir(path))
			t.Run(name, func(t *testing.T) {
				r := &Recording{}
				r.Read(t, filepath.Dir(path), r)
				files := RecordedWeights(t, recordings, name)
				if len(files) == 0 {
					t.Fatal("it has no weights")
				}
				r.Check(t, files)
			})
		}
	}
}
