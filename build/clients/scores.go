package clients

import (
	"context"
	"path/filepath"
)

// scores lets lm-eval score texts by the pocket model, and mlx_lm score the same tokens by its
// weights.
func (t *clientTier) scores(ctx context.Context) error {
	model, scored := filepath.Join(t.Root, "models", "pocket"), filepath.Join(t.dir, "scores.json")
	return t.against(ctx, []string{"--model", "pocket"}, func(url string) error {
		if err := t.client(ctx, "lm-eval", t.scorer, clientsDir+"/scores.py", url, model,
			scored); err != nil {
			return err
		}
		return t.client(ctx, "lm-eval", t.direct, clientsDir+"/scores_direct.py", model, scored)
	})
}
