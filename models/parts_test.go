package models_test

import (
	"context"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models"
)

// TestPartsAttendEveryLayer evaluates the parts of models of every architecture and form of
// weights. Attention appends to the cache of every layer.
func TestPartsAttendEveryLayer(t *testing.T) {
	th := enginetest.NewThread(t)
	for _, c := range exactCases {
		f := openFixture(t, c.name)
		policy := models.DtypePolicy(c.dtype)
		if c.dtype != "float32" {
			policy = models.DtypeCheckpoint
		}
		b, err := models.OpenFS(f.files, "").Load(context.Background(), th, models.Options{Dtype: policy})
		if err != nil {
			t.Fatal(err)
		}
		enginetest.Do(t, th, func(s *mlx.Scope) error {
			d := b.Model.Config().Dtype
			const rows = 3
			caches := b.Model.NewCaches(cache.Options{})
			attended := b.Parts.Attention(s, lm.Batch{{N: rows, Caches: caches}}, d)
			keep := []*mlx.Array{b.Parts.Linears(s, rows, d), attended}
			for _, c := range caches {
				if c.Offset() != rows {
					t.Errorf("a layer attended %d rows, want %d", c.Offset(), rows)
				}
				keep = append(keep, c.Arrays()...)
			}
			if err := s.Eval(keep...); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			for _, c := range caches {
				c.Free(s)
			}
			return nil
		})
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
