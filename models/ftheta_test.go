package models_test

import (
	"context"
	"fmt"
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
	"tandem/engine/restore"
	"tandem/models"
)

// A restoredPair is a model, its drafter and its f_theta.
type restoredPair struct {
	target  *models.Bundle
	drafter *models.Drafter
	ftheta  *models.FTheta
}

// loadRestored loads a tiny model with a tiny drafter and a tiny f_theta.
func loadRestored(t testing.TB, th *mlx.Thread, arch string, drafter,
	theta map[string]any) restoredPair {
	t.Helper()
	return loadRestoredFrom(t, th, enginetest.TinyModel(t, arch), drafter, theta)
}

// loadRestoredFrom is loadRestored for the model in a folder.
func loadRestoredFrom(t testing.TB, th *mlx.Thread, dir string, drafter,
	theta map[string]any) restoredPair {
	t.Helper()
	var p restoredPair
	var err error
	ctx := context.Background()
	p.target, err = models.Load(ctx, th, dir, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.drafter, err = models.LoadDrafter(ctx, p.target, enginetest.TinyDrafter(t, drafter),
		models.DrafterSettings{}, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.ftheta, err = models.LoadFTheta(ctx, p.target, p.drafter, enginetest.TinyFTheta(t, theta),
		models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p restoredPair) close(t testing.TB) {
	for _, c := range []interface{ Close() error }{p.ftheta, p.drafter, p.target} {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// model bounds the target as the f_theta says.
func (p restoredPair) model(t testing.TB) *restore.Model {
	c := p.ftheta.Config
	return bound(t, p.target.Model, restore.Options{Sink: *c.SinkSize, Window: *c.WindowSize,
		Exact: c.ExactLayers, Source: restore.FTheta(p.ftheta.Stack, p.ftheta.Projection)})
}

// byteText returns n tokens of a tiny model.
func byteText(n int) []int32 {
	text := make([]int32, n)
	for i := range text {
		text[i] = int32((i*i*7 + i*31 + 5) % 250)
	}
	return text
}

// thetaCases are tiny models under an f_theta: with a drafter that slides in one layer, in all, in
// none; over embeddings as stored and scaled; with exact layers.
var thetaCases = []struct {
	arch           string
	drafter, theta map[string]any
}{
	{"qwen3", nil, map[string]any{"sink_size": 2, "window_size": 9}},
	{"llama", map[string]any{"layer_types": nil},
		map[string]any{"sink_size": 4, "window_size": 20, "exact_layers": []int{1}}},
	{"gemma3_text", map[string]any{"layer_types": []string{"sliding_attention", "sliding_attention"}},
		map[string]any{"sink_size": 1, "window_size": 6, "embedding": "scaled"}},
	{"qwen3", map[string]any{"num_hidden_layers": 1, "layer_types": nil},
		map[string]any{"sink_size": 0, "window_size": 1, "drafter_num_layers": 1}},
}

// thetaSuite runs the exact suite on them.
func thetaSuite(t *testing.T, th *mlx.Thread, compare compareFunc) {
	for i, c := range thetaCases {
		t.Run(fmt.Sprint(i, c.arch), func(t *testing.T) {
			p := loadRestored(t, th, c.arch, c.drafter, c.theta)
			defer p.close(t)
			text := byteText(120)
			x := &exact{t: t, th: th, m: p.model(t), name: c.arch, compare: compare,
				opts: cache.Options{Chunk: ringChunk}}
			x.oracle(text)
			for _, chunk := range []int{5, 32} {
				x.chunks(text, chunk)
			}
			for _, k := range []int{2, 8, 32} {
				x.blocks(text, k)
			}
			x.shared(text, []int{0, 30, 47, 80}, []int{19, 1, 8, 1})
			// Every row is forwarded again with all before it.
			x.opts.Chunk = len(text)
			x.oracle(text)
			x.chunks(text, len(text))
		})
	}
}

// TestFThetaLogitsEqualOneRowDecodeToTheBit: a prefill and the decoding after it give the bits that a
// forward of everything gives.
func TestFThetaLogitsEqualOneRowDecodeToTheBit(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	var d enginetest.Diff
	thetaSuite(t, enginetest.NewThread(t), d.Compare)
	d.Check(t)
}

// TestFThetaIsTwoLinearChains restores rows and computes them again in float64.
func TestFThetaIsTwoLinearChains(t *testing.T) {
	th := enginetest.NewThread(t)
	p := loadRestored(t, th, "qwen3", nil, map[string]any{"exact_layers": []int{1}})
	defer p.close(t)
	dir := enginetest.TinyFTheta(t, map[string]any{"exact_layers": []int{1}}) // the same numbers
	weights := enginetest.Tensors(t, filepath.Join(dir, "model.safetensors"))
	const n, in, rank, heads, dim = 3, 64, 8, 2, 16
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		matrix := func(a *mlx.Array) [][]float32 {
			rows, err := enginetest.ReadRows(s, s.Contiguous(a))
			if err != nil {
				s.Fail(err)
			}
			return rows
		}
		apply := func(w, x [][]float32) [][]float32 {
			out := make([][]float32, len(x))
			for i, row := range x {
				for _, weights := range w {
					sum := 0.0
					for j, v := range weights {
						sum += float64(v) * float64(row[j])
					}
					out[i] = append(out[i], float32(sum))
				}
			}
			return out
		}
		k, v := s.Normal(s.Key(1), mlx.Float32, 0, 1, n, in), s.Normal(s.Key(2), mlx.Float32, 0, 1, n, in)
		made := p.ftheta.Projection.Forward(s, k, v)
		if len(made) != 3 || made[1].K != nil {
			return fmt.Errorf("restored %d layers, the exact one too", len(made))
		}
		for _, layer := range []int{0, 2} {
			for part, x := range map[string][2]*mlx.Array{"k": {k, made[layer].K}, "v": {v, made[layer].V}} {
				want := apply(matrix(weights.Load(s, fmt.Sprintf("decoders_%s.%d.weight", part, layer))),
					apply(matrix(weights.Load(s, "encoder_"+part+".weight")), matrix(x[0])))
				got := matrix(s.Reshape(s.Transpose(x[1], 0, 2, 1, 3), n, heads*dim))
				for i := range want {
					for j, w := range want[i] {
						if d := math.Abs(float64(got[i][j] - w)); !(d <= 1e-4*max(1, math.Abs(float64(w)))) {
							return fmt.Errorf("%s of layer %d, row %d: %g, want %g", part, layer, i,
								got[i][j], w)
						}
					}
				}
			}
		}
		return s.Err()
	})
}

// TestLayersThatStayAreNotRestored: a layer that looks back no further than the window has no decoder,
// and neither has an exact one.
func TestLayersThatStayAreNotRestored(t *testing.T) {
	th := enginetest.NewThread(t)
	for _, window := range []int{6, 16} {
		p := loadRestored(t, th, "gemma3_text", nil, map[string]any{"window_size": window,
			"exact_layers": []int{1}})
		sliding, m := 0, p.model(t)
		shapes := p.target.Model.(restorable).KVShapes()
		for i, made := range p.ftheta.Projection.KVShapes() {
			if shapes[i].Window > 0 && made.Row() > 0 {
				sliding++
			}
			if (made.Row() > 0) != slices.Contains(m.Bounded(), i) {
				t.Errorf("window %d: layer %d is restored as %+v, and %v are bounded", window, i, made,
					m.Bounded())
			}
		}
		if (sliding > 0) != (window == 6) {
			t.Errorf("window %d: %d sliding layers are restored, of %+v", window, sliding, shapes)
		}
		p.close(t)
	}
}

// TestStackIsAPlainDecoder gives the drafter's layers to a qwen3 model as its own. What that records
// of a text is what the stack returns.
func TestStackIsAPlainDecoder(t *testing.T) {
	th := enginetest.NewThread(t)
	p := loadRestored(t, th, "qwen3", map[string]any{"layer_types": nil}, nil)
	defer p.close(t)
	dir := enginetest.TinyModel(t, "qwen3", map[string]any{"num_hidden_layers": 2})
	drafter := enginetest.Tensors(t, filepath.Join(
		enginetest.TinyDrafter(t, map[string]any{"layer_types": nil}), "model.safetensors"))
	target := enginetest.Tensors(t, filepath.Join(enginetest.TinyModel(t, "qwen3"),
		"model.safetensors"))
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		var list []mlx.NamedArray
		list = append(list, mlx.NamedArray{Name: "model.embed_tokens.weight",
			Array: target.Load(s, "model.embed_tokens.weight")})
		for _, name := range drafter.Names() {
			if name != "fc.weight" && name != "hidden_norm.weight" {
				list = append(list, mlx.NamedArray{Name: "model." + name, Array: drafter.Load(s, name)})
			}
		}
		f, err := os.Create(filepath.Join(dir, "model.safetensors"))
		if err != nil {
			return err
		}
		defer f.Close()
		return s.WriteTensors(f, list, map[string]string{"format": "mlx"})
	})
	plain, err := models.Load(t.Context(), th, dir, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	text := byteText(40)
	caches, own := plain.Model.NewCaches(cache.Options{}), p.ftheta.Stack.NewCaches(cache.Options{})
	for at := 0; at < len(text); at += 20 {
		enginetest.Do(t, th, func(s *mlx.Scope) error {
			q := lm.Sequence{Tokens: mlx.New(s, text[at:at+20], 20), N: 20, Pos: at, Caches: caches,
				Record: make([]lm.KV, 2)}
			plain.Model.Forward(s, lm.Batch{q}, nil)
			record := q.Record
			q.Caches, q.Record = own, nil
			k, v := p.ftheta.Stack.KeysValues(s, lm.Batch{q})
			rows := func(x *mlx.Array) *mlx.Array { return s.Reshape(s.Transpose(x, 0, 2, 1, 3), 20, 32) }
			want := []*mlx.Array{s.Concat(1, rows(record[0].K), rows(record[1].K)),
				s.Concat(1, rows(record[0].V), rows(record[1].V))}
			keep := append(cache.Stack(caches).Arrays(), cache.Stack(own).Arrays()...)
			for i, got := range []*mlx.Array{k, v} {
				d := s.Sub(got, want[i])
				off := s.Max(s.Reshape(s.Mul(d, d), -1), 0, true)
				keep = append(keep, off)
				if err := s.Eval(append(keep, append(want, k, v)...)...); err != nil {
					return err
				}
				if d, err := mlx.Read[float32](s, off); err != nil || d[0] > 1e-10 {
					t.Errorf("rows from %d on differ by the root of %v, %v", at, d, err)
				}
			}
			return nil
		})
	}
	freeCaches(t, th, append(caches, own...))
}

// TestSlidingStackForgets: what lies before the windows of a drafter does not reach its last layer,
// and its caches do not grow.
func TestSlidingStackForgets(t *testing.T) {
	th := enginetest.NewThread(t)
	p := loadRestored(t, th, "qwen3", map[string]any{
		"layer_types": []string{"sliding_attention", "full_attention"}}, nil)
	defer p.close(t)
	run := func(text []int32) (last []float32, bytes int64) {
		caches := p.ftheta.Stack.NewCaches(cache.Options{Chunk: 32})
		for at := 0; at < len(text); at += 32 {
			n := min(32, len(text)-at)
			enginetest.Do(t, th, func(s *mlx.Scope) error {
				k, _ := p.ftheta.Stack.KeysValues(s, lm.Batch{{
					Tokens: mlx.New(s, text[at:at+n], n), N: n, Pos: at, Caches: caches}})
				row := s.Contiguous(s.Slice(k, 0, n-1, n))
				if err := s.Eval(append(cache.Stack(caches).Arrays(), row)...); err != nil {
					return err
				}
				var err error
				last, err = mlx.Read[float32](s, row)
				return err
			})
		}
		for _, c := range caches {
			bytes += c.Bytes()
		}
		freeCaches(t, th, caches)
		return last, bytes
	}
	text := byteText(100)
	want, bytes := run(text)
	for at, same := range map[int]bool{0: true, 83: true, 84: false} { // the window is 16
		text := byteText(100)
		text[at]++
		got, _ := run(text)
		differs := false
		for i := range got {
			differs = differs || got[i] != want[i]
		}
		if differs == same {
			t.Errorf("another token at %d: the last row differs %v", at, differs)
		}
	}
	if _, long := run(byteText(1000)); long != bytes {
		t.Errorf("the caches have %d bytes at 100 positions and %d at 1000", bytes, long)
	}
}

// TestForeignFThetaIsRefused: one that was made for another drafter or another model is refused, and
// so is a folder without one.
func TestForeignFThetaIsRefused(t *testing.T) {
	th := enginetest.NewThread(t)
	p := loadRestored(t, th, "qwen3", nil, nil)
	defer p.close(t)
	before := th.Memory().Active
	lacking := enginetest.TinyFTheta(t, map[string]any{"exact_layers": []int{1}})
	config, err := os.ReadFile(filepath.Join(enginetest.TinyFTheta(t, nil), "f_theta_config.json"))
	if err == nil {
		err = os.WriteFile(filepath.Join(lacking, "f_theta_config.json"), config, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{
		"drafter":  enginetest.TinyFTheta(t, map[string]any{"drafter_num_layers": 3}),
		"heads":    enginetest.TinyFTheta(t, map[string]any{"verifier_num_kv_heads": 4}),
		"layers":   enginetest.TinyFTheta(t, map[string]any{"verifier_num_layers": 2}),
		"decoders": lacking,
		"none":     t.TempDir(),
		"absent":   filepath.Join(t.TempDir(), "absent"),
	} {
		if f, err := models.LoadFTheta(t.Context(), p.target, p.drafter, dir, models.Options{}); err == nil {
			f.Close()
			t.Errorf("%s: it was not refused", name)
		} else if strings.Contains(err.Error(), "download") { // no download has an f_theta
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := th.Memory().Active; after != before {
		t.Errorf("refusals left %d bytes", after-before)
	}
	beside := t.TempDir()
	if got := models.FindFTheta("", beside); got != "" {
		t.Errorf("found %q in an empty folder", got)
	}
	if err := os.Rename(enginetest.TinyFTheta(t, nil), filepath.Join(beside, "f_theta")); err != nil {
		t.Fatal(err)
	}
	if got := models.FindFTheta(t.TempDir(), beside); got != filepath.Join(beside, "f_theta") {
		t.Errorf("found %q", got)
	}
}
