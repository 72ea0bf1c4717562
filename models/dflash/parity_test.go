package dflash_test

import (
	"context"
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

// read returns the recorded blocks for a target.
func (f *fixture) read(t testing.TB, th *mlx.Thread,
	on *dflash.RecordedTarget) (blocks []dflash.RecordedBlock) {
	t.Helper()
	enginetest.Do(t, th, func(s *mlx.Scope) (err error) {
		blocks, err = dflash.ReadBlocks(s, f.blocks, on)
		return err
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

// draft returns the logits (n, V) of a block after the context, and its drafts (n).
func (p *path) draft(t testing.TB, th *mlx.Thread, anchor int32,
	n int) (rows [][]float32, drafts []int32) {
	t.Helper()
	begin := append([]int32{anchor}, p.known...)
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		hidden := p.m.Forward(s, nil, mlx.New(s, begin, len(begin)), n, p.from+p.caches[0].Offset(),
			p.caches)
		logits, guesses, err := p.m.Guesses(s, hidden, begin[len(begin)-1], p.caches.Arrays()...)
		for row := range slices.Chunk(logits, max(1, len(logits)/n)) {
			rows = append(rows, row)
		}
		drafts = guesses
		return err
	})
	return rows, drafts
}

func (p *path) free(t testing.TB, th *mlx.Thread) {
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		p.caches.Free(s)
		return nil
	})
}

// ways are how a request may come to its context. A ring for chunks of one row holds 47 for the
// recorded window of 16 and wraps within the recorded text.
var ways = []struct {
	name string
	dflash.RecordedWay
}{
	{"request", dflash.RecordedWay{Chunk: 32}},
	{"request, full layout", dflash.RecordedWay{Caches: cache.Options{Layout: cache.Full}, Chunk: 32}},
	{"request, small ring", dflash.RecordedWay{Caches: cache.Options{Chunk: 1}, Chunk: 3}},
	{"request, context with the block", dflash.RecordedWay{Chunk: 32, More: 24}},
	{"request, context with the block, full layout",
		dflash.RecordedWay{Caches: cache.Options{Layout: cache.Full}, Chunk: 32, More: 5}},
	{"request, context with the block, small ring",
		dflash.RecordedWay{Caches: cache.Options{Chunk: 1}, Chunk: 3, More: 24}},
	{"fresh", dflash.RecordedWay{Chunk: 512, Fresh: true}},
	{"fresh, row by row", dflash.RecordedWay{Caches: cache.Options{Chunk: 1}, Chunk: 1, Fresh: true}},
	{"fresh, chunks of 7, full layout",
		dflash.RecordedWay{Caches: cache.Options{Layout: cache.Full}, Chunk: 7, Fresh: true}},
	{"fresh, one row with the block", dflash.RecordedWay{Chunk: 512, Fresh: true, More: 1}},
}

// run drafts all recorded blocks one way.
func run(t testing.TB, th *mlx.Thread, f *fixture, m *dflash.Model, on *dflash.RecordedTarget,
	way int) (p dflash.Parity) {
	t.Helper()
	blocks := f.read(t, th, on)
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		return p.Draft(s, m, on, f.Known, f.From, blocks, ways[way].RecordedWay)
	})
	return p
}

// isEqual reports whether all guesses are the reference's, and logits nearly so.
func isEqual(p dflash.Parity) bool { return p.Rows > 0 && p.Equal == p.Rows && p.Off <= 1e-4 }

// TestParity compares with the reference: in float32 the logits of every block and all drafts. In
// bfloat16 it counts the drafts that agree.
func TestParity(t *testing.T) {
	cases, err := filepath.Glob("testdata/parity/*/fixture.json")
	if err != nil || len(cases) < 12 {
		t.Fatalf("%d recorded cases, %v", len(cases), err)
	}
	th := enginetest.NewThread(t)
	before := th.Memory().Active
	var all, half dflash.Parity
	second, spark := 0, 0 // blocks of DFlash 2 and DSpark drafters
	t.Run("cases", func(t *testing.T) {
		for _, name := range cases {
			name := filepath.Base(filepath.Dir(name))
			t.Run(name, func(t *testing.T) {
				f := openFixture(t, name)
				on := newTarget(t, th, f, mlx.Float32)
				m := open(t, th, f.weights, f.config, on, f.Settings)
				for way, w := range ways {
					c := run(t, th, f, m, on, way)
					if t.Logf("%s: %+v", w.name, c); !isEqual(c) {
						t.Errorf("%s: %+v", w.name, c)
					}
					if way == 0 {
						all.Add(c)
						if m.Candidates() > 0 {
							second += c.Blocks
						}
						if m.Markov() {
							spark += c.Blocks
						}
					}
				}
				on = newTarget(t, th, f, mlx.BFloat16)
				c := run(t, th, f, open(t, th, f.weights, f.config, on, f.Settings), on, 0)
				t.Logf("bfloat16: %+v", c)
				half.Add(c)
			})
		}
	})
	t.Logf("float32: %+v; bfloat16: %+v", all, half)
	if second < 96 || spark < 48 || all.Blocks-second-spark < 96 {
		t.Errorf("%d blocks are recorded, %d of them of DFlash 2 and %d of DSpark; too few of a kind",
			all.Blocks, second, spark)
	}
	if half.Equal*10 < half.Rows*9 {
		t.Errorf("in bfloat16 %+v: fewer than nine in ten", half)
	}
	if after := th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d", before, after)
	}
}
