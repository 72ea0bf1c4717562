package lab

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app"
	"tandem/app/bench"
	"tandem/app/control"
	"tandem/app/figures"
	"tandem/engine/enginetest"
)

// These rows need no other process. Each takes few measurements.
func TestEndpointBenchReportsWholeRows(t *testing.T) {
	rows := map[string]int{"overhead": len(overheadRoutes) + 3, "schema": 2}
	for name, want := range rows {
		var out bytes.Buffer
		run := bench.Run{Options: &endpointOptions{open: openApp, quick: true, only: name}, JSON: true}
		if err := run.Do(t.Context(), bench.Env{Out: &out, Err: io.Discard}); err != nil {
			t.Fatal(err)
		}
		_, line, _ := strings.Cut(out.String(), "\n")
		var table figures.Table
		if err := json.Unmarshal([]byte(line), &table); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		checkRows(t, table, want)
		if !strings.HasPrefix(table.Title, name+": ") {
			t.Errorf("%s has the title %q", name, table.Title)
		}
	}
}

func TestUnknownEndpointRowGetsTheListOfRows(t *testing.T) {
	run := bench.Run{Options: &endpointOptions{only: "sope"}}
	err := run.Do(t.Context(), bench.Env{Out: io.Discard, Err: io.Discard})
	if err == nil || !strings.Contains(err.Error(), `"sope"`) ||
		!strings.Contains(err.Error(), endpointRowNames) {
		t.Errorf("the error is %v", err)
	}
	for _, r := range new(endpointBench).rows() {
		if !strings.Contains(endpointRowNames, r.name) {
			t.Errorf("the list lacks the row %s", r.name)
		}
	}
}

// The bench sends requests in parallel and one after another to an endpoint. An answer that is too
// short is not a measurement.
func TestGroupBenchSendsRequestsOfItsSizes(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "random")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	parameters, err := smallShape.write(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	url, home := serveApp(t, app.Options{Model: folder})
	b, g := &endpointBench{quick: true, log: io.Discard}, newGroupBench(url, smallShape.vocab)
	defer g.client.CloseIdleConnections()
	table, err := b.togetherAt(t.Context(), g, parameters)
	if err != nil {
		t.Fatal(err)
	}
	checkRows(t, table, 3)
	if table, err = b.fairAt(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	checkRows(t, table, 1)
	c := control.Dial(home)
	defer c.Close()
	awaitState(t, c, func(s control.State) bool { return len(s.Active) == 0 })
	runs, err := control.Call(t.Context(), c, control.ListRuns, control.RunQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if want := 2*2*togetherRequests + 2*fairClients; len(runs.Runs) != want {
		t.Errorf("%d requests were sent, want %d", len(runs.Runs), want)
	}
	for _, run := range runs.Runs {
		together := run.PromptTokens == togetherPrompt
		if run.CachedTokens > bench.MinAnswer || together == (run.PromptTokens == fairPrompt) ||
			together && (run.CompletionTokens != togetherAnswer || run.Drafter != "") ||
			!together && run.CompletionTokens != fairAnswer {
			t.Errorf("run %+v", run)
		}
	}
	long := g.bodies(1, togetherPrompt, 8, map[string]any{"n": 2})
	if _, _, err := g.ask(t.Context(), long, true); err == nil {
		t.Error("answers of another length are measured")
	}
}

// checkRows checks the number of rows and the number of cells in each.
func checkRows(t *testing.T, table figures.Table, rows int) {
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

// awaitState waits until the state is as wanted.
func awaitState(t *testing.T, c *control.Client, wanted func(control.State) bool) {
	t.Helper()
	var s control.State
	defer func() {
		if t.Failed() {
			t.Logf("the last state is %+v", s)
		}
	}()
	enginetest.Await(t, "the state", func() bool {
		var err error
		if s, err = control.Ask(t.Context(), c, control.GetState); err != nil {
			t.Fatal(err)
		}
		return wanted(s)
	})
}
