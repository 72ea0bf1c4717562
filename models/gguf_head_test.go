package models_test

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models"
)

// recordedQwen35 is a tiny GGUF file, and the sizes of a head for it.
const recordedQwen35 = "testdata/gguf/qwen35.gguf"

var headOfQwen35 = map[string]any{"vocab_size": 128, "intermediate_size": 96, "head_dim": 32,
	"rope_theta": 1e6, "partial_rotary_factor": 0.5, "tie_word_embeddings": true}

// TestGGUFFileBringsItsHead loads a file whose last layer predicts a further token. The model is the
// one without that layer, and the head is that of a folder with the same weights.
func TestGGUFFileBringsItsHead(t *testing.T) {
	th := enginetest.NewThread(t)
	folder := enginetest.TinyHead(t, headOfQwen35)
	file := enginetest.HeadedGGUF(t, recordedQwen35, folder)
	before := th.Memory().Active
	var says [2][][]float32
	for i, path := range []string{recordedQwen35, file} {
		b, err := models.Load(t.Context(), th, path, models.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if says[i] = logitsOf(t, th, b.Model, 40); b.Model.Config().Layers != 4 {
			t.Errorf("%s: %+v", path, b.Model.Config())
		}
		if _, err := measureHead(path); (err == nil) != (i == 1) {
			t.Errorf("%s has a head: %t, %v", path, err == nil, err)
		}
		if i == 1 {
			compareHeads(t, th, b, file, folder)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if !slices.EqualFunc(says[0], says[1], slices.Equal[[]float32]) {
		t.Error("the model is another one with a head")
	}
	if after := th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d", before, after)
	}
}

// compareHeads loads the head of a target from two places, and compares what it guesses.
func compareHeads(t *testing.T, th *mlx.Thread, b *models.Bundle, places ...string) {
	t.Helper()
	var says [][]float32
	for _, place := range places {
		d, err := models.LoadDrafter(t.Context(), b, place, models.DrafterSettings{}, models.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d.Head == nil || d.Info.Architecture != "qwen3_5_mtp" || d.Info.Parameters == 0 {
			t.Fatalf("%s: %+v", place, d.Info)
		}
		enginetest.Do(t, th, func(s *mlx.Scope) error {
			const n, width = 12, 64
			ids := make([]int32, n)
			for i := range ids {
				ids[i] = int32(i * i % 100)
			}
			caches := cache.Stack(d.Head.NewCaches(cache.Options{Chunk: 32}))
			defer caches.Free(s)
			d.Head.Begin(s, caches)
			x := d.Head.Forward(s, mlx.New(s, ids, n), s.Normal(s.Key(3), mlx.Float32, 0, 1, n, width),
				0, caches)
			rows, err := enginetest.ReadRows(s, b.Model.Unembed(s, x))
			says = append(says, slices.Concat(rows...))
			return err
		})
		size, err := measureHead(place)
		off := float64(size.Weights(true)-d.Info.Bytes) / float64(d.Info.Bytes)
		if place == places[0] && (err != nil || math.Abs(off) > 0.02) {
			t.Errorf("%s: measured %d bytes, %v; loaded %d", place, size.Weights(true), err, d.Info.Bytes)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	worst, largest := 0.0, 0.0
	for i := range says[0] {
		worst = max(worst, math.Abs(float64(says[0][i]-says[1][i])))
		largest = max(largest, math.Abs(float64(says[0][i])))
	}
	if !(worst < 1e-4*largest) {
		t.Errorf("logits of the heads differ by %g of %g", worst, largest)
	}
}

// logitsOf returns a model's logits of n tokens.
func logitsOf(t *testing.T, th *mlx.Thread, m lm.Model, n int) (rows [][]float32) {
	t.Helper()
	caches := cache.Stack(m.NewCaches(cache.Options{Chunk: 64}))
	enginetest.Do(t, th, func(s *mlx.Scope) (err error) {
		ids := make([]int32, n)
		for i := range ids {
			ids[i] = int32(i * 7 % 100)
		}
		out := m.Forward(s, lm.Batch{{Tokens: mlx.New(s, ids, n), N: n, Caches: caches}}, nil)
		rows, err = enginetest.ReadRows(s, m.Unembed(s, out.Hidden))
		caches.Free(s)
		return err
	})
	return rows
}

// TestUnusableGGUFHeadIsLeftOut damages the head of a file. The model loads, and one sentence says why
// its head does not draft.
func TestUnusableGGUFHeadIsLeftOut(t *testing.T) {
	th := enginetest.NewThread(t)
	for _, c := range []struct{ name, from, to, want string }{
		{"a tensor less", "nextn.enorm", "ssm_norm", "the file lacks blk.4.nextn.enorm.weight"},
		{"an unknown tensor", "nextn.enorm", "nextn.gnorm", "is not supported"},
		{"an embedding of its own", "nextn.enorm", "nextn.embed_tokens", "is not supported"},
		{"no layer", "attn_output", "attn_outputs", "is not supported"},
		{"two layers", "nextn_predict_layers", "", "its 2 layers that predict further tokens"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := enginetest.HeadedGGUF(t, recordedQwen35, enginetest.TinyHead(t, headOfQwen35))
			spoilGGUF(t, file, c.from, c.to)
			_, err := measureHead(file)
			e, ok := errors.AsType[*models.Error](err)
			if !ok || e.Code == models.CodeNotFound || !strings.Contains(err.Error(), c.want) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, c.want)
			}
			b, err := models.Load(t.Context(), th, file, models.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// spoilGGUF changes the name of a tensor in the second file of a set. Without a name it counts one
// more predicting layer.
func spoilGGUF(t *testing.T, path, from, to string) {
	t.Helper()
	if to != "" {
		path = strings.Replace(path, "00001-of", "00002-of", 1)
	}
	data, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte(from))
	if at < 0 {
		t.Fatalf("%s has no %s", path, from)
	}
	if to == "" {
		data[at+len(from)+4]++
	} else {
		data = slices.Concat(data[:at], []byte(to), data[at+len(from):], make([]byte, 64))
		start := bytes.LastIndex(data[:at], []byte("blk."))
		data[start-8] += byte(len(to) - len(from))
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
