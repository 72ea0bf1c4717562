package server

import (
	"strconv"
	"sync"

	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/engine"
)

// A choicesForm is the form of OpenAI's chat completions and of the older
// completions: one object with a list of choices, or chunks of it.
type choicesForm struct {
	serverSent
	members
}

// members are what tells the two apart. Those that append begin and end with a
// member, no comma.
type members interface {
	idPrefix() string
	object(chunk bool) string
	// appendWhole appends what a choice said.
	appendWhole(dst []byte, c *choice) []byte
	// appendPart appends what a part adds to it.
	appendPart(dst []byte, c *choice, p dialect.Part) []byte
	// appendBegin and appendEnd append that member for a choice's first and
	// last chunk; an empty begin means there is no such chunk.
	appendBegin(dst []byte, c *choice) []byte
	appendEnd(dst []byte) []byte
	// scored returns of new tokens those whose log-probabilities are told.
	scored(c *choice, toks []engine.Token) []engine.Token
	appendLogprobs(dst []byte, tk model.Tokenizer, c *choice, toks []engine.Token) []byte
	// reason says why a choice ended.
	reason(c *choice) string
}

// whole implements form.
func (f choicesForm) whole(r *reply) []byte {
	b := f.appendHead(nil, r, false)
	for i, c := range r.shown() {
		if i > 0 {
			b = append(b, ',')
		}
		b = f.appendChoice(b, r, c)
	}
	b = append(b, ']')
	b = appendMember(b, "usage", r.usage())
	b = appendMember(b, "timings", r.timings())
	return append(b, '}')
}

// appendHead appends everything before the first choice.
func (f choicesForm) appendHead(dst []byte, r *reply, chunk bool) []byte {
	dst = appendString(append(dst, `{"id":`...), r.id)
	dst = appendString(append(dst, `,"object":`...), f.object(chunk))
	dst = strconv.AppendInt(append(dst, `,"created":`...), r.created, 10)
	dst = appendString(append(dst, `,"model":`...), r.name())
	return append(dst, `,"choices":[`...)
}

func (f choicesForm) appendChoice(dst []byte, r *reply, c *choice) []byte {
	dst = strconv.AppendInt(append(dst, `{"index":`...), int64(c.index), 10)
	dst = f.appendWhole(append(dst, ','), c)
	dst = append(dst, `,"logprobs":`...)
	if r.params.logprobs {
		dst = f.appendLogprobs(dst, r.model.Tokenizer(), c, f.scored(c, append(c.scored, c.toks...)))
	} else {
		dst = append(dst, "null"...)
	}
	dst = appendString(append(dst, `,"finish_reason":`...), f.reason(c))
	if r.params.returnTokenIDs {
		dst = appendInts(append(dst, `,"prompt_token_ids":`...), c.prompt.ids)
		dst = appendInts(append(dst, `,"token_ids":`...), c.ids)
	}
	if r.params.returnDrafts {
		dst = appendMember(dst, "draft", draftInfo{c.stats.Drafted, c.stats.Accepted, c.rounds()})
	}
	return append(dst, '}')
}

// stream implements form.
func (f choicesForm) stream(rep *reply, out *eventStream) events {
	return &chunks{form: f, rep: rep, out: out, left: len(rep.choices), head: f.appendHead(nil, rep, true)}
}

// chunks are the events of a choicesForm.
type chunks struct {
	form choicesForm
	rep  *reply
	out  *eventStream
	head []byte

	mu   sync.Mutex
	left int // choices that have not ended
}

// add implements events: each part is a chunk, the first of them with what
// belongs to the token, which may also have a chunk without a part.
func (k *chunks) add(c *choice, toks []engine.Token, parts []dialect.Part) {
	k.begin(c)
	p := k.rep.params
	for i := range toks {
		c.draft.Proposed += toks[i].Drafted
		if toks[i].Draft {
			c.draft.Accepted++
		}
	}
	var scored []engine.Token
	if p.logprobs {
		scored = k.form.scored(c, toks)
	}
	if len(parts) == 0 && (len(scored) > 0 || len(toks) > 0 && p.returnTokenIDs) {
		parts = []dialect.Part{{Kind: dialect.Text}}
	}
	for _, part := range parts {
		k.open(c)
		c.buf = k.form.appendPart(c.buf, c, part)
		c.buf = append(c.buf, `,"logprobs":`...)
		if part.Kind == dialect.Text && len(scored) > 0 {
			c.buf = k.form.appendLogprobs(c.buf, k.rep.model.Tokenizer(), c, scored)
			scored = nil
		} else {
			c.buf = append(c.buf, "null"...)
		}
		c.buf = append(c.buf, `,"finish_reason":null`...)
		if p.returnTokenIDs {
			c.buf = k.appendPromptIDs(c.buf, c)
			c.buf = append(c.buf, `,"token_ids":[`...)
			if len(toks) > 0 {
				c.buf = strconv.AppendInt(c.buf, int64(toks[0].ID), 10)
			}
			c.buf = append(c.buf, ']')
		}
		k.close(c, "")
		toks = nil
	}
}

// begin sends a choice's first chunk once, if the form has one.
func (k *chunks) begin(c *choice) {
	if c.began {
		return
	}
	k.open(c)
	n := len(c.buf)
	if c.buf = k.form.appendBegin(c.buf, c); len(c.buf) == n {
		return
	}
	c.buf = append(c.buf, `,"logprobs":`...)
	if len(c.scored) > 0 {
		c.buf = k.form.appendLogprobs(c.buf, k.rep.model.Tokenizer(), c, c.scored)
	} else {
		c.buf = append(c.buf, "null"...)
	}
	c.buf = append(c.buf, `,"finish_reason":null`...)
	if k.rep.params.returnTokenIDs {
		c.buf = k.appendPromptIDs(c.buf, c)
	}
	k.close(c, "")
}

// appendPromptIDs adds the prompt to a choice's first chunk.
func (k *chunks) appendPromptIDs(dst []byte, c *choice) []byte {
	if c.began {
		return dst
	}
	return appendInts(append(dst, `,"prompt_token_ids":`...), c.prompt.ids)
}

// end implements events. The reply's last chunk with a choice carries the timings,
// unless one with the usage follows.
func (k *chunks) end(c *choice) {
	k.begin(c)
	k.open(c)
	c.buf = k.form.appendEnd(c.buf)
	c.buf = appendString(append(c.buf, `,"logprobs":null,"finish_reason":`...), k.form.reason(c))
	if k.rep.params.returnTokenIDs {
		c.buf = k.appendPromptIDs(c.buf, c)
		c.buf = append(c.buf, `,"token_ids":[]`...)
	}
	c.draft.rounds = c.rounds()
	k.mu.Lock()
	defer k.mu.Unlock() // behind the sending: the one with the timings is the last
	k.left--
	if k.left == 0 && !k.rep.params.includeUsage {
		k.close(c, string(appendMember(nil, "timings", k.rep.timings())))
		return
	}
	k.close(c, "")
}

// finish implements events.
func (k *chunks) finish() {
	if k.rep.params.includeUsage {
		b := append(append([]byte(nil), k.head...), ']')
		b = appendMember(b, "usage", k.rep.usage())
		b = appendMember(b, "timings", k.rep.timings())
		k.rep.send(k.out, "", append(b, '}'))
	}
	k.rep.release()
	k.rep.send(k.out, "", []byte("[DONE]"))
}

// open starts an event with one choice in the choice's buffer.
func (k *chunks) open(c *choice) {
	c.buf = append(append(c.buf[:0], k.head...), `{"index":`...)
	c.buf = append(strconv.AppendInt(c.buf, int64(c.index), 10), ',')
}

// close sends the event; extra are members after the choices.
func (k *chunks) close(c *choice, extra string) {
	if k.rep.params.returnDrafts {
		c.buf = appendMember(c.buf, "draft", c.draft)
		c.draft = draftInfo{}
	}
	c.buf = append(append(c.buf, "}]"...), extra...)
	if k.rep.params.includeUsage {
		c.buf = append(c.buf, `,"usage":null`...)
	}
	c.buf = append(c.buf, '}')
	c.began = true
	k.rep.send(k.out, "", c.buf)
}
