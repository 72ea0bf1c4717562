package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tandem/app/bench"
	"tandem/app/figures"
	"tandem/app/model"
	"tandem/app/pool"
	"tandem/engine"
	"tandem/engine/draft"
	"tandem/engine/lm"
	"tandem/models"
)

// schemaAnswer is the number of tokens of an answer, with the schema and without.
const schemaAnswer = 64

// schemaBar is the least speed of decoding under a schema, as a ratio to free decoding.
var schemaBar = figures.Bar{Min: 0.9}

// answerSchema is what a program might ask an editor's model for: a list of objects. It asks for
// more objects than schemaAnswer tokens can hold.
const answerSchema = `{"type":"object","properties":{"symbols":{"type":"array","minItems":64,"items":{"type":"object","properties":{
"name":{"type":"string","maxLength":16},"kind":{"enum":["func","type","var","const"]},"line":{"type":"integer","minimum":1,"maximum":9999},
"exported":{"type":"boolean"}},"required":["name","kind","line","exported"],"additionalProperties":false}}},"required":["symbols"],"additionalProperties":false}`

// A schemaBench compares answers under a schema with free ones.
type schemaBench struct {
	bench.Contest
	bundle *models.Bundle
}

// answer continues a prompt by schemaAnswer tokens, under the schema if formed.
func (c *schemaBench) answer(ctx context.Context, s *bench.Side, p bench.Prompt,
	formed bool) (a bench.Response, err error) {
	s.Model.Dictate(p)
	r := engine.Request{
		Prompt: p.IDs, MaxTokens: new(schemaAnswer), IgnoreEOS: true, Speculation: s.Speculation(),
		Done: func(st engine.Stats) { a.Stats = st },
	}
	if formed {
		m, failed := pool.Matcher(ctx, c.bundle, "",
			model.Grammar{JSON: json.RawMessage(answerSchema)})
		if failed != nil {
			return a, failed
		}
		defer func() { err = errors.Join(err, m.Close()) }()
		r.Grammar = m
	}
	for tok, err := range s.Engine.Generate(ctx, r) {
		if err != nil {
			return a, err
		}
		a.IDs = append(a.IDs, tok.ID)
	}
	if len(a.IDs) != schemaAnswer {
		return a, fmt.Errorf("the answer has %d tokens, not %d", len(a.IDs), schemaAnswer)
	}
	return a, nil
}

// schema returns a row without drafts and one with drafts. Without drafts a token costs the same,
// whatever it says. With drafts both sides say the same; otherwise the drafts would suit one side
// better.
func (b *endpointBench) schema(ctx context.Context) (t figures.Table, err error) {
	t = figures.Table{
		Title: fmt.Sprintf("decoding under a JSON schema against free decoding, pocket model, %d tokens each",
			schemaAnswer),
		Columns: []string{"speculation", "tokens/s free", "tokens/s under it", "times as fast",
			"low", "high", "end to end",
			"tokens/round free", "under it", "pairs", "prompts", "at least"},
		Notes: []string{
			"The schema is a list of objects, each with a text, a choice, a number and a truth value. Decoding is greedy, and pairs take turns.",
			"Without drafts the free side says what it would. With drafts both sides are made to say the answer under the schema, so that equally many drafts are right.",
		},
	}
	thread, bundle, err := bench.OpenModel(ctx, "", models.Options{})
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, bundle.Close(), thread.Close()) }()
	drafters, err := bench.LoadDrafters(ctx, bundle, "", nil, models.Options{})
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, drafters.Close()) }()
	texts, err := bench.NewWorkloads(bundle.Tokenizer)
	if err != nil {
		return t, err
	}
	c := &schemaBench{bundle: bundle}
	c.Contest = bench.Contest{
		Thread: thread, Model: bundle.Model, Drafters: drafters.List,
		Pairs: b.repeats(figures.MinPairs, 1), Once: b.quick, Log: b.log,
		Engines: func(m lm.Model, drafters []draft.Drafter) *engine.Engine {
			return engine.New(thread, m, bundle.Tokenizer,
				engine.Options{Drafters: drafters, Name: bench.ModelName("")})
		},
	}
	var prompts []bench.Prompt
	for _, p := range texts.Code.Prompts[:b.repeats(figures.MinPairs, 2)] {
		prompts = append(prompts, bench.Prompt{IDs: p.IDs})
	}
	for _, w := range []bench.Way{{}, {Drafter: engine.Auto, Depth: bench.Adaptive}} {
		r, err := c.compareForms(ctx, w, prompts)
		if err != nil {
			return t, err
		}
		e := r.Ratio()
		judged := r.Verdict()
		if e.N >= figures.MinPairs && e.Median < schemaBar.Min {
			b.wrong = append(b.wrong,
				fmt.Errorf("schema, %s: %.3f times as fast as free decoding; the bar is %v",
					w, e.Median, schemaBar.Min))
		}
		var rates [2][]float64
		var rounds [2][]float64
		for _, p := range r.Pairs {
			for i, a := range []bench.Response{p.One, p.Two} {
				rates[i] = append(rates[i], a.Rate())
				if st := a.Stats; st.Rounds > 0 {
					rounds[i] = append(rounds[i], float64(schemaAnswer-1)/float64(st.Rounds))
				}
			}
		}
		t.Rows = append(t.Rows, []any{cmp.Or(w.Drafter, engine.None), figures.Round(figures.Median(rates[0])),
			figures.Round(figures.Median(rates[1])), e.Median, e.Low, e.High, r.Whole().Median,
			figures.Median(rounds[0]), figures.Median(rounds[1]), e.N, e.Prompts, judged})
	}
	return t, nil
}

// compareForms lets a way answer prompts freely and under the schema, in turns. With drafts it
// answers some unmeasured prompts first, to learn.
func (c *schemaBench) compareForms(ctx context.Context, w bench.Way,
	prompts []bench.Prompt) (*bench.Comparison, error) {
	result := &bench.Comparison{One: w, Two: w, Bar: schemaBar}
	s := c.Open(w)
	defer s.Close()
	scripted, warm := prompts, 1
	if w.Drafter != "" {
		scripted, warm = nil, len(prompts)/2
		plain := c.Open(bench.Way{})
		defer plain.Close()
		for _, p := range prompts {
			a, err := c.answer(ctx, plain, p, true)
			if err != nil {
				return nil, err
			}
			scripted = append(scripted, bench.Prompt{IDs: p.IDs, Script: a.IDs})
		}
	}
	for turn := -warm; result.NeedsPairs(c.Pairs, c.Once); turn++ {
		i := (turn + len(scripted)) % len(scripted)
		p := bench.Pair{Index: i}
		var err error
		if p.One, err = c.answer(ctx, s, scripted[i], false); err != nil {
			return nil, err
		}
		if p.Two, err = c.answer(ctx, s, scripted[i], true); err != nil {
			return nil, err
		}
		if turn >= 0 {
			result.Pairs = append(result.Pairs, p)
		}
		fmt.Fprintf(c.Log, "\rschema, %s, pair %d ", w, len(result.Pairs))
	}
	return result, nil
}
