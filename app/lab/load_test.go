package lab

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"tandem/app/bench"
	"tandem/app/figures"
)

// The bench loads a small file of each kind, and says what it is in memory.
func TestLoadBenchLoadsEveryKind(t *testing.T) {
	var out bytes.Buffer
	run := bench.Run{Options: &loadOptions{quick: true}, JSON: true}
	if err := run.Do(t.Context(), bench.Env{Out: &out, Err: io.Discard}); err != nil {
		t.Fatal(err)
	}
	var header figures.Header
	var table figures.Table
	lines := json.NewDecoder(&out)
	if err := lines.Decode(&header); err != nil {
		t.Fatal(err)
	}
	if err := lines.Decode(&table); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"Q4_K_M": "mixed 4-bit", "Q8_0": "8-bit", "MXFP4": "mxfp4",
		"BF16": "as it is",
		"F16":  "as it is", "Q4_1": "4-bit", "Q5_1": "5-bit", "Q6_K": "8-bit", "Q3_K": "5-bit", "Q2_K": "4-bit"}
	reports := slices.Index(table.Columns, "reports")
	for _, row := range table.Rows {
		if len(row) != len(table.Columns) || row[reports].(float64) < 2 {
			t.Errorf("the row is %v", row)
		}
		if packing := want[row[0].(string)]; packing != "" && packing != row[2] {
			t.Errorf("%v is %v in memory, want %s", row[0], row[2], packing)
		}
		delete(want, row[0].(string))
	}
	if len(table.Rows) != len(loadFiles) || len(want) > 0 {
		t.Errorf("%d rows of %d, without %v", len(table.Rows), len(loadFiles), want)
	}
}

func TestLoadBenchRefusesAnUnknownFile(t *testing.T) {
	run := bench.Run{Options: &loadOptions{only: "Q9"}}
	err := run.Do(t.Context(), bench.Env{Out: io.Discard, Err: io.Discard})
	if err == nil || !strings.Contains(err.Error(), `"Q9"`) {
		t.Errorf("the error is %v", err)
	}
}

func TestLoadBenchJudgesItsBar(t *testing.T) {
	b := &loadBench{}
	for _, c := range []struct {
		e    figures.Estimate
		want string
	}{
		{figures.Estimate{Median: 2, N: loads - 1}, "1.00, too few loads"},
		{figures.Estimate{Median: 0.9, N: loads}, "1.00 missed"},
		{figures.Estimate{Median: 1, N: loads}, "1.00 met"},
	} {
		if got := b.judge("file", c.e); got != c.want {
			t.Errorf("%v: %v, want %v", c.e, got, c.want)
		}
	}
	if !slices.Equal(b.slow, []string{"file"}) {
		t.Errorf("slow are %v", b.slow)
	}
}

// A file of the bench has about the bytes that were asked for.
func TestLoadBenchFilesHaveTheirSize(t *testing.T) {
	for _, f := range loadFiles {
		n := sizeOf(qwen17.tensors(f.mix, qwen17.layersFor(f.mix, loadBytes)))
		if n < loadBytes*8/10 || n > loadBytes {
			t.Errorf("%s has %d bytes", f.name, n)
		}
	}
}
