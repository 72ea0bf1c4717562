package lab

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"tandem/app/bench"
	"tandem/app/control"
	"tandem/app/figures"
	"tandem/app/model"
	"tandem/engine"
	"tandem/engine/cache"
)

// fimLong is the length in tokens of the prompt that is being read when an editor asks.
const fimLong = 16 << 10

// fimBar is how many of its chunks may end before the first chunk of the editor's request.
var fimBar = figures.AtMost(2)

// An editor sends a function with a gap.
const (
	fimPrefix = "// Sum %d adds numbers up.\nfunc sum(values []int) int {\n\ttotal := 0\n\tfor _, v := range values {\n\t\t"
	fimSuffix = "\n\t}\n\treturn total\n}\n"
)

// A fimWatch records when requests reach the engine, and how far the long prompt is read.
type fimWatch struct {
	long int // tokens of the long prompt

	mu     sync.Mutex
	chunks []time.Time // ends of the long prompt's chunks
	short  fimRequest  // the latest
}

// A fimRequest is a request of the editor, as the engine sees it.
type fimRequest struct {
	arrived time.Time
	stats   engine.Stats
}

// generate calls the model's Generate, and records what reaches it.
func (w *fimWatch) generate(ctx context.Context, m model.Model,
	r engine.Request) iter.Seq2[engine.Token, error] {
	if len(r.Prompt) == w.long {
		progress := r.Progress
		r.Progress = func(done, total int) {
			w.mu.Lock()
			// progress may skip chunks
			for now := time.Now(); done-len(w.chunks)*cache.MaxChunk >= cache.MaxChunk; {
				w.chunks = append(w.chunks, now)
			}
			w.mu.Unlock()
			progress(done, total)
		}
		return m.Generate(ctx, r)
	}
	arrived, done := time.Now(), r.Done
	r.Done = func(st engine.Stats) {
		w.mu.Lock()
		w.short = fimRequest{arrived, st}
		w.mu.Unlock()
		done(st)
	}
	return m.Generate(ctx, r)
}

// read returns how many chunks of the long prompt are read.
func (w *fimWatch) read() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.chunks)
}

// between returns how many chunks of the long prompt ended between a request's arrival and its own
// first chunk. A chunk's end is reported a little late, but long before the next chunk can end. So
// ends count until a quarter of a chunk's time after the request began.
func (w *fimWatch) between(r fimRequest) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	begun := r.arrived.Add(r.stats.Queue)
	if took := w.chunks[len(w.chunks)-1].Sub(w.chunks[0]); len(w.chunks) > 1 {
		begun = begun.Add(took / time.Duration(4*(len(w.chunks)-1)))
	}
	for _, end := range w.chunks {
		if end.After(r.arrived) && end.Before(begun) {
			n++
		}
	}
	return n
}

// fim lets an editor ask for the text of a gap, again and again, while a long prompt is being read.
func (b *endpointBench) fim(ctx context.Context) (t figures.Table, err error) {
	s, err := b.open(ctx, "")
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return b.fimAt(ctx, s, b.repeats(fimLong, 4*cache.MaxChunk))
}

// fimAt does what fim does, on a stage and with a long prompt of the given tokens.
func (b *endpointBench) fimAt(ctx context.Context, s Stage, long int) (t figures.Table, err error) {
	t = figures.Table{
		Title:   fmt.Sprintf("a gap to fill while a prompt of %d tokens is being read, pocket model", long),
		Columns: []string{"what", "median", "most", "requests", "bar"},
		Notes: []string{
			fmt.Sprintf("A chunk is %d tokens of the long prompt. The chunk in progress when the request comes counts; it is not interrupted.",
				cache.MaxChunk),
			"Requests come one after another, at any moment of a chunk, to /v1/fim/completions.",
		},
	}
	w := &fimWatch{long: long}
	url, err := s.Serve(w.generate)
	if err != nil {
		return t, err
	}
	client := http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	gap := func(i int) error {
		return postLines(ctx, &client, url+"/v1/fim/completions", map[string]any{
			"model": control.Alias, "prompt": fmt.Sprintf(fimPrefix, i), "suffix": fimSuffix,
			"max_tokens": 1, "temperature": 0,
		}, nil)
	}
	if err := gap(0); err != nil { // unmeasured: it loads the model
		return t, err
	}
	read := make(chan error, 1)
	go func() {
		read <- postLines(ctx, &client, url+"/v1/completions", map[string]any{
			"model": control.Alias, "prompt": bench.TokenIDs(long, 4000), "max_tokens": 1,
			"temperature": 0,
		}, nil)
	}()
	var asked []fimRequest
	random := rand.New(rand.NewPCG(7, 8))
	last := long/cache.MaxChunk - 3 // a request after that chunk may come too late
	var chunk time.Duration         // about the time of one chunk, with a request in between
	for begun := time.Now(); ; {
		if n := w.read(); n >= last {
			break
		} else if n > 0 {
			chunk = time.Since(begun) / time.Duration(n)
			if err := gap(len(asked) + 1); err != nil {
				return t, errors.Join(err, <-read)
			}
			w.mu.Lock()
			asked = append(asked, w.short)
			w.mu.Unlock()
		}
		select {
		case <-time.After(time.Duration(random.Int64N(int64(chunk + time.Millisecond)))):
		case err := <-read:
			return t, errors.Join(err,
				errors.New("the long prompt was read before the first request"))
		}
	}
	if err := <-read; err != nil {
		return t, err
	}
	if len(asked) == 0 {
		return t, errors.New("no request was sent while the long prompt was read")
	}
	var chunks, begun, first []float64
	for _, r := range asked {
		chunks, begun, first = append(chunks, float64(w.between(r))),
			append(begun, figures.Milliseconds(r.stats.Queue)),
			append(first, figures.Milliseconds(r.stats.FirstToken))
	}
	n, most := len(asked), slices.Max[[]float64]
	t.Rows = [][]any{
		{"chunks before its own first one", figures.Median(chunks), most(chunks), n,
			b.judge("fim, chunks before its own first one", fimBar, most(chunks))},
		{"ms until it begins", figures.Round(figures.Median(begun)), figures.Round(most(begun)), n, nil},
		{"ms until the first token", figures.Round(figures.Median(first)), figures.Round(most(first)), n, nil},
	}
	t.Notes = append(t.Notes, fmt.Sprintf("A chunk of the long prompt took %.0f ms, with the requests in between.",
		figures.Milliseconds(chunk)))
	return t, nil
}
