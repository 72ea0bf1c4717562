package bench

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

	"tandem/app/control"
	"tandem/app/model"
	"tandem/engine"
	"tandem/engine/cache"
)

// fimBehind is how many tokens of another prompt are being read when an editor asks.
const fimBehind = 16 << 10

// fimBar is how many chunks of it may go on until the first of the editor's.
var fimBar = atMost(2)

// fimText is what an editor sends: a function that has a gap.
const (
	fimPrefix = "// Sum %d adds numbers up.\nfunc sum(values []int) int {\n\ttotal := 0\n\tfor _, v := range values {\n\t\t"
	fimSuffix = "\n\t}\n\treturn total\n}\n"
)

// A fimWatch notes when the engine hears of requests, and how far it is with the long
// prompt.
type fimWatch struct {
	long int // tokens of the long prompt

	mu     sync.Mutex
	chunks []time.Time // ends of the long prompt's
	short  fimRequest  // the last
}

// A fimRequest is an editor's, as the engine has it.
type fimRequest struct {
	arrived time.Time
	stats   engine.Stats
}

// generate is the engine's method of that name, watched.
func (w *fimWatch) generate(ctx context.Context, m model.Model, r engine.Request) iter.Seq2[engine.Token, error] {
	if len(r.Prompt) == w.long {
		progress := r.Progress
		r.Progress = func(done, total int) {
			w.mu.Lock()
			for now := time.Now(); done-len(w.chunks)*cache.MaxChunk >= cache.MaxChunk; { // it hears of the latest
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

// between counts the chunks of the long prompt that were in progress when a request
// arrived, or came before its first. A chunk's end is heard of a little late, but long
// before the next one could end: a quarter of what chunks take is waited for it.
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

// fim has an editor ask for the text of a gap, again and again, while a long prompt is
// being read.
func (b *EndpointBench) fim(ctx context.Context) (t BenchTable, err error) {
	s, err := b.open(ctx, "")
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return b.fimAt(ctx, s, b.several(fimBehind, 4*cache.MaxChunk))
}

// fimAt is fim behind so many tokens.
func (b *EndpointBench) fimAt(ctx context.Context, s Stage, long int) (t BenchTable, err error) {
	t = BenchTable{
		Title:   fmt.Sprintf("a gap to fill while a prompt of %d tokens is being read, pocket model", long),
		Columns: []string{"what", "median", "most", "requests", "bar"},
		Notes: []string{
			fmt.Sprintf("A chunk is %d tokens of the long prompt. That in progress when the request comes counts; it is not broken off.", cache.MaxChunk),
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
			"model": control.Alias, "prompt": fmt.Sprintf(fimPrefix, i), "suffix": fimSuffix, "max_tokens": 1, "temperature": 0,
		}, nil)
	}
	if err := gap(0); err != nil { // the model is loaded
		return t, err
	}
	read := make(chan error, 1)
	go func() {
		read <- postLines(ctx, &client, url+"/v1/completions", map[string]any{
			"model": control.Alias, "prompt": benchIDs(long, 4000), "max_tokens": 1, "temperature": 0,
		}, nil)
	}()
	var asked []fimRequest
	random := rand.New(rand.NewPCG(7, 8))
	last := long/cache.MaxChunk - 3 // a request behind it may come too late
	var chunk time.Duration         // about what one takes, with a request in between
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
			return t, errors.Join(err, errors.New("the long prompt was read before anybody asked"))
		}
	}
	if err := <-read; err != nil {
		return t, err
	}
	if len(asked) == 0 {
		return t, errors.New("nobody asked while the long prompt was read")
	}
	var chunks, begun, first []float64
	for _, r := range asked {
		chunks, begun, first = append(chunks, float64(w.between(r))), append(begun, milliseconds(r.stats.Queue)), append(first, milliseconds(r.stats.FirstToken))
	}
	n, most := len(asked), slices.Max[[]float64]
	t.Rows = [][]any{
		{"chunks until the first of its own", middle(chunks), most(chunks), n, b.judge("fim, chunks until the first of its own", fimBar, most(chunks))},
		{"ms until it begins", whole(middle(begun)), whole(most(begun)), n, nil},
		{"ms until the first token", whole(middle(first)), whole(most(first)), n, nil},
	}
	t.Notes = append(t.Notes, fmt.Sprintf("A chunk of the long prompt took %.0f ms, with what came in between.", milliseconds(chunk)))
	return t, nil
}
