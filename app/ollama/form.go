package ollama

import (
	"time"

	"tandem/app/api"
	"tandem/app/dialect"
	"tandem/app/wire"
	"tandem/engine"
)

// A lineForm is the form of answers of /api/generate and /api/chat: an object a line. Each has the
// new text, and the last one the figures.
type lineForm struct {
	chat  bool
	model string // as the client wrote it; programs compare it with what they asked for
}

// ContentType implements wire.Framing.
func (lineForm) ContentType() string { return "application/x-ndjson" }

// AppendEvent implements wire.Framing.
func (lineForm) AppendEvent(dst []byte, _ string, data []byte) []byte {
	return append(append(dst, data...), '\n')
}

// AppendFailure implements wire.Framing.
func (o lineForm) AppendFailure(dst []byte, f wire.Failure) []byte {
	_, body := wire.Ollama{}.Refusal(nil, f)
	return o.AppendEvent(dst, "", body)
}

// AppendSilence implements wire.Framing. Ollama's programs read every line as an object, so it
// sends one without new text.
func (o lineForm) AppendSilence(dst []byte) []byte {
	piece := o.appendPiece(o.appendHead(nil), piece{})
	return o.AppendEvent(dst, "", append(piece, `,"done":false}`...))
}

// IDPrefix implements api.Form. These answers have no id.
func (lineForm) IDPrefix() string { return "" }

// A piece has the new text and calls of one object of an answer.
type piece struct {
	text, thought string
	calls         []*api.Block
}

// Whole implements api.Form.
func (o lineForm) Whole(r *api.Reply) []byte {
	c := r.Choices[0]
	var s piece
	for i := range c.Answer.Blocks {
		s.say(c, &c.Answer.Blocks[i])
	}
	dst := o.appendPiece(o.appendHead(nil), s)
	if r.Params.Logprobs {
		dst = api.AppendLogprobs(append(dst, `,"logprobs":`...), r.Model.Tokenizer(),
			c.NewlyScored())
	}
	return o.appendEnd(dst, r)
}

// say adds a block that has ended. A call that the model broke is added as text, see api.Answer. Of
// one that was cut there is nothing to add.
func (s *piece) say(c *api.Choice, b *api.Block) {
	switch {
	case b.Kind == dialect.Text:
		s.text += string(b.Text)
	case b.Kind == dialect.Reasoning:
		s.thought += string(b.Text)
	case b.Complete():
		s.calls = append(s.calls, b)
	case !c.Parser.CutWithin(b.Index):
		s.text += c.Parser.Source(b.Index)
	}
}

// appendHead appends an object up to its new text.
func (o lineForm) appendHead(dst []byte) []byte {
	dst = wire.AppendString(append(dst, `{"model":`...), o.model)
	return append(time.Now().UTC().AppendFormat(append(dst, `,"created_at":"`...),
		time.RFC3339Nano), '"')
}

func (o lineForm) appendPiece(dst []byte, s piece) []byte {
	if !o.chat {
		dst = wire.AppendString(append(dst, `,"response":`...), s.text)
		if s.thought != "" {
			dst = wire.AppendString(append(dst, `,"thinking":`...), s.thought)
		}
		return dst
	}
	dst = wire.AppendString(append(dst, `,"message":{"role":"assistant","content":`...), s.text)
	if s.thought != "" {
		dst = wire.AppendString(append(dst, `,"thinking":`...), s.thought)
	}
	for i, b := range s.calls {
		if i == 0 {
			dst = append(dst, `,"tool_calls":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = wire.AppendString(append(dst, `{"id":`...), b.ID)
		dst = wire.AppendString(append(dst, `,"function":{"name":`...), b.Name)
		dst = append(append(dst, `,"arguments":`...), b.Text...)
		dst = append(dst, "}}"...)
	}
	if len(s.calls) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// appendEnd appends the figures of an answer. Durations are in nanoseconds.
func (o lineForm) appendEnd(dst []byte, r *api.Reply) []byte {
	t := r.Total()
	reason := string(r.Choices[0].Finish)
	dst = wire.AppendString(append(dst, `,"done":true,"done_reason":`...), reason)
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"total_duration", int64(time.Since(r.Run.Start))},
		{"load_duration", int64(r.Run.Row.LoadMS * 1e6)},
		{"prompt_eval_count", int64(t.PromptTokens)},
		{"prompt_eval_duration", int64(t.Prefill)},
		{"eval_count", int64(t.CompletionTokens)},
		{"eval_duration", int64(t.Decode)},
	} {
		dst = wire.AppendMember(dst, n.name, n.value)
	}
	return append(dst, '}')
}

// Stream implements api.Form.
func (o lineForm) Stream(rep *api.Reply, out *wire.EventStream) api.Events {
	return &lines{form: o, rep: rep, out: out}
}

// lines are the events of a lineForm, which has one choice.
type lines struct {
	form lineForm
	rep  *api.Reply
	out  *wire.EventStream
	open int // number of the call that is begun and not sent, from 1; 0 for none
}

// Begin implements api.Events.
func (l *lines) Begin(*api.Choice) {}

// Add implements api.Events. It sends a call when it is whole, or when what follows shows that it
// will never be.
func (l *lines) Add(c *api.Choice, _ []engine.Token, parts []dialect.Part) {
	var s piece
	for _, p := range parts {
		if p.Kind != dialect.Arguments {
			l.settle(c, &s)
		}
		switch p.Kind {
		case dialect.Text:
			s.text += p.Text
		case dialect.Reasoning:
			s.thought += p.Text
		case dialect.Call:
			l.open = p.Index + 1
		}
	}
	if l.open > 0 && c.Answer.Call(l.open-1).Complete() {
		l.settle(c, &s)
	}
	l.send(c, s)
}

// settle sends the call that was begun.
func (l *lines) settle(c *api.Choice, s *piece) {
	if l.open > 0 {
		s.say(c, c.Answer.Call(l.open-1))
		l.open = 0
	}
}

// End implements api.Events.
func (l *lines) End(c *api.Choice) {
	var s piece
	l.settle(c, &s)
	l.send(c, s)
}

// Finish implements api.Events.
func (l *lines) Finish() {
	b := l.form.appendEnd(l.form.appendPiece(l.form.appendHead(nil), piece{}),
		l.rep)
	l.rep.Release()
	l.rep.Send(l.out, "", b)
}

// send sends the new part of the answer, if there is one.
func (l *lines) send(c *api.Choice, s piece) {
	toks := c.NewlyScored()
	scored := l.rep.Params.Logprobs && len(toks) > 0
	if s.text == "" && s.thought == "" && s.calls == nil && !scored {
		return
	}
	b := l.form.appendPiece(l.form.appendHead(nil), s)
	if scored {
		b = api.AppendLogprobs(append(b, `,"logprobs":`...), l.rep.Model.Tokenizer(), toks)
	}
	l.rep.Send(l.out, "", append(b, `,"done":false}`...))
}
