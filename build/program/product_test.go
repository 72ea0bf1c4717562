package program

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/build/setup"
)

func TestProductNeedsNameAndVersion(t *testing.T) {
	if p, err := ReadProduct(&setup.Builder{Root: "../.."}); err != nil ||
		p.Info.ProductName != "Tandem" || p.OutputFilename != "Tandem" {
		t.Errorf("%+v, %v", p, err)
	}
	for _, text := range []string{"{}", "no JSON",
		`{"info": {"productName": "Tandem", "productVersion": "1.2"}}`,
		`{"info": {"productVersion": "1.2.3"}}`} {
		b := newTestBuilder(t)
		if err := os.WriteFile(filepath.Join(b.Root, "wails.json"), []byte(text),
			0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadProduct(b); err == nil || !strings.Contains(err.Error(), "wails.json") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// newTestBuilder has an empty checkout and an empty cache.
func newTestBuilder(t *testing.T) *setup.Builder {
	return &setup.Builder{Root: t.TempDir(), Cache: setup.Cache{Dir: t.TempDir()}, Out: io.Discard}
}
