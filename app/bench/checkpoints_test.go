package bench

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"tandem/app/figures"
	"tandem/engine"
	"tandem/engine/enginetest"
)

// The bench runs on a tiny model with rings. Its tables show how the arms differ.
func TestCheckpointBenchShowsWhatEachArmRestores(t *testing.T) {
	var out bytes.Buffer
	if err := benchNamed(t, "checkpoints").Run(t.Context(), Options{
		Model: enginetest.TinyModel(t, "gemma3_text"), Quick: true, JSON: true,
		In: strings.NewReader(""), Out: &out, Err: io.Discard,
	}); err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(&out)
	var header figures.Header
	if err := lines.Decode(&header); err != nil || header.DType == "" {
		t.Errorf("header %+v, %v", header, err)
	}
	var tables []figures.Table
	for lines.More() {
		var table figures.Table
		if err := lines.Decode(&table); err != nil {
			t.Fatal(err)
		}
		for _, row := range table.Rows {
			if len(row) != len(table.Columns) {
				t.Fatalf("%s: %d cells in %d columns", table.Title, len(row), len(table.Columns))
			}
		}
		tables = append(tables, table)
	}
	if len(tables) != 4 {
		t.Fatalf("%d tables, want 4", len(tables))
	}
	cell := func(table figures.Table, row []any, column string) any {
		i := slices.Index(table.Columns, column)
		if i < 0 {
			t.Fatalf("%s has no column %q", table.Title, column)
		}
		return row[i]
	}
	flows := tables[0]
	want := map[string]any{ // cached tokens, by flow and arm
		"the same prompt again on": 599., "the same prompt again prompt only": 599.,
		"the same and a longer end on": 599.,
		"another middle on":            256., "another middle there once more on": 300.,
		"tool call, its result on": 539., "tool call, the turn after it on": 819.,
		"a new chat with the same tools on":            400.,
		"answer cancelled, continued prompt only":      29.,
		probe + "diverges at 66, as long as before on": 94., probe +
			"diverges at 66, as long as before prompt only": 29.,
		probe + "diverges at 336 to 399 on": 350., probe +
			"diverges at 336 to 399 prompt only": 29.,
	}
	for _, row := range flows.Rows {
		name, arm := cell(flows, row, "flow").(string), cell(flows, row, "checkpoints").(string)
		cached, short := cell(flows, row, "cached"), cell(flows, row, "short by").(float64)
		key := name + " " + arm
		if w, ok := want[key]; ok && cached != w {
			t.Errorf("%s: %v cached, want %v", key, cached, w)
		}
		delete(want, key)
		within := cell(flows, row, "within")
		switch {
		case arm == "off" && (cached != 0. || cell(flows, row, "matched") != 0.):
			t.Errorf("%s: %v tokens matched without checkpoints", key, cell(flows, row, "matched"))
		case arm == "on" && strings.HasPrefix(name, probe) &&
			(within != "64 met" || short > probeWithin):
			t.Errorf("%s: %v tokens short, within %v", key, short, within)
		case arm != "off" && (cell(flows, row, "reason, of the last text") == nil) != (short == 0):
			t.Errorf("%s: %v tokens short for the reason %v", key, short,
				cell(flows, row, "reason, of the last text"))
		}
	}
	for key := range want {
		t.Errorf("there is no row %s", key)
	}
	for _, row := range tables[1].Rows {
		// Of three texts, one of them unmeasured, each leaves a prompt's end and seven checkpoints
		// of an answer.
		if files := cell(tables[1], row, "files"); files != 24. {
			t.Errorf("%v: %v files, want 24", row[0], files)
		}
	}
	restart, memory := tables[2], tables[3]
	if n, verdict := cell(restart, restart.Rows[0], "pairs"),
		cell(restart, restart.Rows[0], "at least"); n != 2. || verdict != "10.00, too few pairs" {
		t.Errorf("%v pairs with the verdict %v, want 2 with too few pairs", n, verdict)
	}
	row := memory.Rows[0]
	if kept, budget := cell(memory, row, "most kept").(float64),
		cell(memory, row, "budget").(float64); kept == 0 || kept > budget {
		t.Errorf("%v MB are kept, the budget is %v", kept, budget)
	}
	if verdict, left := cell(memory, row, "budget kept"),
		cell(memory, row, "beyond that after closing"); verdict != "met" || left != 0. {
		t.Errorf("the verdict is %v, and %v MB are left", verdict, left)
	}
}

// A row shows how many matched tokens were not restored. More than the bound is an error only where
// checkpoints are on.
func TestLateRestoreIsAnErrorWithCheckpointsOn(t *testing.T) {
	s := step{name: "a", within: 64}
	stats := []engine.Stats{
		{PromptTokens: 300, Matched: 200, CachedTokens: 180, FirstToken: 10},
		{PromptTokens: 300, Matched: 300, CachedTokens: 234, FirstToken: 20, Miss: "why"},
	}
	off := []engine.Stats{{FirstToken: 40}, {FirstToken: 40}}
	for _, test := range []struct {
		arm    string
		last   int // tokens cached of the second text
		short  int
		within any
		wrong  int
	}{
		{"on", 234, 65, "64 missed", 1}, {"on", 235, 64, "64 met", 0},
		{"prompt only", 234, 65, nil, 0},
	} {
		b := &checkpointBench{}
		stats[1].CachedTokens = test.last
		row := b.flowRow(&arm{name: test.arm, stats: map[string][]engine.Stats{"a": stats}}, s, off)
		if row[7] != test.short || row[8] != test.within || len(b.wrong) != test.wrong {
			t.Errorf("%s: short by %v, within %v, errors %v", test.arm, row[7], row[8], b.wrong)
		}
		if row[4] != "200 to 300" || row[3] != 300 || row[10] != 3. || row[13] != "why" {
			t.Errorf("%s: %v", test.arm, row)
		}
	}
}

// The token at the split differs from the text's, whatever more begins with.
func TestBranchDivergesAtTheSplit(t *testing.T) {
	text, more := []int32{1, 2, 3, 4}, []int32{3, 9}
	if got := branch(text, 2, more); !slices.Equal(got, []int32{1, 2, 2, 9}) {
		t.Errorf("%v", got)
	}
	if got := branch(text, 1, more); !slices.Equal(got, []int32{1, 3, 9}) || more[0] != 3 {
		t.Errorf("%v, given %v", got, more)
	}
	if got := branch(text, 4, more); !slices.Equal(got, []int32{1, 2, 3, 4, 3, 9}) {
		t.Errorf("%v", got)
	}
}
