package bench

import (
	"slices"
	"strings"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models"
)

// wideHeads makes heads as wide as in real models. With narrow heads, attention does not depend on
// what comes with a row.
var wideHeads = map[string]any{
	"num_hidden_layers": 2, "sliding_window_pattern": 2, "query_pre_attn_scalar": 64,
	"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 64,
}

// On a tiny model, exact requests differ in nothing, and other requests differ in bits: BLAS
// multiplies, as a GPU does.
func TestExactRequestsDifferInNothingUnderBLAS(t *testing.T) {
	th := enginetest.NewBLASThread(t)
	b, err := LoadModel(t.Context(), th, enginetest.TinyModel(t, "gemma3_text", wideHeads), models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	l := &losslessBench{thread: th, bundle: b, least: 1, blocks: []int{2, 8}}
	rows, bits := 0, 0
	for _, c := range l.check(t) {
		if c.logprobs < losslessTokens || len(c.histogram) != c.block ||
			len(c.ends) != len(c.histogram) ||
			slices.ContainsFunc(c.ends, func(n int) bool { return n != 4 }) {
			t.Errorf("%+v", c)
		}
		bits += c.differing
		rows++
	}
	if rows != 16 || bits == 0 {
		t.Errorf("%d rows, want 16; %d log-probabilities differ, want some", rows, bits)
	}
}

// check decodes in every way, and expects that nothing differs that must not.
func (l *losslessBench) check(t *testing.T) (all []*losslessCell) {
	t.Helper()
	for _, layout := range []cache.Layout{cache.Ring, cache.Full} {
		for _, exact := range []bool{false, true} {
			cells, notes, wrong, err := l.cells(t.Context(), layout, exact)
			if err != nil {
				t.Fatal(err)
			}
			if wrong != nil {
				t.Errorf("%v\n%s", wrong, strings.Join(notes, "\n"))
			}
			for _, c := range cells {
				if exact && c.differing > 0 || slices.Contains(c.histogram, 0) {
					t.Errorf("%s, exact %t: %+v", layout, exact, c)
				}
			}
			all = append(all, cells...)
		}
	}
	return all
}

// A faulty model adds a number to a logit of blocks, at every 64th position.
type faulty struct {
	watched
	add float32
}

func (m *faulty) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	logits := m.Model.Unembed(s, hidden)
	n, vocab := logits.Dim(0), logits.Dim(1)
	more := make([]float32, n*vocab)
	for i := range n {
		if n > 1 && (m.end-n+i)%64 == 0 {
			more[i*vocab+9] = m.add
		}
	}
	return s.Add(logits, mlx.New(s, more, n, vocab))
}

// Blocks that are wrong by more than rounding are found, also where no request is exact.
func TestMoreThanRoundingIsFound(t *testing.T) {
	th, b := openTiny(t, "qwen3")
	for _, test := range []struct {
		add                     float32
		wrong, diverged, beyond bool
	}{{0, false, false, false}, {0.5, true, false, true}, {100, true, true, false}} {
		right := b.Model
		b.Model = &faulty{watched{Model: right}, test.add}
		l := &losslessBench{thread: th, bundle: b, least: 1, blocks: []int{4}}
		cells, notes, wrong, err := l.cells(t.Context(), cache.Ring, false)
		b.Model = right
		if err != nil {
			t.Fatal(err)
		}
		c := cells[0]
		if (wrong != nil) != test.wrong {
			t.Errorf("%v added: wrong = %v, want an error: %v", test.add, wrong, test.wrong)
		}
		if (c.diverged > 0) != test.diverged {
			t.Errorf("%v added: c.diverged = %v, want more than 0: %v", test.add, c.diverged, test.diverged)
		}
		if c.excused > 0 {
			t.Errorf("%v added: c.excused = %v, want at most 0", test.add, c.excused)
		}
		if (c.share > 1) != test.beyond {
			t.Errorf("%v added: c.share = %v, want more than 1: %v", test.add, c.share, test.beyond)
		}
		if (len(notes) > 0) != test.diverged {
			t.Errorf("%v added: notes = %q, want some: %v", test.add, notes, test.diverged)
		}
	}
}

// At most one token in a thousand is excused, and a single one always.
func TestOneTokenInAThousandIsExcused(t *testing.T) {
	for _, test := range []struct {
		excused, of int
		want        bool
	}{{0, 0, false}, {1, 10, false}, {2, 10, true}, {2, 1999, true}, {2, 2000, false},
		{3, 2000, true}} {
		if got := tooMany(test.excused, test.of); got != test.want {
			t.Errorf("%d excused of %d are too many: %v", test.excused, test.of, got)
		}
	}
	l := &losslessRun{
		known:  map[int]losslessAnswer{0: {ids: make([]int32, 200)}, 1: {ids: make([]int32, 100)}},
		judged: map[divergenceKey]bool{{0, 7, 1}: true, {1, 9, 2}: false, {1, 12, 3}: true},
	}
	if excused, of := l.excuses(); excused != 2 || of != 300 {
		t.Errorf("%d of %d tokens are excused, want 2 of 300", excused, of)
	}
}
