package bench

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/evidence"
)

// TestDrafterParity drafts what the reference drafted. A weight that is another one is noticed.
func TestDrafterParity(t *testing.T) {
	tables, reports, err := evaluated(t, func(o Options) (bench, error) {
		return openParity(t.Context(), o)
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := startsWith(t, tables, "drafter-parity: guesses in F32")
	if n, total, _ := strings.Cut(cellOf(t, all, "all", "guesses equal").(string), "/"); n != total {
		t.Errorf("%s of %s guesses are equal", n, total)
	}
	if blocks := cellOf(t, all, "all", "blocks").(float64); blocks < 96 {
		t.Errorf("%v blocks are recorded", blocks)
	}
	if len(reports) != 2 || reports[0].Kind != evidence.KindParity {
		t.Errorf("%d reports", len(reports))
	}

	folder := t.TempDir()
	one, err := inCheckout(recordedGuesses)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"full", "tiny"} {
		if err := os.CopyFS(filepath.Join(folder, name), os.DirFS(filepath.Join(one, name))); err != nil {
			t.Fatal(err)
		}
	}
	weights := filepath.Join(folder, "tiny", "model.safetensors")
	data, err := os.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(data) - 4096; i < len(data); i++ {
		data[i] ^= 0x40
	}
	if err := os.WriteFile(weights, data, 0o644); err != nil {
		t.Fatal(err)
	}
	b := Bench{Name: "drafter-parity", open: func(ctx context.Context, o Options) (bench, error) {
		b, err := openParity(ctx, o)
		if err == nil {
			b.(*parityBench).folder = folder
		}
		return b, err
	}}
	if err := b.Run(t.Context(), Options{Dtype: "float32", Out: new(strings.Builder)}); err == nil {
		t.Error("other weights guess the same")
	}
}
