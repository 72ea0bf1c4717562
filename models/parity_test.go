package models_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models"
)

// A fixture is what mlx_lm said on a tiny model (build/fixtures/models.py).
type fixture struct {
	enginetest.Recording
	Types []string `json:"types"`

	files fstest.MapFS
	dir   string
}

func openFixture(t *testing.T, name string) *fixture {
	t.Helper()
	f := &fixture{dir: filepath.Join("testdata", "parity", name)}
	f.Read(t, f.dir, f)
	f.files = enginetest.RecordedModel(t, filepath.Dir(f.dir), name)
	if f.Versions["mlx"] == "" || f.Versions["mlx_lm"] == "" || len(f.Types) == 0 {
		t.Fatalf("%s/fixture.json lacks versions or types", f.dir)
	}
	f.Check(t, f.files)
	return f
}

// expected is one recording: greedy ids after the prompt, with their logits.
type expected struct {
	prompt, ids []int32
	logits      [][]float32 // (steps, V)
}

func (f *fixture) expected(t *testing.T, th *mlx.Thread, dtype string) *expected {
	t.Helper()
	ts := enginetest.Tensors(t, filepath.Join(f.dir, dtype+".safetensors"))
	e := &expected{}
	enginetest.Do(t, th, func(s *mlx.Scope) (err error) {
		if e.prompt, err = mlx.Read[int32](s, ts.Load(s, "prompt")); err != nil {
			return err
		}
		if e.ids, err = mlx.Read[int32](s, ts.Load(s, "ids")); err != nil {
			return err
		}
		e.logits, err = enginetest.ReadRows(s, ts.Load(s, "logits"))
		return err
	})
	if len(e.ids) < 64 || len(e.logits) != len(e.ids) || len(e.prompt) == 0 {
		t.Fatalf("%s/%s: a prompt of %d, %d ids and logits of %d steps are recorded",
			f.dir, dtype, len(e.prompt), len(e.ids), len(e.logits))
	}
	return e
}

// forward runs tokens through the model, in forwards of at most chunk rows, and returns the logits
// of every row.
func forward(t testing.TB, th *mlx.Thread, m lm.Model, caches []cache.Cache, tokens []int32,
	chunk int) [][]float32 {
	t.Helper()
	var out [][]float32
	for part := range slices.Chunk(tokens, chunk) {
		enginetest.Do(t, th, func(s *mlx.Scope) error {
			q := lm.Sequence{Tokens: mlx.New(s, part, len(part)), N: len(part),
				Pos: caches[0].Offset(), Caches: caches}
			o := m.Forward(s, lm.Batch{q}, nil)
			logits := s.Contiguous(s.AsType(m.Unembed(s, o.Hidden), mlx.Float32))
			keep := []*mlx.Array{logits}
			for _, c := range caches {
				keep = append(keep, c.Arrays()...)
			}
			if err := s.Eval(keep...); err != nil {
				return err
			}
			rows, err := enginetest.ReadRows(s, logits)
			out = append(out, rows...)
			return err
		})
	}
	return out
}

func freeCaches(t testing.TB, th *mlx.Thread, caches []cache.Cache) {
	enginetest.Do(t, th, func(s *mlx.Scope) error {
		for _, c := range caches {
			c.Free(s)
		}
		return nil
	})
}

func argmax(row []float32) int32 {
	best := 0
	for i, v := range row {
		if v > row[best] {
			best = i
		}
	}
	return int32(best)
}

// largest returns the greatest magnitude of a row, gap the distance of its two largest elements.
func largest(row []float32) float64 {
	return float64(max(slices.Max(row), -slices.Min(row)))
}

func gap(row []float32) float64 {
	top := slices.Sorted(slices.Values(row))
	return float64(top[len(top)-1]) - float64(top[len(top)-2])
}

// halfBits holds the precision of the types of 16 bits.
var halfBits = map[string]int{"bfloat16": 8, "float16": 11}

// ulp returns the spacing at v of numbers with so many bits of precision.
func ulp(v float64, bits int) float64 {
	_, exp := math.Frexp(v) // v = f 2^exp, f in [0.5, 1)
	return math.Ldexp(1, exp-bits)
}

// A parityRun is a way to compute a recorded text.
type parityRun struct {
	name          string
	prompt, reply int // rows per forward
	decode        int // rows of the reply that come before, one by one
}

// parityRuns are the ways for a type. All logits are compared in each. The bit tier compares the ways
// with each other too, so that the ones of many forwards need not run each time.
func parityRuns(dtype string) []parityRun {
	if enginetest.Long {
		return []parityRun{{"decode", 512, 1, 0}, {"one row", 1, 1, 0}, {"chunks of 7", 7, 7, 0},
			{"chunks of 32", 32, 32, 0}}
	}
	runs := []parityRun{{"decode and a chunk", 512, 512, 16}}
	if dtype == "float32" {
		runs = append(runs, parityRun{"chunks of 7", 7, 7, 0})
	}
	return runs
}

// TestParity compares with mlx_lm on every recorded case: the prompt in chunks of different sizes,
// then the greedy continuation row by row and in chunks.
func TestParity(t *testing.T) {
	cases, err := filepath.Glob("testdata/parity/*/fixture.json")
	if err != nil || len(cases) < 24 {
		t.Fatalf("%d recorded cases, %v", len(cases), err)
	}
	th := enginetest.NewThread(t)
	for _, path := range cases {
		name := filepath.Base(filepath.Dir(path))
		f := openFixture(t, name)
		for _, dtype := range f.Types {
			t.Run(name+"/"+dtype, func(t *testing.T) {
				policy := models.DtypeAuto // float32 on the CPU
				if halfBits[dtype] != 0 {
					policy = models.DtypeCheckpoint
				}
				b, err := models.OpenFS(f.files, name).Load(t.Context(), th, models.Options{Dtype: policy})
				if err != nil {
					t.Fatal(err)
				}
				defer b.Close()
				want := f.expected(t, th, dtype)
				for _, run := range parityRuns(dtype) {
					compare(t, run.name, dtype, run.logits(t, th, b.Model, want), want)
				}
			})
		}
	}
}

// logits returns the logits of each step.
func (r parityRun) logits(t *testing.T, th *mlx.Thread, m lm.Model, e *expected) [][]float32 {
	t.Helper()
	caches := m.NewCaches(cache.Options{})
	defer freeCaches(t, th, caches)
	reply := e.ids[:len(e.ids)-1]
	rows := forward(t, th, m, caches, e.prompt, r.prompt)[len(e.prompt)-1:]
	rows = append(rows, forward(t, th, m, caches, reply[:r.decode], 1)...)
	return append(rows, forward(t, th, m, caches, reply[r.decode:], r.reply)...)
}

// compare checks the logits of each step. Fed with mlx_lm's own ids, equal argmax at every step is
// the same as equal greedy text.
func compare(t *testing.T, run, dtype string, got [][]float32, want *expected) {
	t.Helper()
	worst, close, differ := 0.0, 0, 0
	half := halfBits[dtype]
	for i, w := range want.logits {
		most := largest(w)
		limit := 1e-4 * most
		if half != 0 {
			limit = 2 * ulp(most, half)
			if gap(w) < 4*ulp(most, half) {
				close++
			}
		}
		off := 0.0
		for j := range w {
			off = max(off, math.Abs(float64(got[i][j])-float64(w[j])))
		}
		worst = max(worst, off/most)
		if !(off <= limit) {
			t.Errorf("%s: step %d: logits off by %g, allowed %g", run, i, off, limit)
			return
		}
		if argmax(got[i]) != want.ids[i] {
			differ++
			if half == 0 {
				t.Errorf("%s: step %d: token %d, mlx_lm has %d",
					run, i, argmax(got[i]), want.ids[i])
				return
			}
		}
	}
	text := fmt.Sprintf("%s: %d steps, logits off by at most %.2g of the largest",
		run, len(want.logits), worst)
	if half != 0 {
		text += fmt.Sprintf(", %d tokens differ; %d gaps under 4 ulp", differ, close)
	}
	t.Log(strings.TrimSpace(text))
}
