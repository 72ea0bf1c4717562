package openai

import (
	"tandem/app/api"
	"tandem/app/wire"
	"tandem/engine"
)

// A textHead begins the answers of /v1/completions, whose choices are completionChoices, and those of
// Mistral's /v1/fim/completions, which have fimChoices. Events have chunk choices.
type textHead[C any] struct {
	ID      string `json:"id"`
	Object  string `json:"object" enum:"text_completion"`
	Created int64  `json:"created" doc:"Unix seconds."`
	Model   string `json:"model" doc:"The id."`
	Choices []C    `json:"choices"`
}

type textCompletion[C any] struct {
	textHead[C]
	Usage   api.Usage   `json:"usage"`
	Timings api.Timings `json:"timings"`
}

type textChunk[C any] struct {
	textHead[C]
	figures
}

// The answers in OpenAPI.
var (
	completionShape         = wire.AnswerOf[textCompletion[completionChoice]]().Named("Completion")
	completionChunkShape    = wire.AnswerOf[textChunk[completionChunkChoice]]().Named("CompletionChunk")
	fimCompletionShape      = wire.AnswerOf[textCompletion[fimChoice]]().Named("FIMCompletion")
	fimCompletionChunkShape = wire.AnswerOf[textChunk[fimChunkChoice]]().Named("FIMCompletionChunk")
)

type completionChoice struct {
	Index        int                 `json:"index"`
	Text         string              `json:"text"`
	Logprobs     *completionLogprobs `json:"logprobs"`
	FinishReason string              `json:"finish_reason" enum:"stop,length"`
	extras
}

type completionChunkChoice struct {
	Index        int                 `json:"index"`
	Text         string              `json:"text" doc:"The new text."`
	Logprobs     *completionLogprobs `json:"logprobs"`
	FinishReason *string             `json:"finish_reason" enum:"stop,length"`
	extras
}

// A fimChoice has its text a second time in Mistral's place, where editors read it.
type fimChoice struct {
	Index        int                 `json:"index"`
	Text         string              `json:"text"`
	Message      fimMessage          `json:"message"`
	Logprobs     *completionLogprobs `json:"logprobs"`
	FinishReason string              `json:"finish_reason" enum:"stop,length"`
	extras
}

type fimMessage struct {
	Role    string `json:"role" enum:"assistant"`
	Content string `json:"content"`
}

type fimChunkChoice struct {
	Index        int                 `json:"index"`
	Text         string              `json:"text" doc:"The new text."`
	Delta        fimDelta            `json:"delta"`
	Logprobs     *completionLogprobs `json:"logprobs"`
	FinishReason *string             `json:"finish_reason" enum:"stop,length"`
	extras
}

type fimDelta struct {
	Content string `json:"content"`
}

// completionObjects makes the objects of the older completions, which have text alone.
type completionObjects struct{}

func (completionObjects) IDPrefix() string { return "cmpl-" }

func (o completionObjects) Whole(r *api.Reply) any { return wholeText(r, o.choice) }

func (o completionObjects) chunk(r *api.Reply, p piece) any { return chunkOfText(r, p, o.chunkChoice) }

func (completionObjects) choice(r *api.Reply, c *api.Choice) completionChoice {
	out := completionChoice{Index: c.Index, Text: c.Text(), FinishReason: string(c.Finish),
		extras: extrasOf(r, c)}
	if r.Params.Logprobs { // text_offset counts from the text, after a BOS that the tokenizer added
		out.Logprobs = completionLogprobsOf(r, append(c.Scored, c.Tokens...), new(-c.Prompt.Lead))
	}
	return out
}

func (completionObjects) chunkChoice(r *api.Reply, p piece) completionChunkChoice {
	out := completionChunkChoice{Index: p.choice.Index, Text: p.part.Text, FinishReason: p.finish,
		extras: p.extras}
	if p.first {
		out.Text = p.choice.Prompt.Text
	}
	if p.scored != nil {
		out.Logprobs = completionLogprobsOf(r, p.scored, p.runes)
	}
	return out
}

func wholeText[C any](r *api.Reply, choice func(*api.Reply, *api.Choice) C) any {
	out := textCompletion[C]{newTextHead[C](r), r.Usage(), r.Timings()}
	for _, c := range r.Shown() {
		out.Choices = append(out.Choices, choice(r, c))
	}
	return out
}

func chunkOfText[C any](r *api.Reply, p piece, choice func(*api.Reply, piece) C) any {
	out := textChunk[C]{newTextHead[C](r), p.figures}
	if p.choice != nil {
		out.Choices = append(out.Choices, choice(r, p))
	}
	return out
}

func newTextHead[C any](r *api.Reply) textHead[C] {
	return textHead[C]{r.ID, "text_completion", r.Created, r.Name(), []C{}}
}

func (completionObjects) opens(c *api.Choice) bool { return c.Echo }

func (completionObjects) scored(_ *api.Choice, toks []engine.Token) []engine.Token { return toks }

func (completionObjects) reason(c *api.Choice) string { return string(c.Finish) }

// fimObjects are the objects of Mistral's fill-in-the-middle.
type fimObjects struct{ completionObjects }

func (o fimObjects) Whole(r *api.Reply) any {
	return wholeText(r, func(r *api.Reply, c *api.Choice) fimChoice {
		t := o.choice(r, c)
		return fimChoice{t.Index, t.Text, fimMessage{"assistant", t.Text}, t.Logprobs,
			t.FinishReason, t.extras}
	})
}

func (o fimObjects) chunk(r *api.Reply, p piece) any {
	return chunkOfText(r, p, func(r *api.Reply, p piece) fimChunkChoice {
		t := o.chunkChoice(r, p)
		return fimChunkChoice{t.Index, t.Text, fimDelta{t.Text}, t.Logprobs, t.FinishReason,
			t.extras}
	})
}
