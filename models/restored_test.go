package models_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/restore"
	"tandem/models"
)

// A tokenSource restores rows that depend on the token alone. They are of the size of a model's own.
type tokenSource struct{ target restorable }

// A restorable is a target that tokenSource can restore.
type restorable interface {
	lm.Embedder
	lm.Restorable
	lm.Model
}

func (r tokenSource) KVShapes() []lm.KVShape                { return r.target.KVShapes() }
func (r tokenSource) NewCaches(cache.Options) []cache.Cache { return nil }

func (r tokenSource) KeysValues(s *mlx.Scope, b lm.Batch) []lm.KV {
	var out []lm.KV
	for i, shape := range r.KVShapes() {
		made := func(seed int) *mlx.Array {
			rows := make([]*mlx.Array, len(b))
			for j, q := range b {
				c := r.target.Config()
				table := s.Normal(s.Key(uint64(seed)), c.Dtype, 0, 1, c.VocabSize, shape.Row())
				rows[j] = s.Take(table, q.Tokens, 0)
			}
			x := s.Concat(0, rows...)
			return s.Transpose(s.Reshape(x, 1, b.Rows(), shape.Heads, shape.Dim), 0, 2, 1, 3)
		}
		if shape == (lm.KVShape{}) {
			out = append(out, lm.KV{})
			continue
		}
		out = append(out, lm.KV{K: made(2 * i), V: made(2*i + 1)})
	}
	return out
}

// restoredCases are recorded models with layers of every kind that can be bounded: with and without
// norms of keys, sliding, with sinks, gated, with values made of keys, and with layers that attend
// the keys of others. exact are the layers that stay as they are, in rows of so many bits.
var restoredCases = []struct {
	exactCase
	exact []int
	bits  int
}{
	{exactCase{"llama", "float32", false}, nil, 0},
	{exactCase{"llama", "bfloat16", false}, nil, 0},
	{exactCase{"qwen3", "float32", false}, []int{1}, 0},
	{exactCase{"qwen3", "float32", false}, []int{0}, 8},
	{exactCase{"qwen35", "float32", true}, nil, 0}, // beside recurrent layers; in identity's test always
	{exactCase{"gemma3", "float32", false}, nil, 0},
	{exactCase{"gpt-oss", "float32", false}, nil, 0},
	{exactCase{"glimmer", "float32", false}, nil, 0},
	{exactCase{"gemma4", "float32", true}, nil, 0}, // in identity's test always
	{exactCase{"gemma4-e", "float32", true}, nil, 0},
}

// testBounds are small enough for recorded texts.
var testBounds = restore.Options{Sink: 2, Window: 7}

func bound(t testing.TB, target lm.Model, o restore.Options) *restore.Model {
	t.Helper()
	m, err := restore.New(target, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// restoredText cuts a recorded text to what a test can afford. It is many windows long.
func restoredText(prompt, ids []int32) []int32 {
	most := 72
	if enginetest.Long {
		most = 110
	}
	text := slices.Concat(prompt, ids)
	return text[:min(len(text), most)]
}

// restoredSuite runs the exact suite on models with restored rows.
func restoredSuite(t *testing.T, th *mlx.Thread, dtype string, compare compareFunc) {
	for _, c := range restoredCases {
		if c.dtype != dtype || c.long && !enginetest.Long {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			f, b := c.load(t, th)
			defer b.Close()
			want := f.expected(t, th, c.dtype)
			text := restoredText(want.prompt, want.ids)
			o := testBounds
			o.Exact = c.exact
			target := b.Model.(restorable)
			sources := []restore.Source{tokenSource{target}}
			if enginetest.Long || c.name == "qwen3" {
				sources = append(sources, nil, restore.Identity(target))
			}
			for _, source := range sources {
				o.Source = source
				m := bound(t, b.Model, o)
				x := &exact{t: t, th: th, m: m, name: fmt.Sprintf("%s, restored by %T", c.name, source),
					compare: compare, opts: cache.Options{Chunk: ringChunk, Bits: c.bits}}
				x.oracle(text)
				for _, chunk := range []int{3, 32} {
					x.chunks(text, chunk)
				}
				x.blocks(text, 16)
				x.shared(text, []int{0, 30, 47}, []int{19, 1, 8})
				// Every row is forwarded again with all before it.
				x.opts.Chunk = len(text)
				x.oracle(text)
				x.chunks(text, len(text))
			}
			if c.name == "llama" && enginetest.Long {
				// A chunk as it is served: sixteen blocks of own rows, and restored ones.
				text := slices.Repeat(text, 600/len(text)+1)
				m := bound(t, b.Model, restore.Options{Sink: cache.DefaultSink,
					Window: cache.DefaultWindow, Source: tokenSource{target}})
				x := &exact{t: t, th: th, m: m, name: "llama, usual bounds", compare: compare}
				x.oracle(text)
				x.chunks(text, cache.MaxChunk)
			}
		})
	}
}

// TestRestoredLogitsEqualOneRowDecodeToTheBit: how a text is cut does not matter, nor what comes
// along, nor what was dropped, whatever restores the rows.
func TestRestoredLogitsEqualOneRowDecodeToTheBit(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	for _, dtype := range []string{"float32", "bfloat16"} {
		var d enginetest.Diff
		restoredSuite(t, enginetest.NewThread(t), dtype, d.Compare)
		d.Check(t)
	}
}

// TestIdentityIsTheModel: rows that are the model's own, restored on the path of all others, give
// what the model gives. A sink and a window alone do not, and neither do other rows.
func TestIdentityIsTheModel(t *testing.T) {
	th := enginetest.NewThread(t)
	for _, c := range restoredCases {
		if c.dtype != "float32" || c.bits > 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			f, b := c.load(t, th)
			defer b.Close()
			want := f.expected(t, th, c.dtype)
			text := restoredText(want.prompt, want.ids)
			x := &exact{t: t, th: th, m: b.Model, name: c.name}
			x.oracle(text)
			var s speed
			x.compare = func(where string, got, want []float32) { s.compare(t, where, got, want) }
			o := testBounds
			o.Exact, o.Source = c.exact, restore.Identity(b.Model)
			x.m = bound(t, b.Model, o)
			x.chunks(text, 16)
			s.check(t)
			target := b.Model.(restorable)
			for _, source := range []restore.Source{nil, tokenSource{target}} {
				o.Source = source
				off := 0.0
				x.compare = func(_ string, got, want []float32) {
					for i := range want {
						off = max(off, math.Abs(float64(got[i]-want[i]))/largest(want))
					}
				}
				x.m = bound(t, b.Model, o)
				x.chunks(text, 16)
				if off < 1e-3 {
					t.Errorf("restored by %T: the logits are off by %g of the largest only", source, off)
				}
			}
		})
	}
}

// TestLatentAttentionIsNotBounded: a family whose layers keep no keys is refused.
func TestLatentAttentionIsNotBounded(t *testing.T) {
	th := enginetest.NewThread(t)
	f := openFixture(t, "glm4-moe-lite")
	b, err := models.OpenFS(f.files, "").Load(t.Context(), th, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := restore.New(b.Model, testBounds); err == nil {
		t.Error("it was not refused")
	}
}
