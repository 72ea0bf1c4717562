package llamacpp

import (
	"tandem/app/api"
	"tandem/app/dialect"
	"tandem/app/wire"
	"tandem/engine"
)

// A textFormat is the form of answers of /infill and /completion. An event has the new text, and the
// last one the figures.
type textFormat struct{ wire.ServerSent }

// IDPrefix implements api.ReplyFormat. These answers have no id.
func (textFormat) IDPrefix() string { return "" }

func (textFormat) Whole(r *api.Reply) any {
	c := r.Choices[0]
	return textAnswer{Content: c.Text(), Tokens: append([]int32{}, c.IDs...),
		Stop: true, textEnd: endOf(r)}
}

// endOf returns the end of an answer.
func endOf(r *api.Reply) *textEnd {
	c, timings := r.Choices[0], r.Timings()
	end := &textEnd{
		Model: r.Name(), StopType: "limit", StoppingWord: c.Stopped,
		TokensPredicted: timings.PredictedN, TokensEvaluated: timings.PromptN + timings.CacheN,
		TokensCached: timings.CacheN, Timings: timings,
	}
	switch {
	case c.Stopped != "":
		end.StopType = "word"
	case c.Finish == engine.FinishStop:
		end.StopType = "eos"
	}
	return end
}

func (textFormat) Stream(rep *api.Reply, out *wire.EventStream) api.Events {
	return &textEvents{rep: rep, out: out}
}

// textEvents are the events of a textFormat, which has one choice.
type textEvents struct {
	rep  *api.Reply
	out  *wire.EventStream
	json wire.Encoder
}

func (*textEvents) Begin(*api.Choice) {}

func (e *textEvents) Add(_ *api.Choice, toks []engine.Token, parts []dialect.Part) {
	next := textAnswer{Tokens: []int32{}}
	for _, p := range parts {
		next.Content += p.Text
	}
	if next.Content == "" {
		return
	}
	for _, t := range toks {
		next.Tokens = append(next.Tokens, t.ID)
	}
	e.rep.Send(e.out, "", e.json.Encode(next))
}

func (*textEvents) End(*api.Choice) {}

func (e *textEvents) Finish() {
	last := textAnswer{Tokens: []int32{}, Stop: true, textEnd: endOf(e.rep)}
	e.rep.Release()
	e.rep.Send(e.out, "", e.json.Encode(last))
}
