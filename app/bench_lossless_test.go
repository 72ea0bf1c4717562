package app

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
)

// TestBenchLossless runs the bench on a tiny model: exact requests differ in
// nothing, and a cell of other requests differs in bits.
func TestBenchLossless(t *testing.T) {
	var out bytes.Buffer
	b := benchNamed(t, "lossless")
	if err := b.Run(t.Context(), BenchOptions{Model: enginetest.TinyModel(t, "gemma3_text", wideHeads), Quick: true, JSON: true, Out: &out}); err != nil {
		t.Fatal(err)
	}
	rows, bits := 0, 0.0
	for line := range strings.Lines(out.String()) {
		var table benchTable
		if err := json.Unmarshal([]byte(line), &table); err != nil {
			t.Fatal(err)
		}
		exact := strings.HasSuffix(table.Title, "exact requests")
		for _, row := range table.Rows {
			value := func(column string) float64 { return row[slices.Index(table.Columns, column)].(float64) }
			apart, differ := value("tokens differ in"), value("differ")
			if exact && differ > 0 || apart > value("excused") || value("logprobs") < losslessTokens {
				t.Errorf("%s: %v", table.Title, row)
			}
			bits += differ
			rows++
		}
	}
	if rows != 16 || bits == 0 {
		t.Errorf("%d rows, %g log-probabilities differ", rows, bits)
	}
}

// A faulty model adds something to logits in blocks, at every 64th position.
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

// TestBenchLosslessFails: blocks that are wrong by more than rounding fail the
// bench, without exact requests too.
func TestBenchLosslessFails(t *testing.T) {
	th, b := openTiny(t, "qwen3")
	for _, add := range []float32{0, 100} {
		wrong := *b
		wrong.Model = &faulty{watched{Model: b.Model}, add}
		l := &losslessBench{thread: th, bundle: &wrong, least: 1, blocks: []int{4}}
		table, bad, err := l.cells(t.Context(), cache.Ring, false)
		if err != nil {
			t.Fatal(err)
		}
		value := func(column string) int { return table.Rows[0][slices.Index(table.Columns, column)].(int) }
		apart, excused := value("tokens differ in"), value("excused")
		if (bad > 0) != (add > 0) || (apart > 0) != (add > 0) || excused > 0 || (len(table.Notes) > 2) != (add > 0) {
			t.Errorf("%v added: %d rows fail, %d texts differ, %d excused, notes %q", add, bad, apart, excused, table.Notes)
		}
	}
}

func benchNamed(t *testing.T, name string) Bench {
	for _, b := range Benches() {
		if b.Name == name {
			return b
		}
	}
	t.Fatalf("no bench %s", name)
	return Bench{}
}
