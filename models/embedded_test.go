package models_test

import (
	"io/fs"
	"testing"

	"tandem/models/pocket"
	"tandem/models/starter"
)

// What comes with the program is the pocket model with its drafter, and the starter's drafter.
func TestEmbeddedModelsStayWithinTheirBytes(t *testing.T) {
	const most = 54_000_000
	var total int64
	for _, files := range []fs.FS{pocket.Files(), starter.DrafterFiles()} {
		err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err == nil {
				total += info.Size()
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d bytes are embedded", total)
	if total > most {
		t.Errorf("the embedded models have %d bytes, at most %d are allowed", total, most)
	}
}
