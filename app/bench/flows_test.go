package bench

import (
	"context"
	"slices"
	"testing"

	"tandem/engine"
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
	within int    // how many matched tokens may be missing; 0 = unbounded
	answer int    // tokens of the answer

	// prompt returns the prompt and its boundaries. It is given the texts of the steps before:
	// prompts with their answers.
	prompt func(said [][]int32) ([]int32, []int)

	// The client leaves once leaveRead tokens of the prompt were evaluated, or leaveAnswer tokens
	// were generated. 0 is never.
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
func (b *checkpointSuite) plan() []flow {
	played := 0 // how often the probe was played
	return []flow{
		{b.probes, func() []step {
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

// flows plays all flows, step by step in all arms, and returns the steps that are measured.
func (b *checkpointSuite) flows(t *testing.T) (arms []*arm, measured []step) {
	arms = []*arm{
		{name: "on", engine: b.open(engine.Options{Checkpoints: b.budget()})},
		{name: "prompt only", engine: b.open(engine.Options{Checkpoints: b.budget(), PromptOnly: true})},
		{name: "off", engine: b.open(engine.Options{})},
	}
	for _, a := range arms {
		defer a.engine.Close()
		a.stats = map[string][]engine.Stats{}
	}
	for _, f := range b.plan() {
		for i := range f.texts {
			steps := f.steps()
			for _, a := range arms {
				a.said = nil
			}
			for _, s := range steps {
				if i == 0 && s.name != "" {
					measured = append(measured, s)
				}
				for _, a := range arms {
					if err := b.play(t.Context(), a, arms[0], s); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	return arms, measured
}

// play sends one request. Without checkpoints there is nothing to prepare, so that arm uses the
// texts of the first arm.
func (b *checkpointSuite) play(ctx context.Context, a, first *arm, s step) error {
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

// A restoredShare says what an arm restored in one step, of all texts.
type restoredShare struct {
	matched, cached, short []int    // tokens of each text; short = matched and not restored
	reasons                []string // why each is short
	late                   bool     // more is missing than the step allows
}

// share sums up a step. The prompt's last token is always evaluated, so it is not missing. Only the arm
// with all checkpoints is held to the step's bound.
func (a *arm) share(s step) (r restoredShare) {
	for _, st := range a.stats[s.name] {
		r.matched, r.cached = append(r.matched, st.Matched), append(r.cached, st.CachedTokens)
		r.short = append(r.short, min(st.Matched, st.PromptTokens-1)-st.CachedTokens)
		r.reasons = append(r.reasons, st.Miss)
	}
	r.late = a.name == "on" && s.within > 0 && slices.Max(r.short) > s.within
	return r
}
