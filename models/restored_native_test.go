package models_test

import (
	"slices"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/restore"
	"tandem/models"
)

// TestPrefillInAnyChunksGivesTheSameLogits: the logits after a prompt, and every bit of the caches'
// rows, do not depend on the chunk.
func TestPrefillInAnyChunksGivesTheSameLogits(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	th := enginetest.NewThread(t)
	p := loadRestored(t, th, "qwen3", nil, map[string]any{"window_size": 20})
	defer p.close(t)
	text := byteText(150)
	for name, m := range map[string]lm.Model{"native": p.target.Model, "restored": p.model(t)} {
		var want []float32
		var d enginetest.Diff
		for _, chunk := range []int{512, 1, 7, 64} {
			caches, logits, err := restore.Prefill(t.Context(), th, m, text, chunk, cache.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = logits
			}
			d.Compare(name, logits, want)
			if caches[0].Offset() != len(text) {
				t.Errorf("%s: the caches hold %d of %d positions", name, caches[0].Offset(), len(text))
			}
			restore.Release(th, caches)
		}
		d.Check(t)
	}
}

// TestStateIsWrittenStraightIntoCaches moves what the caches of a prompt hold into fresh ones, by
// keys and values alone. What is read back is the same to the bit, and decoding goes on from there.
func TestStateIsWrittenStraightIntoCaches(t *testing.T) {
	th := enginetest.NewThread(t)
	for arch, theta := range map[string]map[string]any{
		"qwen3":       {"window_size": 20, "exact_layers": []int{1}},
		"gemma3_text": {"window_size": 6}, // rings too
	} {
		p := loadRestored(t, th, arch, nil, theta)
		for _, m := range []lm.Model{p.target.Model, p.model(t)} {
			text := byteText(150)
			caches, logits, err := restore.Prefill(t.Context(), th, m, text, 0, cache.Options{})
			if err != nil {
				t.Fatal(err)
			}
			moved := cache.Stack(m.NewCaches(cache.Options{}))
			for i, c := range caches {
				enginetest.Do(t, th, func(s *mlx.Scope) error {
					kv, to, err := restore.State(s, c)
					if err != nil {
						return err
					}
					if err := restore.SetState(s, moved[i], kv, to); err != nil {
						return err
					}
					back, at, err := restore.State(s, moved[i])
					if err != nil || at != to {
						t.Errorf("%T at %d, %v, want %d", c, at, err, to)
					}
					equal := s.Contiguous(s.Reshape(s.Concat(0,
						s.Reshape(s.AsType(s.Equal(kv.K, back.K), mlx.Float32), -1),
						s.Reshape(s.AsType(s.Equal(kv.V, back.V), mlx.Float32), -1)), -1))
					if err := s.Eval(append(moved[i].Arrays(), equal)...); err != nil {
						return err
					}
					same, err := mlx.Read[float32](s, equal)
					if slices.Contains(same, 0) || len(same) == 0 {
						t.Errorf("%T: %d rows do not come back as they were", c, to)
					}
					return err
				})
			}
			if got, want := restore.ResidentBytes(moved), sumOf(moved); got != want || got == 0 {
				t.Errorf("%d bytes are resident, and the arrays have %d", got, want)
			}
			const n = 20
			want, err := restore.Decode(t.Context(), th, m, caches, logits, n)
			if err != nil || len(want) != n {
				t.Fatal(want, err)
			}
			got, err := restore.Decode(t.Context(), th, m, moved, logits, n)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s goes on by %v, %v, want %v", arch, got, err, want)
			}
			again, err := restore.Decode(t.Context(), th, m, moved, logits, n, want[0])
			if err != nil || !slices.Equal(again, want[:1]) {
				t.Errorf("a stop token gave %v, %v", again, err)
			}
			restore.Release(th, caches)
			restore.Release(th, moved)
		}
		p.close(t)
	}
}

func sumOf(caches cache.Stack) (sum int64) {
	for _, a := range caches.Arrays() {
		sum += a.Bytes()
	}
	return sum
}

// TestCountsTellWhatWasRestored: the counts come from what layers did.
func TestCountsTellWhatWasRestored(t *testing.T) {
	th := enginetest.NewThread(t)
	p := loadRestored(t, th, "qwen3", nil, map[string]any{"sink_size": 2, "window_size": 20,
		"exact_layers": []int{0}})
	defer p.close(t)
	const layers, n = 2, 150
	for _, c := range []struct {
		source restore.Source
		want   restore.Counts
	}{
		{restore.FTheta(p.ftheta.Stack, p.ftheta.Projection),
			restore.Counts{Restored: layers * n, Attended: layers * (n - 22)}},
		{nil, restore.Counts{}},
	} {
		m := bound(t, p.target.Model, restore.Options{Sink: 2, Window: 20, Exact: []int{0},
			Source: c.source})
		for _, chunk := range []int{512, 7} {
			before := m.Counts()
			caches, _, err := restore.Prefill(t.Context(), th, m, byteText(n), chunk,
				cache.Options{})
			if err != nil {
				t.Fatal(err)
			}
			restore.Release(th, caches)
			got := m.Counts()
			got.Restored -= before.Restored
			got.Attended -= before.Attended
			if got != c.want {
				t.Errorf("chunks of %d, source %T: %+v, want %+v", chunk, c.source, got, c.want)
			}
		}
	}
}

// TestPrefillMemoryIsFlat: what a prefill takes beside its caches does not grow with the prompt, in a
// model as it is and with own rows alone. What restored rows take is in TestPeakOfABoundedTextIsPredicted.
func TestPrefillMemoryIsFlat(t *testing.T) {
	th := enginetest.NewThread(t)
	b, err := models.Load(t.Context(), th, enginetest.TinyModel(t, "qwen3",
		map[string]any{"max_position_embeddings": 8192}), models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for name, m := range map[string]lm.Model{"native": b.Model, "own rows": bound(t, b.Model,
		restore.Options{Sink: cache.DefaultSink, Window: cache.DefaultWindow})} {
		beside := map[int]int64{}
		for _, n := range []int{1024, 4096, 8192} {
			enginetest.Do(t, th, func(s *mlx.Scope) error { s.ClearCache(); s.ResetPeak(); return nil })
			before := th.Memory().Active
			caches, _, err := restore.Prefill(t.Context(), th, m, byteText(n), 0, cache.Options{})
			if err != nil {
				t.Fatal(err)
			}
			// A cache that grows is held twice for a moment.
			beside[n] = th.Memory().Peak - before - 2*restore.ResidentBytes(caches)
			t.Logf("%s, %d tokens: peak of %d bytes, %d of caches", name, n, th.Memory().Peak-before,
				restore.ResidentBytes(caches))
			restore.Release(th, caches)
		}
		if beside[8192] > beside[1024]+1<<20 {
			t.Errorf("%s: a prefill takes %v bytes beside its caches", name, beside)
		}
	}
}
