package dflash_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models/dflash"
	"tandem/models/nn"
)

// A fixture is what a reference guessed on random taps (build/fixtures/drafters.py).
type fixture struct {
	enginetest.Recording
	Shared   string          `json:"shared"` // the folder of weights and target
	Known    []int32         `json:"known"`  // tokens after each anchor
	Settings dflash.Settings `json:"settings"`
	From     int             `json:"from"` // position of the first row of context
	Scale    float64         `json:"embed_scale"`

	config  []byte
	weights *mlx.Tensors // of the drafter
	target  *mlx.Tensors // embedding, head and taps
	blocks  *mlx.Tensors
}

func openFixture(t testing.TB, name string) *fixture {
	t.Helper()
	dir := filepath.Join("testdata", "parity", name)
	f := &fixture{}
	f.Read(t, dir, f)
	files := enginetest.RecordedTensors(t, filepath.Join("testdata", "parity", f.Shared))
	f.Check(t, files)
	var err error
	if f.config, err = os.ReadFile(filepath.Join(dir, "config.json")); err != nil {
		t.Fatal(err)
	}
	f.weights = enginetest.OpenTensors(t, files["model.safetensors"].Data)
	f.target = enginetest.OpenTensors(t, files["target.safetensors"].Data)
	f.blocks = enginetest.Tensors(t, filepath.Join(dir, "blocks.safetensors"))
	return f
}

// A block is one recorded block.
type block struct {
	context, n int
	anchor     int32
	logits     [][]float32 // (n, V)
	drafts     []int32     // (n)
}

func (f *fixture) read(t testing.TB, th *mlx.Thread) []block {
	t.Helper()
	var blocks []block
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		ints := func(name string) []int32 {
			v, err := mlx.Read[int32](s, f.blocks.Load(s, name))
			if err != nil {
				s.Fail(err)
			}
			return v
		}
		contexts, anchors, ns, drafts := ints("context"), ints("anchor"), ints("n"), ints("drafts")
		logits, err := enginetest.ReadRows(s, f.blocks.Load(s, "logits"))
		if err != nil {
			return err
		}
		for i, n := range ns {
			blocks = append(blocks, block{int(contexts[i]), int(n), anchors[i], logits[:n],
				drafts[:n]})
			logits, drafts = logits[n:], drafts[n:]
		}
		if len(logits) != 0 || len(drafts) != 0 {
			return fmt.Errorf("%d rows of logits and %d drafts are left over",
				len(logits), len(drafts))
		}
		return nil
	})
	return blocks
}

func newTarget(t testing.TB, th *mlx.Thread, f *fixture, dtype mlx.Dtype) *dflash.RecordedTarget {
	t.Helper()
	var m *dflash.RecordedTarget
	enginetest.Do(t, th, func(s *mlx.Scope) (err error) {
		m, err = dflash.NewRecordedTarget(s, f.target, f.config, f.Scale, dtype)
		return err
	})
	t.Cleanup(func() {
		th.Do(context.Background(), func(*mlx.Scope) error { m.Free(); return nil })
	})
	return m
}

// open builds the drafter of weights and config.
func open(t testing.TB, th *mlx.Thread, weights nn.Source, config []byte, on *dflash.RecordedTarget,
	settings dflash.Settings) *dflash.Model {
	t.Helper()
	m, err := tryOpen(t, th, weights, config, on, settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		th.Do(context.Background(), func(*mlx.Scope) error { m.Free(); return nil })
	})
	return m
}

func tryOpen(t testing.TB, th *mlx.Thread, weights nn.Source, config []byte, on *dflash.RecordedTarget,
	settings dflash.Settings) (m *dflash.Model, err error) {
	t.Helper()
	err = th.Do(t.Context(), func(s *mlx.Scope) error {
		w := nn.NewWeights(s, weights, nil)
		w.Dtype = on.Config().Dtype
		var err error
		if m, err = dflash.New(w, config, on, settings); err == nil {
			err = w.Err()
		}
		if err != nil {
			w.Free()
		}
		return err
	})
	return m, err
}

// A path is the draft state of one request over the taps of a fixture.
type path struct {
	m      *dflash.Model
	on     *dflash.RecordedTarget
	known  []int32 // tokens after each anchor
	from   int     // position of the first row
	caches cache.Stack
}

// extend appends rows of context up to a count, in runs of at most chunk.
func (p *path) extend(t testing.TB, th *mlx.Thread, to, chunk int) {
	for at := p.caches[0].Offset(); at < to; at = p.caches[0].Offset() {
		end := min(at+chunk, to)
		enginetest.Do(t, th, func(s *mlx.Scope) error {
			p.m.Context(s, p.on.TapsOf(s, len(p.m.Taps()), at, end), p.from+at, p.caches)
			return s.Eval(p.caches.Arrays()...)
		})
	}
}

// draft returns the logits (n, V) of a block after the context, and its drafts (n). So many rows of
// the context come with the block.
func (p *path) draft(t testing.TB, th *mlx.Thread, anchor int32, n,
	more int) (rows [][]float32, drafts []int32) {
	t.Helper()
	begin := append([]int32{anchor}, p.known...)
	offset := p.caches[0].Offset() + more
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		var taps []*mlx.Array
		if more > 0 {
			taps = p.on.TapsOf(s, len(p.m.Taps()), offset-more, offset)
		}
		hidden := p.m.Forward(s, taps, mlx.New(s, begin, len(begin)), n, p.from+offset, p.caches)
		logits, guesses, err := p.m.Guesses(s, hidden, begin[len(begin)-1], p.caches.Arrays()...)
		for row := range slices.Chunk(logits, max(1, len(logits)/n)) {
			rows = append(rows, row)
		}
		drafts = guesses
		return err
	})
	for i, c := range p.caches {
		if c.Offset() != offset {
			t.Fatalf("after a block the cache of layer %d stands at %d, the context at %d",
				i, c.Offset(), offset)
		}
	}
	return rows, drafts
}

func (p *path) free(t testing.TB, th *mlx.Thread) {
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		p.caches.Free(s)
		return nil
	})
}

// A score sums up how well the recorded blocks were matched.
type score struct {
	blocks, rows, drafts, wholeBlocks int
	// largest difference of a logit, and relative to the largest of its block
	off, share float64
}

func (c *score) compare(got [][]float32, drafts []int32, want block) {
	most, off, equal := 0.0, 0.0, 0
	for j, row := range want.logits {
		for k := range row {
			most = max(most, math.Abs(float64(row[k])))
			d := math.Abs(float64(got[j][k]) - float64(row[k]))
			if math.IsNaN(d) {
				d = math.Inf(1) // a NaN would pass comparisons
			}
			off = max(off, d)
		}
		if drafts[j] == want.drafts[j] {
			equal++
		}
	}
	c.blocks++
	c.rows += want.n
	c.drafts += equal
	if equal == want.n {
		c.wholeBlocks++
	}
	c.off = max(c.off, off)
	c.share = max(c.share, off/most)
}

func (c *score) String() string {
	return fmt.Sprintf("%d blocks, logits off by at most %.2g, %.2g of the largest, %d of %d drafts equal, in %d blocks all",
		c.blocks, c.off, c.share, c.drafts, c.rows, c.wholeBlocks)
}

// ways are how a request may come to its context. A ring for chunks of one row holds 47 for the
// recorded window of 16 and wraps within the recorded text.
var ways = []struct {
	name  string
	opts  cache.Options
	chunk int
	fresh bool // caches of their own for every block; else one request that goes on
	more  int  // rows of the context that come with the block, at most
}{
	{"request", cache.Options{}, 32, false, 0},
	{"request, full layout", cache.Options{Layout: cache.Full}, 32, false, 0},
	{"request, small ring", cache.Options{Chunk: 1}, 3, false, 0},
	{"request, context with the block", cache.Options{}, 32, false, 24},
	{"request, context with the block, full layout", cache.Options{Layout: cache.Full}, 32, false, 5},
	{"request, context with the block, small ring", cache.Options{Chunk: 1}, 3, false, 24},
	{"fresh", cache.Options{}, 512, true, 0},
	{"fresh, row by row", cache.Options{Chunk: 1}, 1, true, 0},
	{"fresh, chunks of 7, full layout", cache.Options{Layout: cache.Full}, 7, true, 0},
	{"fresh, one row with the block", cache.Options{}, 512, true, 1},
}

// run drafts all recorded blocks one way.
func run(t testing.TB, th *mlx.Thread, f *fixture, m *dflash.Model, on *dflash.RecordedTarget, way int,
	blocks []block) *score {
	t.Helper()
	w, c := ways[way], &score{}
	p := &path{m: m, on: on, known: f.Known, from: f.From, caches: m.NewCaches(w.opts)}
	for _, b := range blocks {
		if w.fresh {
			p.free(t, th)
			p.caches = m.NewCaches(w.opts)
		}
		more := min(w.more, b.context-p.caches[0].Offset())
		p.extend(t, th, b.context-more, w.chunk)
		rows, drafts := p.draft(t, th, b.anchor, b.n, more)
		c.compare(rows, drafts, b)
	}
	p.free(t, th)
	return c
}

// TestParity compares with the reference: in float32 the logits of every block and all drafts. In
// bfloat16 it counts the drafts that agree.
func TestParity(t *testing.T) {
	cases, err := filepath.Glob("testdata/parity/*/fixture.json")
	if err != nil || len(cases) < 12 {
		t.Fatalf("%d recorded cases, %v", len(cases), err)
	}
	th := enginetest.NewThread(t)
	before := th.Memory().Active
	var all, half score
	second, spark := 0, 0 // blocks of DFlash 2 and DSpark drafters
	t.Run("cases", func(t *testing.T) {
		for _, name := range cases {
			name := filepath.Base(filepath.Dir(name))
			t.Run(name, func(t *testing.T) {
				f := openFixture(t, name)
				blocks := f.read(t, th)
				on := newTarget(t, th, f, mlx.Float32)
				m := open(t, th, f.weights, f.config, on, f.Settings)
				for way, w := range ways {
					c := run(t, th, f, m, on, way, blocks)
					if t.Logf("%s: %v", w.name, c); !(c.off <= 1e-4) || c.drafts != c.rows {
						t.Errorf("%s: %v", w.name, c)
					}
					if way == 0 {
						all.blocks += c.blocks
						if m.Candidates() > 0 {
							second += c.blocks
						}
						if m.Markov() {
							spark += c.blocks
						}
					}
				}
				on = newTarget(t, th, f, mlx.BFloat16)
				c := run(t, th, f, open(t, th, f.weights, f.config, on, f.Settings), on, 0, blocks)
				t.Logf("bfloat16: %v", c)
				half.blocks, half.rows = half.blocks+c.blocks, half.rows+c.rows
				half.drafts, half.wholeBlocks = half.drafts+c.drafts, half.wholeBlocks+c.wholeBlocks
				half.off, half.share = max(half.off, c.off), max(half.share, c.share)
			})
		}
	})
	t.Logf("float32: %d blocks; bfloat16: %v", all.blocks, &half)
	if second < 96 || spark < 48 || all.blocks-second-spark < 96 {
		t.Errorf("%d blocks are recorded, %d of them of DFlash 2 and %d of DSpark; too few of a kind",
			all.blocks, second, spark)
	}
	if half.drafts*10 < half.rows*9 {
		t.Errorf("in bfloat16 %v: fewer than nine in ten", &half)
	}
	if after := th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d", before, after)
	}
}
