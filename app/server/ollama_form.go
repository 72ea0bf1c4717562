package server

import (
	"time"

	"tandem/app/dialect"
	"tandem/engine"
)

// An ollamaForm is how /api/generate and /api/chat answer: an object a line, each
// with what is new, and a last one with what it took.
type ollamaForm struct {
	chat  bool
	model string // as the request has it, for what is told before the model is there
}

// contentType implements framing.
func (ollamaForm) contentType() string { return "application/x-ndjson" }

// appendEvent implements framing.
func (ollamaForm) appendEvent(dst []byte, _ string, data []byte) []byte {
	return append(append(dst, data...), '\n')
}

// appendFailure implements framing.
func (o ollamaForm) appendFailure(dst []byte, f failure) []byte {
	_, body := ollama{}.refusal(nil, f)
	return o.appendEvent(dst, "", body)
}

// appendSilence implements framing: each line is an object to Ollama's programs, so that this
// is one that says nothing new.
func (o ollamaForm) appendSilence(dst []byte) []byte {
	piece := o.appendPiece(o.appendHead(nil, o.model), ollamaPiece{})
	return o.appendEvent(dst, "", append(piece, `,"done":false}`...))
}

// idPrefix implements form; its answers have no id.
func (ollamaForm) idPrefix() string { return "" }

// An ollamaPiece is what an object of an answer says.
type ollamaPiece struct {
	text, thought string
	calls         []*block
}

// whole implements form.
func (o ollamaForm) whole(r *reply) []byte {
	c := r.choices[0]
	var s ollamaPiece
	for i := range c.answer.blocks {
		s.say(c, &c.answer.blocks[i])
	}
	dst := o.appendPiece(o.appendHead(nil, r.model.ID()), s)
	if r.params.logprobs {
		dst = appendLogprobs(append(dst, `,"logprobs":`...), r.model.Tokenizer(), c.heard())
	}
	return o.appendEnd(dst, r)
}

// say adds a block that has come to its end. A call is one if it is whole, see answer.
func (s *ollamaPiece) say(c *choice, b *block) {
	switch {
	case b.kind == dialect.Text:
		s.text += string(b.text)
	case b.kind == dialect.Reasoning:
		s.thought += string(b.text)
	case b.complete():
		s.calls = append(s.calls, b)
	default:
		s.text += c.parser.Source(b.index)
	}
}

// appendHead appends everything before what is said.
func (ollamaForm) appendHead(dst []byte, model string) []byte {
	dst = appendString(append(dst, `{"model":`...), model)
	return append(time.Now().UTC().AppendFormat(append(dst, `,"created_at":"`...), time.RFC3339Nano), '"')
}

func (o ollamaForm) appendPiece(dst []byte, s ollamaPiece) []byte {
	if !o.chat {
		dst = appendString(append(dst, `,"response":`...), s.text)
		if s.thought != "" {
			dst = appendString(append(dst, `,"thinking":`...), s.thought)
		}
		return dst
	}
	dst = appendString(append(dst, `,"message":{"role":"assistant","content":`...), s.text)
	if s.thought != "" {
		dst = appendString(append(dst, `,"thinking":`...), s.thought)
	}
	for i, b := range s.calls {
		if i == 0 {
			dst = append(dst, `,"tool_calls":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = appendString(append(dst, `{"id":`...), b.id)
		dst = appendString(append(dst, `,"function":{"name":`...), b.name)
		dst = append(append(dst, `,"arguments":`...), b.text...)
		dst = append(dst, "}}"...)
	}
	if len(s.calls) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// appendEnd appends what an answer took, durations in nanoseconds.
func (o ollamaForm) appendEnd(dst []byte, r *reply) []byte {
	t := r.total()
	reason := string(r.choices[0].finish)
	dst = appendString(append(dst, `,"done":true,"done_reason":`...), reason)
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"total_duration", int64(time.Since(r.run.start))},
		{"load_duration", int64(r.run.row.LoadMS * 1e6)},
		{"prompt_eval_count", int64(t.PromptTokens)},
		{"prompt_eval_duration", int64(t.Prefill)},
		{"eval_count", int64(t.CompletionTokens)},
		{"eval_duration", int64(t.Decode)},
	} {
		dst = appendMember(dst, n.name, n.value)
	}
	return append(dst, '}')
}

// stream implements form.
func (o ollamaForm) stream(rep *reply, out *eventStream) events {
	return &ollamaLines{form: o, rep: rep, out: out}
}

// ollamaLines are the events of an ollamaForm, which has one choice.
type ollamaLines struct {
	form ollamaForm
	rep  *reply
	out  *eventStream
	open int // the call that was begun and is not told yet, from 1; 0 for none
}

// add implements events. A call is told when it is whole, or when what comes behind it says that
// it never will be.
func (l *ollamaLines) add(c *choice, _ []engine.Token, parts []dialect.Part) {
	var s ollamaPiece
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
	if l.open > 0 && c.answer.call(l.open-1).complete() {
		l.settle(c, &s)
	}
	l.send(c, s)
}

// settle tells the call that was begun.
func (l *ollamaLines) settle(c *choice, s *ollamaPiece) {
	if l.open > 0 {
		s.say(c, c.answer.call(l.open-1))
		l.open = 0
	}
}

// end implements events.
func (l *ollamaLines) end(c *choice) {
	var s ollamaPiece
	l.settle(c, &s)
	l.send(c, s)
}

// finish implements events.
func (l *ollamaLines) finish() {
	b := l.form.appendEnd(l.form.appendPiece(l.form.appendHead(nil, l.rep.model.ID()), ollamaPiece{}), l.rep)
	l.rep.release()
	l.rep.send(l.out, "", b)
}

// send sends what is new, if anything is.
func (l *ollamaLines) send(c *choice, s ollamaPiece) {
	toks := c.heard()
	scored := l.rep.params.logprobs && len(toks) > 0
	if s.text == "" && s.thought == "" && s.calls == nil && !scored {
		return
	}
	b := l.form.appendPiece(l.form.appendHead(nil, l.rep.model.ID()), s)
	if scored {
		b = appendLogprobs(append(b, `,"logprobs":`...), l.rep.model.Tokenizer(), toks)
	}
	l.rep.send(l.out, "", append(b, `,"done":false}`...))
}
