package lab

import (
	"context"
	"errors"

	"tandem/app/bench"
	"tandem/engine/mlx"
	"tandem/models"
)

// openModel starts MLX and loads the model in a folder, or retrievalModel by its name. That is no file:
// a folder of the same name is ./retrieval. The caller closes both.
func openModel(ctx context.Context, dir string) (*mlx.Thread, *models.Bundle, error) {
	if dir != retrievalModel {
		return bench.OpenModel(ctx, dir, models.Options{})
	}
	t, err := mlx.NewThread(mlx.Options{})
	if err != nil {
		return nil, nil, err
	}
	b, err := models.LoadRetrieval(ctx, t, bench.AsServed(models.Options{}, "", t.GPU()))
	if err != nil {
		return nil, nil, errors.Join(err, t.Close())
	}
	return t, b, nil
}

// loadDrafters loads the drafters of a model, as LoadDrafters does. The retrieval model comes with its
// own.
func loadDrafters(ctx context.Context, b *models.Bundle, model string,
	dirs []string) (*bench.Drafters, error) {
	if model == retrievalModel && len(dirs) == 0 {
		dirs = []string{models.RetrievalDrafter}
	}
	return bench.LoadDrafters(ctx, b, model, dirs, models.Options{})
}
