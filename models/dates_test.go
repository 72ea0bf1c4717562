package models

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestNewShardIsANewModel expects weights without an index to be known by their newest shard.
func TestNewShardIsANewModel(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"model-1-of-2.safetensors", "model-2-of-2.safetensors"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := WeightsKey(dir)
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "model-1-of-2.safetensors"), later, later); err != nil {
		t.Fatal(err)
	}
	if before == WeightsKey(dir) || before == dir {
		t.Errorf("the key stays %s", before)
	}
}
