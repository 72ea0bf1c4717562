package app

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"tandem/engine/enginetest"
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
			if exact && differ > 0 || apart > 0 || value("logprobs") < losslessTokens {
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

func benchNamed(t *testing.T, name string) Bench {
	for _, b := range Benches() {
		if b.Name == name {
			return b
		}
	}
	t.Fatalf("no bench %s", name)
	return Bench{}
}
