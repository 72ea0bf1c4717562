package lab

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tandem/app/control"
	"tandem/app/figures"
	"tandem/engine"
	"tandem/models"
)

// Requests that share the model.
const (
	togetherRequests = 4
	togetherPrompt   = 32 // tokens
	togetherAnswer   = 24
	togetherPairs    = 5

	fairClients = 24
	fairPrompt  = 64 // tokens
	fairAnswer  = 64
	fairRounds  = 3
)

// togetherBar is the tokens per second of parallel requests, as a ratio to one after another.
// fairBar is the time of the slowest of equal clients, as a ratio to the median.
var togetherBar, fairBar = figures.AtLeast(2), figures.AtMost(2)

// A groupBench sends several requests to a served model.
type groupBench struct {
	url    string
	client http.Client
	vocab  int
	random *rand.Rand
}

// newGroupBench returns a bench of the endpoint at url, whose model has vocab tokens.
func newGroupBench(url string, vocab int) *groupBench {
	return &groupBench{url: url,
		client: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: fairClients}},
		vocab:  vocab, random: rand.New(rand.NewPCG(5, 6))}
}

// bodies returns n requests with new prompts, so that nothing is restored. more are further fields.
func (g *groupBench) bodies(n, prompt, answer int, more map[string]any) []map[string]any {
	list := make([]map[string]any, n)
	for i := range list {
		ids := make([]int, prompt)
		for k := range ids {
			ids[k] = 100 + g.random.IntN(min(g.vocab, 4000)-100)
		}
		list[i] = map[string]any{"model": control.Alias, "prompt": ids, "max_tokens": answer,
			"ignore_eos": true, "temperature": 0}
		for k, v := range more {
			list[i][k] = v
		}
	}
	return list
}

// A groupAnswer holds the times of one request.
type groupAnswer struct {
	took    time.Duration // as its client saw it
	Timings struct {
		PredictedN  int     `json:"predicted_n"`
		PredictedMS float64 `json:"predicted_ms"`
		PromptMS    float64 `json:"prompt_ms"`
	}
}

// ask sends requests, in parallel or one after another. An answer of another length than asked for
// is an error.
func (g *groupBench) ask(ctx context.Context, bodies []map[string]any,
	atOnce bool) (answers []groupAnswer, took time.Duration, err error) {
	answers = make([]groupAnswer, len(bodies))
	errs := make([]error, len(bodies))
	one := func(i int) {
		start := time.Now()
		errs[i] = postWhole(ctx, &g.client, g.url+"/v1/completions", bodies[i], &answers[i])
		answers[i].took = time.Since(start)
		if n, want := answers[i].Timings.PredictedN, bodies[i]["max_tokens"]; errs[i] == nil &&
			n != want {
			errs[i] = fmt.Errorf("an answer has %d tokens, not %v", n, want)
		}
	}
	var clients sync.WaitGroup
	start := time.Now()
	for i := range bodies {
		if atOnce {
			clients.Go(func() { one(i) })
		} else {
			one(i)
		}
	}
	clients.Wait()
	return answers, time.Since(start), errors.Join(errs...)
}

// each returns one figure of all answers.
func each(answers []groupAnswer, of func(groupAnswer) float64) (values []float64) {
	for _, a := range answers {
		values = append(values, of(a))
	}
	return values
}

// together compares parallel requests with as many one after another. The model is random, and
// large enough for its steps to be bound by memory.
func (b *endpointBench) together(ctx context.Context) (t figures.Table, err error) {
	dir, err := os.MkdirTemp("", "tandem-bench-")
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	shape := largeShape
	if b.quick {
		shape = smallShape
	}
	folder := filepath.Join(dir, "random")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return t, err
	}
	parameters, err := shape.write(ctx, folder)
	if err != nil {
		return t, err
	}
	p, err := serveApart(ctx, b.program, "--model", folder)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	return b.togetherAt(ctx, newGroupBench(p.url, shape.vocab), parameters)
}

// togetherAt does what together does, at the endpoint of g.
func (b *endpointBench) togetherAt(ctx context.Context, g *groupBench,
	parameters int) (figures.Table, error) {
	t := figures.Table{
		Title: fmt.Sprintf("%d plain requests at once against one after another, random model of %.0fM parameters",
			togetherRequests, float64(parameters)/1e6),
		Columns: []string{"what", "one after another", "at once", "times", "low", "high", "pairs",
			"bar"},
		Notes: []string{
			fmt.Sprintf("Prompts of %d tokens, answers of %d, no drafts, over HTTP. Tokens/s is all tokens of the answers by the time until the last one ended.",
				togetherPrompt, togetherAnswer),
			"The other rows tell where the time goes: steps that several requests share, and prompts that are read beside others.",
		},
	}
	plain := map[string]any{"speculation": map[string]any{"drafter": engine.None}}
	ask := func(atOnce bool) ([]groupAnswer, float64, error) {
		answers, took, err := g.ask(ctx,
			g.bodies(togetherRequests, togetherPrompt, togetherAnswer, plain), atOnce)
		return answers, togetherRequests * togetherAnswer / took.Seconds(), err
	}
	const rate, gap, reading = 0, 1, 2
	rows := []string{rate: "tokens/s, of all", gap: "ms between two tokens of one",
		reading: "ms until a prompt is read"}
	var taken [3][2][]float64 // by row and side
	var times [3][]float64
	for i := range b.repeats(togetherPairs, 1) + 1 {
		var pair [3][2]float64
		for side, atOnce := range []bool{false, true} {
			answers, perSecond, err := ask(atOnce)
			if err != nil {
				return t, err
			}
			pair[rate][side] = perSecond
			pair[gap][side] = figures.Median(each(answers,
				func(a groupAnswer) float64 { return a.Timings.PredictedMS / (togetherAnswer - 1) }))
			pair[reading][side] = figures.Median(each(answers,
				func(a groupAnswer) float64 { return a.Timings.PromptMS }))
		}
		if i == 0 {
			continue // unmeasured: it takes memory
		}
		for row, sides := range pair {
			for side, v := range sides {
				taken[row][side] = append(taken[row][side], v)
			}
			times[row] = append(times[row], sides[1]/sides[0])
		}
		fmt.Fprintf(b.log, "\rtogether, pair %d ", i)
	}
	for row, what := range rows {
		e := figures.EstimateEach(times[row])
		var judged any
		if row == rate {
			judged = b.judge("together, times the tokens/s of one after another", togetherBar,
				e.Median)
		}
		t.Rows = append(t.Rows, []any{what, figures.Median(taken[row][0]), figures.Median(taken[row][1]),
			e.Median, e.Low, e.High, e.N, judged})
	}
	return t, nil
}

// fair lets equal clients ask in parallel, more of them than share the model.
func (b *endpointBench) fair(ctx context.Context) (t figures.Table, err error) {
	p, err := serveApart(ctx, b.program, "--model", models.PocketID)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	return b.fairAt(ctx, newGroupBench(p.url, 4000))
}

// fairAt does what fair does, at the endpoint of g.
func (b *endpointBench) fairAt(ctx context.Context, g *groupBench) (figures.Table, error) {
	t := figures.Table{
		Title: fmt.Sprintf("%d equal clients at once, pocket model", fairClients),
		Columns: []string{"what", "ms, median client", "ms, slowest", "times", "low", "high",
			"rounds", "bar"},
		Notes: []string{fmt.Sprintf("New prompts of %d tokens, answers of %d, with drafts as requests get them. %d requests share the model, the rest wait.",
			fairPrompt, fairAnswer, engine.MaxActive)},
	}
	var usual, slowest, times []float64
	for i := range b.repeats(fairRounds, 1) + 1 {
		answers, _, err := g.ask(ctx, g.bodies(fairClients, fairPrompt, fairAnswer, nil), true)
		if err != nil {
			return t, err
		}
		if i == 0 {
			continue // unmeasured: it takes memory, and drafters learn
		}
		took := each(answers, func(a groupAnswer) float64 { return figures.Milliseconds(a.took) })
		most := slices.Max(took)
		usual, slowest, times = append(usual, figures.Median(took)), append(slowest, most),
			append(times, most/figures.Median(took))
		fmt.Fprintf(b.log, "\rfair, round %d ", i)
	}
	e := figures.EstimateEach(times)
	t.Rows = append(t.Rows, []any{"whole answers", figures.Round(figures.Median(usual)), figures.Round(figures.Median(slowest)),
		e.Median, e.Low, e.High, e.N,
		b.judge("fair, the slowest client's time by the median's", fairBar, e.Median)})
	return t, nil
}
