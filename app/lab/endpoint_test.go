package lab

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"tandem/app/bench"
	"tandem/app/figures"
	"tandem/app/model"
	"tandem/engine"
	"tandem/engine/cache"
	"tandem/models"
)

func TestMissedMarkIsAnErrorUnlessQuick(t *testing.T) {
	b := &endpointBench{}
	for _, c := range []struct {
		figures.Mark
		v    float64
		want string
	}{
		{figures.AtMost(2), 2, "at most 2 met"}, {figures.AtMost(2), 2.01, "at most 2 missed"},
		{figures.AtMost(0), 0, "at most 0 met"}, {figures.AtMost(2), -7, "at most 2 met"},
		{figures.AtLeast(0.9), 0.9, "at least 0.9 met"}, {figures.AtLeast(0.9), 0.89, "at least 0.9 missed"},
	} {
		b.wrong = nil
		if got := b.judge("it", c.Mark, c.v); got != c.want ||
			(len(b.wrong) > 0) != strings.HasSuffix(c.want, "missed") {
			t.Errorf("%v of %s: %q, %v", c.v, c.Mark, got, b.wrong)
		}
	}
	b = &endpointBench{quick: true}
	if got := b.judge("it", figures.AtMost(2), 3); got != "at most 2, measured too seldom" ||
		b.wrong != nil {
		t.Errorf("%q, %v", got, b.wrong)
	}
}

// The large shape has about 103M parameters. A folder that write makes can be loaded.
func TestRandomModelHasItsSizeAndLoads(t *testing.T) {
	n := 0
	largeShape.tensors(func(_ string, _ float64, shape ...int) {
		size := 1
		for _, dim := range shape {
			size *= dim
		}
		n += size
	})
	if n < 100e6 || n > 106e6 {
		t.Errorf("%d parameters, want about 103M", n)
	}
	dir := t.TempDir()
	parameters, err := smallShape.write(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	thread, bundle, err := bench.OpenModel(t.Context(), dir, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer thread.Close()
	defer bundle.Close()
	if c := bundle.Model.Config(); c.VocabSize != smallShape.vocab ||
		parameters < c.VocabSize*smallShape.hidden {
		t.Errorf("%d parameters, vocabulary of %d", parameters, c.VocabSize)
	}
}

// The chunks are counted that end between a request's arrival and its own first chunk.
func TestFIMChunksBeforeTheFirstOwnAreCounted(t *testing.T) {
	zero := time.Unix(1_700_000_000, 0)
	at := func(ms int) time.Time { return zero.Add(time.Duration(ms) * time.Millisecond) }
	w := &fimWatch{chunks: []time.Time{at(100), at(200), at(301), at(420), at(500)}}
	for _, c := range []struct{ arrived, queue, want int }{
		{250, 50, 1}, // the end of the chunk in progress is reported a moment late
		{250, 160, 2}, {250, 255, 3},
		{210, 10, 0}, {90, 5, 1}, {600, 10, 0},
	} {
		r := fimRequest{at(c.arrived),
			engine.Stats{Queue: time.Duration(c.queue) * time.Millisecond}}
		if got := w.between(r); got != c.want {
			t.Errorf("%d chunks for %+v", got, c)
		}
	}
	if fmt.Sprintf(fimPrefix, 1) == fmt.Sprintf(fimPrefix, 2) {
		t.Error("all requests are the same")
	}
}

// A chunked model reports chunks of the prompt and generates nothing.
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

// Progress may skip chunks; the watch counts those too. For the requests beside the long prompt it
// keeps the time in the queue.
func TestFIMWatchCountsEveryChunkOfTheLongPrompt(t *testing.T) {
	const long = 5 * cache.MaxChunk
	w, told, ended := &fimWatch{long: long}, 0, 0
	ask := func(prompt int, done ...int) {
		r := engine.Request{Prompt: make([]int32, prompt),
			Progress: func(int, int) { told++ }, Done: func(engine.Stats) { ended++ }}
		for range w.generate(t.Context(), chunked{done: done}, r) {
		}
	}
	ask(long, cache.MaxChunk, 3*cache.MaxChunk, 3*cache.MaxChunk+1, long)
	if w.read() != 5 || told != 4 || ended != 1 || w.short.stats.Queue != 0 {
		t.Errorf("%d chunks, %d reports, %d ends, %+v", w.read(), told, ended, w.short)
	}
	ask(9, 9)
	if w.read() != 5 {
		t.Errorf("w.read() = %v, want 5", w.read())
	}
	if told != 5 {
		t.Errorf("told = %v, want 5", told)
	}
	if ended != 2 {
		t.Errorf("ended = %v, want 2", ended)
	}
	if w.short.stats.Queue != time.Second {
		t.Errorf("w.short.stats.Queue = %v, want %v", w.short.stats.Queue, time.Second)
	}
	if w.short.arrived.IsZero() {
		t.Error("w.short.arrived is zero")
	}
}
