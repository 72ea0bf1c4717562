package app

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/app/bench"
	"tandem/app/control"
)

// TestBenchEndpoint runs the rows that need no other process, with few measurements.
func TestBenchEndpoint(t *testing.T) {
	rows := map[string]int{"overhead": len(bench.OverheadRoutes) + 3, "schema": 2}
	for name, want := range rows {
		var out bytes.Buffer
		err := endpointNamed(t).Run(t.Context(), bench.Options{Open: OpenStage, Quick: true, Only: name, JSON: true, Out: &out, Err: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		_, line, _ := strings.Cut(out.String(), "\n")
		var table bench.BenchTable
		if err := json.Unmarshal([]byte(line), &table); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		checkRows(t, table, want)
		if !strings.HasPrefix(table.Title, name+": ") {
			t.Errorf("%s has the title %q", name, table.Title)
		}
	}
	err := endpointNamed(t).Run(t.Context(), bench.Options{Open: OpenStage, Only: "sope", Out: io.Discard, Err: io.Discard})
	if err == nil || !strings.Contains(err.Error(), `"sope"`) || !strings.Contains(err.Error(), bench.EndpointRowNames) {
		t.Errorf("a row that is not there: %v", err)
	}
	for _, r := range new(bench.EndpointBench).Rows() {
		if !strings.Contains(bench.EndpointRowNames, r.Name) {
			t.Errorf("nobody is told of the row %s", r.Name)
		}
	}
}

// TestBenchGroups: requests at once and one after another are asked of an endpoint, and
// an answer that is too short is no measurement.
func TestBenchGroups(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "random")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	parameters, err := bench.SmallShape.Write(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, Options{Model: folder}, "127.0.0.1:0")
	b, g := &bench.EndpointBench{Quick: true, Log: io.Discard}, bench.NewGroupBench(r.url, bench.SmallShape.Vocab)
	defer g.Client.CloseIdleConnections()
	table, err := b.TogetherAt(t.Context(), g, parameters)
	if err != nil {
		t.Fatal(err)
	}
	checkRows(t, table, 3)
	if table, err = b.FairAt(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	checkRows(t, table, 1)
	await(t, r.client(t), func(s control.State) bool { return len(s.Active) == 0 })
	runs, err := r.history.Runs(t.Context(), control.RunQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if want := 2*2*bench.TogetherRequests + 2*bench.FairClients; len(runs) != want {
		t.Errorf("%d requests were sent, want %d", len(runs), want)
	}
	for _, run := range runs {
		if together := run.PromptTokens == bench.TogetherPrompt; run.CachedTokens > bench.ShortText || together == (run.PromptTokens == bench.FairPrompt) ||
			together && (run.CompletionTokens != bench.TogetherAnswer || run.Drafter != "") || !together && run.CompletionTokens != bench.FairAnswer {
			t.Errorf("run %+v", run)
		}
	}
	long := g.Bodies(1, bench.TogetherPrompt, 8, map[string]any{"n": 2})
	if _, _, err := g.Ask(t.Context(), long, true); err == nil {
		t.Error("answers of another length are measured")
	}
}

// endpointNamed returns the bench of the endpoint.
func endpointNamed(t *testing.T) bench.Bench {
	t.Helper()
	all := bench.Benches()
	return all[slices.IndexFunc(all, func(b bench.Bench) bool { return b.Name == "endpoint" })]
}

// checkRows looks at a table of a row.
func checkRows(t *testing.T, table bench.BenchTable, rows int) {
	t.Helper()
	if len(table.Rows) != rows {
		t.Errorf("%s: %d rows, want %d", table.Title, len(table.Rows), rows)
	}
	for _, row := range table.Rows {
		if len(row) != len(table.Columns) {
			t.Errorf("%s: %d cells in %d columns", table.Title, len(row), len(table.Columns))
		}
	}
}
