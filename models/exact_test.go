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
	"tandem/models"
)

// An exactCase is a recorded model with activations of a type. The long ones have the layers and
// caches of others. partCases has their packings.
type exactCase struct {
	name, dtype string
	long        bool
}

// exactCases are the recorded models that the bit tier runs on: of every family, each kind of layer
// and of cache, plain and quantized. Cases that differ from these in spelling alone are left out.
var exactCases = []exactCase{
	{"llama", "float32", false},
	{"llama", "bfloat16", false},
	{"llama-untied", "float32", false}, // with biases
	{"llama-untied", "bfloat16", true},
	{"llama-4bit", "float32", false},
	{"llama-8bit", "float32", true},
	{"llama-8bit", "bfloat16", true},
	{"llama-3bit", "float32", true},
	{"llama-5bit", "float32", true},
	{"llama-6bit", "float32", true},
	{"llama-mxfp4", "float32", true},
	{"llama-mxfp4", "bfloat16", true},
	{"llama-nvfp4", "float32", true},
	{"llama-mxfp8", "float32", true},
	{"llama-mxfp4-mixed", "float32", true},
	{"qwen35-moe-mxfp4", "float32", true},
	{"llama-sliding", "float32", false},
	{"llama-traditional", "float32", false},
	{"llama-yarn", "float32", true}, // the other scalings of positions only have other frequencies
	{"glimmer", "float32", false},   // a window, and layers that know no position
	{"glimmer", "bfloat16", false},
	{"glimmer-4bit", "float32", true},
	{"granite", "float32", false},
	{"granite", "bfloat16", false},
	{"granite-4bit", "float32", false},
	{"lfm2", "float32", false}, // convolutions
	{"lfm2", "bfloat16", false},
	{"nemotron-h", "float32", false}, // Mamba-2, and layers without caches
	{"nemotron-h-4bit", "float32", false},
	{"lfm2-4bit", "float32", true},
	{"lfm2-moe-4bit", "float32", false},
	{"ministral3", "float32", false}, // queries that grow, a window
	{"ministral3", "bfloat16", false},
	{"mistral3-4bit", "float32", false},
	{"qwen2", "float32", false}, // with biases of q, k and v alone
	{"qwen2", "bfloat16", false},
	{"qwen2-4bit", "float32", false},
	{"phi3", "float32", false},
	{"phi3", "bfloat16", false},
	{"phi3-4bit", "float32", false}, // heads rotated in part
	{"qwen3", "float32", false},
	{"qwen3", "bfloat16", false},
	{"qwen3-4bit-untied", "float32", false},
	{"qwen3-moe-4bit", "float32", false},
	{"qwen3-next", "float32", false}, // recurrent layers, packed key head by key head
	{"qwen3-next", "bfloat16", false},
	{"qwen35", "float32", false}, // recurrent layers
	{"qwen35", "bfloat16", true},
	{"qwen35-4bit", "float32", true},
	{"smollm3", "float32", false}, // layers without a rotary embedding
	{"smollm3", "bfloat16", false},
	{"smollm3-4bit", "float32", false},
	{"gemma3", "float32", false}, // rings: the window is 16
	{"gemma3", "bfloat16", false},
	{"gemma3-4bit", "float32", true},
	{"gemma3-4bit", "bfloat16", true},
	{"glm4-moe-lite", "float32", false}, // latents
	{"glm4-moe-lite-otherwise", "float32", true},
	{"glm4-moe-lite-4bit", "float32", true},
	{"glm4-moe-lite-4bit", "bfloat16", true},
	{"gpt-oss", "float32", false}, // sinks, in rings and in full layers
	{"gpt-oss-4bit", "float32", true},
	{"gpt-oss-4bit", "bfloat16", true},
	{"gemma4", "float32", true}, // rings, and values made of keys
	{"gemma4", "bfloat16", true},
	{"gemma4-e", "float32", false}, // layers that attend the keys of others
	{"gemma4-e", "bfloat16", true},
	{"gemma4-e-4bit", "float32", true},
	{"gemma4-moe-4bit", "float32", true}, // experts beside the MLP
	{"gemma4-moe-4bit", "bfloat16", true},
	{"gpt-oss-mxfp4", "float32", true},
	{"gpt-oss-published", "bfloat16", false},
}

// ringChunk is the most rows that the rings of the suite take at once.
const ringChunk = 32

// exactSuite compares logits with those of one-row decode, on every given case of a type:
//
//   - of chunks of several lengths;
//   - of verify blocks of k rows;
//   - of forwards that several sequences share.
func exactSuite(t *testing.T, th *mlx.Thread, cases []exactCase, layout cache.Layout,
	dtype string, compare compareFunc) {
	for _, c := range cases {
		if c.dtype == dtype && (enginetest.Long || !c.long) {
			t.Run(c.name, func(t *testing.T) { c.run(t, th, layout, compare) })
		}
	}
}

// load returns the recording of a case and its model, in the type of the case. The caller closes the
// model.
func (c exactCase) load(t *testing.T, th *mlx.Thread) (*fixture, *models.Bundle) {
	policy := models.DtypeCheckpoint
	if c.dtype == "float32" {
		policy = models.DtypeFloat32
	}
	f := openFixture(t, c.name)
	b, err := models.OpenFS(f.files, "").Load(t.Context(), th, models.Options{Dtype: policy})
	if err != nil {
		t.Fatal(err)
	}
	return f, b
}

// run is the suite on one model. A model without rings has nothing to compare in the layout Full.
func (c exactCase) run(t *testing.T, th *mlx.Thread, layout cache.Layout, compare compareFunc) {
	f, b := c.load(t, th)
	defer b.Close()
	want := f.expected(t, th, c.dtype)
	rings := hasRings(t, th, b.Model)
	if layout == cache.Full && !rings { // both layouts are the same
		return
	}
	x := &exact{t: t, th: th, m: b.Model, opts: cache.Options{Layout: layout}, name: c.name,
		compare: compare}
	// Long enough for a second chunk that is attended in blocks of queries.
	text := slices.Concat(want.prompt, want.ids, want.prompt)
	// Odd, as wide as kernels are, more than a chunk of attention.
	lengths := []int{3, 16, 70, len(text)}
	blocks := []int{2, 16} // families_test.go has others
	if enginetest.Long {
		lengths, blocks = []int{2, 3, 8, 16, 64, 70, len(text)}, []int{2, 4, 8, 16}
	}
	if rings && layout == cache.Ring {
		// Rings of a window of 16 and such chunks start over within the text.
		x.opts.Chunk = ringChunk
		lengths = append(slices.DeleteFunc(lengths, func(n int) bool { return n > ringChunk }),
			ringChunk)
		if !enginetest.Long { // twice are enough
			text = slices.Concat(want.prompt, want.ids)
		}
	}
	x.oracle(text)
	for _, chunk := range lengths {
		x.chunks(text, chunk)
	}
	for _, k := range blocks {
		x.blocks(text, k)
	}
	// A prefill chunk, a decode step and a block, at different positions.
	x.shared(text, []int{0, 30, 47}, []int{19, 1, 8})
	// Eight decode steps, some of the same text.
	x.shared(text, []int{1, 7, 7, 20, 33, 48, 60, 61}, []int{1, 1, 1, 1, 1, 1, 1, 1})
}

// layouts returns how many layouts of caches run. The first is the one that is served.
func layouts() int {
	if enginetest.Long {
		return 2
	}
	return 1
}

// hasRings reports whether some layer of a model keeps a ring of rows. Only then do the layouts
// differ.
func hasRings(t *testing.T, th *mlx.Thread, m lm.Model) bool {
	caches := m.NewCaches(cache.Options{Layout: cache.Ring})
	defer freeCaches(t, th, caches)
	return slices.ContainsFunc(caches, func(c cache.Cache) bool {
		_, ring := c.(*cache.Rotating)
		return ring
	})
}

// A compareFunc judges the logits of one row against those of one-row decode.
type compareFunc func(where string, got, want []float32)

// exact compares with the logits of one-row decode.
type exact struct {
	t       *testing.T
	th      *mlx.Thread
	m       lm.Model
	opts    cache.Options
	name    string
	compare compareFunc
	rows    [][]float32 // of one-row decode
}

func (x *exact) oracle(text []int32) {
	caches := x.m.NewCaches(x.opts)
	x.rows = forward(x.t, x.th, x.m, caches, text, 1)
	freeCaches(x.t, x.th, caches)
}

// check compares the logits of the rows from position at on.
func (x *exact) check(what string, at int, got [][]float32) {
	for i, row := range got {
		x.compare(fmt.Sprintf("%s, %s, position %d", x.name, what, at+i), row, x.rows[at+i])
	}
}

// chunks runs the whole text in chunks.
func (x *exact) chunks(text []int32, chunk int) {
	caches := x.m.NewCaches(x.opts)
	x.check(fmt.Sprintf("chunks of %d", chunk), 0, forward(x.t, x.th, x.m, caches, text, chunk))
	freeCaches(x.t, x.th, caches)
}

// blocks runs verify blocks of k rows after a prefill: at each position a block whose second half
// is wrong, which is rolled back and run again right. Rings start over among the first 16 blocks.
func (x *exact) blocks(text []int32, k int) {
	at := min(40, len(text)/2)
	end := min(len(text), at+8*k)
	if enginetest.Long {
		at, end = 20, len(text)
	}
	what := fmt.Sprintf("blocks of %d", k)
	caches := x.m.NewCaches(x.opts)
	forward(x.t, x.th, x.m, caches, text[:at], 20)
	for pos := at; pos+k <= end; pos += k / 2 {
		block := slices.Clone(text[pos : pos+k])
		for i := k / 2; i < k; i++ {
			block[i] = (block[i] + 1) % int32(x.m.Config().VocabSize)
		}
		x.check(what, pos, forward(x.t, x.th, x.m, caches, block, k)[:k/2])
		for _, c := range caches {
			if err := c.Trim(k - k/2); err != nil {
				x.t.Fatal(err)
			}
		}
	}
	freeCaches(x.t, x.th, caches)
}

// shared runs several sequences in one forward, three times: from starts on, counts rows each.
func (x *exact) shared(text []int32, starts, counts []int) {
	paths := make([][]cache.Cache, len(starts))
	for i, at := range starts {
		paths[i] = x.m.NewCaches(x.opts)
		if at > 0 {
			forward(x.t, x.th, x.m, paths[i], text[:at], min(at, ringChunk))
		}
	}
	for range 3 {
		enginetest.Do(x.t, x.th, func(s *mlx.Scope) error {
			var b lm.Batch
			keep := []*mlx.Array{nil}
			for i, n := range counts {
				at := paths[i][0].Offset()
				b = append(b, lm.Sequence{Tokens: mlx.New(s, text[at:at+n], n), N: n, Pos: at,
					Caches: paths[i]})
			}
			o := x.m.Forward(s, b, nil)
			keep[0] = s.Contiguous(s.AsType(x.m.Unembed(s, o.Hidden), mlx.Float32))
			for _, caches := range paths {
				for _, c := range caches {
					keep = append(keep, c.Arrays()...)
				}
			}
			if err := s.Eval(keep...); err != nil {
				return err
			}
			rows, err := enginetest.ReadRows(s, keep[0])
			if err != nil {
				return err
			}
			for _, q := range b {
				x.check("shared forward", q.Pos, rows[:q.N])
				rows = rows[q.N:]
			}
			return nil
		})
	}
	for _, caches := range paths {
		freeCaches(x.t, x.th, caches)
	}
}

// The bit tier: no bit of any logit may differ.
func TestLogitsEqualOneRowDecodeToTheBit(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	for _, dtype := range []string{"float32", "bfloat16"} {
		for _, layout := range []cache.Layout{cache.Ring, cache.Full} {
			cases := exactCases
			if layout == cache.Full && !enginetest.Long {
				if dtype == "bfloat16" {
					continue // its masks are those of float32
				}
				cases = []exactCase{{"gemma3", dtype, false}} // the layout is not served
			}
			t.Run(dtype+"/"+string(layout), func(t *testing.T) {
				var d enginetest.Diff
				exactSuite(t, enginetest.NewThread(t), cases, layout, dtype, d.Compare)
				d.Check(t)
			})
		}
	}
}

// Where OpenBLAS multiplies, bits do differ, so the suite can find differences. One model shows it.
func TestSuiteFindsDifferingBits(t *testing.T) {
	enginetest.Control(t, func(d *enginetest.Diff) {
		exactSuite(t, enginetest.NewBLASThread(t), exactCases[:1], cache.Ring, "float32",
			d.Compare)
	})
}

// The suite runs with OpenBLAS, which stands for a GPU: results depend a little on how many rows are
// computed at once. Along the recorded text, the likeliest token may differ from one-row decode. Then
// it must be one of plain's top two, and these must be all but equal.
func TestLogitsOfBLASAreWithinTheSpeedTier(t *testing.T) {
	for _, layout := range []cache.Layout{cache.Ring, cache.Full}[:layouts()] {
		t.Run(string(layout), func(t *testing.T) {
			var s speed
			th := enginetest.NewBLASThread(t)
			compare := func(where string, got, want []float32) { s.compare(t, where, got, want) }
			if enginetest.Long {
				exactSuite(t, th, exactCases, layout, "float32", compare)
			} else { // bits differ here, and caches are the bit tier's
				partSuite(t, th, exactCases, "float32", compare)
			}
			s.check(t)
		})
	}
}

// TestRingAndFullLayoutAgree compares the two layouts on one sliding-window model.
func TestRingAndFullLayoutAgree(t *testing.T) {
	th := enginetest.NewThread(t)
	f := openFixture(t, "gemma3")
	b, err := models.OpenFS(f.files, "").Load(t.Context(), th, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	want := f.expected(t, th, "float32")
	x := &exact{t: t, th: th, m: b.Model, opts: cache.Options{Layout: cache.Full}, name: "gemma3"}
	text := slices.Concat(want.prompt, want.ids)
	x.oracle(text)
	var s speed
	x.compare = func(where string, got, want []float32) { s.compare(t, where, got, want) }
	x.opts.Layout = cache.Ring
	for _, chunk := range []int{1, 7, 64} {
		x.chunks(text, chunk)
	}
	s.check(t)
}

// speed holds the rules of the speed tier.
type speed struct {
	rows, excused int
	worst         float64 // difference / largest logit
}

func (s *speed) compare(t *testing.T, where string, got, want []float32) {
	s.rows++
	most, off := largest(want), 0.0
	for i := range want {
		off = max(off, math.Abs(float64(got[i])-float64(want[i]))/most)
	}
	if s.worst = max(s.worst, off); !(off <= 1e-5) {
		t.Errorf("%s: logits off by %g of the largest", where, off)
	}
	g, w := argmax(got), argmax(want)
	if g == w {
		return
	}
	s.excused++
	second := slices.Clone(want)
	second[w] = float32(math.Inf(-1))
	ulp := math.Abs(float64(math.Nextafter32(want[w], 0)) - float64(want[w]))
	if g != argmax(second) || gap(want) > max(1e-4, 2*ulp) {
		t.Errorf("%s: token %d, want %d; the two largest are %g apart", where, g, w, gap(want))
	}
	t.Logf("excused: %s: token %d for %d, %g apart", where, g, w, gap(want))
}

func (s *speed) check(t *testing.T) {
	t.Logf("%d rows, logits off by at most %.2g of the largest, %d tokens excused",
		s.rows, s.worst, s.excused)
	if s.rows == 0 || s.excused*1000 > s.rows {
		t.Errorf("%d of %d tokens excused, at most 0.1 %%", s.excused, s.rows)
	}
}
