package models_test

import (
	"os"
	"path/filepath"
	"testing"

	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models"
)

// TestInspectAgreesWithLoad compares the headers of every recorded model with the loaded model, and
// that with the memory in use.
func TestInspectAgreesWithLoad(t *testing.T) {
	th := enginetest.NewThread(t)
	paths, err := filepath.Glob("testdata/parity/*/fixture.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d recorded cases, %v", len(paths), err)
	}
	for _, path := range paths {
		name := filepath.Base(filepath.Dir(path))
		t.Run(name, func(t *testing.T) {
			f := openFixture(t, name)
			dir := t.TempDir()
			if err := os.CopyFS(dir, f.files); err != nil {
				t.Fatal(err)
			}
			s, err := models.Inspect(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, policy := range []models.DtypePolicy{models.DtypeFloat32,
				models.DtypeCheckpoint} {
				enginetest.Do(t, th, func(s *mlx.Scope) error { s.ClearCache(); return nil })
				before := th.Memory().Active
				b, err := models.Load(t.Context(), th, dir, models.Options{Dtype: policy})
				if err != nil {
					t.Fatal(err)
				}
				i := b.Info
				if s.Parameters != i.Parameters || s.Architecture != i.Architecture ||
					s.Quantization != i.Quantization ||
					s.Bytes != i.FileBytes || s.ContextLength != i.ContextLength {
					t.Errorf("inspecting tells %+v, loading %+v", s, i)
				}
				// Loading adds what it computes by itself, such as rotary frequencies.
				said := s.Footprint.OnCPU().Weights(policy == models.DtypeFloat32)
				if said > i.Bytes || said < i.Bytes-8<<10 {
					t.Errorf("%s: inspecting tells %d bytes, loading %d", policy, said, i.Bytes)
				}
				// MLX puts some arrays into freed buffers that are a little larger.
				if active := th.Memory().Active - before; active < i.Bytes ||
					active > i.Bytes+64<<10 {
					t.Errorf("%s: %d bytes told, %d in use", policy, i.Bytes, active)
				}
				if err := b.Close(); err != nil {
					t.Error(err)
				}
				if after := th.Memory().Active; after != before {
					t.Errorf("active memory went from %d to %d", before, after)
				}
			}
		})
	}
}
