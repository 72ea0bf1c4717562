package drafters

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/models"
)

// A built-in drafter is known by its weights: another build may have other ones by the same name.
// A folder of that name in the working folder is no part of it.
func TestBuiltInDrafterIsKnownByItsWeights(t *testing.T) {
	f := &Finder{}
	h := sha256.New()
	if err := models.CopyDrafterWeights(h, models.PocketDrafter); err != nil {
		t.Fatal(err)
	}
	key := f.Key(models.PocketDrafter, LoadOptions{})
	if !strings.Contains(key, hex.EncodeToString(h.Sum(nil)[:16])) {
		t.Errorf("the key is %s", key)
	}
	t.Chdir(t.TempDir())
	dir := filepath.FromSlash(models.PocketDrafter)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := f.Key(models.PocketDrafter, LoadOptions{}); got != key {
		t.Errorf("with a folder of that name the key is %s, before %s", got, key)
	}
}
