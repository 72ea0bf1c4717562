package models_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/engine/restore"
	"tandem/models"
)

// latentModel is the recorded model of latent attention with wider keys, so that its rows can be
// quantized. What it says is noise.
func latentModel(t *testing.T, th *mlx.Thread) fstest.MapFS {
	t.Helper()
	const rank, turned, hidden = 64, 32, 64
	files := recorded(t, "glm4-moe-lite")
	setConfig(files, map[string]any{"qk_rope_head_dim": turned, "qk_nope_head_dim": 16,
		"max_position_embeddings": 1 << 15})
	data := files["model.safetensors"].Data
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		held, err := mlx.OpenTensors(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return err
		}
		var list []mlx.NamedArray
		for i, name := range held.Names() {
			a := held.Load(s, name)
			switch {
			case strings.HasSuffix(name, "kv_a_proj_with_mqa.weight"):
				a = s.Normal(s.Key(uint64(i)), a.Dtype(), 0, 0.1, rank+turned, hidden)
			case strings.HasSuffix(name, "embed_q.weight"):
				a = s.Slice(a, 2, 0, 16)
			}
			list = append(list, mlx.NamedArray{Name: name, Array: a})
		}
		var file bytes.Buffer
		err = s.WriteTensors(&file, list, map[string]string{"format": "mlx"})
		files["model.safetensors"] = &fstest.MapFile{Data: file.Bytes()}
		return err
	})
	return files
}

// TestLatentAttentionReadsPackedRows: any chunk gives the same bits, and 8 bits nearly what rows give
// that are not quantized.
func TestLatentAttentionReadsPackedRows(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	th := enginetest.NewThread(t)
	b, err := models.OpenFS(latentModel(t, th), "").Load(t.Context(), th, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	text := byteText(150)
	for i := range text {
		text[i] %= 128
	}
	logits := func(bits, chunk int) []float32 {
		caches, logits, err := restore.Prefill(t.Context(), th, b.Model, text, chunk,
			cache.Options{Bits: bits})
		if err != nil {
			t.Fatal(err)
		}
		restore.Release(th, caches)
		return logits
	}
	whole := logits(0, 512)
	for _, bits := range []int{8, 4} {
		want := logits(bits, 512)
		var d enginetest.Diff
		for _, chunk := range []int{1, 7, 64} {
			d.Compare(fmt.Sprint(bits, " bits in chunks of ", chunk), logits(bits, chunk), want)
		}
		d.Check(t)
		var off float64
		for i := range want {
			off = max(off, abs(want[i]-whole[i])/largest(whole))
		}
		if off == 0 || bits == 8 && off > 0.02 {
			t.Errorf("%d bits are off by %g of the largest logit", bits, off)
		}
	}
}

func abs(x float32) float64 { return float64(max(x, -x)) }

// TestPeakOfLatentRowsIsPredicted takes a step over quantized rows, which are dequantized for it.
func TestPeakOfLatentRowsIsPredicted(t *testing.T) {
	th := enginetest.NewThread(t)
	files := latentModel(t, th)
	b, err := models.OpenFS(files, "").Load(t.Context(), th, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s, err := models.OpenFS(files, "latent").Summary()
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.Footprint.QuantizedKV(4)
	if err != nil {
		t.Fatal(err)
	}
	const tokens = 8 * cache.MaxChunk
	caches := b.Model.NewCaches(cache.Options{Bits: 4})
	tapRows(t, th, b.Model, caches, make([]int32, cache.MaxChunk))
	counted := f.SequenceBytes(tokens, true) - 8*restore.ResidentBytes(caches)
	freeCaches(t, th, caches)
	plain := besideCaches(t, th, b.Model, tokens, 1)
	got := besideCaches(t, th, b.Model, tokens, 1, cache.Options{Bits: 4})
	t.Logf("%d bytes, in whole rows %d, counted %d", got, plain, counted)
	if more := got - plain; more > counted || more < counted/2 {
		t.Errorf("a step after %d positions takes %d bytes more than with whole rows, of %d", tokens, more,
			counted)
	}
}
