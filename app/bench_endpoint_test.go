package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/engine"
	"tandem/engine/cache"
	"tandem/models"
)

func TestMark(t *testing.T) {
	b := &endpointBench{}
	for _, c := range []struct {
		mark
		v    float64
		want string
	}{
		{atMost(2), 2, "at most 2 met"}, {atMost(2), 2.01, "at most 2 missed"}, {atMost(0), 0, "at most 0 met"}, {atMost(2), -7, "at most 2 met"},
		{atLeast(0.9), 0.9, "at least 0.9 met"}, {atLeast(0.9), 0.89, "at least 0.9 missed"},
	} {
		b.wrong = nil
		if got := b.judge("it", c.mark, c.v); got != c.want || (len(b.wrong) > 0) != strings.HasSuffix(c.want, "missed") {
			t.Errorf("%v of %s: %q, %v", c.v, c.mark, got, b.wrong)
		}
	}
	b = &endpointBench{quick: true}
	if got := b.judge("it", atMost(2), 3); got != "at most 2, measured too seldom" || b.wrong != nil {
		t.Errorf("%q, %v", got, b.wrong)
	}
}

// TestBenchEndpoint runs the rows that need no other process, with few measurements.
func TestBenchEndpoint(t *testing.T) {
	rows := map[string]int{"overhead": len(overheadRoutes) + 3, "schema": 2}
	for name, want := range rows {
		var out bytes.Buffer
		err := benchNamed(t, "endpoint").Run(t.Context(), BenchOptions{Quick: true, Only: name, JSON: true, Out: &out, Err: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		_, line, _ := strings.Cut(out.String(), "\n")
		var table benchTable
		if err := json.Unmarshal([]byte(line), &table); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		checkTable(t, table, want)
		if !strings.HasPrefix(table.Title, name+": ") {
			t.Errorf("%s has the title %q", name, table.Title)
		}
	}
	err := benchNamed(t, "endpoint").Run(t.Context(), BenchOptions{Only: "sope", Out: io.Discard, Err: io.Discard})
	if err == nil || !strings.Contains(err.Error(), `"sope"`) || !strings.Contains(err.Error(), endpointRowNames) {
		t.Errorf("a row that is not there: %v", err)
	}
	for _, r := range new(endpointBench).rows() {
		if !strings.Contains(endpointRowNames, r.name) {
			t.Errorf("nobody is told of the row %s", r.name)
		}
	}
}

func checkTable(t *testing.T, table benchTable, rows int) {
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

// TestBenchGroups: requests at once and one after another are asked of an endpoint, and
// an answer that is too short is no measurement.
func TestBenchGroups(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "random")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	parameters, err := smallShape.write(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, Options{Model: folder}, "127.0.0.1:0")
	b, g := &endpointBench{quick: true, log: io.Discard}, newGroupBench(r.url, smallShape.vocab)
	defer g.client.CloseIdleConnections()
	table, err := b.togetherAt(t.Context(), g, parameters)
	if err != nil {
		t.Fatal(err)
	}
	checkTable(t, table, 3)
	if table, err = b.fairAt(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	checkTable(t, table, 1)
	await(t, r.client(t), func(s control.State) bool { return len(s.Active) == 0 })
	runs, err := r.history.Runs(t.Context(), control.RunQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if want := 2*2*togetherRequests + 2*fairClients; len(runs) != want {
		t.Errorf("%d requests were sent, want %d", len(runs), want)
	}
	for _, run := range runs {
		if together := run.PromptTokens == togetherPrompt; run.CachedTokens > shortText || together == (run.PromptTokens == fairPrompt) ||
			together && (run.CompletionTokens != togetherAnswer || run.Drafter != "") || !together && run.CompletionTokens != fairAnswer {
			t.Errorf("run %+v", run)
		}
	}
	long := g.bodies(1, togetherPrompt, 8, map[string]any{"n": 2})
	if _, _, err := g.ask(t.Context(), long, true); err == nil {
		t.Error("answers of another length are measured")
	}
}

// TestRandomShapes: the large one is as large as it is said to be, and what is written
// can be loaded.
func TestRandomShapes(t *testing.T) {
	n := 0
	largeShape.tensors(func(_ string, _ float64, shape ...int) {
		size := 1
		for _, dim := range shape {
			size *= dim
		}
		n += size
	})
	if n < 100e6 || n > 106e6 {
		t.Errorf("%d parameters", n)
	}
	dir := t.TempDir()
	parameters, err := smallShape.write(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	thread, bundle, err := benchModel(t.Context(), dir, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer thread.Close()
	defer bundle.Close()
	if c := bundle.Model.Config(); c.VocabSize != smallShape.vocab || parameters < c.VocabSize*smallShape.hidden {
		t.Errorf("%d parameters, vocabulary of %d", parameters, c.VocabSize)
	}
}

// TestFimBetween counts chunks that end between a request's arrival and its first.
func TestFimBetween(t *testing.T) {
	zero := time.Unix(1_700_000_000, 0)
	at := func(ms int) time.Time { return zero.Add(time.Duration(ms) * time.Millisecond) }
	w := &fimWatch{chunks: []time.Time{at(100), at(200), at(301), at(420), at(500)}}
	for _, c := range []struct{ arrived, queue, want int }{
		{250, 50, 1}, // the end of the chunk in progress is heard of a moment later
		{250, 160, 2}, {250, 255, 3},
		{210, 10, 0}, {90, 5, 1}, {600, 10, 0},
	} {
		r := fimRequest{at(c.arrived), engine.Stats{Queue: time.Duration(c.queue) * time.Millisecond}}
		if got := w.between(r); got != c.want {
			t.Errorf("%+v: %d chunks", c, got)
		}
	}
	if fmt.Sprintf(fimPrefix, 1) == fmt.Sprintf(fimPrefix, 2) {
		t.Error("each request is the same")
	}
}

// A chunked model tells of chunks, and says nothing.
type chunked struct {
	model.Model
	done []int
}

func (m chunked) Generate(_ context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
	return func(func(engine.Token, error) bool) {
		for _, done := range m.done {
			r.Progress(done, len(r.Prompt))
		}
		r.Done(engine.Stats{Queue: time.Second})
	}
}

// TestFimWatch: chunks of the long prompt are counted, those too of which nobody is
// told by themselves, and of the others their time in the queue is kept.
func TestFimWatch(t *testing.T) {
	const long = 5 * cache.MaxChunk
	w, told, ended := &fimWatch{long: long}, 0, 0
	ask := func(prompt int, done ...int) {
		r := engine.Request{Prompt: make([]int32, prompt), Progress: func(int, int) { told++ }, Done: func(engine.Stats) { ended++ }}
		for range w.generate(t.Context(), chunked{done: done}, r) {
		}
	}
	ask(long, cache.MaxChunk, 3*cache.MaxChunk, 3*cache.MaxChunk+1, long)
	if w.read() != 5 || told != 4 || ended != 1 || w.short.stats.Queue != 0 {
		t.Errorf("%d chunks, told %d times, %d ends, %+v", w.read(), told, ended, w.short)
	}
	ask(9, 9)
	if w.read() != 5 || told != 5 || ended != 2 || w.short.stats.Queue != time.Second || w.short.arrived.IsZero() {
		t.Errorf("%d chunks, told %d times, %d ends, %+v", w.read(), told, ended, w.short)
	}
}
