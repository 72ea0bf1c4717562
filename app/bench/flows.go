package bench

import (
	"context"
	"fmt"
	"slices"

	"tandem/app/figures"
	"tandem/engine"
	"tandem/engine/cache"
)

// The probe of ollama's pull request 15914: a long answer to a short prompt, and a follow-up that
// diverges in the middle of the answer.
const (
	probePrompt = 30
	probeAnswer = 400
	probeWithin = 64 // matched tokens that may be evaluated again
	probeSplit  = 66 // tokens of the answer before the split, in the pull request
	probe       = "probe, "
)

// A flow is what a client sends, request by request.
type flow struct {
	texts int // how often it is played, each time with another text
	steps func() []step
}

// A step is one request of a flow.
type step struct {
	name   string // of its row; empty if the step only prepares later ones
	within int    // how many matched tokens may be missing; 0 is no bound
	answer int    // tokens of the answer

	// prompt returns the prompt and its boundaries. It is given the texts of the steps before:
	// prompts with their answers.
	prompt func(said [][]int32) ([]int32, []int)

	// The client leaves after so many tokens of the prompt were evaluated, or after so many were
	// generated. 0 is never.
	leaveRead, leaveAnswer int
}

// given returns a step's prompt function for ids that do not depend on earlier steps.
func given(ids []int32, boundaries ...int) func([][]int32) ([]int32, []int) {
	return func([][]int32) ([]int32, []int) { return ids, boundaries }
}

// branch returns the first split tokens of a text, then more. If more begins with the token that
// the text has there, that token is changed.
func branch(text []int32, split int, more []int32) []int32 {
	more = slices.Clone(more)
	if split < len(text) && more[0] == text[split] {
		more[0]--
	}
	return slices.Concat(text[:split], more)
}

// plan returns all flows. In a flow, the follow-ups that diverge late come first: a follow-up
// leaves a checkpoint where it diverges, which would help those after it.
func (b *checkpointBench) plan() []flow {
	played := 0 // how often the probe was played
	return []flow{
		{b.pairs, func() []step {
			shift := 13 * played % 64
			played++
			follow := func(name string, from, more int) step {
				tail := b.text(more)
				return step{name: probe + name, within: probeWithin, answer: 1,
					prompt: func(said [][]int32) ([]int32, []int) {
						return branch(said[0], probePrompt+from, tail), nil
					}}
			}
			return []step{
				{answer: probeAnswer, prompt: given(b.text(probePrompt))},
				follow("diverges at 336 to 399", 336+shift, 32),
				follow("diverges at 193 to 256", 193+shift, 32),
				follow("diverges at 66, as long as before", probeSplit, probeAnswer-probeSplit),
				follow("diverges at 1 to 64", 1+shift, 32),
			}
		}},
		{b.texts, func() []step {
			const length, boundary, middle = 600, 256, 300
			text, tail, other, third := b.text(length), b.text(200), b.text(length-middle),
				b.text(length-middle)
			return []step{
				{answer: 1, prompt: given(text, boundary)},
				{name: "the same prompt again", answer: 1, prompt: given(text, boundary)},
				{name: "the same and a longer end", answer: 1,
					prompt: given(slices.Concat(text, tail), boundary)},
				{name: "another middle", answer: 1,
					prompt: given(branch(text, middle, other), boundary)},
				{name: "another middle there once more", answer: 1,
					prompt: given(branch(text, middle, third), boundary)},
			}
		}},
		{b.texts, func() []step {
			const tools, user = 400, 60
			system, result, next, chat := b.text(tools), b.text(200), b.text(40), b.text(user)
			// Each message ends at a boundary.
			turn := func(i int, more []int32) func([][]int32) ([]int32, []int) {
				return func(said [][]int32) ([]int32, []int) {
					ends := []int{tools, tools + user}
					for _, text := range said[:i+1] {
						ends = append(ends, len(text))
					}
					return slices.Concat(said[i], more), ends
				}
			}
			return []step{
				{answer: 80, prompt: given(slices.Concat(system, b.text(user)), tools, tools+user)},
				{name: "tool call, its result", answer: 80, prompt: turn(0, result)},
				{name: "tool call, the turn after it", answer: 1, prompt: turn(1, next)},
				{name: "a new chat with the same tools", answer: 1,
					prompt: given(slices.Concat(system, chat), tools, tools+user)},
			}
		}},
		{b.texts, func() []step {
			prompt := b.text(2000)
			return []step{
				{answer: 1, leaveRead: 1000, prompt: given(prompt)},
				{name: "prompt cancelled, sent again", answer: 1, prompt: given(prompt)},
			}
		}},
		{b.texts, func() []step {
			tail := b.text(32)
			return []step{
				{answer: probeAnswer, leaveAnswer: 230, prompt: given(b.text(probePrompt))},
				{name: "answer cancelled, continued", within: probeWithin, answer: 1,
					prompt: func(said [][]int32) ([]int32, []int) {
						return slices.Concat(said[0], tail), nil
					}},
			}
		}},
	}
}

// An arm is one way to keep checkpoints, with the results of its requests.
type arm struct {
	name   string
	engine *engine.Engine
	said   [][]int32                 // texts of the flow in progress
	stats  map[string][]engine.Stats // by a step's name
}

// flows plays all flows, step by step in all arms.
func (b *checkpointBench) flows(ctx context.Context) (figures.Table, error) {
	arms := []*arm{
		{name: "on", engine: b.open(engine.Options{Checkpoints: b.budget()})},
		{name: "prompt only", engine: b.open(engine.Options{Checkpoints: b.budget(), PromptOnly: true})},
		{name: "off", engine: b.open(engine.Options{})},
	}
	for _, a := range arms {
		defer a.engine.Close()
		a.stats = map[string][]engine.Stats{}
	}
	var rows []step
	for n, f := range b.plan() {
		for i := range f.texts {
			fmt.Fprintf(b.log, "\rflow %d, text %d ", n+1, i+1)
			steps := f.steps()
			for _, a := range arms {
				a.said = nil
			}
			for _, s := range steps {
				if i == 0 && s.name != "" {
					rows = append(rows, s)
				}
				for _, a := range arms {
					if err := b.play(ctx, a, arms[0], s); err != nil {
						return figures.Table{}, err
					}
				}
			}
		}
	}
	fmt.Fprintln(b.log)
	return b.flowTable(arms, rows), nil
}

// play sends one request. Without checkpoints there is nothing to prepare, so that arm uses the
// texts of the first arm.
func (b *checkpointBench) play(ctx context.Context, a, first *arm, s step) error {
	prompt, boundaries := s.prompt(a.said)
	r := engine.Request{Prompt: prompt, Boundaries: boundaries, MaxTokens: &s.answer,
		Speculation: withoutDrafts, IgnoreEOS: true}
	off := a.name == "off"
	if off {
		a.said = first.said
		r.MaxTokens = new(1) // for the time to the first token
		if s.name == "" {
			return nil
		}
	}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	left := false
	if s.leaveRead > 0 {
		r.Progress = func(done, _ int) {
			if left = left || done >= s.leaveRead; left {
				leave()
			}
		}
	}
	var stats engine.Stats
	r.Done = func(got engine.Stats) { stats = got }
	text := slices.Clone(prompt)
	for tok, err := range a.engine.Generate(ctx, r) {
		if err != nil && !left {
			return err
		}
		if err != nil {
			break
		}
		text = append(text, tok.ID)
		if n := len(text) - len(prompt); n == s.leaveAnswer {
			break
		}
	}
	if !off {
		a.said = append(a.said, text)
	}
	if s.name != "" {
		a.stats[s.name] = append(a.stats[s.name], stats)
	}
	return nil
}

// flowTable returns a table with a row for each measured step in each arm.
func (b *checkpointBench) flowTable(arms []*arm, rows []step) figures.Table {
	t := figures.Table{
		Title: fmt.Sprintf("What is restored of a text that begins like an earlier one, layout %s",
			cache.Ring),
		Columns: []string{"flow", "checkpoints", "texts", "prompt", "matched", "cached", "computed",
			"short by", "within",
			"ms to first token", "times as fast as off", "low", "high", "reason, of the last text"},
		Notes: []string{
			fmt.Sprintf("The probe is a prompt of %d tokens, an answer of %d, and a follow-up that diverges at a token of the answer.",
				probePrompt, probeAnswer),
			"Prompt, matched, cached and computed are tokens. Short by is the most matched tokens that were not restored, without the prompt's last token, which is always evaluated.",
			"Prompt only captures prompts and the ends of answers, as other programs do, and nothing within an answer.",
		},
	}
	for _, s := range rows {
		off := arms[len(arms)-1].stats[s.name]
		for _, a := range arms {
			t.Rows = append(t.Rows, b.flowRow(a, s, off))
		}
	}
	return t
}

// flowRow returns the row of one step in one arm. off holds the same step without checkpoints.
func (b *checkpointBench) flowRow(a *arm, s step, off []engine.Stats) []any {
	stats := a.stats[s.name]
	var prompt, matched, cached, computed []int
	var took []float64
	var ratios [][]float64
	short := 0
	for i, st := range stats {
		prompt, matched, cached = append(prompt, st.PromptTokens), append(matched, st.Matched),
			append(cached, st.CachedTokens)
		computed = append(computed, st.PromptTokens-st.CachedTokens)
		short = max(short, min(st.Matched, st.PromptTokens-1)-st.CachedTokens)
		took = append(took, figures.Milliseconds(st.FirstToken))
		ratios = append(ratios, []float64{off[i].FirstToken.Seconds() / st.FirstToken.Seconds()})
	}
	var within any
	if a.name == "on" && s.within > 0 {
		within = fmt.Sprintf("%d met", s.within)
		if short > s.within {
			within = fmt.Sprintf("%d missed", s.within)
			b.wrong = append(b.wrong, fmt.Errorf("%s: %d tokens that matched were not restored",
				s.name, short))
		}
	}
	row := []any{s.name, a.name, len(stats), extent(prompt), extent(matched), extent(cached),
		extent(computed), short, within, figures.Round(figures.Median(took))}
	if a.name == "off" {
		return append(row, nil, nil, nil, nil)
	}
	e := figures.EstimateOf(ratios)
	var reason any
	if miss := stats[len(stats)-1].Miss; miss != "" {
		reason = miss
	}
	return append(row, e.Median, e.Low, e.High, reason)
}

// extent returns the value if all are equal, else the least and the largest as text.
func extent(values []int) any {
	low, high := slices.Min(values), slices.Max(values)
	if low == high {
		return low
	}
	return fmt.Sprintf("%d to %d", low, high)
}
