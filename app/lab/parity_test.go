package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/bench"
	"tandem/app/evidence"
	"tandem/app/figures"
)

// TestDrafterParity drafts what the reference drafted. A weight that is another one is noticed.
func TestDrafterParity(t *testing.T) {
	tables, reports, err := evaluated(t, "", func(bench.Env) (evaluator, error) {
		return openParity(parityOptions{})
	})
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
	one, err := inCheckout(recordedDrafts)
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
	p, err := openParity(parityOptions{dtype: "float32"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.folder = folder
	if err := p.evaluate(t.Context(), func(figures.Table) error { return nil },
		func(string, measuredRun) error { return nil }); err == nil {
		t.Error("other weights guess the same")
	}
}
