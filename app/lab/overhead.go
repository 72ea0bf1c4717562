package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"

	"tandem/app/control"
	"tandem/app/figures"
	"tandem/app/model"
	"tandem/engine"
)

// The sizes of the measurements of the endpoint alone.
const (
	overheadTokens = 10_000 // tokens of a stream
	overheadPaced  = 1_000  // tokens of a stream in which they come one by one
	overheadTimes  = 5      // streams
	overheadAsked  = 100    // requests of one token
)

// What the endpoint may add: microseconds to a token, milliseconds to a request.
var tokenOverhead, requestOverhead = figures.AtMost(10), figures.AtMost(2)

// overheadText is the text of each token of the instant engine.
const overheadText = " token"

// instantEngine replaces an engine by one that answers in no time, with as many tokens as a request
// allows. If read is not nil, each token waits until the client has read the one before.
func instantEngine(read <-chan struct{}) Generating {
	return func(ctx context.Context, _ model.Model, r engine.Request) iter.Seq2[engine.Token, error] {
		return func(yield func(engine.Token, error) bool) {
			st := engine.Stats{PromptTokens: len(r.Prompt)}
			defer func() { r.Done(st) }()
			for n := *r.MaxTokens; st.CompletionTokens < n; {
				t := engine.Token{Text: overheadText}
				if st.CompletionTokens++; st.CompletionTokens == n {
					t.Finish, st.Finish = engine.FinishLength, engine.FinishLength
				}
				if !yield(t, nil) {
					return
				}
				if read == nil {
					continue
				}
				select {
				case <-read:
				case <-ctx.Done():
					return
				}
			}
		}
	}
}

// An overheadRoute is a route that streams an answer. body makes a request for n tokens.
type overheadRoute struct {
	path string
	body func(n int) map[string]any
}

// overheadRoutes are the routes that stream. Most programs use the first.
var overheadRoutes = []overheadRoute{
	{"/v1/chat/completions", func(n int) map[string]any { return chatBody("max_tokens", n) }},
	{"/v1/completions", func(n int) map[string]any {
		return map[string]any{"model": control.Alias, "prompt": "Go on.", "max_tokens": n,
			"stream": true}
	}},
	{"/v1/responses", func(n int) map[string]any {
		return map[string]any{"model": control.Alias, "input": "Go on.", "max_output_tokens": n,
			"stream": true}
	}},
	{"/v1/messages", func(n int) map[string]any { return chatBody("max_tokens", n) }},
	{"/api/chat", func(n int) map[string]any { return chatBody("options", map[string]any{"num_predict": n}) }},
}

func chatBody(limit string, value any) map[string]any {
	return map[string]any{
		"model": control.Alias, "messages": []any{map[string]any{"role": "user",
			"content": "Go on."}}, "stream": true, limit: value,
	}
}

// An overheadClient sends requests to an endpoint on one connection.
type overheadClient struct {
	http.Client
	url string
}

// stream returns the time of a streamed answer of n tokens, from before the request until its end.
// It sends to read for each token that it read, unless read is nil.
func (c *overheadClient) stream(ctx context.Context, r overheadRoute, n int,
	read chan<- struct{}) (time.Duration, error) {
	text, got := []byte(overheadText), 0
	start := time.Now()
	err := postLines(ctx, &c.Client, c.url+r.path, r.body(n), func(line []byte) {
		if !bytes.Contains(line, text) {
			return
		}
		if got++; read != nil && got <= n {
			read <- struct{}{}
		}
	})
	took := time.Since(start)
	if err == nil && got < n { // some protocols repeat the whole at the end
		err = fmt.Errorf("%s: %d tokens of %d arrived", r.path, got, n)
	}
	return took, err
}

// once returns the time of an answer of one token in one piece.
func (c *overheadClient) once(ctx context.Context, r overheadRoute) (time.Duration, error) {
	body := r.body(1)
	body["stream"] = false
	whole := false
	start := time.Now()
	err := postLines(ctx, &c.Client, c.url+r.path, body,
		func(line []byte) { whole = whole || bytes.Contains(line, []byte(overheadText)) })
	took := time.Since(start)
	if err == nil && !whole {
		err = fmt.Errorf("%s: the answer has no token", r.path)
	}
	return took, err
}

// timeInProcess returns the time of the loop that the server runs, without the server.
func timeInProcess(ctx context.Context, n int) time.Duration {
	var text strings.Builder
	start := time.Now()
	for t := range instantEngine(nil)(ctx, nil,
		engine.Request{MaxTokens: &n, Done: func(engine.Stats) {}}) {
		text.WriteString(t.Text)
	}
	return time.Since(start)
}

// overhead compares an answer over HTTP with the loop over the same tokens in this process. The
// tokens take no time, so the difference is the endpoint's.
func (b *endpointBench) overhead(ctx context.Context) (t figures.Table, err error) {
	t = figures.Table{
		Title: "what the endpoint adds to an engine that takes no time",
		Columns: []string{"what", "unit", "over HTTP", "in process", "added", "low", "high",
			"times", "bar"},
		Notes: []string{
			fmt.Sprintf("Streams of %d tokens, read to their end by Go's HTTP client on one loopback connection, in the same process; median.",
				overheadTokens),
			"They pass through door, template, tokenizer, history in SQLite and the log, as in `tandem serve`.",
			"One by one: each token is sent and read before the next one is made. So the figure includes the way there and back, and all waiting. It has no bar.",
		},
	}
	s, err := b.open(ctx, control.DrafterNone)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	read := make(chan struct{}, overheadPaced)
	var clients [2]*overheadClient
	for i, generate := range []Generating{instantEngine(nil), instantEngine(read)} {
		url, err := s.Serve(generate)
		if err != nil {
			return t, err
		}
		clients[i] = &overheadClient{http.Client{Transport: &http.Transport{}}, url}
		defer clients[i].CloseIdleConnections()
	}
	atOnce, paced := clients[0], clients[1]
	// row measures n tokens, or one request, and adds a row to the table. unitOf is how many units
	// a second has.
	row := func(what, unit string, n, times int, unitOf float64, bar *figures.Mark,
		over func() (time.Duration, error)) error {
		var overs, alone, added []float64
		for i := range times + 1 {
			took, err := over()
			if err != nil {
				return err
			}
			if i == 0 {
				continue // unmeasured: it takes memory and loads the model
			}
			a, o := timeInProcess(ctx, n).Seconds()*unitOf/float64(n),
				took.Seconds()*unitOf/float64(n)
			overs, alone, added = append(overs, o), append(alone, a), append(added, o-a)
		}
		e := figures.EstimateEach(added)
		var judged any
		if bar != nil {
			judged = b.judge(what, *bar, e.Median)
		}
		t.Rows = append(t.Rows, []any{what, unit, figures.Median(overs), figures.Median(alone), e.Median, e.Low,
			e.High, e.N, judged})
		return nil
	}
	for _, r := range overheadRoutes {
		if err := row(r.path, "us a token", overheadTokens, b.repeats(overheadTimes, 1), 1e6,
			&tokenOverhead, func() (time.Duration, error) {
				return atOnce.stream(ctx, r, overheadTokens, nil)
			}); err != nil {
			return t, err
		}
	}
	chat := overheadRoutes[0]
	return t, errors.Join(
		row(chat.path+", one by one", "us a token", overheadPaced, b.repeats(overheadTimes, 1), 1e6,
			nil, func() (time.Duration, error) {
				return paced.stream(ctx, chat, overheadPaced, read)
			}),
		row(chat.path+", one token", "ms a request", 1, b.repeats(overheadAsked, 2), 1e3,
			&requestOverhead, func() (time.Duration, error) {
				return atOnce.once(ctx, chat)
			}),
		row(chat.path+", one token, streamed", "ms a request", 1, b.repeats(overheadAsked, 2), 1e3,
			&requestOverhead, func() (time.Duration, error) {
				return atOnce.stream(ctx, chat, 1, nil)
			}))
}
