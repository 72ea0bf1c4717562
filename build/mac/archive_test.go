package mac

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestArchiveUnpacksToTheSameBundle expects the same modes and links, and the same bytes when
// packed again.
func TestArchiveUnpacksToTheSameBundle(t *testing.T) {
	x := newTestBundle()
	bundle := x.write(t)
	if err := os.Symlink("bin/tandem", filepath.Join(bundle,
		"Contents/Resources/link")); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "a.zip")
	sum, size, err := zipBundle(archive, bundle)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(archive); err != nil || info.Size() != size {
		t.Errorf("%v, size %d", err, size)
	}
	if again, _, err := zipBundle(filepath.Join(t.TempDir(), "b.zip"), bundle); err != nil ||
		again != sum {
		t.Errorf("the second archive is %s, %v, want %s", again, err, sum)
	}
	dir := t.TempDir()
	if err := unzip(dir, archive); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(filepath.Join(dir,
		"Tandem.app/Contents/Resources/link")); err != nil || target != "bin/tandem" {
		t.Errorf("the link: %q, %v", target, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "Tandem.app/Contents", inTandem)); err != nil ||
		info.Mode().Perm() != 0o755 {
		t.Errorf("the program: %v, %v", info, err)
	}
	v, err := validateArchive(archive, expectation{signing: adHoc, product: x.product})
	if err != nil || len(v.findings) != 1 || !strings.Contains(v.findings[0].Error(),
		"Resources/link does not belong there") {
		t.Errorf("%v, %v", err, v)
	}
}
