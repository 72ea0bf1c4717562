package llamacpp

import (
	"tandem/app/api"
	"tandem/app/dialect"
	"tandem/app/wire"
	"tandem/engine"
)

// A textForm is the form of answers of /infill and /completion. An event has the new text, and the
// last one the figures.
type textForm struct{ wire.ServerSent }

// IDPrefix implements api.Form. These answers have no id.
func (textForm) IDPrefix() string { return "" }

// Whole implements api.Form.
func (f textForm) Whole(r *api.Reply) []byte { return f.appendEnd(r, r.Choices[0].Text()) }

// appendEnd appends an object that ends the answer.
func (textForm) appendEnd(r *api.Reply, text string) []byte {
	c, timings := r.Choices[0], r.Timings()
	kind := "limit"
	switch {
	case c.Stopped != "":
		kind = "word"
	case c.Finish == engine.FinishStop:
		kind = "eos"
	}
	b := wire.AppendString([]byte(`{"index":0,"content":`), text)
	b = append(b, `,"tokens":`...)
	if r.Params.Stream {
		b = append(b, "[]"...)
	} else {
		b = wire.AppendInts(b, c.IDs)
	}
	b = append(b, `,"stop":true`...)
	for _, m := range []struct {
		name  string
		value any
	}{
		{"id_slot", 0}, {"model", r.Name()}, {"stop_type", kind}, {"stopping_word", c.Stopped},
		{"truncated", false}, {"tokens_predicted", timings.PredictedN},
		{"tokens_evaluated", timings.PromptN + timings.CacheN}, {"tokens_cached", timings.CacheN},
		{"timings", timings},
	} {
		b = wire.AppendMember(b, m.name, m.value)
	}
	return append(b, '}')
}

// Stream implements api.Form.
func (f textForm) Stream(rep *api.Reply, out *wire.EventStream) api.Events {
	return &textEvents{form: f, rep: rep, out: out}
}

// textEvents are the events of an textForm, which has one choice.
type textEvents struct {
	form textForm
	rep  *api.Reply
	out  *wire.EventStream
}

// Begin implements api.Events.
func (*textEvents) Begin(*api.Choice) {}

// Add implements api.Events.
func (e *textEvents) Add(_ *api.Choice, toks []engine.Token, parts []dialect.Part) {
	text := ""
	for _, p := range parts {
		text += p.Text
	}
	if text == "" {
		return
	}
	ids := make([]int32, len(toks))
	for i, t := range toks {
		ids[i] = t.ID
	}
	b := wire.AppendString([]byte(`{"index":0,"content":`), text)
	b = wire.AppendInts(append(b, `,"tokens":`...), ids)
	e.rep.Send(e.out, "", append(b, `,"stop":false,"id_slot":0}`...))
}

// End implements api.Events.
func (*textEvents) End(*api.Choice) {}

// Finish implements api.Events.
func (e *textEvents) Finish() {
	b := e.form.appendEnd(e.rep, "")
	e.rep.Release()
	e.rep.Send(e.out, "", b)
}
