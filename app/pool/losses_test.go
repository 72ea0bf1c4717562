package pool

import (
	"path/filepath"
	"testing"

	"tandem/engine/enginetest"
	"tandem/models"
	"tandem/storage"
)

// What a load measured counts more than what the files promise. Exact weights need no word.
func TestLossesOfALoadedModelAreTold(t *testing.T) {
	testdata := filepath.Join("..", "..", "models", "testdata")
	file := filepath.Join(testdata, "gguf", "llama.gguf")
	row := storage.Model{ID: "m", Path: file, Source: storage.SourceFolder}
	p := open(t, setup{Model: file, NoCheckpoints: true}).pool
	p.published.Store(&view{})
	inexact := func(row storage.Model) string {
		found, err := p.inspect(row)
		if err != nil {
			t.Fatal(err)
		}
		return p.inexact(row, found)
	}
	if got := inexact(row); got != "" {
		t.Errorf("an exact model loses %q", got)
	}
	coarse := storage.Model{ID: "c", Path: filepath.Join(testdata, "coarse.gguf"),
		Source: storage.SourceFolder}
	if got := inexact(coarse); (got == "") != p.thread.Packs() {
		t.Errorf("packed: %t, and it loses %q", p.thread.Packs(), got)
	}
	p.thread = enginetest.NewBLASThread(t)
	if inexact(coarse) == "" {
		t.Error("nothing is lost in MLX's own format")
	}
	p.published.Store(&view{models: []*Model{{row: row, bundle: &models.Bundle{Losses: []models.Loss{
		{Kind: "Q3_K", Bits: 5, RMS: 0.0851, Max: 0.29},
		{Kind: "Q6_K", Bits: 8, RMS: 0.0904, Max: 0.421, Whole: true}}}}}})
	want := "Q3_K is held in 5 bits, with an rms error of about 0.085 steps and errors up to about " +
		"0.29 in a sample; " +
		"Q6_K is held in 8 bits, with an rms error of at most 0.091 steps and no error above 0.43 " +
		"(a step is the rms of the file's own scales)"
	if got := inexact(row); got != want {
		t.Errorf("it loses %q, not %q", got, want)
	}
}
