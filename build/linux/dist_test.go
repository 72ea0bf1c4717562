package linux

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestNewerComparesNumbers(t *testing.T) {
	for _, x := range []struct {
		a, b string
		want bool
	}{
		{"2.36", "", true}, {"2.4", "2.36", false}, {"2.36", "2.4", true}, {"2.36", "2.36", false},
		{"2.2.5", "2.2", true}, {"3", "2.36", true}, {"PRIVATE", "2.2", false},
	} {
		if got := newer(x.a, x.b); got != x.want {
			t.Errorf("newer(%q, %q) = %v", x.a, x.b, got)
		}
	}
}

// TestPackGivesTheSameBytes packs one tree twice, with other times and a umask's bits between.
func TestPackGivesTheSameBytes(t *testing.T) {
	tree := filepath.Join(t.TempDir(), "tandem-1.2.3")
	program := filepath.Join(tree, "bin", "tandem")
	if err := errors.Join(os.MkdirAll(filepath.Dir(program), 0o755), os.WriteFile(program, []byte("program"), 0o755),
		os.WriteFile(filepath.Join(tree, "LICENSE"), []byte("terms"), 0o644)); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "a.tar.gz")
	first, err := pack(archive, tree)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(filepath.Join(tree, "LICENSE"), 0o664),
		os.Chtimes(program, time.Now(), time.Unix(1, 0))); err != nil {
		t.Fatal(err)
	}
	second, err := pack(archive, tree)
	if err != nil || first != second {
		t.Errorf("%s, then %s, %v", first, second, err)
	}
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]int64{}
	for r := tar.NewReader(zipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		modes[h.Name] = h.Mode
	}
	if modes["tandem-1.2.3/bin/tandem"] != 0o755 || modes["tandem-1.2.3/LICENSE"] != 0o644 || len(modes) != 4 {
		t.Errorf("the archive has the modes %v", modes)
	}
}
