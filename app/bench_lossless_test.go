package app

import (
	"bytes"
	"encoding/json"
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
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var table benchTable
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &table); err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range table.Columns {
		column[name] = i
	}
	bits := 0.0
	for _, row := range table.Rows {
		apart, differ, compared := row[column["tokens differ in"]].(float64), row[column["differ"]].(float64), row[column["logprobs"]].(float64)
		if exact := row[column["exact"]].(bool); exact && differ+apart > 0 || apart > 0 || compared < losslessTokens {
			t.Errorf("%v", row)
		}
		bits += differ
	}
	if len(table.Rows) != 16 || bits == 0 {
		t.Errorf("%d rows, %g log-probabilities differ", len(table.Rows), bits)
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
