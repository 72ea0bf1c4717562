package models_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/restore"
	"tandem/engine/tokenizer"
	"tandem/models"
)

// A wholeCache is for one forward of a whole text. It shows its layer all own rows and then all
// restored rows. A mask says row by row which of the two a query attends.
type wholeCache struct {
	cache.Attention
	restored     lm.KV // normed and rotated
	sink, window int
}

func (c *wholeCache) Offset() int { return 0 }

func (c *wholeCache) Update(s *mlx.Scope, k, v *mlx.Array) cache.View {
	n := k.Dim(2)
	mask := make([]bool, n*2*n)
	for q := range n {
		for p := range q + 1 {
			own := p < c.sink || p > q-c.window
			mask[q*2*n+p], mask[q*2*n+n+p] = own, !own
		}
	}
	return cache.View{K: s.Concat(2, k, c.restored.K), V: s.Concat(2, v, c.restored.V),
		Mask: mlx.New(s, mask, n, 2*n)}
}

// restoredLogits is the slow reference: one forward of the whole text, without any of the caches
// that serve. Keys are normed and rotated here, from the tensors in the model's folder.
func restoredLogits(t *testing.T, th *mlx.Thread, p restoredPair, dir string,
	text []int32) (rows [][]float32) {
	t.Helper()
	weights := enginetest.Tensors(t, filepath.Join(dir, "model.safetensors"))
	c := p.ftheta.Config
	own := p.ftheta.Stack.NewCaches(cache.Options{})
	caches := make([]cache.Cache, p.target.Model.Config().Layers)
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		q := lm.Sequence{Tokens: mlx.New(s, text, len(text)), N: len(text), Caches: own}
		k, v := p.ftheta.Stack.KeysValues(s, lm.Batch{q})
		for i, kv := range p.ftheta.Projection.Forward(s, k, v) {
			norm := weights.Load(s, fmt.Sprintf("model.layers.%d.self_attn.k_norm.weight", i))
			kv.K = s.Rope(s.RMSNorm(kv.K, norm, 1e-6), mlx.Rope{Dims: 16, Base: 10000, Scale: 1}, 0)
			caches[i] = &wholeCache{restored: kv, sink: *c.SinkSize, window: *c.WindowSize}
		}
		q.Caches = caches
		out := p.target.Model.Forward(s, lm.Batch{q}, nil)
		logits := s.Contiguous(p.target.Model.Unembed(s, out.Hidden))
		if err := s.Eval(logits); err != nil {
			return err
		}
		var err error
		rows, err = enginetest.ReadRows(s, logits)
		return err
	})
	freeCaches(t, th, own)
	return rows
}

// TestRestoredDecodeEqualsTheSlowReference prefills a text in chunks, goes on row by row, and
// compares every row with the reference. Only the order in which a query adds up its rows differs.
func TestRestoredDecodeEqualsTheSlowReference(t *testing.T) {
	th := enginetest.NewThread(t)
	for _, theta := range []map[string]any{
		{"sink_size": 4, "window_size": 64}, {"sink_size": 2, "window_size": 9},
		{"sink_size": 0, "window_size": 1},
	} {
		p := loadRestored(t, th, "qwen3", nil, theta)
		text := byteText(200)
		x := &exact{t: t, th: th, name: fmt.Sprint(theta), m: p.model(t)}
		x.rows = restoredLogits(t, th, p, enginetest.TinyModel(t, "qwen3"), text)
		var s speed
		x.compare = func(where string, got, want []float32) { s.compare(t, where, got, want) }
		caches := x.m.NewCaches(x.opts)
		x.check("prefill", 0, forward(t, th, x.m, caches, text[:150], 70))
		x.check("decode", 150, forward(t, th, x.m, caches, text[150:], 1))
		freeCaches(t, th, caches)
		s.check(t)
		p.close(t)
	}
}

// greedy continues a prompt by n tokens and returns them, with the logits that they were chosen by.
func greedy(t *testing.T, th *mlx.Thread, m lm.Model, prompt []int32, n int) (ids []int32,
	logits [][]float32) {
	t.Helper()
	caches, last, err := restore.Prefill(t.Context(), th, m, prompt, 0, cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for len(ids) < n {
		ids, logits = append(ids, argmax(last)), append(logits, last)
		last = forward(t, th, m, caches, ids[len(ids)-1:], 1)[0]
	}
	restore.Release(th, caches)
	return ids, logits
}

// identityIsOracle continues prompts by a model and by the same model whose rows are its own,
// restored. Token for token they are the same. With a sink and a window alone, the model says
// something else.
func identityIsOracle(t *testing.T, th *mlx.Thread, b *models.Bundle, prompts []string) {
	t.Helper()
	o := restore.Options{Sink: cache.DefaultSink, Window: cache.DefaultWindow}
	alone := bound(t, b.Model, o)
	o.Source = restore.Identity(b.Model)
	same := bound(t, b.Model, o)
	var s speed
	differ := 0
	for i, prompt := range prompts {
		tokens, err := b.Tokenizer.Encode(prompt, tokenizer.EncodeOptions{})
		if err != nil || len(tokens) < 2*cache.DefaultWindow {
			t.Fatalf("prompt %d has %d tokens, %v", i, len(tokens), err)
		}
		const n = 24
		want, wantLogits := greedy(t, th, b.Model, tokens, n)
		got, gotLogits := greedy(t, th, same, tokens, n)
		for j := range n {
			if got[j] != want[j] {
				t.Errorf("prompt %d: token %d is %d, want %d", i, j, got[j], want[j])
				break
			}
			s.compare(t, fmt.Sprintf("prompt %d, token %d", i, j), gotLogits[j], wantLogits[j])
		}
		if other, _ := greedy(t, th, alone, tokens, n); fmt.Sprint(other) != fmt.Sprint(want) {
			differ++
		}
	}
	s.check(t)
	if differ == 0 {
		t.Error("a sink and a window alone say the same as the whole text")
	}
}

// TestIdentityIsOracleOnThePocketModel continues code.
func TestIdentityIsOracleOnThePocketModel(t *testing.T) {
	th := enginetest.NewThread(t)
	b, err := models.OpenPocket().Load(context.Background(), th, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var prompts []string
	for i := range 2 {
		prompts = append(prompts, codeText(i, 12))
	}
	identityIsOracle(t, th, b, prompts)
}

// codeText returns a program of so many functions, another one for each seed.
func codeText(seed, functions int) string {
	text := "package server\n\n"
	for i := range functions {
		n := (seed*31 + i*17) % 97
		text += fmt.Sprintf("// count%d returns %d more.\nfunc (s *Server) count%d(n int) int {\n"+
			"\treturn n + s.total[%d]\n}\n\n", n, n, n, i)
	}
	return text
}

// TestOwnRowsOfABoundedModelStayFlat measures the caches of a model and of a drafter that slides, at
// three lengths. Restored rows alone grow.
func TestOwnRowsOfABoundedModelStayFlat(t *testing.T) {
	th := enginetest.NewThread(t)
	p := loadRestored(t, th, "qwen3",
		map[string]any{"layer_types": []string{"sliding_attention", "sliding_attention"}}, nil)
	defer p.close(t)
	m := p.model(t)
	caches := m.NewCaches(cache.Options{})
	const layers, row = 3, 2 * 2 * 16 * 4 // bytes of keys and values
	var first lm.KVBytes
	text := byteText(8192)
	for _, length := range []int{1024, 4096, 8192} {
		at := caches[0].Offset()
		rows := text[at:length]
		for len(rows) > 0 {
			n := min(512, len(rows))
			enginetest.Do(t, th, func(s *mlx.Scope) error {
				q := lm.Sequence{Tokens: mlx.New(s, rows[:n], n), N: n, Pos: caches[0].Offset(),
					Caches: caches}
				out := m.Forward(s, lm.Batch{q}, nil)
				return s.Eval(append(cache.Stack(caches).Arrays(), out.Hidden)...)
			})
			rows = rows[n:]
		}
		b := m.Bytes(caches)
		if own := b.Window / row / layers; own != cache.DefaultSink+cache.DefaultWindow-1+cache.MaxBlock {
			t.Errorf("at %d positions a layer has %d own rows", length, own)
		}
		if first.Window == 0 {
			first = b
		}
		if b.Window != first.Window || b.Source != first.Source || b.Exact != 0 ||
			b.Restored < int64(length*layers*row) {
			t.Errorf("at %d positions: %+v, at first %+v", length, b, first)
		}
		t.Logf("at %d positions: %+v, %d in all", length, b, b.Total())
	}
	freeCaches(t, th, caches)
}
