package ollama

import (
	"time"

	"tandem/app/api"
	"tandem/app/dialect"
	"tandem/app/wire"
	"tandem/engine"
)

// A lineFormat is the form of answers of /api/generate and /api/chat: an object a line. Each has the
// new text, and the last one the figures.
type lineFormat struct {
	chat  bool
	model string // as the client wrote it; programs compare it with what they asked for
}

func (lineFormat) ContentType() string { return "application/x-ndjson" }

func (lineFormat) AppendEvent(dst []byte, _ string, data []byte) []byte {
	return append(wire.AppendLine(dst, data), '\n')
}

func (o lineFormat) AppendFailure(dst []byte, f wire.Failure) []byte {
	_, body := wire.Ollama{}.Refusal(nil, f)
	return o.AppendEvent(dst, "", body)
}

// AppendSilence implements wire.Framing. Ollama's programs read every line as an object, so it
// sends one without new text.
func (o lineFormat) AppendSilence(dst []byte) []byte {
	return o.AppendEvent(dst, "", wire.Encode(o.line(piece{}, lineEnd{})))
}

// IDPrefix implements api.ReplyFormat. These answers have no id.
func (lineFormat) IDPrefix() string { return "" }

// A piece has the new text and calls of one object of an answer.
type piece struct {
	text, thought string
	calls         []*api.Block
}

func (o lineFormat) Whole(r *api.Reply) any {
	c := r.Choices[0]
	var s piece
	for i := range c.Answer.Blocks {
		s.say(&c.Answer.Blocks[i])
	}
	end := lastEnd(r)
	if r.Params.Logprobs {
		end.Logprobs = api.ScoredTokens(r.Model.Tokenizer(), c.NewlyScored())
	}
	return o.line(s, end)
}

// say adds a block that has ended. Of a call that was cut there is nothing to add.
func (s *piece) say(b *api.Block) {
	switch {
	case b.Kind == dialect.Text:
		s.text += string(b.Text)
	case b.Kind == dialect.Reasoning:
		s.thought += string(b.Text)
	case b.Complete():
		s.calls = append(s.calls, b)
	}
}

// line returns an object of an answer.
func (o lineFormat) line(s piece, end lineEnd) any {
	head := lineHead{o.model, time.Now().UTC()}
	if !o.chat {
		return GenerateResponse{lineHead: head, Response: s.text, Thinking: s.thought, lineEnd: end}
	}
	m := chatMessage{Role: "assistant", Content: s.text, Thinking: s.thought}
	for _, b := range s.calls {
		m.ToolCalls = append(m.ToolCalls, toolCall{api.CallPrefix + b.ID, functionCall{b.Index, b.Name, b.Text}})
	}
	return ChatResponse{lineHead: head, Message: m, lineEnd: end}
}

// lastEnd returns the end of an answer, with its figures.
func lastEnd(r *api.Reply) lineEnd {
	t := r.Total()
	return lineEnd{Done: true, DoneReason: string(r.Choices[0].Finish), figures: &figures{
		TotalDuration: time.Since(r.Run.Start),
		LoadDuration:  time.Duration(r.Run.Row.LoadMS * float64(time.Millisecond)),

		PromptEvalCount: t.PromptTokens, PromptEvalDuration: t.Prefill,
		EvalCount: t.CompletionTokens, EvalDuration: t.Decode,
		LeftOut: t.LeftOut,
	}}
}

func (o lineFormat) Stream(rep *api.Reply, out *wire.EventStream) api.Events {
	return &lines{form: o, rep: rep, out: out}
}

// lines are the events of a lineFormat, which has one choice.
type lines struct {
	form lineFormat
	rep  *api.Reply
	out  *wire.EventStream
	json wire.Encoder
}

func (l *lines) Begin(*api.Choice) {}

// Add implements api.Events. A call is in parts whole.
func (l *lines) Add(c *api.Choice, _ []engine.Token, parts []dialect.Part) {
	var s piece
	for _, p := range parts {
		switch p.Kind {
		case dialect.Text:
			s.text += p.Text
		case dialect.Reasoning:
			s.thought += p.Text
		case dialect.Call:
			s.say(c.Answer.Call(p.Index))
		}
	}
	l.send(c, s)
}

func (l *lines) End(c *api.Choice) { l.send(c, piece{}) }

func (l *lines) Finish() {
	last := l.form.line(piece{}, lastEnd(l.rep))
	l.rep.Release()
	l.rep.Send(l.out, "", l.json.Encode(last))
}

// send sends the new part of the answer, if there is one.
func (l *lines) send(c *api.Choice, s piece) {
	toks := c.NewlyScored()
	scored := l.rep.Params.Logprobs && len(toks) > 0
	if s.text == "" && s.thought == "" && s.calls == nil && !scored {
		return
	}
	var end lineEnd
	if scored {
		end.Logprobs = api.ScoredTokens(l.rep.Model.Tokenizer(), toks)
	}
	l.rep.Send(l.out, "", l.json.Encode(l.form.line(s, end)))
}
