package models_test

import (
	"testing"

	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models"
)

// A model that is known by its sizes alone has no head to cut. Its drafter can be checked all the
// same.
func TestCutHeadIsCheckedAgainstAnOutline(t *testing.T) {
	th := enginetest.NewThread(t)
	dir := enginetest.TinyDrafter(t, nil)
	enginetest.CutDrafterHead(t, dir, mlx.Int32, 1, 5, 9)
	outline, err := outline(th, enginetest.TinyModel(t, "llama"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := models.LoadDrafter(t.Context(), outline, dir, models.DrafterSettings{}, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
