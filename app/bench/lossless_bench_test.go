package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"tandem/app/figures"
	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models"
)

// On a tiny model, exact requests differ in nothing, and other requests differ in bits: BLAS
// multiplies, as a GPU does.
func TestLosslessBenchFindsNoDifferenceInExactRequests(t *testing.T) {
	var out bytes.Buffer
	b := Bench{Name: "lossless", open: func(ctx context.Context, o Options) (bench, error) {
		th := enginetest.NewBLASThread(t)
		b, err := loadBenchModel(ctx, th, o.Model, models.Options{})
		if err != nil {
			return nil, err
		}
		return newLosslessBench(th, b, o.Quick), nil
	}}
	if err := b.Run(t.Context(), Options{Model: enginetest.TinyModel(t, "gemma3_text", wideHeads),
		Quick: true, JSON: true, Out: &out}); err != nil {
		t.Fatal(err)
	}
	rows, bits := 0, 0.0
	for line := range strings.Lines(out.String()) {
		var table figures.Table
		if err := json.Unmarshal([]byte(line), &table); err != nil {
			t.Fatal(err)
		}
		exact := strings.HasSuffix(table.Title, "exact requests")
		for _, row := range table.Rows {
			value := func(column string) float64 {
				return row[slices.Index(table.Columns, column)].(float64)
			}
			diverged, differ := value("tokens differ in"), value("differ")
			counts := strings.Fields(row[slices.Index(table.Columns,
				"rounds that accepted 0, 1, ...")].(string))
			ends := strings.Fields(row[slices.Index(table.Columns,
				"ends on row 0, 1, ...")].(string))
			if exact && differ > 0 || diverged > value("excused") ||
				value("logprobs") < losslessTokens ||
				len(counts) != int(value("block")) || slices.Contains(counts, "0") ||
				len(ends) != len(counts) ||
				slices.ContainsFunc(ends, func(n string) bool { return n != "4" }) {
				t.Errorf("%s: %v", table.Title, row)
			}
			bits += differ
			rows++
		}
	}
	if rows != 16 || bits == 0 {
		t.Errorf("%d rows, want 16; %g log-probabilities differ, want some", rows, bits)
	}
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

// Blocks that are wrong by more than rounding fail the bench, also where no request is exact.
func TestLosslessBenchFailsOnMoreThanRounding(t *testing.T) {
	th, b := openTiny(t, "qwen3")
	for _, test := range []struct {
		add                     float32
		wrong, diverged, beyond bool
	}{{0, false, false, false}, {0.5, true, false, true}, {100, true, true, false}} {
		faults := *b
		faults.Model = &faulty{watched{Model: b.Model}, test.add}
		l := &losslessBench{thread: th, bundle: &faults, least: 1, blocks: []int{4}}
		table, wrong, err := l.cells(t.Context(), cache.Ring, false)
		if err != nil {
			t.Fatal(err)
		}
		value := func(column string) any {
			return table.Rows[0][slices.Index(table.Columns, column)]
		}
		diverged, excused := value("tokens differ in").(int), value("excused").(int)
		share, _ := value("of what may be").(float64)
		if (wrong != nil) != test.wrong || (diverged > 0) != test.diverged || excused > 0 ||
			(share > 1) != test.beyond || (len(table.Notes) > 3) != test.diverged {
			t.Errorf("%v added: %v, %d texts differ, %d excused, by %v of the bound, notes %q",
				test.add, wrong, diverged, excused, share, table.Notes)
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

func benchNamed(t *testing.T, name string) Bench {
	for _, b := range Benches() {
		if b.Name == name {
			return b
		}
	}
	t.Fatalf("there is no bench %s", name)
	return Bench{}
}
